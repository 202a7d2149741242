//! The Debian root that everything else in the test bed runs from.
//!
//! It is made by mmdebstrap in about a minute and half a gigabyte, from the machine's own package
//! mirror where that carries the release. The release is fixed, since its libvirt 9.0 and QEMU 7.2
//! have the defects the product must live with. `scripts/furnish.sh` says what is in it.

use super::Unavailable;
use super::cache::{Cache, at, ending_with_us, finish};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SUITE: &str = "bookworm";

const PACKAGES: &[&str] = &[
    "busybox-static",
    "cpio",
    "e2fsprogs",
    "iproute2",
    "libvirt-clients",
    "libvirt-daemon",
    "libvirt-daemon-driver-qemu",
    "numactl",
    "procps",
    "qemu-guest-agent",
    "qemu-system-x86",
    "qemu-utils",
    "socat",
    "systemd-standalone-tmpfiles",
];

/// What a root is made by: a change to one of these is a new key.
const SCRIPTS: &[(&str, &str)] = &[
    ("furnish.sh", include_str!("scripts/furnish.sh")),
    ("guest-init.sh", include_str!("scripts/guest-init.sh")),
];

/// A release with a QEMU that has `smp-cache` (10.0), for what the older one can only refuse. It has
/// no kernel of its own: its tiny guest is the older root's.
const NEWER_SUITE: &str = "trixie";

const NEWER_PACKAGES: &[&str] = &[
    "iproute2",
    "libvirt-clients",
    "libvirt-daemon",
    "libvirt-daemon-driver-qemu",
    "procps",
    "qemu-system-x86",
    "socat",
    "systemd-standalone-tmpfiles",
];

const NEWER_SCRIPTS: &[(&str, &str)] = &[("furnish.sh", include_str!("scripts/furnish-newer.sh"))];

/// A root that is complete: it got its name only when it was.
#[derive(Clone, Debug)]
pub struct Root {
    cache: Cache,
    path: PathBuf,
}

impl Root {
    /// The prepared root, if this machine can use one.
    pub fn find() -> Result<Self, Unavailable> {
        can_be_used_here()?;
        let root = Self::of(Cache::of_user());
        if root.path.is_dir() { Ok(root) } else { Err(Unavailable::NotPrepared { at: root.path }) }
    }

    /// The root of the newer release, if it was prepared.
    pub fn find_newer() -> Result<Self, Unavailable> {
        can_be_used_here()?;
        let root = Self::newer(Cache::of_user());
        if root.path.is_dir() { Ok(root) } else { Err(Unavailable::NotPrepared { at: root.path }) }
    }

    fn of(cache: Cache) -> Self {
        let mut parts = vec![SUITE];
        parts.extend(PACKAGES);
        parts.extend(SCRIPTS.iter().map(|(_, text)| *text));
        let path = cache.place("root", &parts);
        Self { cache, path }
    }

    fn newer(cache: Cache) -> Self {
        let older = Self::of(cache.clone()).path.display().to_string();
        let mut parts = vec![NEWER_SUITE, &older];
        parts.extend(NEWER_PACKAGES);
        parts.extend(NEWER_SCRIPTS.iter().map(|(_, text)| *text));
        let path = cache.place("newer", &parts);
        Self { cache, path }
    }

    /// Builds the root of the newer release unless it is there; the tiny guest comes from `self`.
    pub fn prepare_newer(&self) -> Result<Self, Unavailable> {
        let root = Self::newer(self.cache.clone());
        if root.path.is_dir() {
            return Ok(root);
        }
        let _lock = root.cache.lock("newer.lock")?;
        if root.path.is_dir() {
            return Ok(root);
        }
        root.cache.keep_only("newer", &root.path);
        let part = root.path.with_extension("part");
        let scripts = written(NEWER_SCRIPTS)?;
        let _ = fs::remove_dir_all(&part);
        let log = root.path.with_extension("log");
        let what = (NEWER_SUITE, NEWER_PACKAGES);
        mmdebstrap(what, &part, scripts.path(), None, &log)?;
        let guest = part.join("opt/guest");
        fs::create_dir_all(&guest).map_err(at("create", &guest))?;
        for file in ["vmlinuz", "initrd"] {
            let from = self.path.join("opt/guest").join(file);
            // The kernel is a link within the root.
            let from = if file == "vmlinuz" { self.path.join("opt/kernel/vmlinuz") } else { from };
            fs::copy(&from, guest.join(file)).map_err(at("copy", &from))?;
        }
        finish(&part, &root.path)?;
        Ok(root)
    }

    /// Builds the root unless it is there. Two at once: one waits and then finds it. Killed half
    /// way: the next one starts again and removes the rest.
    pub fn prepare() -> Result<Self, Unavailable> {
        can_be_used_here()?;
        let root = Self::of(Cache::of_user());
        if root.path.is_dir() {
            return Ok(root);
        }
        let _lock = root.cache.lock("build.lock")?;
        if root.path.is_dir() {
            return Ok(root);
        }
        root.cache.keep_only("root", &root.path);
        let part = root.path.with_extension("part");
        let scripts = written(SCRIPTS)?;
        let log = root.path.with_extension("log");
        let mut made = Err(Unavailable::Lacks { what: "a mirror" });
        for mirror in mirrors() {
            let _ = fs::remove_dir_all(&part);
            let what = (SUITE, PACKAGES);
            made = mmdebstrap(what, &part, scripts.path(), mirror.as_deref(), &log);
            if made.is_ok() {
                break;
            }
        }
        made?;
        finish(&part, &root.path)?;
        Ok(root)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }
}

/// What no preparation brings.
fn can_be_used_here() -> Result<(), Unavailable> {
    if !rustix::process::geteuid().is_root() {
        return Err(Unavailable::Lacks { what: "to be run as root" });
    }
    if std::env::consts::ARCH != "x86_64" {
        return Err(Unavailable::Lacks { what: "an x86-64 machine" });
    }
    let namespaces = Command::new("unshare")
        .args(["--mount", "--pid", "--net", "--uts", "--cgroup", "--fork", "true"])
        .stderr(Stdio::null())
        .status();
    match namespaces {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Unavailable::Lacks { what: "unshare, and a machine that allows namespaces" }),
    }
}

fn written(scripts: &[(&str, &str)]) -> Result<tempfile::TempDir, Unavailable> {
    let folder = tempfile::tempdir().map_err(at("create a folder in", &std::env::temp_dir()))?;
    for (name, text) in scripts {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(at("write", &path))?;
    }
    Ok(folder)
}

fn mmdebstrap(
    (suite, packages): (&str, &[&str]),
    into: &Path,
    scripts: &Path,
    mirror: Option<&Path>,
    log: &Path,
) -> Result<(), Unavailable> {
    let quoted = |path: &Path| format!("'{}'", path.display());
    let furnish = format!("sh {} \"$1\" {}", quoted(&scripts.join("furnish.sh")), quoted(scripts));
    let mut command = ending_with_us("mmdebstrap");
    command.args(["--quiet", "--variant=minbase", "--mode=root", "--format=directory"]);
    command.arg("--aptopt=APT::Install-Recommends \"false\"");
    for option in proxies() {
        command.arg(format!("--aptopt={option}"));
    }
    for unread in ["doc", "man", "locale"] {
        command.arg(format!("--dpkgopt=path-exclude=/usr/share/{unread}/*"));
    }
    command.arg(format!("--include={}", packages.join(",")));
    command.arg(format!("--customize-hook={furnish}"));
    command.arg(suite).arg(into).args(mirror);
    // Inside its namespace nobody could tell this from another failure.
    let programs = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&programs).any(|dir| dir.join("mmdebstrap").is_file()) {
        return Err(Unavailable::Lacks { what: "mmdebstrap" });
    }
    let said = fs::File::create(log).map_err(at("create", log))?;
    let same = said.try_clone().map_err(at("open", log))?;
    let status = command.stdin(Stdio::null()).stdout(said).stderr(same).status();
    match status {
        Ok(status) if status.success() => {
            let _ = fs::remove_file(log);
            Ok(())
        }
        Ok(status) => {
            let text = fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines[lines.len().saturating_sub(5)..].join("; ");
            let what = format!("mmdebstrap (all it said is in {})", log.display());
            Err(Unavailable::Failed { what, said: format!("{status}: {last}") })
        }
        Err(_) => Err(Unavailable::Lacks { what: "setpriv (util-linux)" }),
    }
}

/// The machine's own list of mirrors, when it is for the same release, and then what mmdebstrap
/// knows by itself: a list may name others, whose keys are not here.
fn mirrors() -> Vec<Option<PathBuf>> {
    let mut found: Vec<Option<PathBuf>> =
        ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"]
            .into_iter()
            .map(PathBuf::from)
            .filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(SUITE)))
            .map(Some)
            .take(1)
            .collect();
    found.push(None);
    found
}

/// apt's way to the network, where it has been told one.
fn proxies() -> Vec<String> {
    let dump = Command::new("apt-config").args(["dump", "Acquire"]).output();
    let text = dump.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default()
        .lines()
        .filter(|line| line.contains("::Proxy") && !line.contains("\"\""))
        .map(|line| line.trim_end_matches(';').to_owned())
        .collect()
}
