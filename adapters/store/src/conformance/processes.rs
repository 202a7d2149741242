//! Rules about several processes, and about processes that are killed. The test's executable is
//! started again with a task; what it has to say, it says through the store.

use super::{Open, add_claims, lock, ok};
use numawise_engine::intent::{IntentId, Step};
use numawise_engine::ports::{Cancel, Store};
use numawise_model::{ClaimId, HostId};
use std::collections::BTreeSet;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Starts a process that calls [`in_child`] with the task and a handle on the same store.
pub type Spawn<'s> = &'s dyn Fn(&str) -> Child;

/// A process that does not outlive its test, also when that fails.
struct Process(Child);

impl Process {
    fn kill(&mut self) {
        self.0.kill().expect("killing a process");
        self.0.wait().expect("waiting for a killed process");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to do.
        if self.0.kill().is_ok() {
            self.0.wait().ok();
        }
    }
}

const PROCESSES: usize = 8;
const CLAIMS_EACH: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// What a started process does: `claims NAME`, `hold-lock ROUND` or `journal ROUND`.
pub fn in_child(task: &str, store: &dyn Store) {
    let (what, name) = task.split_once(' ').expect("a task has a name");
    match what {
        "claims" => {
            add_claims(store, &processes_host(), name, CLAIMS_EACH);
        }
        "hold-lock" => {
            let _held = lock(store, &killed_host());
            ok(store.append_step(&IntentId(format!("held-{name}")), &Step::Started));
            sleep(PATIENCE);
        }
        "journal" => {
            let intent = IntentId(format!("journal-{name}"));
            let started = Instant::now();
            for findings in (0..).take_while(|_| started.elapsed() < PATIENCE) {
                ok(store.append_step(&intent, &Step::Verified { findings }));
            }
        }
        _ => panic!("no task '{what}'"),
    }
}

fn processes_host() -> HostId {
    HostId("processes".to_owned())
}

fn killed_host() -> HostId {
    HostId("killed".to_owned())
}

/// Eight processes add 20 claims each: all are there once, and the revision is their number.
pub fn processes_commit_at_once(open: Open<'_>, spawn: Spawn<'_>) {
    let children: Vec<Process> =
        (0..PROCESSES).map(|n| Process(spawn(&format!("claims process-{n}")))).collect();
    for mut child in children {
        let status = child.0.wait().expect("waiting for a process");
        assert!(status.success(), "a process failed: {status}");
    }
    let state = ok(open().load(&processes_host()));
    assert_eq!(state.revision, (PROCESSES * CLAIMS_EACH) as u64);
    assert_eq!(state.ledger.claims.len(), PROCESSES * CLAIMS_EACH);
    let claims: BTreeSet<ClaimId> = state.ledger.claims.into_iter().map(|c| c.id).collect();
    let wanted = (0..PROCESSES)
        .flat_map(|n| (0..CLAIMS_EACH).map(move |i| ClaimId(format!("process-{n}-{i}"))));
    assert_eq!(claims, wanted.collect());
}

/// A holder that is killed with SIGKILL frees the lock; until then nobody else gets it.
pub fn killed_holder_frees_the_lock(open: Open<'_>, spawn: Spawn<'_>) {
    let store = open();
    for round in 0..5 {
        let mut child = Process(spawn(&format!("hold-lock {round}")));
        let held = IntentId(format!("held-{round}"));
        wait_until(&mut child, || ok(store.steps(&held)) == [Step::Started]);
        let mut waited = false;
        let cancel = Cancel::default();
        let taken = store.lock_host(
            &killed_host(),
            &mut || {
                waited = true;
                child.kill();
            },
            &cancel,
        );
        drop(ok(taken));
        assert!(waited, "the lock was free while its holder lived");
    }
}

/// What was in the journal when its writer was killed is there afterwards, without a gap, and the
/// next step is appended behind it.
pub fn killed_writer_keeps_its_journal(open: Open<'_>, spawn: Spawn<'_>) {
    for round in 0..5 {
        let intent = IntentId(format!("journal-{round}"));
        let mut child = Process(spawn(&format!("journal {round}")));
        let store = open();
        wait_until(&mut child, || ok(store.steps(&intent)).len() >= 10 + round);
        let seen = ok(store.steps(&intent));
        child.kill();
        drop(store);
        let store = open();
        let kept = ok(store.steps(&intent));
        assert!(
            kept.len() >= seen.len(),
            "{} steps were seen, {} are left",
            seen.len(),
            kept.len()
        );
        let wanted = (0..kept.len() as u32).map(|findings| Step::Verified { findings });
        assert_eq!(kept, wanted.collect::<Vec<_>>());
        ok(store.append_step(&intent, &Step::Finished));
        assert_eq!(ok(open().steps(&intent)).last(), Some(&Step::Finished));
    }
}

fn wait_until(child: &mut Process, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        let ended = child.0.try_wait().expect("looking at a process");
        assert!(ended.is_none(), "a process ended too early: {ended:?}");
        assert!(started.elapsed() < PATIENCE, "a process does nothing");
        sleep(Duration::from_millis(5));
    }
}
