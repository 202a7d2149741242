//! What a machine must have besides the Rust toolchain, and how it gets it.
//!
//! A fresh Debian or Ubuntu machine is set up by `cargo xtask test` itself, when it runs as root.
//! Anybody else is told the one command to type, and the tests that lack their tool say that they
//! were skipped.

use crate::process::{output_of, shown};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One thing that tests or benchmarks use when it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// A program by its bare name, or a file by its absolute path.
    pub thing: &'static str,
    pub package: &'static str,
    pub used_for: &'static str,
}

/// `libvirt0`, which `libvirt-clients` depends on, carries the schemas.
pub const TEST_NEEDS: &[Need] = &[
    Need {
        thing: "virt-xml-validate",
        package: "libvirt-clients",
        used_for: "that edited domain XML stays valid",
    },
    Need {
        thing: "xmllint",
        package: "libxml2-utils",
        used_for: "virt-xml-validate, which calls it",
    },
    Need {
        thing: "/usr/share/libvirt/schemas/domain.rng",
        package: "libvirt0",
        used_for: "virt-xml-validate, which reads it",
    },
    Need {
        thing: "lstopo-no-graphics",
        package: "hwloc-nox",
        used_for: "a second opinion on topologies",
    },
    Need { thing: "virsh", package: "libvirt-clients", used_for: "the test bed's libvirt" },
    Need { thing: "mmdebstrap", package: "mmdebstrap", used_for: "making the test bed's root" },
    Need {
        thing: "/usr/share/keyrings/debian-archive-keyring.gpg",
        package: "debian-archive-keyring",
        used_for: "making the test bed's root",
    },
    Need { thing: "unshare", package: "util-linux", used_for: "the test bed's namespaces" },
    Need { thing: "/usr/sbin/mariadbd", package: "mariadb-server", used_for: "load on a MariaDB" },
    Need { thing: "pg_createcluster", package: "postgresql", used_for: "load on a PostgreSQL" },
    Need { thing: "sysbench", package: "sysbench", used_for: "that both tools mean the same" },
    Need { thing: "openssl", package: "openssl", used_for: "a certificate for load under TLS" },
];

pub const BENCH_NEEDS: &[Need] = &[
    Need { thing: "lscpu", package: "util-linux", used_for: "the peer on the live machine" },
    Need { thing: "lstopo-no-graphics", package: "hwloc-nox", used_for: "the peer on big trees" },
    Need { thing: "strace", package: "strace", used_for: "counting opened files" },
];

/// Installs what is missing where that is possible; gives back what is still missing.
pub fn set_up(needs: &[Need], install: bool) -> Vec<Need> {
    let missing = missing_of(needs);
    if missing.is_empty() || !install {
        return missing;
    }
    if !can_be_set_up() {
        return missing;
    }
    match install_packages(&packages_of(&missing)) {
        Ok(()) => {}
        Err(error) => eprintln!("xtask: set-up failed, going on without it: {error:#}"),
    }
    missing_of(needs)
}

/// Whether this is a Debian or Ubuntu machine on which we are root.
pub fn can_be_set_up() -> bool {
    rustix::process::geteuid().is_root() && find_program("apt-get").is_some()
}

/// One line for each thing that is not there, and the command that brings them all.
pub fn advice(missing: &[Need]) -> Vec<String> {
    if missing.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = missing
        .iter()
        .map(|need| {
            format!("missing: {} (for {}); what needs it is skipped", need.thing, need.used_for)
        })
        .collect();
    let packages: Vec<&str> = packages_of(missing).into_iter().collect();
    lines.push(format!(
        "to have everything, as root: apt-get update && apt-get install -y --no-install-recommends {}",
        packages.join(" ")
    ));
    lines
}

fn missing_of(needs: &[Need]) -> Vec<Need> {
    needs.iter().copied().filter(|need| !is_there(need.thing)).collect()
}

fn is_there(thing: &str) -> bool {
    if thing.starts_with('/') { Path::new(thing).exists() } else { find_program(thing).is_some() }
}

/// The first directory on the path that has it.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

fn packages_of(needs: &[Need]) -> BTreeSet<&'static str> {
    needs.iter().map(|need| need.package).collect()
}

/// A fresh image has no package lists at all; an old one has lists that name versions long gone.
/// The lists are fetched when the first try fails, and then once.
fn install_packages(packages: &BTreeSet<&'static str>) -> Result<()> {
    let first = apt_get("install", packages);
    if first.is_ok() {
        return first;
    }
    apt_get("update", &BTreeSet::new())?;
    apt_get("install", packages)
}

fn apt_get(verb: &str, packages: &BTreeSet<&'static str>) -> Result<()> {
    let mut command = Command::new("apt-get");
    // Waiting for a lock that somebody's own apt holds beats failing at once.
    command.args(["-q", "-o", "DPkg::Lock::Timeout=120", verb]);
    if verb == "install" {
        command.args(["-y", "--no-install-recommends"]);
    }
    command.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    eprintln!("$ {}", shown(&command));
    output_of(&mut command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURELY_MISSING: Need =
        Need { thing: "no-such-program-anywhere", package: "no-such-package", used_for: "nothing" };

    #[test]
    fn a_program_is_looked_for_on_the_path_and_a_file_where_it_is() {
        assert!(is_there("sh"));
        assert!(is_there("/proc/self"));
        assert!(!is_there(SURELY_MISSING.thing));
        assert!(!is_there("/no/such/file"));
    }

    #[test]
    fn nothing_is_installed_when_that_is_not_wanted() {
        assert_eq!(set_up(&[SURELY_MISSING], false), [SURELY_MISSING]);
    }

    #[test]
    fn the_advice_names_each_package_once() {
        let twice = [SURELY_MISSING, Need { thing: "another", ..SURELY_MISSING }];
        let advice = advice(&twice);
        assert_eq!(
            advice,
            [
                "missing: no-such-program-anywhere (for nothing); what needs it is skipped",
                "missing: another (for nothing); what needs it is skipped",
                "to have everything, as root: apt-get update && apt-get install -y \
                 --no-install-recommends no-such-package",
            ]
        );
        assert!(super::advice(&[]).is_empty());
    }
}
