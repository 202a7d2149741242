//! Rust text as a flat row of tokens, so that a rule never trips over a comment or a string.

use super::Violation;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// An identifier, a literal, or one character of punctuation (delimiters included).
pub struct Token {
    pub text: String,
    pub line: usize,
}

/// The tokens of a file; a file that is no Rust is a violation of its own.
pub fn of_file(path: &str, text: &str) -> Result<Vec<Token>, Violation> {
    let stream: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
        let line = error.span().start().line;
        Violation::new(path, line, "rust-can-be-read", format!("cannot be read as Rust: {error}"))
    })?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                into.push(Token { text: open.to_owned(), line });
                flatten(group.stream(), into);
                let line = group.span_close().start().line;
                into.push(Token { text: close.to_owned(), line });
            }
            other => into.push(Token { text: other.to_string(), line }),
        }
    }
}

/// Where a row of tokens begins: the index of its first token, at each place it stands.
pub fn find<'a>(tokens: &'a [Token], row: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    tokens
        .windows(row.len())
        .enumerate()
        .filter(move |(_, window)| {
            window.iter().zip(row).all(|(token, wanted)| token.text == *wanted)
        })
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        let text = "// dbg!(1)\nfn f() {\n    g(\"dbg!(2)\"); /* dbg!(3) */\n    dbg!(4);\n}\n";
        let tokens = of_file("a.rs", text).expect("it is Rust");
        let lines: Vec<usize> =
            find(&tokens, &["dbg", "!"]).map(|index| tokens[index].line).collect();
        assert_eq!(lines, [4]);
    }

    #[test]
    fn what_is_no_rust_is_named() {
        let broken = of_file("a.rs", "fn f( {").map(|_| ()).expect_err("a bracket is missing");
        assert_eq!(broken.file, "a.rs");
    }
}
