//! Reading attributes of XML documents, with errors that name the document.

use crate::error::ReadError;
use numawise_model::MAX_ID;
use roxmltree::{Node as Element, ParsingOptions};
use std::str::FromStr;

pub struct Document<'d> {
    pub name: &'d str,
}

pub fn parse<'t>(name: &str, text: &'t str) -> Result<roxmltree::Document<'t>, ReadError> {
    // hwloc names its document type; entities are not expanded without limit by the parser.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    roxmltree::Document::parse_with_options(text, options)
        .map_err(|source| ReadError::Xml { file: name.to_owned(), source })
}

impl Document<'_> {
    pub fn lacks(&self, wanted: &str) -> ReadError {
        ReadError::XmlLacks { file: self.name.to_owned(), wanted: wanted.to_owned() }
    }

    pub fn value(&self, text: &str, wanted: &'static str) -> ReadError {
        ReadError::value(self.name, text, wanted)
    }

    pub fn parse<T: FromStr>(&self, text: &str, wanted: &'static str) -> Result<T, ReadError> {
        text.trim().parse().map_err(|_| self.value(text, wanted))
    }

    /// A number that a set can hold.
    pub fn small(&self, text: &str, wanted: &'static str) -> Result<u32, ReadError> {
        let number = self.parse::<u32>(text, wanted)?;
        if number > MAX_ID { Err(self.value(text, wanted)) } else { Ok(number) }
    }

    /// An id that must be there.
    pub fn id(&self, element: &Element<'_, '_>, attribute: &'static str) -> Result<u32, ReadError> {
        match element.attribute(attribute) {
            Some(text) => self.small(text, "a CPU or node number of at most 8191"),
            None => {
                let tag = element.tag_name().name();
                Err(self.lacks(&format!("the attribute {attribute} at a <{tag}>")))
            }
        }
    }

    /// A count or size that may be absent.
    pub fn number(
        &self,
        element: &Element<'_, '_>,
        attribute: &str,
    ) -> Result<Option<u64>, ReadError> {
        match element.attribute(attribute) {
            Some(text) => self.parse(text, "a count or a size in bytes").map(Some),
            None => Ok(None),
        }
    }
}
