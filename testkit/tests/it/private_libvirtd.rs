//! A private libvirtd runs guests, obeys, and leaves nothing behind.

use crate::scene::{becomes, deaf_domain, processes_with, tiny_domain};
use numawise_testkit::testbed::{PrivateLibvirtd, TinyGuest};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn defined(libvirtd: &PrivateLibvirtd, name: &str, xml: &str) {
    let path = libvirtd.folder().join(format!("{name}.xml"));
    fs::write(&path, xml).expect("the shared folder can be written");
    libvirtd.virsh_text(&["define", &path.display().to_string()]);
}

/// Control groups of this name, in whatever hierarchy.
fn groups_named(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy() == name {
                    found.push(entry.path());
                }
                open.push(entry.path());
            }
        }
    }
    found
}

fn nothing_is_left_of(folder: &Path, keeper: u32) {
    let name = folder.file_name().expect("it has a name").to_string_lossy().into_owned();
    let gone = becomes(Duration::from_secs(30), || {
        !folder.exists() && !Path::new(&format!("/proc/{keeper}")).exists()
    });
    let left = processes_with(&name);
    assert!(gone && left.is_empty(), "left: folder {}, processes {left:?}", folder.exists());
    assert_eq!(groups_named(&name), Vec::<PathBuf>::new());
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts can be read");
    assert!(!mounts.contains(&name), "{mounts}");
}

fn own_folder(libvirtd: &PrivateLibvirtd) -> PathBuf {
    libvirtd.folder().parent().expect("the shared folder lies in its own").to_path_buf()
}

#[test]
fn a_domain_is_defined_started_and_destroyed_and_nothing_is_left() {
    let Some(libvirtd) = PrivateLibvirtd::start() else { return };
    let (folder, keeper) = (own_folder(&libvirtd), libvirtd.keeper_pid());
    assert_eq!(libvirtd.virsh_text(&["list", "--all", "--name"]).trim(), "");
    defined(&libvirtd, "bed-deaf", &deaf_domain("bed-deaf"));
    libvirtd.virsh_text(&["start", "bed-deaf"]);
    // QEMU is an ordinary process here, under its number here.
    let seen = processes_with("guest=bed-deaf,");
    assert_eq!(seen.len(), 1, "{seen:?}");
    libvirtd.virsh_text(&["destroy", "bed-deaf"]);
    assert_eq!(processes_with("guest=bed-deaf,"), Vec::<u32>::new());
    libvirtd.virsh_text(&["start", "bed-deaf"]);
    drop(libvirtd);
    nothing_is_left_of(&folder, keeper);
    assert_eq!(processes_with("guest=bed-deaf,"), Vec::<u32>::new());
}

#[test]
fn guests_live_on_without_their_daemon() {
    let Some(mut libvirtd) = PrivateLibvirtd::start() else { return };
    defined(&libvirtd, "bed-orphan", &deaf_domain("bed-orphan"));
    libvirtd.virsh_text(&["start", "bed-orphan"]);
    let before = processes_with("guest=bed-orphan,");
    libvirtd.kill_daemon();
    assert!(!libvirtd.virsh(&["list"]).status.success());
    assert_eq!(processes_with("guest=bed-orphan,"), before);
    libvirtd.restart_daemon();
    assert_eq!(libvirtd.virsh_text(&["domstate", "bed-orphan"]).trim(), "running");
    // Killed behind libvirt's back, it is noticed.
    let pid = before[0].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().expect("kill runs").success());
    let off = becomes(Duration::from_secs(10), || {
        libvirtd.virsh_text(&["domstate", "bed-orphan"]).trim() == "shut off"
    });
    assert!(off, "{}", libvirtd.log());
}

#[test]
fn a_full_disk_refuses_definitions_and_an_empty_one_takes_them() {
    let Some(mut libvirtd) = PrivateLibvirtd::start() else { return };
    libvirtd.fill_definitions();
    let path = libvirtd.folder().join("full.xml");
    fs::write(&path, deaf_domain("bed-full")).expect("the shared folder is not full");
    let refused = libvirtd.virsh(&["define", &path.display().to_string()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("No space left on device"), "{said}");
    libvirtd.drain_definitions();
    defined(&libvirtd, "bed-full", &deaf_domain("bed-full"));
}

#[test]
fn the_tiny_guest_says_what_it_sees_and_obeys_the_agent_and_the_button() {
    let Some(libvirtd) = PrivateLibvirtd::start() else { return };
    for (name, agent) in [("bed-agent", true), ("bed-button", false)] {
        let console = libvirtd.folder().join(format!("{name}.log"));
        let said = || fs::read_to_string(&console).unwrap_or_default();
        defined(&libvirtd, name, &tiny_domain(name, &console.display().to_string(), agent));
        libvirtd.virsh_text(&["start", name]);
        let up = becomes(Duration::from_secs(120), || said().contains(TinyGuest::READY));
        assert!(up, "{}", said());
        assert!(said().contains("GUEST-NODES 0-1"), "{}", said());
        assert!(said().contains("GUEST-NODE 1 cpus=1 "), "{}", said());
        if agent {
            // The guest is up a moment before its agent is heard.
            let asked = || libvirtd.virsh(&["guestvcpus", name]);
            becomes(Duration::from_secs(60), || asked().status.success());
            let cpus = libvirtd.virsh_text(&["guestvcpus", name]);
            assert!(cpus.contains("0-1"), "{cpus}");
        }
        let how = if agent { "agent" } else { "acpi" };
        libvirtd.virsh_text(&["shutdown", name, "--mode", how]);
        let off = becomes(Duration::from_secs(60), || {
            libvirtd.virsh_text(&["domstate", name]).trim() == "shut off"
        });
        assert!(off, "{}", said());
        assert_eq!(said().contains(TinyGuest::BUTTON), !agent);
    }
}

/// Where the victim says that it is ready, and what it has started.
const NOTE: &str = "NUMAWISE_VICTIM_NOTE";

/// Run by the test below in a process of its own, and killed.
#[test]
#[ignore = "the victim of nothing_is_left_after_its_user_is_killed"]
fn victim() {
    let Some(note) = std::env::var_os(NOTE) else { return };
    let Some(libvirtd) = PrivateLibvirtd::start() else { return };
    defined(&libvirtd, "bed-victim", &deaf_domain("bed-victim"));
    libvirtd.virsh_text(&["start", "bed-victim"]);
    let text = format!("{}\n{}", libvirtd.keeper_pid(), own_folder(&libvirtd).display());
    let part = Path::new(&note).with_extension("part");
    fs::write(&part, text).and_then(|()| fs::rename(&part, &note)).expect("the note is written");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn nothing_is_left_after_its_user_is_killed() {
    // Only to say once, and here, why this is skipped.
    if PrivateLibvirtd::start().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder for the note");
    let note = dir.path().join("note");
    let mut user = Command::new(std::env::current_exe().expect("tests have a binary"))
        .args(["--exact", "private_libvirtd::victim", "--ignored"])
        .env(NOTE, &note)
        .stdout(Stdio::null())
        .spawn()
        .expect("the test binary runs");
    let started = becomes(Duration::from_secs(60), || note.exists());
    user.kill().expect("it is our child");
    user.wait().expect("it is our child");
    assert!(started, "the victim never had its guest");
    let text = fs::read_to_string(&note).expect("the note can be read");
    let (keeper, folder) = text.split_once('\n').expect("two lines");
    nothing_is_left_of(Path::new(folder), keeper.parse().expect("a number"));
    assert_eq!(processes_with("guest=bed-victim,"), Vec::<u32>::new());
}
