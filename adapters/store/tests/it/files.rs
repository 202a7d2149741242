//! What is on disk: permissions, versions, and files that are not what they should be.

use numawise_engine::intent::{HostState, IntentId, Step};
use numawise_engine::ports::{PortError, Store};
use numawise_engine::state_document::step_to_json;
use numawise_model::HostId;
use numawise_store::SqliteStore;
use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn dir() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn open_error(dir: &Path) -> PortError {
    match SqliteStore::open(dir) {
        Ok(_) => panic!("the store in {} opened", dir.display()),
        Err(error) => error,
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).permissions().mode()
        & 0o777
}

/// Every file of a store in use, with its permissions.
fn modes(dir: &Path) -> Vec<(String, u32)> {
    let mut modes: Vec<(String, u32)> = fs::read_dir(dir)
        .expect("listing")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), mode(&entry.path())))
        .collect();
    modes.sort();
    modes
}

#[test]
fn only_the_owner_can_read_it() {
    let dir = dir();
    let state = dir.path().join("lib").join("numawise");
    let store = SqliteStore::open(&state).expect("a store");
    store.append_step(&IntentId("i".to_owned()), &Step::Defined).expect("a step");
    let host = HostId("h".to_owned());
    let _lock = store.lock_host(&host, &mut || {}, &Default::default()).expect("a lock");
    assert_eq!(mode(&state), 0o700);
    let wanted = ["host-h.lock", "numawise.db", "numawise.db-shm", "numawise.db-wal", "setup.lock"];
    assert_eq!(modes(&state), wanted.map(|name| (name.to_owned(), 0o600)));
}

#[test]
fn a_file_that_others_could_read_is_closed_to_them() {
    let dir = dir();
    drop(SqliteStore::open(dir.path()).expect("a store"));
    let file = dir.path().join("numawise.db");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("chmod");
    let _store = SqliteStore::open(dir.path()).expect("a store");
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let dir = dir();
    drop(SqliteStore::open(dir.path()).expect("a store"));
    let raw = rusqlite::Connection::open(dir.path().join("numawise.db")).expect("the file");
    raw.pragma_update(None, "user_version", 99).expect("a version");
    let error = open_error(dir.path());
    assert!(matches!(&error, PortError::Unreadable(_)), "{error:?}");
    let text = error.to_string();
    for wanted in ["numawise.db has schema version 99", "up to 3", "--state"] {
        assert!(text.contains(wanted), "{text}");
    }
    let version: i32 =
        raw.pragma_query_value(None, "user_version", |row| row.get(0)).expect("the version");
    assert_eq!(version, 99);
}

#[test]
fn somebody_elses_database_is_refused() {
    let dir = dir();
    let raw = rusqlite::Connection::open(dir.path().join("numawise.db")).expect("the file");
    raw.execute_batch("CREATE TABLE bookmarks (url TEXT)").expect("a table");
    let error = open_error(dir.path());
    assert!(matches!(&error, PortError::Unreadable(_)), "{error:?}");
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_unreadable() {
    let dir = dir();
    let file = dir.path().join("numawise.db");
    fs::write(&file, "[section]\n".repeat(1000)).expect("a file");
    let error = open_error(dir.path());
    assert!(matches!(&error, PortError::Unreadable(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("numawise.db") && text.contains("backup"), "{text}");
}

#[test]
fn a_damaged_page_is_unreadable() {
    let dir = dir();
    let store = SqliteStore::open(dir.path()).expect("a store");
    let intent = IntentId("i".to_owned());
    for findings in 0..2000 {
        store.append_step(&intent, &Step::Verified { findings }).expect("a step");
    }
    // Closing writes the log back into the file.
    drop(store);
    let file = dir.path().join("numawise.db");
    let mut bytes = fs::read(&file).expect("the file");
    let end = bytes.len();
    bytes[4096..end].fill(0x5a);
    fs::write(&file, bytes).expect("the file");
    let error = SqliteStore::open(dir.path())
        .and_then(|store| store.steps(&intent))
        .expect_err("a damaged file was read");
    assert!(matches!(&error, PortError::Unreadable(_)), "{error:?}");
    assert!(error.to_string().contains("numawise.db"), "{error}");
}

#[test]
fn a_row_that_is_no_document_is_named() {
    let dir = dir();
    let store = SqliteStore::open(dir.path()).expect("a store");
    let raw = rusqlite::Connection::open(dir.path().join("numawise.db")).expect("the file");
    let insert = "INSERT INTO hosts (host, revision, document) VALUES ('h', 1, '{}')";
    raw.execute_batch(insert).expect("a row");
    let error = store.load(&HostId("h".to_owned())).expect_err("nonsense was read");
    assert!(matches!(&error, PortError::Unreadable(_)), "{error:?}");
    assert!(error.to_string().contains("numawise.db: host h"), "{error}");
    let insert = "INSERT INTO steps (intent, document) VALUES ('i', ?1), ('i', 'half a')";
    raw.execute(insert, [step_to_json(&Step::Defined)]).expect("rows");
    let error = store.steps(&IntentId("i".to_owned())).expect_err("nonsense was read");
    assert!(error.to_string().contains("journal of intent i"), "{error}");
}

#[test]
fn a_state_directory_that_is_a_file_is_named() {
    let dir = dir();
    let file = dir.path().join("state");
    fs::write(&file, "").expect("a file");
    let error = open_error(&file);
    assert!(matches!(&error, PortError::Failed(_)), "{error:?}");
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
}

/// SQLite's own limit on pages stands in for a disk without room: the code it answers with is the
/// same.
#[test]
fn a_full_disk_is_told_apart_and_changes_nothing() {
    let dir = dir();
    let host = HostId("h".to_owned());
    let store = SqliteStore::open(dir.path()).expect("a store");
    store.commit(&host, 0, &HostState::default()).expect("a commit");
    let small = store.limited_to_pages(12);
    let step = Step::RollBack { because: "x".repeat(1 << 20) };
    let error = small.append_step(&IntentId("i".to_owned()), &step).expect_err("it had room");
    assert!(matches!(&error, PortError::Failed(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("disk is full") && text.contains("make room in"), "{text}");
    assert_eq!(small.steps(&IntentId("i".to_owned())).expect("reading"), []);
    assert_eq!(small.load(&host).expect("reading").revision, 1);
}

/// Root may read everything, so the look is made as `nobody`.
#[test]
fn a_closed_directory_is_no_access() {
    if !geteuid().is_root() {
        let dir = dir();
        let closed = dir.path().join("closed");
        fs::create_dir(&closed).expect("a directory");
        fs::set_permissions(&closed, Permissions::from_mode(0o500)).expect("chmod");
        check_no_access(&closed);
        return;
    }
    let dir = dir();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("chmod");
    drop(SqliteStore::open(dir.path()).expect("a store"));
    // The build directory may be closed to others; a copy beside the store is not.
    let exe = dir.path().join("look");
    fs::copy(std::env::current_exe().expect("own path"), &exe).expect("a copy");
    fs::set_permissions(&exe, Permissions::from_mode(0o755)).expect("chmod");
    let output = Command::new(&exe)
        .args(["files::look_as_nobody", "--exact", "--ignored"])
        .env("NUMAWISE_STORE_TEST_DIR", dir.path())
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .output()
        .expect("starting a process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "the other side of the test of permissions"]
fn look_as_nobody() {
    if let Some(dir) = std::env::var_os("NUMAWISE_STORE_TEST_DIR") {
        check_no_access(Path::new(&dir));
    }
}

fn check_no_access(dir: &Path) {
    let error = open_error(dir);
    assert!(matches!(&error, PortError::NoAccess(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&dir.display().to_string()) && text.contains("--state"), "{text}");
}
