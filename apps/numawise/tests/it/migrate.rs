//! Moves between two simulated hosts with one store: what is kept, what is refused, and kills at every
//! step. After the next command, on whichever host, one host has the guest and the claims for it.

use crate::bench::{Bench, Ran};
use numawise_engine::intent::{HostState, IntentStatus};
use numawise_engine::loop_parts::CrashPoint;
use numawise_engine::ports::Store;
use numawise_model::{CpuSet, HostId, Ledger, Owner};
use numawise_store::SqliteStore;
use std::time::Duration;

const A: [&str; 2] = ["--connect", "embedded:a"];
const B: [&str; 2] = ["--connect", "embedded:b"];

/// Hosts `a` and `b`, of two nodes and 64 pCPUs each.
struct Two {
    bench: Bench,
}

impl Two {
    fn new() -> Self {
        let two = Self { bench: Bench::empty() };
        for (on, id) in [(A, "a"), (B, "b")] {
            two.ok(on, &["embedded", "init", "--host", "bundled:two-socket-64", "--id", id]);
        }
        two
    }

    fn run(&self, on: [&str; 2], words: &[&str]) -> Ran {
        self.bench.run(&[words, &on].concat())
    }

    fn ok(&self, on: [&str; 2], words: &[&str]) -> String {
        self.bench.ok(&[words, &on].concat())
    }

    fn refused(&self, code: i32, on: [&str; 2], words: &[&str]) -> Ran {
        let ran = self.run(on, words);
        assert_eq!(ran.code, Some(code), "numawise {}: {ran:#?}", words.join(" "));
        ran
    }

    fn define(&self, on: [&str; 2], name: &str, vcpus: u32) {
        let file = self.bench.path(&format!("{name}.xml"));
        std::fs::write(&file, crate::bench::domain(name, vcpus, 8)).expect("written");
        self.ok(on, &["embedded", "define", &file.to_string_lossy()]);
    }

    fn json(&self, on: [&str; 2], words: &[&str]) -> serde_json::Value {
        self.bench.json(&[words, &on].concat())
    }

    fn stored(&self, host: &str) -> HostState {
        let store = SqliteStore::open(&self.bench.state()).expect("the store opens");
        store.load(&HostId(host.to_owned())).expect("the host's document is whole")
    }

    fn claimed(&self, host: &str) -> CpuSet {
        let ledger = self.stored(host).ledger;
        let is_its = |owner: &Owner| matches!(owner, Owner::Guest { name, .. } if name == "db");
        let claims = ledger.claims.into_iter().filter(|claim| is_its(&claim.owner)).collect();
        Ledger { claims }.claimed_cpus()
    }

    /// Whether the guest is there, and whether it runs.
    fn has(&self, on: [&str; 2], name: &str) -> Option<bool> {
        let list = self.json(on, &["list", "--json"]);
        let guests = list["guests"].as_array().cloned().unwrap_or_default();
        let found = guests.iter().find(|guest| guest["name"] == name)?;
        found["running"].as_bool()
    }

    /// Past the command line, which would end what was interrupted.
    fn files_of(&self, host: &str) -> usize {
        let entries = std::fs::read_dir(self.bench.path(host)).expect("the folder is there");
        let names = entries.map(|e| e.expect("an entry").file_name().into_string().expect("text"));
        names.filter(|name| name.ends_with(".inactive.xml")).count()
    }
}

const MOVE: [&str; 5] = ["migrate", "db", "--to", "embedded:b", "--yes"];

/// A guest of 40 vCPUs (32 and 8), bound and seen running where `running`.
fn bound(running: bool) -> Two {
    let two = Two::new();
    two.define(A, "db", 40);
    two.ok(A, &["bind", "db", "--policy", "smart", "--yes"]);
    if running {
        two.ok(A, &["embedded", "start", "db"]);
    }
    two
}

/// One host has the guest as it was, and the claims for it; nothing waits.
fn check_one(two: &Two, running: bool, what: &str) {
    let (here, there) = (two.has(A, "db"), two.has(B, "db"));
    assert!(here.is_some() != there.is_some(), "{what}: at a {here:?}, at b {there:?}");
    assert_eq!(here.or(there), Some(running), "{what}: it is not as it was");
    let (at_a, at_b) = (two.claimed("a"), two.claimed("b"));
    assert_eq!(at_a.is_empty(), here.is_none(), "{what}: claims at a: {at_a}");
    assert_eq!(at_b.is_empty(), there.is_none(), "{what}: claims at b: {at_b}");
    for host in ["a", "b"] {
        let state = two.stored(host);
        let pending = state.intents.iter().any(|i| i.status == IntentStatus::Pending);
        assert!(!pending, "{what}: an intent is left over at {host}");
        let has = if host == "a" { here } else { there };
        let recorded = state.guests.values().any(|record| record.name == "db");
        assert_eq!(recorded, has.is_some(), "{what}: the record at {host}");
    }
    let on = if here.is_some() { A } else { B };
    two.ok(on, &["verify", "db"]);
}

#[test]
fn a_kill_at_any_step_leaves_one_guest_and_one_claim() {
    for (point, _) in CrashPoint::OF_A_MOVE {
        for (running, recovered_from) in [(false, A), (true, A), (false, B), (true, B)] {
            let what = format!("killed at {point}, running {running}, next on {recovered_from:?}");
            let two = bound(running);
            let ran = two.run(A, &[&MOVE[..], &["--crash-at", point]].concat());
            assert_eq!(ran.code, None, "{what}: {ran:?}");
            // At every step there are claims where a definition is.
            for host in ["a", "b"] {
                let claimed = !two.claimed(host).is_empty();
                assert!(claimed || two.files_of(host) == 0, "{what}: unclaimed at {host}");
            }
            let next = two.run(recovered_from, &["list"]);
            assert_eq!(next.code, Some(0), "{what}: {next:?}");
            let only_one = two.claimed("a").is_empty() != two.claimed("b").is_empty();
            assert!(only_one, "{what}: after one command there is one claim");
            check_one(&two, running, &what);
        }
    }
}

/// The kernel does not ask at which step it may kill.
#[test]
fn a_kill_at_any_time_leaves_one_guest_and_one_claim() {
    for round in 0..16u64 {
        let running = round % 2 == 0;
        let two = bound(running);
        let mut child = two.bench.spawn(&[&MOVE[..], &A].concat());
        std::thread::sleep(Duration::from_millis(4 * round));
        // It may be done already; then there is nothing to kill.
        let _ = child.kill();
        child.wait().expect("the child ends");
        check_one(&two, running, &format!("round {round}"));
    }
}

#[test]
fn a_running_guest_keeps_what_it_sees_and_gets_other_pins() {
    let two = bound(true);
    // What it has at a somebody else has at b, and of the other node two are kept for the host.
    two.define(B, "web", 12);
    two.ok(B, &["bind", "web", "--on-node", "1:0-11", "--yes"]);
    let before = two.json(A, &["show", "db", "--json"]);
    let ran = two.run(A, &MOVE);
    assert_eq!(ran.code, Some(3), "32 of its vCPUs fit on no node: {ran:?}");
    assert!(ran.err.contains("no nodes there for 32 + 8"), "{}", ran.err);
    two.ok(B, &["bind", "web", "--on-node", "0:0-11", "--yes"]);
    two.ok(A, &MOVE);
    let after = two.json(B, &["show", "db", "--json"]);
    for part in ["vnuma", "guest_topology"] {
        assert_eq!(before["live"][part], after["live"][part], "{part}");
        assert_eq!(before["frozen"][part], after["frozen"][part], "{part}");
    }
    check_one(&two, true, "moved");
    // It goes back, and nothing of its stay is left.
    two.ok(B, &["migrate", "db", "--to", "embedded:a", "--yes"]);
    check_one(&two, true, "moved back");
    assert!(two.has(A, "db").is_some());
}

/// Two nodes of 8 + 8 vCPUs; at the destination both of its nodes are partly taken.
#[test]
fn parts_of_a_guest_go_where_there_is_room() {
    let two = Two::new();
    two.define(A, "db", 16);
    two.ok(A, &["bind", "db", "--on-node", "0:0-7", "--on-node", "1:8-15", "--yes"]);
    two.ok(A, &["embedded", "start", "db"]);
    two.define(B, "web", 20);
    two.ok(B, &["bind", "web", "--bind", "0-19:0-19", "--no-vnuma", "--yes"]);
    two.ok(A, &MOVE);
    let taken = two.stored("b").ledger;
    let mut seen = CpuSet::new();
    for claim in taken.claims.iter().filter(|c| c.mode == numawise_model::Mode::Exclusive) {
        assert!(seen.is_disjoint(&claim.cpus), "{claim:?} is given twice");
        seen.extend(&claim.cpus);
    }
    assert_eq!(seen.len(), 36);
    two.ok(B, &["verify", "db"]);
}

#[test]
fn undo_does_not_take_a_move_back() {
    let two = bound(false);
    two.ok(A, &MOVE);
    let ran = two.refused(3, B, &["undo", "db", "--yes"]);
    assert!(ran.err.contains("numawise migrate db --to 'embedded:/"), "{}", ran.err);
    // What was bound there since is taken back, and then it is at the move again.
    two.ok(
        B,
        &["bind", "db", "--on-node", "0:0-29", "--on-node", "1:30-39", "--new-topology", "--yes"],
    );
    two.ok(B, &["undo", "db", "--yes"]);
    two.refused(3, B, &["undo", "db", "--yes"]);
    two.ok(B, &["verify", "db"]);
}

#[test]
fn what_stands_against_a_move_is_said() {
    let two = bound(false);
    let said = |ran: Ran, wanted: &str| assert!(ran.err.contains(wanted), "{wanted}: {}", ran.err);
    let to_itself = ["migrate", "db", "--to", "embedded:a", "--yes"];
    said(two.refused(3, A, &to_itself), "one host");
    said(two.refused(3, A, &[&MOVE[..], &["--live"]].concat()), "--live was given");
    said(two.refused(2, A, &["migrate", "db", "--to", "elsewhere"]), "[hosts]");
    two.ok(A, &["embedded", "start", "db"]);
    said(two.refused(3, A, &[&MOVE[..], &["--offline"]].concat()), "--offline was given");
    two.define(B, "db", 2);
    said(two.refused(3, A, &MOVE), "same UUID");
    two.ok(B, &["embedded", "undefine", "db"]);
    let other = crate::bench::domain("db", 2, 1).replace("7c1e5b0a", "7c1e5b0b");
    std::fs::write(two.bench.path("other.xml"), other).expect("written");
    two.ok(B, &["embedded", "define", "other.xml"]);
    said(two.refused(3, A, &MOVE), "called 'db'");
    assert!(two.claimed("b").is_empty());
    assert!(two.stored("b").intents.is_empty() && two.has(A, "db") == Some(true));
}

#[test]
fn a_dry_run_changes_nothing() {
    let two = bound(true);
    two.ok(A, &["list"]);
    let before = (two.stored("a"), two.stored("b"));
    let shown = two.ok(A, &["migrate", "db", "--to", "embedded:b", "--dry-run"]);
    assert!(shown.contains("on host b"), "{shown}");
    assert!((two.stored("a"), two.stored("b")) == before);
    assert_eq!((two.has(A, "db"), two.has(B, "db")), (Some(true), None));
}

#[test]
fn a_move_that_fails_leaves_the_guest_where_it_was() {
    for host in ["a", "b"] {
        let two = bound(true);
        std::fs::write(two.bench.path(host).join("fail-next-migrate"), "").expect("planted");
        let ran = two.run(A, &MOVE);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("the old state was put back"), "{ran:?}");
        check_one(&two, true, host);
        assert_eq!(two.has(A, "db"), Some(true));
        two.ok(A, &MOVE);
        check_one(&two, true, "the second time");
    }
}

#[test]
fn of_two_moves_at_once_one_loses() {
    for running in [false, true] {
        let two = bound(running);
        two.ok(
            ["--connect", "embedded:c"],
            &["embedded", "init", "--host", "bundled:two-socket-64", "--id", "c"],
        );
        let children: Vec<_> = ["embedded:b", "embedded:c", "embedded:b"]
            .into_iter()
            .map(|to| two.bench.spawn(&[&["migrate", "db", "--to", to, "--yes"], &A[..]].concat()))
            .collect();
        let ended = children.into_iter().map(|c| Ran::of(c.wait_with_output().expect("it ends")));
        let ended: Vec<Ran> = ended.collect();
        let codes = |wanted| ended.iter().filter(|ran| ran.code == Some(wanted)).count();
        assert_eq!((codes(0), codes(4)), (1, 2), "{ended:#?}");
        let claims = ["a", "b", "c"].map(|host| !two.claimed(host).is_empty());
        assert_eq!(claims.iter().filter(|has| **has).count(), 1, "{claims:?}");
    }
}

/// The other end is away: both claims stand, nobody is given what they hold, and nothing else is done
/// with the guest until it is back.
#[test]
fn a_move_whose_other_end_is_away_waits() {
    for (gone, left, on) in [("b", "a", A), ("a", "b", B)] {
        let two = bound(true);
        let ran = two.run(A, &[&MOVE[..], &["--crash-at", "backup-journaled"]].concat());
        assert_eq!(ran.code, None, "{ran:?}");
        std::fs::rename(two.bench.path(gone), two.bench.path("away")).expect("moved away");
        let next = two.run(on, &["list"]);
        assert_eq!(next.code, Some(0), "{next:?}");
        assert!(next.err.contains("waits for embedded:"), "{}", next.err);
        assert_eq!(two.claimed(left).len(), 40 + usize::from(left.is_empty()), "{next:?}");
        two.define(on, "web", 40);
        let ran = two.refused(3, on, &["bind", "web", "--policy", "smart", "--yes"]);
        assert!(ran.err.contains("db"), "what db has is given to nobody: {}", ran.err);
        if left == "a" {
            let ran = two.refused(3, A, &["unbind", "db", "--yes"]);
            assert!(ran.err.contains("interrupted move"), "{}", ran.err);
        }
        std::fs::rename(two.bench.path("away"), two.bench.path(gone)).expect("back again");
        two.ok(on, &["list"]);
        assert!(two.claimed("b").is_empty(), "it is still at a");
        assert_eq!((two.has(A, "db"), two.has(B, "db")), (Some(true), None));
    }
}

#[test]
fn the_definition_stays_when_told_and_its_claims_go() {
    let two = bound(true);
    two.ok(A, &[&MOVE[..], &["--keep-source"]].concat());
    assert_eq!((two.has(A, "db"), two.has(B, "db")), (Some(false), Some(true)));
    assert!(two.claimed("a").is_empty() && !two.claimed("b").is_empty());
}

#[test]
fn a_guest_that_is_bound_to_nothing_goes_as_it_is() {
    let two = Two::new();
    two.define(A, "db", 4);
    let before = two.ok(A, &["embedded", "dumpxml", "db"]);
    let ran = two.run(A, &MOVE);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(two.ok(B, &["embedded", "dumpxml", "db"]), before);
    assert!(two.claimed("b").is_empty() && two.has(A, "db").is_none());
}

/// Pins of others are no claims, but they name pCPUs: at the destination it has some of its own.
#[test]
fn pins_of_others_are_not_copied() {
    let two = Two::new();
    let pinned = crate::bench::domain("db", 2, 1).replace(
        "  <devices>",
        "  <cputune><vcpupin vcpu='0' cpuset='40'/><vcpupin vcpu='1' cpuset='41'/></cputune>\n  <devices>",
    );
    std::fs::write(two.bench.path("db.xml"), pinned).expect("written");
    two.ok(A, &["embedded", "define", "db.xml"]);
    two.define(B, "web", 2);
    two.ok(B, &["bind", "web", "--bind", "0-1:40-41", "--no-vnuma", "--yes"]);
    two.ok(A, &MOVE);
    let xml = two.ok(B, &["embedded", "dumpxml", "db"]);
    assert!(!xml.contains("cpuset='40'") && xml.contains("<vcpupin"), "{xml}");
    assert!(!xml.contains("<numa>"), "a guest without nodes gets none: {xml}");
    two.ok(B, &["verify", "db"]);
}

#[test]
fn hosts_may_have_names() {
    let two = bound(false);
    std::fs::write(two.bench.path("c.toml"), "[hosts]\nspare = \"embedded:b\"\n").expect("written");
    two.ok(A, &["migrate", "db", "--to", "spare", "--yes", "--config", "c.toml"]);
    let list = two.bench.ok(&["list", "--config", "c.toml", "--connect", "spare"]);
    assert!(list.contains("db"), "{list}");
}

#[test]
fn guests_that_others_hold_here_stay() {
    let two = Two::new();
    let nova = crate::bench::repository().join("stories/files/nova-4.xml");
    two.ok(A, &["embedded", "define", &nova.to_string_lossy()]);
    let words = ["migrate", "nova-4", "--to", "embedded:b", "--yes"];
    let ran = two.refused(3, A, &words);
    assert!(ran.err.contains("OpenStack Nova"), "{}", ran.err);
    two.ok(A, &[&words[..], &["--override-owner"]].concat());

    let card = "  <devices>\n    <hostdev mode='subsystem' type='pci' managed='yes'><source>\
                <address domain='0' bus='0x41' slot='0' function='0'/></source></hostdev>\n";
    let with_card = crate::bench::domain("db", 2, 1).replace("  <devices>\n", card);
    std::fs::write(two.bench.path("db.xml"), with_card).expect("written");
    two.ok(A, &["embedded", "define", "db.xml"]);
    let ran = two.refused(3, A, &MOVE);
    assert!(ran.err.contains("passed through to the guest: 0000:41:00.0"), "{}", ran.err);
}

/// Hosts whose nodes have other numbers and other distances: the guest sees those of the host where it
/// was first seen running, on nodes that are there.
#[test]
fn what_a_guest_sees_is_kept_on_hosts_of_another_shape() {
    let two = Two::new();
    let xml = crate::bench::domain("db", 4, 1);
    std::fs::write(two.bench.path("db.xml"), xml).expect("written");
    two.ok(A, &["embedded", "define", "db.xml"]);
    two.ok(A, &["bind", "db", "--on-node", "0:0-1", "--on-node", "1:2-3", "--yes"]);
    two.ok(A, &["embedded", "start", "db"]);
    two.ok(A, &["list"]);
    let seen = |on| {
        let live = two.json(on, &["show", "db", "--json"])["live"].clone();
        (live["vnuma"].to_string(), live["guest_topology"].to_string())
    };
    let first = seen(A);
    assert!(first.0.contains("21"), "{first:?}");
    let mut from = A;
    for (to, fixture) in [
        (["--connect", "embedded:sparse"], "sparse-node-ids"),
        (["--connect", "embedded:far"], "memory-only-nodes"),
    ] {
        let host = crate::bench::repository().join(format!("fixtures/hosts/{fixture}.tar.xz"));
        two.ok(to, &["embedded", "init", "--host", &host.to_string_lossy(), "--id", fixture]);
        two.ok(from, &["migrate", "db", "--to", to[1], "--yes"]);
        assert_eq!(seen(to), first, "on {fixture}");
        two.ok(to, &["verify", "db"]);
        from = to;
    }
    assert!(two.claimed("a").is_empty() && two.claimed("sparse-node-ids").is_empty());
    assert_eq!(two.claimed("memory-only-nodes").len(), 4);
}
