//! Names for hosts: the live one by a salted hash of its machine id, an imported one by its file.

use crate::error::ReadError;
use crate::root::{DirectoryRoot, Reader, Root};
use numawise_model::HostId;
use sha2::{Digest, Sha256};
use std::path::Path;

/// The machine id itself is confidential (machine-id(5)): what leaves the machine is its hash
/// under a salt of this program's own.
const SALT: &str = "numawise host id 1:";
const DIGITS: usize = 16;

/// The id of the machine under a root, `/` for the live one; a given name wins. `None` when the
/// machine has no machine id (some containers).
pub fn live_host_id(root: &Path, given: Option<&str>) -> Result<Option<HostId>, ReadError> {
    if let Some(name) = given {
        return Ok(Some(HostId(name.to_owned())));
    }
    let root = Root::Directory(DirectoryRoot::open(root)?);
    let mut reader = Reader::new(&root);
    for file in ["etc/machine-id", "var/lib/dbus/machine-id"] {
        match reader.text(file)? {
            // Written by an installer so that the first boot makes one.
            None | Some("" | "uninitialized") => {}
            Some(id) if id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) => {
                return Ok(Some(HostId(hash(SALT, id))));
            }
            Some(other) => {
                return Err(ReadError::value(file, other, "32 hexadecimal digits"));
            }
        }
    }
    Ok(None)
}

/// The id of a host that came in a file: the file's stem, and the topology's digest so that two
/// files of one name are two hosts. A given name wins.
pub fn imported_host_id(path: &Path, topology_digest: &str, given: Option<&str>) -> HostId {
    if let Some(name) = given {
        return HostId(name.to_owned());
    }
    let name = path.file_name().map(|name| name.to_string_lossy());
    let mut stem = name.as_deref().unwrap_or("host");
    for suffix in [".gz", ".xz", ".zst", ".tar", ".tgz", ".txz", ".xml"] {
        stem = stem.strip_suffix(suffix).unwrap_or(stem);
    }
    let digest = hash("", topology_digest);
    let stem = if stem.is_empty() { "host" } else { stem };
    HostId(format!("{stem}-{}", &digest[..8]))
}

fn hash(salt: &str, text: &str) -> String {
    let digest = Sha256::new().chain_update(salt).chain_update(text).finalize();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{imported_host_id, live_host_id};
    use std::path::Path;

    #[test]
    fn a_machine_id_is_hashed_and_a_given_name_wins() {
        let root = tempfile::tempdir().expect("a directory");
        let id = |given| live_host_id(root.path(), given);
        assert_eq!(id(None).expect("readable"), None);
        std::fs::create_dir(root.path().join("etc")).expect("etc");
        let file = root.path().join("etc/machine-id");
        std::fs::write(&file, "0123456789abcdef0123456789abcdef\n").expect("written");
        let hashed = id(None).expect("readable").expect("an id").0;
        // printf 'numawise host id 1:0123456789abcdef0123456789abcdef' | sha256sum | cut -c1-16
        assert_eq!(hashed, "04ff9c9387739e08");
        assert_eq!(id(Some("db7")).expect("readable").expect("an id").0, "db7");
        std::fs::write(&file, "not-an-id\n").expect("written");
        let error = id(None).expect_err("nonsense").to_string();
        assert!(error.contains("etc/machine-id says 'not-an-id'"), "{error}");
    }

    #[test]
    fn imported_hosts_have_their_file_in_their_name() {
        let id = |path, digest| imported_host_id(Path::new(path), digest, None).0;
        assert_eq!(id("/x/genoa.tar.xz", "d1").split('-').next(), Some("genoa"));
        assert_ne!(id("a/genoa.tar.xz", "d1"), id("b/genoa.tar.xz", "d2"));
        assert_eq!(id("a/genoa.tar.xz", "d1"), id("b/genoa.tar", "d1"));
    }
}
