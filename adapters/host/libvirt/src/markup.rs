//! Elements that are to be written.

use crate::layout::Style;

#[derive(Clone, Debug)]
pub(crate) enum Markup {
    Element {
        name: String,
        attributes: Vec<(String, String)>,
        content: Content,
    },
    /// Text that stood in a domain XML before, put back as it was.
    Verbatim(String),
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(String),
    Children(Vec<Markup>),
}

impl Markup {
    pub(crate) fn new(name: &str) -> Self {
        let content = Content::Children(Vec::new());
        Self::Element { name: name.to_owned(), attributes: Vec::new(), content }
    }

    pub(crate) fn with(mut self, attribute: &str, value: impl ToString) -> Self {
        if let Self::Element { attributes, .. } = &mut self {
            attributes.push((attribute.to_owned(), value.to_string()));
        }
        self
    }

    pub(crate) fn holding(mut self, children: Vec<Self>) -> Self {
        if let Self::Element { content, .. } = &mut self {
            *content = Content::Children(children);
        }
        self
    }

    pub(crate) fn saying(mut self, text: &str) -> Self {
        if let Self::Element { content, .. } = &mut self {
            *content = Content::Text(text.to_owned());
        }
        self
    }

    /// The element as text; `lead` is the line break and blanks that stand before it.
    pub(crate) fn render(&self, lead: &str, style: &Style) -> String {
        let (name, attributes, content) = match self {
            Self::Verbatim(text) => return text.clone(),
            Self::Element { name, attributes, content } => (name, attributes, content),
        };
        let quote = style.quote;
        let mut text = format!("<{name}");
        for (attribute, value) in attributes {
            let value = escape(value, Some(quote));
            text.push_str(&format!(" {attribute}={quote}{value}{quote}"));
        }
        match content {
            Content::Children(children) if children.is_empty() => return text + "/>",
            Content::Text(inner) => {
                text.push('>');
                text.push_str(&escape(inner, None));
            }
            Content::Children(children) => {
                text.push('>');
                let inner = style.deeper(lead);
                for child in children {
                    text.push_str(&inner);
                    text.push_str(&child.render(&inner, style));
                }
                text.push_str(lead);
            }
        }
        text + &format!("</{name}>")
    }
}

/// What stands for itself in XML stays; the rest becomes a reference. Line breaks in attributes
/// would be read as blanks, and a carriage return as a line feed anywhere.
pub(crate) fn escape(text: &str, quote: Option<char>) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#13;"),
            '\n' | '\t' if quote.is_some() => escaped.push_str(&format!("&#{};", c as u32)),
            '\'' if quote == Some('\'') => escaped.push_str("&apos;"),
            '"' if quote == Some('"') => escaped.push_str("&quot;"),
            _ => escaped.push(c),
        }
    }
    escaped
}
