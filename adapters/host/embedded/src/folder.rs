//! The folder that the simulated guests live in, shared by any number of processes.
//!
//! A guest is up to three files, and marks beside them: `UUID.inactive.xml` (the definition the next boot takes),
//! `UUID.live.xml` (what it was started from) and `UUID.running.json` (affinities and pages). The
//! last one decides: a guest runs exactly while it exists, so starting writes it last and stopping
//! takes it away first, and a process killed in between leaves either state whole.
//!
//! Every file is written beside its place, flushed and renamed. A lock file is held for each change
//! and shared by each look, so nobody sees half a change made by a live process either.

use crate::running::Running;
use numawise_engine::ports::PortError;
use numawise_model::GuestUuid;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const INACTIVE: &str = ".inactive.xml";
const LIVE: &str = ".live.xml";
const RUNNING: &str = ".running.json";
/// Beside a running guest that stands still, on its way to another folder.
const PAUSED: &str = ".paused";
/// Beside a definition that is started with its host.
const AUTOSTART: &str = ".autostart";

pub struct Folder {
    dir: PathBuf,
}

/// The folder while nobody changes it.
pub struct View<'f> {
    dir: &'f Path,
    _lock: File,
}

/// The folder while only we change it.
pub struct Change<'f>(View<'f>);

impl<'f> Deref for Change<'f> {
    type Target = View<'f>;

    fn deref(&self) -> &View<'f> {
        &self.0
    }
}

impl Folder {
    /// Makes the folder when it is not there. Definitions hold secrets: nobody else may read it.
    pub fn open(dir: &Path) -> Result<Self, PortError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|error| failed("create the folder", dir, &error))?;
        let folder = Self { dir: dir.to_owned() };
        folder.lock_file()?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.dir
    }

    pub fn view(&self) -> Result<View<'_>, PortError> {
        let lock = self.lock_file()?;
        lock.lock_shared().map_err(|error| failed("lock", &self.dir, &error))?;
        Ok(View { dir: &self.dir, _lock: lock })
    }

    pub fn change(&self) -> Result<Change<'_>, PortError> {
        let lock = self.lock_file()?;
        lock.lock().map_err(|error| failed("lock", &self.dir, &error))?;
        Ok(Change(View { dir: &self.dir, _lock: lock }))
    }

    fn lock_file(&self) -> Result<File, PortError> {
        let path = self.dir.join("lock");
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| failed("open", &path, &error))
    }
}

impl View<'_> {
    /// Every guest that is defined or runs.
    pub fn guests(&self) -> Result<BTreeSet<GuestUuid>, PortError> {
        let mut guests = BTreeSet::new();
        let entries = fs::read_dir(self.dir).map_err(|e| failed("list", self.dir, &e))?;
        for entry in entries {
            let entry = entry.map_err(|error| failed("list", self.dir, &error))?;
            let name = entry.file_name();
            let uuid = name
                .to_str()
                .and_then(|name| name.strip_suffix(INACTIVE).or(name.strip_suffix(RUNNING)));
            if let Some(uuid) = uuid {
                guests.insert(GuestUuid(uuid.to_owned()));
            }
        }
        Ok(guests)
    }

    pub fn inactive(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        read(&self.file(guest, INACTIVE))
    }

    /// What the guest was started from; `None` while it is off.
    pub fn live(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        if !self.is_running(guest)? {
            return Ok(None);
        }
        let path = self.file(guest, LIVE);
        match read(&path)? {
            Some(xml) => Ok(Some(xml)),
            None => Err(PortError::Unreadable(format!(
                "simulated host: guest {guest} runs, but {} is gone; force the guest off and start \
                 it again",
                path.display()
            ))),
        }
    }

    pub fn is_running(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        let path = self.file(guest, RUNNING);
        path.try_exists().map_err(|error| failed("look at", &path, &error))
    }

    pub fn running(&self, guest: &GuestUuid) -> Result<Option<Running>, PortError> {
        let path = self.file(guest, RUNNING);
        let Some(text) = read(&path)? else { return Ok(None) };
        Running::from_json(&text).map(Some).map_err(|error| {
            PortError::Unreadable(format!(
                "simulated host: {} cannot be understood: {error}; remove the file to have the \
                 guest counted as off",
                path.display()
            ))
        })
    }

    pub fn is_paused(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        Ok(self.is_running(guest)? && self.has(guest, PAUSED)?)
    }

    pub fn autostarts(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        self.has(guest, AUTOSTART)
    }

    fn has(&self, guest: &GuestUuid, suffix: &str) -> Result<bool, PortError> {
        let path = self.file(guest, suffix);
        path.try_exists().map_err(|error| failed("look at", &path, &error))
    }

    fn file(&self, guest: &GuestUuid, suffix: &str) -> PathBuf {
        self.dir.join(format!("{guest}{suffix}"))
    }
}

impl Change<'_> {
    pub fn write_inactive(&self, guest: &GuestUuid, xml: &str) -> Result<(), PortError> {
        self.write(&self.file(guest, INACTIVE), xml)
    }

    pub fn remove_inactive(&self, guest: &GuestUuid) -> Result<(), PortError> {
        self.remove(&self.file(guest, INACTIVE))?;
        self.remove(&self.file(guest, AUTOSTART))
    }

    pub fn set_paused(&self, guest: &GuestUuid, paused: bool) -> Result<(), PortError> {
        self.set(guest, PAUSED, paused)
    }

    pub fn set_autostart(&self, guest: &GuestUuid, on: bool) -> Result<(), PortError> {
        self.set(guest, AUTOSTART, on)
    }

    fn set(&self, guest: &GuestUuid, suffix: &str, on: bool) -> Result<(), PortError> {
        let path = self.file(guest, suffix);
        if on { self.write(&path, "") } else { self.remove(&path) }
    }

    /// The guest runs from here on.
    pub fn write_started(
        &self,
        guest: &GuestUuid,
        live_xml: &str,
        running: &Running,
    ) -> Result<(), PortError> {
        self.write(&self.file(guest, LIVE), live_xml)?;
        self.write_running(guest, running)
    }

    pub fn write_running(&self, guest: &GuestUuid, running: &Running) -> Result<(), PortError> {
        let path = self.file(guest, RUNNING);
        let json = running.to_json().map_err(|error| {
            PortError::Failed(format!("simulated host: writing {}: {error}", path.display()))
        })?;
        self.write(&path, &json)
    }

    /// The guest is off from here on.
    pub fn remove_running(&self, guest: &GuestUuid) -> Result<(), PortError> {
        self.remove(&self.file(guest, RUNNING))?;
        self.remove(&self.file(guest, PAUSED))?;
        self.remove(&self.file(guest, LIVE))
    }

    /// Plants a fault; see `take_fault`.
    pub fn plant_fault(&self, operation: &str) -> Result<(), PortError> {
        self.write(&self.fault_file(operation), "")
    }

    /// Whether a fault was planted for the operation; it is used up.
    pub fn take_fault(&self, operation: &str) -> Result<bool, PortError> {
        let path = self.fault_file(operation);
        let planted = path.try_exists().map_err(|error| failed("look at", &path, &error))?;
        if planted {
            self.remove(&path)?;
        }
        Ok(planted)
    }

    fn fault_file(&self, operation: &str) -> PathBuf {
        self.dir.join(format!("fail-next-{operation}"))
    }

    /// Old or new, never half: written beside, flushed, renamed, and the name made durable.
    fn write(&self, path: &Path, text: &str) -> Result<(), PortError> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        write_flushed(&beside, text)
            .and_then(|()| fs::rename(&beside, path))
            .and_then(|()| self.flush_names())
            .map_err(|error| failed("write", path, &error))
    }

    /// Removing what is not there is no error: a killed process may have been here before.
    fn remove(&self, path: &Path) -> Result<(), PortError> {
        match fs::remove_file(path) {
            Ok(()) => self.flush_names().map_err(|error| failed("remove", path, &error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("remove", path, &error)),
        }
    }

    fn flush_names(&self) -> io::Result<()> {
        File::open(self.dir)?.sync_all()
    }
}

fn write_flushed(path: &Path, text: &str) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn read(path: &Path) -> Result<Option<String>, PortError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err(PortError::Unreadable(format!("simulated host: {} is no UTF-8", path.display())))
        }
        Err(error) => Err(failed("read", path, &error)),
    }
}

fn failed(action: &str, path: &Path, error: &io::Error) -> PortError {
    let text = format!("simulated host: cannot {action} {}: {error}", path.display());
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            PortError::NoAccess(format!("{text}; run as its owner, or name another folder"))
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            PortError::Failed(format!("{text}; make room there and try again"))
        }
        _ => PortError::Failed(text),
    }
}
