//! The lock that is held while an intent is carried out: one file per host, locked with `flock`, so
//! that the kernel frees it with the death of its holder, however that comes.
//!
//! The file stays when the lock is free: removing it would let two holders lock two different files.

use crate::error::Access;
use crate::schema::private_file;
use numawise_engine::ports::{Cancel, HostLock, PortError};
use numawise_model::HostId;
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

pub fn lock(
    dir: &Path,
    host: &HostId,
    on_wait: &mut dyn FnMut(),
    cancel: &Cancel,
) -> Result<FileLock, PortError> {
    let path = dir.join(file_name(host));
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
fn file_name(host: &HostId) -> String {
    let mut name = String::from("host-");
    for byte in host.0.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    name + ".lock"
}

#[cfg(test)]
mod tests {
    use super::file_name;
    use numawise_model::HostId;

    #[test]
    fn every_host_has_a_file_of_its_own() {
        let cases = [
            ("3f2a", "host-3f2a.lock"),
            ("../other", "host-..%2fother.lock"),
            ("a b", "host-a%20b.lock"),
            ("a%20b", "host-a%2520b.lock"),
        ];
        for (id, wanted) in cases {
            assert_eq!(file_name(&HostId(id.to_owned())), wanted);
        }
    }
}
