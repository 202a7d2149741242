//! Reading a document: its header first, then the whole, with errors that name the field.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// The version of every document that this program writes, and the only one it reads.
pub const VERSION: u32 = 1;

/// Why a text is not the document that was wanted.
#[derive(Debug, Error)]
pub enum DocumentError {
    #[error("this is no JSON: {reason}; a {wanted} document is wanted")]
    NotJson { wanted: &'static str, reason: String },
    #[error("a {wanted} document is wanted, and this is {found}")]
    OtherSchema { wanted: &'static str, found: String },
    #[error(
        "version {found} of {schema} is not known here, only version {VERSION}; \
         read it with the numawise that wrote it, or make it anew with this one"
    )]
    UnknownVersion { schema: &'static str, found: String },
    #[error("{schema}: {path}: {reason}")]
    Field { schema: &'static str, path: String, reason: String },
}

impl DocumentError {
    pub(crate) fn field(schema: &'static str, path: &str, reason: impl Into<String>) -> Self {
        Self::Field { schema, path: path.to_owned(), reason: reason.into() }
    }
}

/// What every document begins with; anything else may follow, in any version.
#[derive(Deserialize)]
struct Header {
    schema: Option<serde_json::Value>,
    version: Option<serde_json::Value>,
}

/// `null`, a number, a list: JSON, and no document.
const NO_OBJECT: &str = "JSON that is no object";

/// Checks the header and reads the rest.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    schema: &'static str,
) -> Result<T, DocumentError> {
    let header: Header = serde_json::from_str(text).map_err(|error| match error.is_data() {
        true => DocumentError::OtherSchema { wanted: schema, found: NO_OBJECT.to_owned() },
        false => DocumentError::NotJson { wanted: schema, reason: error.to_string() },
    })?;
    check_header(schema, header.schema.as_ref(), header.version.as_ref())?;
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        DocumentError::field(schema, &path, error.inner().to_string())
    })
}

fn check_header(
    wanted: &'static str,
    schema: Option<&serde_json::Value>,
    version: Option<&serde_json::Value>,
) -> Result<(), DocumentError> {
    match schema {
        Some(found) if found == wanted => {}
        Some(found) => {
            return Err(DocumentError::OtherSchema { wanted, found: found.to_string() });
        }
        None => {
            let found = "a text without \"schema\"".to_owned();
            return Err(DocumentError::OtherSchema { wanted, found });
        }
    }
    match version {
        Some(found) if *found == VERSION => Ok(()),
        Some(found) => {
            Err(DocumentError::UnknownVersion { schema: wanted, found: found.to_string() })
        }
        None => Err(DocumentError::field(wanted, "version", "it is missing")),
    }
}

/// For people: indented, with an end of line.
pub(crate) fn pretty<T: serde::Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(document).expect(WRITING_CANNOT_FAIL);
    text.push('\n');
    text
}

/// For stores, digests and notes: one line.
pub(crate) fn compact<T: serde::Serialize>(document: &T) -> String {
    serde_json::to_string(document).expect(WRITING_CANNOT_FAIL)
}

const WRITING_CANNOT_FAIL: &str = "maps have text or number keys, and memory takes every byte";
