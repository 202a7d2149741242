//! The lines of words that text and SVG both write beside their boxes, before they are fitted in.

pub mod guest;
pub mod host;

use numawise_model::{Id, IdSet};

/// Cut with an ellipsis to so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
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
