//! Stories and docs are run as they are written: every `console` block, against the real binary.
//! `TRYCMD=overwrite cargo test -p numawise stories` writes what is printed today into them; read
//! the difference before you commit it.

use crate::bench::repository;
use crate::host_tree;
use numawise_testkit::testbed::PrivateLibvirtd;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Pages about a real libvirt. They run against one of the tests' own, and are skipped, which is
/// said, where that cannot be had. `virsh` in them speaks to the same one.
const ON_LIBVIRT: [&str; 2] = ["docs/doctor.md", "docs/libvirt.md"];

/// A page about two of them. In it the second is called `spare`, by the configuration.
const ON_TWO_LIBVIRTS: &str = "docs/migrate.md";

/// A command in a text runs in a folder of that text's own and on the hypervisor that the text is
/// about, unless it says otherwise: nothing of this machine is touched, and the text reads as a user
/// would type it.
fn wrapper(folder: &Path, name: &str, program: &str, connect: &str) -> PathBuf {
    let path = folder.join(name);
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' --connect '*) ;; *) set -- --connect '{connect}' \"$@\" ;; \
         esac\ncd '{}' && LC_ALL=C exec {program} \"$@\"\n",
        folder.display(),
    );
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(&path)
        .and_then(|mut file| file.write_all(script.as_bytes()))
        .expect("the wrapper is written");
    path
}

/// Files that the texts speak of.
fn lay_out(folder: &Path) {
    for entry in std::fs::read_dir(repository().join("stories/files")).expect("stories/files") {
        let from = entry.expect("an entry").path();
        let name = from.file_name().expect("files have names");
        std::fs::copy(&from, folder.join(name)).expect("copied");
    }
    for host in ["disturbed-64.tar.xz", "memory-only-nodes.tar.xz"] {
        let from = repository().join("fixtures/hosts").join(host);
        std::fs::copy(from, folder.join(host)).expect("copied");
    }
}

/// Two hosts of one make, with what is given away on them and their racks.
fn lay_out_fleet(folder: &Path) {
    std::fs::create_dir(folder).expect("a folder of hosts");
    for entry in std::fs::read_dir(repository().join("stories/fleet")).expect("stories/fleet") {
        let from = entry.expect("an entry").path();
        std::fs::copy(&from, folder.join(from.file_name().expect("a name"))).expect("copied");
    }
    let capture = repository().join("fixtures/hosts/two-socket-64.tar.xz");
    for name in ["node-a", "node-b"] {
        std::fs::copy(&capture, folder.join(name).with_extension("tar.xz")).expect("copied");
    }
}

/// On the simulated host in the text's own folder.
fn run(text: &Path) {
    run_on("embedded:", text);
}

fn run_on(connect: &str, text: &Path) {
    run_with(connect, "", text);
}

fn run_with(connect: &str, hosts: &str, text: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    lay_out(folder.path());
    let speaks_of_files =
        std::fs::read_to_string(text).is_ok_and(|text| text.contains("host-files"));
    if speaks_of_files {
        host_tree::write(&folder.path().join("host-files"));
    }
    if std::fs::read_to_string(text).is_ok_and(|text| text.contains("fleet-hosts")) {
        lay_out_fleet(&folder.path().join("fleet-hosts"));
    }
    let mut numawise = format!("'{}' --state state", env!("CARGO_BIN_EXE_numawise"));
    if !hosts.is_empty() {
        std::fs::write(folder.path().join("hosts.toml"), hosts).expect("written");
        numawise += " --config hosts.toml";
    }
    let cases = trycmd::TestCases::new();
    cases.register_bin("numawise", wrapper(folder.path(), "numawise", &numawise, connect));
    cases.register_bin("virsh", wrapper(folder.path(), "virsh", "virsh", connect));
    cases.case(text).run();
}

fn run_all_in(name: &str) {
    let mut texts: Vec<PathBuf> = std::fs::read_dir(repository().join(name))
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    texts.sort();
    assert!(!texts.is_empty(), "{name} has nothing in it");
    let mut apart: Vec<PathBuf> = ON_LIBVIRT.map(|page| repository().join(page)).to_vec();
    apart.push(repository().join(ON_TWO_LIBVIRTS));
    for text in texts.iter().filter(|text| !apart.contains(text)) {
        run(text);
    }
}

#[test]
fn the_readme_is_true() {
    run(&repository().join("README.md"));
}

#[test]
fn stories_are_true() {
    run_all_in("stories");
}

#[test]
fn docs_are_true() {
    run_all_in("docs");
}

#[test]
fn docs_of_a_real_libvirt_are_true() {
    for page in ON_LIBVIRT {
        let Some(daemon) = PrivateLibvirtd::start() else { return };
        run_on(&daemon.uri(), &repository().join(page));
    }
}

#[test]
fn docs_of_two_libvirts_are_true() {
    let Some(here) = PrivateLibvirtd::start() else { return };
    let Some(spare) = here.start_beside() else { return };
    let hosts = format!("[hosts]\nspare = \"{}\"\n", spare.remote_uri());
    run_with(&here.uri(), &hosts, &repository().join(ON_TWO_LIBVIRTS));
}
