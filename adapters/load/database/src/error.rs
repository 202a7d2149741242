//! Why a load could not be put on a database.

use crate::oltp::OptionsError;
use crate::target::TargetError;
use std::io;
use thiserror::Error;

/// Each names the database; none has a password in it.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error("cannot reach {target}")]
    Unreachable { target: String, source: io::Error },
    #[error("{target} refuses to log in: {message} (code {code})")]
    Login { target: String, code: String, message: String },
    #[error("{target} and this client cannot agree: {why}")]
    Protocol { target: String, why: String },
    #[error("{target} refuses a statement: {message} (code {code}); it was {statement}")]
    Statement { target: String, code: String, message: String, statement: String },
    #[error("the connection to {target} was lost")]
    Lost { target: String, source: io::Error },
    #[error("{what} is not possible here")]
    System { what: &'static str, source: io::Error },
    #[error("interrupted")]
    Cancelled,
}

impl LoadError {
    /// Whether the database is not there or lets nobody in.
    pub fn is_no_access(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Login { .. })
    }

    /// Whether what was asked for is at fault.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Target(_) | Self::Options(_))
    }
}
