//! Where the files are: handles below a root, and errors that name the whole path.

use numawise_engine::ports::PortError;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::path::Path;

pub struct Place {
    root: OwnedFd,
    shown: String,
    live: bool,
}

impl Place {
    pub fn live() -> Result<Self, PortError> {
        Self::open_root(Path::new("/"), true)
    }

    pub fn at(folder: &Path) -> Result<Self, PortError> {
        let place = Self::open_root(folder, false)?;
        // Kernels before 5.6 cannot keep a path below a folder; there nothing is written.
        match place.open("/", OFlags::PATH) {
            Ok(_) => Ok(place),
            Err(error) => Err(PortError::Failed(format!(
                "{}: this kernel cannot keep paths below a folder ({error}); Linux 5.6 or newer is \
                 wanted for --root",
                folder.display()
            ))),
        }
    }

    fn open_root(folder: &Path, live: bool) -> Result<Self, PortError> {
        let shown = folder.display().to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(folder, flags, Mode::empty()) {
            Ok(root) => Ok(Self { root, shown, live }),
            Err(Errno::NOENT | Errno::NOTDIR) => {
                Err(PortError::NotFound(format!("{shown}: there is no such folder")))
            }
            Err(error) => Err(port_error(&format!("cannot open {shown}"), error)),
        }
    }

    pub fn is_live(&self) -> bool {
        self.live
    }

    pub fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let below = match path.trim_start_matches('/') {
            "" => ".",
            below => below,
        };
        let flags = flags | OFlags::CLOEXEC;
        if self.live {
            return rustix::fs::openat(&self.root, below, flags, Mode::empty());
        }
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.root, below, flags, Mode::empty(), resolve)
    }

    /// The folder that a path is in, and the name there.
    pub fn parent<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), Errno> {
        let (folder, name) = path.rsplit_once('/').ok_or(Errno::INVAL)?;
        if name.is_empty() || name == "." || name == ".." {
            return Err(Errno::INVAL);
        }
        Ok((self.open(folder, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    fn full(&self, path: &str) -> String {
        format!("{}{path}", self.shown.trim_end_matches('/'))
    }

    pub fn failed(&self, action: &str, path: &str, error: Errno) -> PortError {
        port_error(&format!("cannot {action} {}", self.full(path)), error)
    }

    pub fn no_plain_file(&self, path: &str) -> PortError {
        let full = self.full(path);
        PortError::Failed(format!(
            "{full} is a link or no file, and is left alone; put a plain file there, or move it away"
        ))
    }

    pub fn no_text(&self, path: &str) -> PortError {
        PortError::Unreadable(format!("{} is no UTF-8 text", self.full(path)))
    }
}

fn port_error(what: &str, error: Errno) -> PortError {
    let why = std::io::Error::from(error);
    match error {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            PortError::NoAccess(format!("{what}: {why}; tuning a host needs root on it"))
        }
        _ => PortError::Failed(format!("{what}: {why}")),
    }
}
