//! From what SQLite or the file system says to what the operator can do about it.

use numawise_documents::DocumentError;
use numawise_engine::ports::PortError;
use rusqlite::ErrorCode;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What was being done to which file.
#[derive(Clone, Copy)]
pub struct Access<'p> {
    pub action: &'static str,
    pub path: &'p Path,
}

impl Access<'_> {
    pub fn failed(&self, error: &rusqlite::Error) -> PortError {
        let what = self.sentence(error);
        match error.sqlite_error_code() {
            Some(
                ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::AuthorizationForStatementDenied,
            ) => no_access(&what),
            Some(ErrorCode::DiskFull) => disk_full(&what, self.path),
            // SQLite says no more than this where its shared memory finds no room.
            Some(ErrorCode::SystemIoFailure) => PortError::Failed(format!(
                "{what}; look whether the disk is full (df), make room and try again"
            )),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(&what),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                PortError::Failed(format!(
                    "{what}: another process has held it for {} s; look for a numawise that hangs, and \
                 try again",
                    crate::schema::BUSY_TIMEOUT.as_secs()
                ))
            }
            _ => PortError::Failed(what),
        }
    }

    pub fn io_failed(&self, error: &io::Error) -> PortError {
        let what = self.sentence(error);
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => no_access(&what),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => disk_full(&what, self.path),
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => PortError::Failed(format!(
                "{what}: a directory is wanted there; name another with --state"
            )),
            _ => PortError::Failed(what),
        }
    }

    fn sentence(&self, error: &dyn std::error::Error) -> String {
        format!("cannot {} {}: {error}", self.action, self.path.display())
    }
}

fn no_access(what: &str) -> PortError {
    PortError::NoAccess(format!(
        "{what}; run as the owner of the state directory (root for /var/lib/numawise), or name one \
         of your own with --state"
    ))
}

fn disk_full(what: &str, path: &Path) -> PortError {
    let dir = path.parent().unwrap_or(path);
    PortError::Failed(format!(
        "{what}: the disk is full, and this was not written; make room in {} and try again",
        dir.display()
    ))
}

fn damaged(what: &str) -> PortError {
    PortError::Unreadable(format!(
        "{what}: the file is damaged or no state of numawise; bring it back from a backup, or move \
         it away together with its -wal and -shm to begin anew (pinned guests are then seen as \
         placed by somebody else)"
    ))
}

/// A row that is there and holds something else than its document.
pub fn document_error(path: &Path, what: &str, error: &DocumentError) -> PortError {
    PortError::Unreadable(format!("{}: {what} cannot be understood: {error}", path.display()))
}
