//! Files below a directory handle, read with a few system calls each.
//!
//! Below anything but `/` the kernel is told to resolve every link inside the directory
//! (`openat2`, `RESOLVE_IN_ROOT`): a tree that somebody sent must not be able to show this machine's
//! files. Kernels before 5.6 have no such call; there a plain `openat` follows links as they are.

use crate::error::ReadError;
use rustix::fs::{Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

/// Kernel files have a page at most, masks of 8,192 CPUs 2,304 bytes; for `/proc/stat` it grows.
pub const BUFFER_BYTES: usize = 1 << 14;
/// Nothing that is read here comes near it: `/proc/interrupts` of 1,024 CPUs has 20 MB.
const MAX_FILE_BYTES: usize = 64 << 20;

#[derive(Clone, Debug)]
pub struct DirectoryRoot {
    handle: Arc<OwnedFd>,
    shown: String,
    live: bool,
    confined: bool,
}

impl DirectoryRoot {
    pub fn live() -> Result<Self, ReadError> {
        Self::at(Path::new("/"), true)
    }

    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::at(path, false)
    }

    fn at(path: &Path, live: bool) -> Result<Self, ReadError> {
        let shown = path.display().to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| ReadError::Io { path: shown.clone(), source: error.into() })?;
        let mut root = Self { handle: Arc::new(handle), shown, live, confined: false };
        root.confined = !live && root.can_confine();
        Ok(root)
    }

    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Reads into the buffer (which grows when it must) and gives the length.
    pub fn read(
        &self,
        path: &str,
        limit: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<usize>, ReadError> {
        // A pipe in somebody's tree must not make the reader wait for a writer.
        let Some(file) = self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK)? else {
            return Ok(None);
        };
        let mut length = 0;
        loop {
            if length == buffer.len() {
                buffer.resize(length * 2, 0);
            }
            let got = match rustix::io::read(&file, &mut buffer[length..]) {
                Ok(got) => got,
                Err(Errno::INTR) => continue,
                // A device or process that went away between opening and reading.
                Err(Errno::NODEV | Errno::NXIO | Errno::SRCH) => return Ok(None),
                Err(error) => return Err(self.io(path, error)),
            };
            length += got;
            // sysfs hands a whole file over in one read; a short one is its end.
            let ended = got == 0 || (path.starts_with("sys/") && length < buffer.len());
            if ended || length >= limit {
                return Ok(Some(length));
            }
            if length > MAX_FILE_BYTES {
                let error = Errno::FBIG;
                return Err(self.io(path, error));
            }
        }
    }

    pub fn names(&self, path: &str) -> Result<Option<Vec<String>>, ReadError> {
        let Some(handle) = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY)? else {
            return Ok(None);
        };
        let mut names = Vec::new();
        for entry in Dir::new(handle).map_err(|error| self.io(path, error))? {
            let entry = entry.map_err(|error| self.io(path, error))?;
            // Kernel names are ASCII; a name that is no text is not one of ours.
            if let Ok(name) = entry.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(Some(names))
    }

    pub fn is_directory(&self, path: &str) -> Result<bool, ReadError> {
        Ok(self.open_at(path, OFlags::PATH | OFlags::DIRECTORY)?.is_some())
    }

    pub fn is_read_only(&self, path: &str) -> Option<bool> {
        let handle = self.open_at(path, OFlags::PATH).ok().flatten()?;
        let found = rustix::fs::fstat(&handle).ok()?;
        Some(!Mode::from_raw_mode(found.st_mode).contains(Mode::WUSR))
    }

    pub fn link(&self, path: &str) -> Result<Option<String>, ReadError> {
        let target = if self.confined {
            // Only an open is resolved inside the directory; the link is read by its handle.
            let Some(handle) = self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW)? else {
                return Ok(None);
            };
            rustix::fs::readlinkat(&handle, "", Vec::new())
        } else {
            rustix::fs::readlinkat(&*self.handle, path, Vec::new())
        };
        match target {
            Ok(target) => Ok(target.into_string().ok()),
            // `EINVAL` is what is no link; a handle of it gives `ENOENT`.
            Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => Ok(None),
            Err(error) => Err(self.io(path, error)),
        }
    }

    /// `None` for what is not there. Everything else that goes wrong is an error.
    fn open_at(&self, path: &str, flags: OFlags) -> Result<Option<OwnedFd>, ReadError> {
        let flags = flags | OFlags::CLOEXEC;
        let opened = if self.confined {
            let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
            rustix::fs::openat2(&*self.handle, path, flags, Mode::empty(), resolve)
        } else {
            rustix::fs::openat(&*self.handle, path, flags, Mode::empty())
        };
        match opened {
            Ok(handle) => Ok(Some(handle)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV | Errno::NXIO | Errno::SRCH) => {
                Ok(None)
            }
            Err(error) => Err(self.io(path, error)),
        }
    }

    fn can_confine(&self) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat2(&*self.handle, ".", flags, Mode::empty(), ResolveFlags::IN_ROOT).is_ok()
    }

    fn io(&self, path: &str, error: Errno) -> ReadError {
        let path = format!("{}/{path}", self.shown.trim_end_matches('/'));
        ReadError::Io { path, source: error.into() }
    }
}
