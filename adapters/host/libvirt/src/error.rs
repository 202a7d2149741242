//! What can be wrong with a domain XML, or stand in the way of an edit.

use numawise_engine::ports::PortError;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum DomainXmlError {
    #[error(
        "the domain XML has {bytes} bytes; more than {limit} are not read, and a definition of \
         libvirt's has a few thousand: check that this is a domain XML"
    )]
    TooLarge { bytes: usize, limit: usize },
    #[error("the domain XML is not well-formed: {0}")]
    Syntax(#[from] roxmltree::Error),
    #[error(
        "line {line}: elements are nested more than {limit} deep; no domain XML is: check that \
         this is one"
    )]
    TooDeep { line: u32, limit: usize },
    #[error(
        "the XML declaration says encoding '{0}'; only UTF-8 is read: convert the file, for \
         example with iconv, and change the declaration"
    )]
    Encoding(String),
    #[error("the XML is a <{found}>, and a libvirt <domain> is wanted{hint}")]
    NotADomain { found: String, hint: &'static str },
    #[error("<{element}> is missing in the domain XML: {wanted}")]
    Missing { element: String, wanted: &'static str },
    #[error("line {line}: {element} is '{value}'; {wanted} is wanted")]
    Invalid { line: u32, element: String, value: String, wanted: String },
    #[error(
        "<{element}> stands twice in the domain XML, in lines {first} and {second}; which of them \
         counts is not for numawise to choose: take one out"
    )]
    Duplicate { element: String, first: u32, second: u32 },
    /// The text is fine, but the edit would leave something that libvirt refuses.
    #[error("line {line}: {element} {problem}")]
    InTheWay { line: u32, element: String, problem: String },
    /// The edit itself asks for what no domain XML can say.
    #[error("{0}")]
    Impossible(String),
}

impl From<DomainXmlError> for PortError {
    fn from(error: DomainXmlError) -> Self {
        match error {
            DomainXmlError::InTheWay { .. } | DomainXmlError::Impossible(_) => {
                Self::Failed(error.to_string())
            }
            _ => Self::Unreadable(error.to_string()),
        }
    }
}
