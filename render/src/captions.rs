//! The lines of words that text and SVG both write beside their boxes, before they are fitted in.

pub mod guest;
pub mod host;

use numawise_model::{Id, IdSet};

/// A capture made elsewhere, a definition or a file's name may hold anything: of names from outside no
/// control character reaches the terminal (an escape, a line's end that forges the next line), and no
/// mark that turns the direction of what follows or hides in it.
pub fn printable(text: &str) -> String {
    let unseen = |c: char| {
        matches!(
            c,
            '\u{061c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
        )
    };
    text.chars().map(|c| if c.is_control() || unseen(c) { '\u{fffd}' } else { c }).collect()
}

/// Several lines, each printable.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Printable, and cut with an ellipsis to so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    let text = printable(text);
    if text.chars().count() <= columns {
        return text;
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

/// A list in so many columns: whole where it fits, else its beginning and a `…`.
pub fn fit_list<I: Id>(set: &IdSet<I>, columns: usize) -> String {
    let whole = set.to_string();
    if whole.chars().count() <= columns {
        return whole;
    }
    let mut shown = String::new();
    for part in whole.split_inclusive(',') {
        if shown.len() + part.len() + 1 > columns {
            break;
        }
        shown += part;
    }
    shown + "…"
}
