//! Names as the kernel escapes them in lines of words: blanks and the like as `\040`.

/// Three octal digits after a backslash are a byte; any other backslash is itself, for kernels do
/// not escape backslashes everywhere.
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|_| *first == b'\\').and_then(octal);
        match digits {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
        number.checked_mul(8)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn octal_escapes_become_bytes_and_other_backslashes_stay() {
        assert_eq!(unescape("/memfd:a\\040(deleted)"), "/memfd:a (deleted)");
        assert_eq!(unescape("/machine-qemu\\x2d1"), "/machine-qemu\\x2d1");
        assert_eq!(unescape("\\134\\08\\777\\"), "\\\\08\\777\\");
        assert_eq!(unescape("\\303\\244"), "\u{e4}");
    }
}
