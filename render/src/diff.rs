//! The exact change to a text, as a unified diff with three lines of context.

use crate::look::Look;
use crate::style::Meaning;
use similar::TextDiff;

/// What the two sides are called in the diff's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    pub before: &'a str,
    pub after: &'a str,
}

/// Empty when nothing changes. The text is shown as it is: mask secrets first.
pub fn unified(before: &str, after: &str, names: Names<'_>, look: &Look) -> String {
    if before == after {
        return String::new();
    }
    let diff = TextDiff::from_lines(before, after);
    let plain = diff.unified_diff().context_radius(3).header(names.before, names.after).to_string();
    if !look.colour {
        return plain;
    }
    plain
        .split_inclusive('\n')
        .map(|line| {
            let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
            let painted = match text.as_bytes().first() {
                Some(b'+') => look.paint(Meaning::Added, text),
                Some(b'-') => look.paint(Meaning::Removed, text),
                Some(b'@') => look.paint(Meaning::Note, text),
                _ => text.to_owned(),
            };
            painted + end
        })
        .collect()
}
