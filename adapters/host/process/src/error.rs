//! Why a process could not be read: the file, the line, and what was wanted there.

use numawise_engine::ports::PortError;
use numawise_model::ListError;
use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ProcessError {
    #[error("{path} cannot be read")]
    Io { path: String, source: io::Error },
    #[error("{path}, line {line}: '{value}' where {wanted} is wanted")]
    BadLine { path: String, line: usize, value: String, wanted: &'static str },
    #[error("{path}, line {line}: '{value}' is no set of ids")]
    BadSet { path: String, line: usize, value: String, source: ListError },
    #[error("{path} has no line '{wanted}'")]
    Lacks { path: String, wanted: &'static str },
}

impl ProcessError {
    pub(crate) fn line(path: &str, line: usize, value: &str, wanted: &'static str) -> Self {
        Self::BadLine { path: path.to_owned(), line, value: shorten(value), wanted }
    }

    pub(crate) fn set(path: &str, line: usize, value: &str, source: ListError) -> Self {
        Self::BadSet { path: path.to_owned(), line, value: shorten(value), source }
    }

    /// Whether other rights would help.
    pub fn is_no_access(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// At most 80 characters of a value, with control characters made visible.
fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        short.push_str("...");
    }
    short
}

impl From<ProcessError> for PortError {
    fn from(error: ProcessError) -> Self {
        let text = match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        if error.is_no_access() {
            return Self::NoAccess(format!("{text}; root may read it"));
        }
        match error {
            ProcessError::Io { .. } => Self::Failed(text),
            _ => Self::Unreadable(text),
        }
    }
}
