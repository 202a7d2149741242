//! The files of a host that its tuning reads and writes: below `/`, or below a folder that holds a
//! host's files (a mounted image, a prepared tree).
//!
//! Below a folder the kernel is told to resolve every link inside it (`openat2`,
//! `RESOLVE_IN_ROOT`): a tree of somebody else must not lead a writer to this machine's own files.
//! A file that is read at boot is written whole or not at all (a new file, flushed, then renamed over
//! the old one) and keeps the old one's mode; a link in its place is left alone and told, since
//! whoever made it wanted the file elsewhere. Kernel files are opened as they are and written with
//! one call, which is how the kernel tells whether it took the value.

mod place;

use numawise_engine::ports::{HostFiles, PortError, Removal};
use numawise_model::{ChangeKind, PathState};
use place::Place;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

/// No file of a tuning comes near it.
const MAX_BYTES: u64 = 1 << 20;
const NEW_FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
const SYSTEMD: &str = "/run/systemd/system";

pub struct HostRoot {
    place: Place,
}

impl HostRoot {
    /// This machine.
    pub fn live() -> Result<Self, PortError> {
        Ok(Self { place: Place::live()? })
    }

    /// A folder with a host's files in it.
    pub fn at(folder: &Path) -> Result<Self, PortError> {
        Ok(Self { place: Place::at(folder)? })
    }

    fn write_kernel_file(&self, path: &str, text: &str) -> Result<(), PortError> {
        let failed = |error: Errno| self.place.failed("write", path, error);
        let flags = OFlags::WRONLY | OFlags::TRUNC;
        let file = self.place.open(path, flags).map_err(failed)?;
        // Nothing at all is no write: an empty set is written as an empty line.
        let bytes = if text.is_empty() { "\n" } else { text }.as_bytes();
        let written = rustix::io::write(&file, bytes).map_err(failed)?;
        if written == bytes.len() { Ok(()) } else { Err(failed(Errno::IO)) }
    }

    fn write_whole(&self, path: &str, text: &str) -> Result<(), PortError> {
        let failed = |error: Errno| self.place.failed("write", path, error);
        let (folder, name) = self.place.parent(path).map_err(failed)?;
        let old = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let mode = match old {
            Ok(old) if FileType::from_raw_mode(old.st_mode) == FileType::RegularFile => {
                Mode::from_raw_mode(old.st_mode & 0o7777)
            }
            Ok(_) => return Err(self.place.no_plain_file(path)),
            Err(Errno::NOENT) => Mode::from_raw_mode(NEW_FILE_MODE),
            Err(error) => return Err(failed(error)),
        };
        let new_name = format!(".{name}.{}", uuid::Uuid::new_v4().simple());
        let write = || -> Result<(), Errno> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&folder, &new_name, flags, Mode::from_raw_mode(0o600))?;
            let mut file = File::from(file);
            file.write_all(text.as_bytes()).map_err(|error| errno(&error))?;
            // Past the umask.
            rustix::fs::fchmod(&file, mode)?;
            rustix::fs::fsync(&file)?;
            rustix::fs::renameat(&folder, &new_name, &folder, name)?;
            sync_folder(folder.as_fd())
        };
        write().map_err(|error| {
            // It is there only if the renaming did not come to pass.
            let _ = rustix::fs::unlinkat(&folder, &new_name, AtFlags::empty());
            failed(error)
        })
    }
}

impl HostFiles for HostRoot {
    fn is_live(&self) -> bool {
        self.place.is_live()
    }

    fn look(&self, path: &str) -> Result<PathState, PortError> {
        let failed = |error: Errno| self.place.failed("read", path, error);
        // A pipe must not make the reader wait for a writer.
        let opened = self.place.open(path, OFlags::RDONLY | OFlags::NONBLOCK);
        let file = match opened {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => return Ok(PathState::Absent),
            Err(error) => return Err(failed(error)),
        };
        let found = file.metadata().map_err(|error| failed(errno(&error)))?;
        if found.is_dir() {
            return Ok(PathState::Folder);
        }
        if !found.is_file() {
            return Err(self.place.no_plain_file(path));
        }
        let mut text = String::new();
        match file.take(MAX_BYTES).read_to_string(&mut text) {
            Ok(length) if (length as u64) < MAX_BYTES => Ok(PathState::Text(text)),
            Ok(_) => Err(failed(Errno::FBIG)),
            Err(error) if error.kind() == ErrorKind::InvalidData => Err(self.place.no_text(path)),
            Err(error) => Err(failed(errno(&error))),
        }
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, PortError> {
        let failed = |error: Errno| self.place.failed("read", folder, error);
        let opened = match self.place.open(folder, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in Dir::new(opened).map_err(failed)? {
            // A name that is no text is not one that anybody's tuning reads.
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn write(&self, path: &str, text: &str, kind: ChangeKind) -> Result<(), PortError> {
        match kind {
            ChangeKind::Runtime => self.write_kernel_file(path, text),
            ChangeKind::Persistent => self.write_whole(path, text),
        }
    }

    fn make_folder(&self, path: &str) -> Result<(), PortError> {
        let failed = |error: Errno| self.place.failed("make the folder", path, error);
        let (folder, name) = self.place.parent(path).map_err(failed)?;
        rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(FOLDER_MODE)).map_err(failed)
    }

    fn remove(&self, path: &str) -> Result<Removal, PortError> {
        let failed = |error: Errno| self.place.failed("remove", path, error);
        let (folder, name) = match self.place.parent(path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Removal::Gone),
            Err(error) => return Err(failed(error)),
        };
        let removed = match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {
                rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)
            }
            other => other,
        };
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(Removal::Gone),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(Removal::Kept),
            Err(error) => Err(failed(error)),
        }
    }

    /// Below a folder nothing runs that could read them.
    fn reload_units(&self) -> Result<(), PortError> {
        if !self.is_live() || self.look(SYSTEMD)? != PathState::Folder {
            return Ok(());
        }
        let told = Command::new("systemctl").arg("daemon-reload").output();
        let told = told.map_err(|error| {
            PortError::Failed(format!("systemctl daemon-reload cannot be started: {error}"))
        })?;
        if told.status.success() {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&told.stderr).trim().to_owned();
        Err(PortError::Failed(format!("systemctl daemon-reload failed ({}): {why}", told.status)))
    }
}

/// The new name is on the disk only when its folder is.
fn sync_folder(folder: rustix::fd::BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    rustix::fs::fsync(folder)
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
