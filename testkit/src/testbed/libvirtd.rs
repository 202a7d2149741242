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
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCRIPTS: &[(&str, &str)] = &[
    ("libvirtd.sh", include_str!("scripts/libvirtd.sh")),
    ("inside.sh", include_str!("scripts/libvirtd-inside.sh")),
    ("own-root.sh", OWN_ROOT),
];

const TUNNEL: &str = "tunnel";

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

    /// The same with the libvirt and QEMU of a newer release, which has `smp-cache`.
    pub fn start_newer() -> Option<Self> {
        or_skip(Root::find_newer().and_then(|root| Self::from_root(&root)))
    }

    /// Another host: it sees the first one's [`Self::folder`] too, and is on one network with it.
    pub fn start_beside(&self) -> Option<Self> {
        or_skip(Root::find().and_then(|root| Self::start_in(&root, Some(self))))
    }

    pub(super) fn from_root(root: &Root) -> Result<Self, Unavailable> {
        Self::start_in(root, None)
    }

    fn start_in(root: &Root, beside: Option<&Self>) -> Result<Self, Unavailable> {
        let folder = new_folder()?;
        for part in ["run", "shared", "top"] {
            let path = folder.join(part);
            fs::create_dir(&path).map_err(at("create", &path))?;
        }
        write_scripts(&folder, SCRIPTS)?;
        let tunnel = folder.join(TUNNEL);
        fs::write(&tunnel, tunnel_script(root, &socket_in(&folder)))
            .and_then(|()| fs::set_permissions(&tunnel, fs::Permissions::from_mode(0o755)))
            .map_err(at("write", &tunnel))?;
        let (shares, net_of) = match beside {
            Some(first) => (format!("{}\n", first.folder().display()), first.in_its_network()?),
            None => (String::new(), String::new()),
        };
        for (name, text) in [("shares", shares), ("net-of", net_of)] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(at("write", &path))?;
        }
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

    /// The same daemon as another host: through a program, as by ssh, so that nobody looks at this
    /// machine's files for it.
    pub fn remote_uri(&self) -> String {
        format!("qemu+ext:///system?command={}", self.folder.join(TUNNEL).display())
    }

    /// A process in its network namespace.
    fn in_its_network(&self) -> Result<String, Unavailable> {
        let keeper = self.keeper_pid();
        let path = PathBuf::from(format!("/proc/{keeper}/task/{keeper}/children"));
        let children = fs::read_to_string(&path).map_err(at("read", &path))?;
        let first = children.split_whitespace().next();
        first.map(str::to_owned).ok_or(Unavailable::Lacks { what: "a first libvirtd" })
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

/// Standard input and output to a socket. The root has the program for it; this machine may not.
fn tunnel_script(root: &Root, socket: &Path) -> String {
    let root = root.path().display();
    format!(
        "#!/bin/sh\nexec '{root}/lib64/ld-linux-x86-64.so.2' --library-path \
         '{root}/lib/x86_64-linux-gnu:{root}/usr/lib/x86_64-linux-gnu' '{root}/usr/bin/socat' - \
         'UNIX-CONNECT:{}'\n",
        socket.display()
    )
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
