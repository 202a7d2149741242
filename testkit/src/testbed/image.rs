//! The emulated host before it is started: its disk, and the state of its memory once libvirt
//! answers inside.
//!
//! A boot costs twenty seconds of two cores; going on from the kept state costs one or two. Both
//! belong to one QEMU and one set of arguments, so the key has all of them.

use super::cache::{at, ending_with_us, finish};
use super::enclosure::{Enclosure, OWN_ROOT, write_scripts};
use super::{Root, Unavailable};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const SCRIPTS: &[(&str, &str)] = &[
    ("image.sh", include_str!("scripts/image.sh")),
    ("host-init.sh", include_str!("scripts/host-init.sh")),
    ("host-answer.sh", include_str!("scripts/host-answer.sh")),
    ("host-first-stage.sh", include_str!("scripts/host-first-stage.sh")),
    ("emulated.sh", include_str!("scripts/emulated.sh")),
    ("inside.sh", include_str!("scripts/emulated-inside.sh")),
    ("own-root.sh", OWN_ROOT),
];

/// A disk and a state that are complete.
#[derive(Clone, Debug)]
pub struct Image {
    root: Root,
    path: PathBuf,
}

impl Image {
    /// The prepared image, and with it the prepared root.
    pub fn find() -> Result<Self, Unavailable> {
        let image = Self::of(Root::find()?);
        if image.path.is_dir() {
            Ok(image)
        } else {
            Err(Unavailable::NotPrepared { at: image.path })
        }
    }

    fn of(root: Root) -> Self {
        let name = root.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut parts = vec![name.as_str()];
        parts.extend(SCRIPTS.iter().map(|(_, text)| *text));
        let path = root.cache().place("emulated", &parts);
        Self { root, path }
    }

    /// Makes the disk and boots it once, unless that was done. As safe against a second one at the
    /// same time, and against being killed, as [`Root::prepare`].
    pub fn prepare(root: &Root) -> Result<Self, Unavailable> {
        let image = Self::of(root.clone());
        if image.path.is_dir() {
            return Ok(image);
        }
        let _lock = root.cache().lock("build.lock")?;
        if image.path.is_dir() {
            return Ok(image);
        }
        root.cache().keep_only("emulated", &image.path);
        let part = image.path.with_extension("part");
        fs::create_dir(&part).map_err(at("create", &part))?;
        image.make_disk(&part)?;
        let (mut enclosure, folder) = image.enclose(&part, &free_ports()?)?;
        if let Err(error) = enclosure.ask("freeze") {
            return Err(failure("booting the emulated host", &error, &folder));
        }
        drop(enclosure);
        finish(&part, &image.path)?;
        Ok(image)
    }

    fn make_disk(&self, part: &Path) -> Result<(), Unavailable> {
        let scripts =
            tempfile::tempdir().map_err(at("create a folder in", &std::env::temp_dir()))?;
        let top = scripts.path().join("top");
        fs::create_dir(&top).map_err(at("create", &top))?;
        write_scripts(scripts.path(), SCRIPTS)?;
        let made = ending_with_us("bash")
            .arg(scripts.path().join("image.sh"))
            .args([scripts.path(), self.root.path(), part])
            .stdin(Stdio::null())
            .output()
            .map_err(at("start setpriv for", part))?;
        if made.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
        Err(Unavailable::Failed { what: "making the emulated host's disk".to_owned(), said })
    }

    /// A script that waits for words, in a folder of its own.
    pub(super) fn start(&self, ports: &Ports) -> Result<(Enclosure, PathBuf), Unavailable> {
        self.enclose(&self.path, ports)
    }

    fn enclose(&self, disk: &Path, ports: &Ports) -> Result<(Enclosure, PathBuf), Unavailable> {
        let temporary = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("numawise-")
            .tempdir_in(&temporary)
            .map_err(at("create a folder in", &temporary))?
            .keep();
        let top = folder.join("top");
        fs::create_dir(&top).map_err(at("create", &top))?;
        write_scripts(&folder, SCRIPTS)?;
        let lock = self.root.cache().folder().join("emulated.lock");
        let [commands, libvirt] = [ports.commands, ports.libvirt].map(|port| port.to_string());
        let args: [&Path; 6] =
            [&folder, self.root.path(), disk, &lock, commands.as_ref(), libvirt.as_ref()];
        let enclosure =
            Enclosure::start(&folder.join("emulated.sh"), &args, &folder.join("script.log"))?;
        Ok((enclosure, folder))
    }
}

/// Where the emulated host is reached on this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub commands: u16,
    pub libvirt: u16,
}

/// Two that were free a moment ago. QEMU fails to start if one was taken meanwhile.
pub(super) fn free_ports() -> Result<Ports, Unavailable> {
    let address = "127.0.0.1:0";
    let listen = || std::net::TcpListener::bind(address).map_err(at("listen on", address.as_ref()));
    let (first, second) = (listen()?, listen()?);
    let port = |listener: std::net::TcpListener| {
        listener.local_addr().map(|local| local.port()).map_err(at("listen on", address.as_ref()))
    };
    Ok(Ports { commands: port(first)?, libvirt: port(second)? })
}

/// What its script, QEMU and the host's console have said last.
pub(super) fn failure(what: &str, error: &Unavailable, folder: &Path) -> Unavailable {
    let last = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("; ")
    };
    let said: Vec<String> =
        ["script.log", "qemu.log", "serial.log"].into_iter().map(last).collect();
    Unavailable::Failed { what: format!("{what} ({error})"), said: said.join(" | ") }
}
