//! Reading and writing below a folder.

use numawise_engine::ports::{HostFiles, PortError, Removal};
use numawise_model::{ChangeKind, PathState};
use numawise_tune::HostRoot;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

fn tree() -> (TempDir, HostRoot) {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir_all(folder.path().join("etc/sysctl.d")).expect("made");
    fs::create_dir_all(folder.path().join("proc/sys")).expect("made");
    fs::write(folder.path().join("proc/sys/value"), "old value\n").expect("written");
    let root = HostRoot::at(folder.path()).expect("a root");
    (folder, root)
}

fn read(folder: &TempDir, path: &str) -> String {
    fs::read_to_string(folder.path().join(path)).expect("it is there")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
}

#[test]
fn what_is_there_is_told_byte_for_byte() {
    let (_folder, root) = tree();
    let text = |text: &str| PathState::Text(text.to_owned());
    assert_eq!(root.look("/proc/sys/value").expect("read"), text("old value\n"));
    assert_eq!(root.look("/etc/sysctl.d").expect("read"), PathState::Folder);
    assert_eq!(root.look("/etc/none/at/all").expect("read"), PathState::Absent);
    assert_eq!(root.look("/proc/sys/value/below").expect("read"), PathState::Absent);
    assert_eq!(root.names("/etc").expect("read"), ["sysctl.d"]);
    assert_eq!(root.names("/no").expect("read"), Vec::<String>::new());
}

#[test]
fn kernel_files_are_written_and_never_made() {
    let (folder, root) = tree();
    root.write("/proc/sys/value", "0", ChangeKind::Runtime).expect("written");
    assert_eq!(read(&folder, "proc/sys/value"), "0");
    root.write("/proc/sys/value", "", ChangeKind::Runtime).expect("written");
    assert_eq!(read(&folder, "proc/sys/value"), "\n", "an empty text would be no write at all");
    let error = root.write("/proc/sys/other", "0", ChangeKind::Runtime).expect_err("made a file");
    assert!(error.to_string().contains("/proc/sys/other"), "{error}");
    assert!(!folder.path().join("proc/sys/other").exists());
}

#[test]
fn boot_files_are_readable_by_all_whole_and_keep_their_mode() {
    let (folder, root) = tree();
    let path = folder.path().join("etc/sysctl.d/60-x.conf");
    root.write("/etc/sysctl.d/60-x.conf", "a = 1\n", ChangeKind::Persistent).expect("written");
    assert_eq!((read(&folder, "etc/sysctl.d/60-x.conf"), mode(&path)), ("a = 1\n".into(), 0o644));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
    root.write("/etc/sysctl.d/60-x.conf", "a = 2\n", ChangeKind::Persistent).expect("written");
    assert_eq!((read(&folder, "etc/sysctl.d/60-x.conf"), mode(&path)), ("a = 2\n".into(), 0o640));
    assert_eq!(root.names("/etc/sysctl.d").expect("read"), ["60-x.conf"], "nothing is left over");
}

#[test]
fn links_do_not_lead_out_of_the_folder() {
    let outside = TempDir::new().expect("a folder");
    fs::write(outside.path().join("secret"), "mine\n").expect("written");
    let (folder, root) = tree();
    symlink(outside.path().join("secret"), folder.path().join("proc/sys/link")).expect("linked");
    symlink(outside.path(), folder.path().join("etc/away")).expect("linked");
    symlink("../../../../../../etc", folder.path().join("proc/up")).expect("linked");
    assert_eq!(root.look("/proc/sys/link").expect("read"), PathState::Absent);
    assert_eq!(root.look("/etc/away/secret").expect("read"), PathState::Absent);
    // Climbing ends at the root, as it does at `/`.
    assert_eq!(root.look("/proc/up/sysctl.d").expect("read"), PathState::Folder);
    root.write("/etc/away/new", "x", ChangeKind::Persistent).expect_err("it led outside");
    root.write("/proc/sys/link", "x", ChangeKind::Runtime).expect_err("it led outside");
    assert_eq!(fs::read_to_string(outside.path().join("secret")).expect("there"), "mine\n");
    assert!(!outside.path().join("new").exists());
}

#[test]
fn a_link_in_place_of_a_boot_file_is_left_alone() {
    let (folder, root) = tree();
    symlink("/proc/sys/value", folder.path().join("etc/sysctl.d/60-x.conf")).expect("linked");
    let error = root.write("/etc/sysctl.d/60-x.conf", "x", ChangeKind::Persistent);
    let error = error.expect_err("the link was replaced").to_string();
    assert!(error.contains("60-x.conf"), "{error}");
    assert_eq!(read(&folder, "proc/sys/value"), "old value\n");
}

#[test]
fn folders_come_and_go_and_full_ones_stay() {
    let (folder, root) = tree();
    root.make_folder("/etc/new.d").expect("made");
    root.write("/etc/new.d/a", "a", ChangeKind::Persistent).expect("written");
    assert_eq!(root.remove("/etc/new.d").expect("tried"), Removal::Kept);
    assert_eq!(root.remove("/etc/new.d/a").expect("removed"), Removal::Gone);
    assert_eq!(root.remove("/etc/new.d").expect("removed"), Removal::Gone);
    assert_eq!(root.remove("/etc/new.d").expect("gone already"), Removal::Gone);
    assert!(!folder.path().join("etc/new.d").exists());
}

#[test]
fn a_root_that_is_not_there_is_told() {
    let error = HostRoot::at(Path::new("/no/such/folder")).err().expect("opened");
    assert!(matches!(error, PortError::NotFound(_)), "{error}");
}
