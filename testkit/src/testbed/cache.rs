//! Where the test bed lies between runs, under which key, and who may write there.

use super::Unavailable;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of all roots and images of this user, one folder inside for each key.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// `$XDG_CACHE_HOME/numawise/testbed`, in `~/.cache` without that, in `/var/cache` without a
    /// home.
    pub fn of_user() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let caches = set("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")))
            .unwrap_or_else(|| PathBuf::from("/var/cache"));
        Self::at(caches.join("numawise/testbed"))
    }

    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder for what these parts describe: same parts, same folder, on every machine.
    pub(super) fn place(&self, kind: &str, parts: &[&str]) -> PathBuf {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        let key: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{kind}-{key}"))
    }

    /// Held by whoever builds here; released when the file is closed, so also by kill -9.
    pub(super) fn lock(&self, name: &str) -> Result<File, Unavailable> {
        fs::create_dir_all(&self.folder).map_err(at("create", &self.folder))?;
        let path = self.folder.join(name);
        let file = File::create(&path).map_err(at("create", &path))?;
        file.lock().map_err(at("lock", &path))?;
        Ok(file)
    }

    /// Removes what an older recipe, or a build that was killed, left of this kind.
    /// The caller holds the lock. What cannot be removed is left for the next time.
    pub(super) fn keep_only(&self, kind: &str, kept: &Path) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let prefix = format!("{kind}-");
        for entry in entries.flatten() {
            let ours = entry.file_name().to_string_lossy().starts_with(&prefix);
            if ours && entry.path() != kept {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
    }
}

/// A command that ends with this process, whatever it has started: it gets a PID namespace of its
/// own, whose first process is killed with ours. Otherwise it would go on writing into a folder
/// that the next one has begun to clear away.
pub(super) fn ending_with_us(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    command.args([
        "unshare",
        "--mount",
        "--pid",
        "--mount-proc",
        "--fork",
        "--kill-child",
        program,
    ]);
    command
}

/// Gives what was built its final name, once all of it is on the disk.
pub(super) fn finish(part: &Path, whole: &Path) -> Result<(), Unavailable> {
    let synced = File::open(part).and_then(|dir| Ok(rustix::fs::syncfs(dir)?));
    synced.map_err(at("sync", part))?;
    fs::rename(part, whole).map_err(at("rename", part))
}

/// An error about one file, for `map_err`.
pub(super) fn at<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl FnOnce(std::io::Error) -> Unavailable + 'a {
    move |source| Unavailable::File { doing, path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_depends_on_each_part_and_on_where_it_ends() {
        let cache = Cache::at(PathBuf::from("/cache"));
        let place = cache.place("root", &["ab", "c"]);
        assert_eq!(place, cache.place("root", &["ab", "c"]));
        assert_ne!(place, cache.place("root", &["a", "bc"]));
        assert!(place.starts_with("/cache"));
        assert!(place.file_name().is_some_and(|name| name.to_string_lossy().starts_with("root-")));
    }

    #[test]
    fn what_is_old_or_half_is_removed_and_other_kinds_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(dir.path().to_path_buf());
        let kept = cache.place("root", &["new"]);
        for name in ["root-old", "root-new.part", "emulated-1"] {
            fs::create_dir_all(dir.path().join(name).join("etc")).expect("a folder");
        }
        fs::create_dir(&kept).expect("a folder");
        fs::write(dir.path().join("root-old.log"), "why").expect("a file");
        let _lock = cache.lock("root.lock").expect("nobody holds it");
        cache.keep_only("root", &kept);
        let names = fs::read_dir(dir.path()).expect("it is there").flatten();
        let mut left: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
        left.sort();
        let mut expected = ["emulated-1", "root.lock"].map(|name| dir.path().join(name)).to_vec();
        expected.push(kept);
        expected.sort();
        assert_eq!(left, expected);
    }

    #[test]
    fn a_command_ends_with_its_own_processes() {
        let status = ending_with_us("sh").args(["-c", "sleep 60 & exit 3"]).status();
        let Ok(status) = status else { return };
        // Without namespaces there is no test bed either; then it fails at once, with 1.
        assert!([Some(3), Some(1)].contains(&status.code()), "{status}");
    }
}
