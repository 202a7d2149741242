//! Numbers as benchmarks print them, with a point or with a comma.

use winnow::ascii::{digit1, space0};
use winnow::combinator::opt;
use winnow::token::one_of;
use winnow::{Parser, Result};

/// `12`, `12.5`, `12,5`. Thousands are not separated by these tools.
pub fn decimal(input: &mut &str) -> Result<f64> {
    (digit1, opt((one_of(['.', ',']), digit1)))
        .take()
        .verify_map(|text: &str| text.replace(',', ".").parse().ok())
        .parse_next(input)
}

pub fn whole<T: std::str::FromStr>(input: &mut &str) -> Result<T> {
    digit1.verify_map(|text: &str| text.parse().ok()).parse_next(input)
}

/// A word with space around it.
pub fn word<'a>(word: &'static str) -> impl Parser<&'a str, &'a str, winnow::error::ContextError> {
    winnow::combinator::delimited(space0, word, space0)
}
