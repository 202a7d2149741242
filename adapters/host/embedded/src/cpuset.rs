//! CPU and node sets as libvirt reads them in domain XML: strictly from left to right.
//!
//! `1-7,^3` takes CPU 3 away again, `^3,1-7` keeps it, `^1-2` is an error, and so is a set that ends
//! up empty. numawise's own rule text differs in the order (an exclusion always wins), which is one
//! reason why this reader is not shared with it: what is wrong there must show up here.

use numawise_model::{Id, IdSet, MAX_ID};

/// Reads a set; the error says what is wrong with it.
pub fn parse<I: Id>(text: &str) -> Result<IdSet<I>, String> {
    let mut set = IdSet::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (excluded, after) = match rest.strip_prefix('^') {
            Some(after) => (true, after),
            None => (false, rest),
        };
        let (first, after) = number(text, after)?;
        rest = after.trim_start();
        let mut last = first;
        if let Some(after) = rest.strip_prefix('-') {
            if excluded {
                return Err(format!("'{text}': '^' takes one number, not a range"));
            }
            let (number, after) = number(text, after.trim_start())?;
            last = number;
            rest = after.trim_start();
        }
        if last < first {
            return Err(format!("'{text}': the range {first}-{last} runs backwards"));
        }
        for id in first..=last {
            if excluded {
                set.remove(I::new(id));
            } else {
                set.insert(I::new(id));
            }
        }
        rest = match rest.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if rest.is_empty() => rest,
            None => return Err(format!("'{text}': a comma is wanted before '{rest}'")),
        };
    }
    if set.is_empty() {
        return Err(format!("'{text}' is an empty set"));
    }
    Ok(set)
}

/// A number at the very beginning of `rest`, and what follows it.
fn number<'t>(text: &str, rest: &'t str) -> Result<(u32, &'t str), String> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    if digits.is_empty() {
        return Err(format!("'{text}': a number is wanted before '{rest}'"));
    }
    match digits.parse::<u32>() {
        Ok(number) if number <= MAX_ID => Ok((number, after)),
        _ => Err(format!("'{text}': {digits} is above the highest number there can be, {MAX_ID}")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use numawise_model::Pcpu;

    #[test]
    fn order_decides_as_in_libvirt() {
        let cases = [
            ("0-3,8", "0-3,8"),
            ("1-7,^2,^3,^4,10", "1,5-7,10"),
            ("^3,1-7", "1-7"),
            ("1-4,^2,2", "1-4"),
            (" 1 - 3 , 5 ", "1-3,5"),
            ("5-5", "5"),
            ("1,", "1"),
        ];
        for (text, wanted) in cases {
            let set = parse::<Pcpu>(text).map(|set| set.to_string());
            assert_eq!(set.as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_libvirt_refuses_is_refused() {
        let cases = [
            ("", "empty set"),
            ("2,^2", "empty set"),
            ("^1-2,5", "not a range"),
            ("7-1", "backwards"),
            ("1-3-5", "a comma is wanted before '-5'"),
            ("a", "a number is wanted before 'a'"),
            ("1,,2", "a number is wanted before ',2'"),
            ("-1", "a number is wanted before '-1'"),
            ("8192", "above the highest"),
            ("0-4294967295", "above the highest"),
            ("0-99999999999999999999", "above the highest"),
        ];
        for (text, wanted) in cases {
            let error = parse::<Pcpu>(text).expect_err(text);
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
