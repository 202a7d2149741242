//! The exact change to a text, as a unified diff with three lines of context.

use crate::look::Look;
use crate::style::Meaning;
use similar::TextDiff;

/// `names` are what the two sides are called. Empty when nothing changes. The text is shown as it is: mask secrets first.
pub fn unified(before: &str, after: &str, names: (&str, &str), colour: bool) -> String {
    if before == after {
        return String::new();
    }
    let diff = TextDiff::from_lines(before, after);
    let plain = diff.unified_diff().context_radius(3).header(names.0, names.1).to_string();
    let look = Look { colour, ..Look::default() };
    if !colour {
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
