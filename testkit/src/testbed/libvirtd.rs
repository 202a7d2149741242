//! A libvirtd on this machine that nobody else sees.
//!
//! It has its own mount, PID, network and control group namespaces over the prepared root: neither
//! its definitions nor its networks, ports or groups meet those of the machine's libvirt or of
//! another test. QEMU's processes are ordinary ones seen from outside, so /proc shows everything a
//! verification reads; only the numbers in libvirt's own PID files are those of the namespace.

use super::cache::at;
use super::enclosure::{Enclosure, OWN_ROOT, write_scripts};
use super::{Root, Unavailable, or_skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCRIPTS: &[(&str, &str)] = &[
    ("libvirtd.sh", include_str!("scripts/libvirtd.sh")),
    ("inside.sh", include_str!("scripts/libvirtd-inside.sh")),
    ("own-root.sh", OWN_ROOT),
];

/// The longest path of a socket, with its final zero.
const SOCKET_PATH_BYTES: usize = 108;

/// A running libvirtd, which ends with this value or with this process.
pub struct PrivateLibvirtd {
    enclosure: Enclosure,
    folder: PathBuf,
}

impl PrivateLibvirtd {
    /// Ready for connections when it returns. Without a test bed: one line, and nothing.
    pub fn start() -> Option<Self> {
        or_skip(Root::find().and_then(|root| Self::from_root(&root)))
    }

    pub(super) fn from_root(root: &Root) -> Result<Self, Unavailable> {
        let folder = new_folder()?;
        for part in ["run", "shared", "top"] {
            let path = folder.join(part);
            fs::create_dir(&path).map_err(at("create", &path))?;
        }
        write_scripts(&folder, SCRIPTS)?;
        let script = folder.join("libvirtd.sh");
        let log = folder.join("script.log");
        let mut enclosure = Enclosure::start(&script, &[&folder, root.path()], &log)?;
        if let Err(error) = enclosure.ask("start") {
            let said: Vec<String> = [log, folder.join("libvirtd.log")]
                .iter()
                .filter_map(|path| fs::read_to_string(path).ok())
                .collect();
            let what = format!("starting a libvirtd ({error})");
            return Err(Unavailable::Failed { what, said: said.join("; ") });
        }
        Ok(Self { enclosure, folder })
    }

    /// For `virsh -c` and `--connect`.
    pub fn uri(&self) -> String {
        let socket = socket_in(&self.folder);
        format!("qemu:///system?socket={}", socket.display())
    }

    /// A folder that has the same name for the daemon and its guests as it has here: for kernels,
    /// disk images and logs of serial consoles.
    pub fn folder(&self) -> PathBuf {
        self.folder.join("shared")
    }

    /// What the daemon itself has said so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("libvirtd.log")).unwrap_or_default()
    }

    /// The machine's virsh on this daemon.
    ///
    /// # Panics
    ///
    /// When there is no virsh, which `cargo xtask test` installs.
    pub fn virsh(&self, args: &[&str]) -> Output {
        Command::new("virsh")
            .args(["--connect", &self.uri()])
            .args(args)
            .env("LC_ALL", "C")
            .output()
            .unwrap_or_else(|error| panic!("virsh (libvirt-clients) cannot be started: {error}"))
    }

    /// What virsh printed.
    ///
    /// # Panics
    ///
    /// When virsh did not succeed, with what it said.
    pub fn virsh_text(&self, args: &[&str]) -> String {
        let output = self.virsh(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "virsh {args:?}: {}: {said}", output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// SIGKILL for libvirtd. Its guests live on.
    ///
    /// # Panics
    ///
    /// When it was not running.
    pub fn kill_daemon(&mut self) {
        self.order("kill");
    }

    /// Starts libvirtd again after [`Self::kill_daemon`]; it finds its guests.
    ///
    /// # Panics
    ///
    /// When it does not come up.
    pub fn restart_daemon(&mut self) {
        self.order("start");
    }

    /// Fills the file system in which libvirt keeps its definitions, and only that one.
    ///
    /// # Panics
    ///
    /// When it cannot be filled.
    pub fn fill_definitions(&mut self) {
        self.order("fill");
    }

    /// The end of [`Self::fill_definitions`].
    ///
    /// # Panics
    ///
    /// When it was not filled.
    pub fn drain_definitions(&mut self) {
        self.order("drain");
    }

    /// The process whose end is the end of it all.
    pub fn keeper_pid(&self) -> u32 {
        self.enclosure.pid()
    }

    fn order(&mut self, word: &str) {
        if let Err(error) = self.enclosure.ask(word) {
            panic!("{error}; libvirtd said: {}", self.log());
        }
    }
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join("run/libvirt-sock")
}

/// In the folder for temporary files, unless sockets there would have too long a name.
fn new_folder() -> Result<PathBuf, Unavailable> {
    let usual = std::env::temp_dir();
    let room = |dir: &Path| socket_in(&dir.join("numawise-XXXXXX")).as_os_str().len();
    let parent = if room(&usual) < SOCKET_PATH_BYTES { usual } else { PathBuf::from("/tmp") };
    let folder = tempfile::Builder::new()
        .prefix("numawise-")
        .tempdir_in(&parent)
        .map_err(at("create a folder in", &parent))?;
    // Its script removes it, also when nobody is left to do it here.
    Ok(folder.keep())
}
