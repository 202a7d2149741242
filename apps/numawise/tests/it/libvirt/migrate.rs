//! Moves between two libvirts, each with QEMUs of its own, in software emulation: definitions and
//! running guests, and kills in the middle of both.

use super::diskless;
use crate::bench::Ran;
use numawise_engine::intent::{HostState, IntentStatus};
use numawise_engine::loop_parts::CrashPoint;
use numawise_engine::ports::Store;
use numawise_model::HostId;
use numawise_store::SqliteStore;
use numawise_testkit::testbed::PrivateLibvirtd;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Two hosts and a state folder. One of the two is reached as this machine, so its threads and pages
/// are looked at; the other from afar.
struct Two {
    near: PrivateLibvirtd,
    far: PrivateLibvirtd,
    folder: TempDir,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Near,
    Far,
}

impl On {
    fn other(self) -> Self {
        if self == Self::Near { Self::Far } else { Self::Near }
    }
}

impl Two {
    fn start() -> Option<Self> {
        let near = PrivateLibvirtd::start()?;
        let far = near.start_beside()?;
        Some(Self { near, far, folder: TempDir::new().expect("a folder for the test") })
    }

    fn daemon(&self, on: On) -> &PrivateLibvirtd {
        if on == On::Near { &self.near } else { &self.far }
    }

    fn uri(&self, on: On) -> String {
        if on == On::Near { self.near.uri() } else { self.far.remote_uri() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, on: On, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numawise"));
        command.args(["--connect", &self.uri(on), "--state"]).arg(self.path("state"));
        command.args(words).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, on: On, words: &[&str]) -> Ran {
        Ran::of(self.command(on, words).output().expect("the binary starts"))
    }

    fn spawn(&self, on: On, words: &[&str]) -> Child {
        self.command(on, words).spawn().expect("the binary starts")
    }

    fn ends(&self, code: i32, on: On, words: &[&str]) -> Ran {
        let ran = self.run(on, words);
        assert_eq!(ran.code, Some(code), "numawise {} on {on:?}: {ran:#?}", words.join(" "));
        ran
    }

    fn ok(&self, on: On, words: &[&str]) -> String {
        self.ends(0, on, words).out
    }

    /// From this host to the other one.
    fn migrate(&self, from: On, more: &[&str]) -> Vec<String> {
        let to = self.uri(from.other());
        let words = ["migrate", "db", "--to", to.as_str(), "--yes"];
        words.iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    fn move_from(&self, from: On, more: &[&str]) -> Ran {
        let words = self.migrate(from, more);
        self.run(from, &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn virsh(&self, on: On, words: &[&str]) -> String {
        self.daemon(on).virsh_text(words)
    }

    fn define(&self, on: On, xml: &str) {
        let file = self.path("define.xml");
        std::fs::write(&file, xml).expect("the XML is written");
        self.virsh(on, &["define", &file.to_string_lossy()]);
    }

    fn stored_xml(&self, on: On) -> String {
        self.virsh(on, &["dumpxml", "--inactive", "--security-info", "db"])
    }

    /// `None`: it is not there.
    fn state(&self, on: On) -> Option<String> {
        let output = self.daemon(on).virsh(&["domstate", "db"]);
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    }

    /// The documents of hosts that were ever worked on.
    fn documents(&self) -> Vec<HostState> {
        let store = SqliteStore::open(&self.path("state")).expect("the store opens");
        let files = std::fs::read_dir(self.path("state")).expect("the state folder");
        let ids = files.filter_map(|entry| {
            let name = entry.expect("an entry").file_name().into_string().expect("text");
            Some(HostId(name.strip_prefix("host-")?.strip_suffix(".lock")?.to_owned()))
        });
        ids.map(|id| store.load(&id).expect("a whole document")).collect()
    }

    /// How many hosts have claims for the guest.
    fn claims(&self) -> usize {
        self.documents().iter().filter(|state| !state.ledger.claims.is_empty()).count()
    }

    /// After a command on each host: one has the guest as it was, with claims, and nothing waits.
    fn check_one(&self, wanted: &str, what: &str) -> On {
        let ends = [On::Near, On::Far].map(|on| (on, self.state(on)));
        let mut there = ends.iter().filter(|(_, state)| state.is_some());
        let (on, state) = there.next().unwrap_or_else(|| panic!("{what}: the guest is lost"));
        assert!(there.next().is_none(), "{what}: {ends:?}");
        assert_eq!(state.as_deref(), Some(wanted), "{what}: at {on:?}");
        assert_eq!(self.claims(), 1, "{what}: {:#?}", self.documents());
        let states = self.documents();
        let mut intents = states.iter().flat_map(|state| &state.intents);
        assert!(!intents.any(|intent| intent.status == IntentStatus::Pending), "{what}");
        self.ok(*on, &["verify", "db"]);
        *on
    }
}

/// A guest on this host, bound; started if asked for.
fn bound(vcpus: u32, running: bool) -> Option<Two> {
    let two = Two::start()?;
    two.define(On::Near, &diskless("db", vcpus, ""));
    let words =
        ["bind", "db", "--policy", "smart", "--cells-per-node", &vcpus.to_string(), "--yes"];
    two.ok(On::Near, &words);
    if running {
        two.virsh(On::Near, &["start", "db"]);
        two.ok(On::Near, &["list"]);
    }
    Some(two)
}

const START: [&str; 2] = ["--timeout", "60"];

#[test]
fn a_running_guest_goes_there_and_back() {
    let Some(two) = bound(2, true) else { return };
    let before = two.virsh(On::Near, &["dumpxml", "db"]);
    let ran = two.move_from(On::Near, &START);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(two.check_one("running", "moved"), On::Far);
    let after = two.virsh(On::Far, &["dumpxml", "db"]);
    let nodes = |xml: &str| {
        let lines = xml.lines().map(str::trim).filter(|line| line.starts_with("<cell "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(nodes(&before).len(), 2);
    assert_eq!(nodes(&before), nodes(&after), "the guest sees what it saw");
    let stored = two.stored_xml(On::Far);
    assert!(stored.contains("passwd='sea&amp;fish'"), "secrets go with it: {stored}");
    let monitor = two.virsh(On::Far, &["qemu-monitor-command", "db", "--hmp", "info numa"]);
    assert!(monitor.contains("2 nodes"), "{monitor}");

    // Back, to where the kernel's word can be had.
    two.virsh(On::Far, &["autostart", "db"]);
    let ran = two.move_from(On::Far, &START);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(two.check_one("running", "moved back"), On::Near);
    let said = two.ok(On::Near, &["verify", "db"]);
    assert!(said.contains("stored XML, live XML, threads and pages"), "{said}");
    let info = two.virsh(On::Near, &["dominfo", "db"]);
    assert!(info.lines().any(|line| line.starts_with("Autostart") && line.ends_with("enable")));
    let ran = two.ends(3, On::Near, &["undo", "db", "--yes"]);
    assert!(ran.err.contains("numawise migrate db --to 'qemu+ext:"), "{ran:?}");
}

#[test]
fn a_definition_goes_there() {
    let Some(two) = bound(1, false) else { return };
    let before = two.stored_xml(On::Near);
    let ran = two.move_from(On::Near, &[]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(two.check_one("shut off", "moved"), On::Far);
    let after = two.stored_xml(On::Far);
    let unpinned = |xml: &str| {
        let lines = xml.lines().filter(|l| !l.contains("pin ") && !l.contains("nodeset="));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(unpinned(&before), unpinned(&after), "everything but pins and nodes is as it was");
    two.virsh(On::Far, &["start", "db"]);
    two.ok(On::Far, &["verify", "db"]);
}

#[test]
fn what_stands_against_a_move_is_said() {
    let Some(two) = bound(1, false) else { return };
    let said = |ran: Ran, code: i32, wanted: &str| {
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(wanted), "{wanted}: {ran:?}");
    };
    // By another way to the same daemon.
    let itself = two.near.remote_uri();
    said(two.run(On::Near, &["migrate", "db", "--to", &itself, "--yes"]), 3, "one host");
    said(two.run(On::Near, &["migrate", "db", "--to", "embedded:", "--yes"]), 6, "embedded");
    // The far one's files are not seen from here; the near one's are.
    assert_eq!(two.move_from(On::Near, &[]).code, Some(0));
    let image = two.far.folder().join("disk.img").to_string_lossy().into_owned();
    two.virsh(On::Far, &["attach-disk", "db", &image, "vda", "--config"]);
    said(two.move_from(On::Far, &[]), 3, "disk.img is not there");
    std::fs::write(&image, "").expect("written");
    assert_eq!(two.move_from(On::Far, &[]).code, Some(0));
    std::fs::remove_file(&image).expect("removed");
    assert_eq!(two.check_one("shut off", "back"), On::Near);
    two.virsh(On::Near, &["detach-disk", "db", "vda", "--config"]);

    two.virsh(On::Near, &["start", "db"]);
    two.virsh(On::Near, &["suspend", "db"]);
    said(two.move_from(On::Near, &[]), 3, "paused");
    two.virsh(On::Near, &["resume", "db"]);
    two.virsh(On::Near, &["destroy", "db"]);
}

#[test]
fn numawise_killed_at_any_step_of_a_move() {
    for running in [true, false] {
        let Some(two) = bound(1, running) else { return };
        let mut on = On::Near;
        let wanted = if running { "running" } else { "shut off" };
        for (turn, (point, _)) in CrashPoint::OF_A_MOVE.into_iter().enumerate() {
            let what = format!("killed at {point}, from {on:?}, running {running}");
            let ran = two.move_from(on, &["--crash-at", point]);
            assert_eq!(ran.code, None, "{what}: {ran:?}");
            assert!(two.claims() >= 1, "{what}");
            let next = if turn % 2 == 0 { on } else { on.other() };
            two.ok(next, &["list"]);
            assert_eq!(two.claims(), 1, "{what}: after one command, on {next:?}");
            on = two.check_one(wanted, &what);
        }
    }
}

/// Whatever libvirt was doing at that moment.
#[test]
fn numawise_killed_at_any_time_of_a_move() {
    let Some(two) = bound(1, true) else { return };
    let mut on = On::Near;
    let mut interrupted = 0;
    for round in 0..12u64 {
        let words = two.migrate(on, &["--bandwidth", "2"]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child = two.spawn(on, &words);
        std::thread::sleep(Duration::from_millis(120 * round));
        // It may be done already; then there is nothing to kill.
        let _ = child.kill();
        child.wait().expect("it ends");
        let next = two.ends(0, on, &["list"]);
        interrupted += u32::from(next.err.contains("had been interrupted"));
        on = two.check_one("running", &format!("killed in round {round}, from {on:?}"));
    }
    assert!(interrupted > 0, "no kill came in between");
}

#[test]
fn an_interrupt_breaks_a_move_off() {
    let Some(two) = bound(1, true) else { return };
    for (how, code) in [("INT", 7), ("timeout", 1)] {
        // So slow that it is on its way for as long as anybody looks.
        let mut more = vec!["--bandwidth", "1"];
        if how == "timeout" {
            more.extend(["--timeout", "1"]);
        }
        let words = two.migrate(On::Near, &more);
        let child = two.spawn(On::Near, &words.iter().map(String::as_str).collect::<Vec<_>>());
        let begun = Instant::now();
        if how == "INT" {
            std::thread::sleep(Duration::from_millis(1500));
            let pid = child.id().to_string();
            let kill = Command::new("kill").args(["-s", how, &pid]).status();
            assert!(kill.expect("kill is there").success());
        }
        let ran = Ran::of(child.wait_with_output().expect("it ends"));
        assert_eq!(ran.code, Some(code), "{how} after {:?}: {ran:#?}", begun.elapsed());
        assert_eq!(two.check_one("running", how), On::Near);
    }
}

#[test]
fn a_libvirtd_killed_during_a_move() {
    for killed in [On::Near, On::Far] {
        let Some(mut two) = bound(1, true) else { return };
        let words = two.migrate(On::Near, &["--bandwidth", "1"]);
        let mut child = two.spawn(On::Near, &words.iter().map(String::as_str).collect::<Vec<_>>());
        // Until it says that it is under way: on a busy machine that takes its time.
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut err = String::new();
        while !err.contains("moving to") {
            assert_ne!(said.read_line(&mut err).expect("text"), 0, "it ended early: {err}");
        }
        std::thread::sleep(Duration::from_millis(700));
        let daemon = if killed == On::Near { &mut two.near } else { &mut two.far };
        daemon.kill_daemon();
        std::thread::sleep(Duration::from_secs(1));
        daemon.restart_daemon();
        said.read_to_string(&mut err).expect("text");
        let ran = Ran { err, ..Ran::of(child.wait_with_output().expect("it ends")) };
        assert!(ran.code.is_some(), "it is told, not killed: {ran:?}");
        let what = format!("libvirtd of {killed:?} killed: {ran:?}");
        // It may need a moment for the half that it finds.
        std::thread::sleep(Duration::from_secs(1));
        two.ok(On::Near, &["list"]);
        two.ok(On::Far, &["list"]);
        assert_eq!(two.check_one("running", &what), On::Near, "{what}: it was on its way");
    }
}
