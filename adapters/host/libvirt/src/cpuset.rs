//! CPU and node sets inside a domain XML, read the way libvirt reads them.
//!
//! libvirt goes from left to right: `^3` takes 3 out of what has been collected *so far*, so
//! `^3,1-7` is 1-7 there. That is not the rule text people type at numawise (included minus
//! excluded, whatever the order), which is why this parser stands apart. An exclusion is a single
//! number; `^1-2`, reversed ranges and doubled commas are errors, one trailing comma is not.

use numawise_model::{Id, IdSet, MAX_ID};

/// Longer texts are refused before they are looked at: every second of 8,192 CPUs, written out,
/// takes about 20,000 characters.
const MAX_TEXT: usize = 1 << 16;

/// What a set may look like, for messages.
pub(crate) const WANTED: &str =
    "a list like 0-3,8 or 0-7,^2 (numbers up to 8191, ranges ascending, '^' before one number)";

/// The set, or `None` when libvirt would refuse the text or it names nothing.
pub(crate) fn parse<I: Id>(text: &str) -> Option<IdSet<I>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut set = IdSet::new();
    let mut parts = text.split(',').peekable();
    while let Some(part) = parts.next() {
        if part.trim().is_empty() && parts.peek().is_none() && !set.is_empty() {
            break;
        }
        take_part(&mut set, part.trim_start())?;
    }
    (!set.is_empty()).then_some(set)
}

fn take_part<I: Id>(set: &mut IdSet<I>, part: &str) -> Option<()> {
    if let Some(excluded) = part.strip_prefix('^') {
        set.remove(I::new(number(excluded)?));
        return Some(());
    }
    let (first, last) = match part.split_once('-') {
        Some((first, last)) => (number(first)?, number(last.trim_start())?),
        None => (number(part)?, number(part)?),
    };
    if first > last {
        return None;
    }
    for id in first..=last {
        set.insert(I::new(id));
    }
    Some(())
}

/// A number with nothing before it; blanks may follow.
fn number(text: &str) -> Option<u32> {
    let digits = text.trim_end();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|&n| n <= MAX_ID)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use numawise_model::Pcpu;

    #[test]
    fn reads_sets_from_left_to_right_as_libvirt_does() {
        let cases: &[(&str, Option<&str>)] = &[
            ("1-7,^2,^3,^4,10", Some("1,5-7,10")),
            ("^3,1-7", Some("1-7")),
            ("1-7,^3,3", Some("1-7")),
            ("5-5", Some("5")),
            ("1-3,", Some("1-3")),
            (" 0, 2-4 , 6 - 10", Some("0,2-4,6-10")),
            ("0008", Some("8")),
            ("8191", Some("8191")),
            ("0-3,^1-2", None),
            ("7-1", None),
            ("1,,2", None),
            (",1", None),
            ("0,^0", None),
            ("", None),
            ("a", None),
            ("+1", None),
            ("-1", None),
            ("8192", None),
            ("0-4294967296", None),
            ("1 2", None),
        ];
        for (text, wanted) in cases {
            let set = parse::<Pcpu>(text).map(|set| set.to_string());
            assert_eq!(set.as_deref(), *wanted, "'{text}'");
        }
    }
}
