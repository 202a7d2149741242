//! Why a host could not be read: the file, the value, and what was wanted there.

use numawise_engine::ports::PortError;
use numawise_model::ListError;
use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("{path}: there is no such file or directory")]
    NotFound { path: String },
    #[error("{path} cannot be read")]
    Io { path: String, source: io::Error },
    #[error("{path} cannot be written")]
    Write { path: String, source: io::Error },
    #[error(
        "{path} describes no host: it is neither a directory or tar archive with \
         sys/devices/system/cpu in it, nor hwloc XML, nor libvirt capabilities ({seen})"
    )]
    NotAHost { path: String, seen: String },
    #[error("{path} holds several hosts ({hosts}); unpack it and name one")]
    SeveralHosts { path: String, hosts: String },
    #[error("{file} says '{value}' where {wanted} is wanted")]
    BadValue { file: String, value: String, wanted: &'static str },
    #[error("{file} holds no set of ids")]
    BadSet { file: String, source: ListError },
    #[error("{archive} is not unpacked: {why}")]
    Refused { archive: String, why: String },
    #[error("{archive} is damaged or cut short")]
    Damaged { archive: String, source: io::Error },
    #[error("{file} is no well-formed XML")]
    Xml { file: String, source: roxmltree::Error },
    #[error("{file} is XML without {wanted}")]
    XmlLacks { file: String, wanted: String },
    #[error("{name} is a description of a host, not its files; copy it as it is")]
    NothingToCapture { name: String },
}

impl ReadError {
    /// A value that cannot be, shortened so that junk does not fill the screen.
    pub(crate) fn value(file: impl Into<String>, value: &str, wanted: &'static str) -> Self {
        Self::BadValue { file: file.into(), value: shorten(value), wanted }
    }

    /// Whether other rights would help.
    pub fn is_no_access(&self) -> bool {
        matches!(self, Self::Io { source, .. } | Self::Write { source, .. }
            if source.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// At most 80 characters of a text, with control characters made visible.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        short.push_str("...");
    }
    short
}

impl From<ReadError> for PortError {
    fn from(error: ReadError) -> Self {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            text.push_str(": ");
            text.push_str(&inner.to_string());
            cause = inner.source();
        }
        match error {
            _ if error.is_no_access() => Self::NoAccess(text),
            ReadError::NotFound { .. } => Self::NotFound(text),
            ReadError::Write { .. } => Self::Failed(text),
            _ => Self::Unreadable(text),
        }
    }
}
