//! Locks that are held while something is carried out: one file per host or experiment, locked with `flock`, so
//! that the kernel frees it with the death of its holder, however that comes.
//!
//! The file stays when the lock is free: removing it would let two holders lock two different files.

use crate::error::Access;
use crate::schema::private_file;
use numawise_engine::ports::{Cancel, HostLock, PortError};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Looked at often enough that neither a freed lock nor a cancelled wait is felt.
const POLL: Duration = Duration::from_millis(20);

/// Frees the lock when it is dropped: the file is closed then.
pub struct FileLock {
    _file: File,
}

impl HostLock for FileLock {}

/// Of a host, or of anything else that has a name of its own among its kind.
pub fn lock(
    dir: &Path,
    kind: &str,
    name: &str,
    on_wait: &mut dyn FnMut(),
    cancel: &Cancel,
) -> Result<FileLock, PortError> {
    let path = dir.join(file_name(kind, name));
    let file = private_file(&path)?;
    let mut waited = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(FileLock { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                return Err(Access { action: "lock", path: &path }.io_failed(&error));
            }
        }
        if cancel.is_set() {
            return Err(PortError::Cancelled);
        }
        if !waited {
            on_wait();
            waited = true;
        }
        sleep(POLL);
    }
}

/// A host id may be any text; whatever is not plain is written as `%` and two hexadecimal digits, so
/// that different hosts have different files.
fn file_name(kind: &str, name: &str) -> String {
    let mut file = format!("{kind}-");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            file.push(char::from(byte));
        } else {
            file.push_str(&format!("%{byte:02x}"));
        }
    }
    file + ".lock"
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn every_host_has_a_file_of_its_own() {
        let cases = [
            ("3f2a", "host-3f2a.lock"),
            ("../other", "host-..%2fother.lock"),
            ("a b", "host-a%20b.lock"),
            ("a%20b", "host-a%2520b.lock"),
        ];
        for (id, wanted) in cases {
            assert_eq!(file_name("host", id), wanted);
        }
    }
}
