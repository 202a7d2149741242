//! The rules that every store keeps, whatever is behind it. A store's own tests call them with a way
//! to open one more handle on the same store, and a way to start a process that runs [`in_child`].
//!
//! Each rule works under names of its own, so all of them can run on one store and at once. They
//! panic where a rule is broken.

mod processes;
mod samples;
mod tuning;

pub use processes::{
    in_child, killed_holder_frees_the_lock, killed_writer_keeps_its_journal,
    processes_commit_at_once,
};

use numawise_engine::intent::{HostState, IntentId, IntentStatus, Step};
use numawise_engine::ports::{Cancel, CommitOutcome, PortError, Store};
use numawise_engine::usage::{CpuTicks, UsageSample};
use numawise_model::{Claim, ClaimId, CpuSet, HostId, Mode, Owner, PageCounts, Pcpu, PlanId};
use numawise_model::{Purpose, Source, TuningRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Opens another handle on the one store under test.
pub type Open<'o> = &'o (dyn Fn() -> Box<dyn Store> + Sync);

/// Every rule that one process can show.
pub fn in_one_process(open: Open<'_>) {
    unknown_things_are_absent(&*open());
    commits_compare_and_set(open);
    states_come_back_whole(open);
    threads_commit_at_once(open);
    hosts_do_not_touch(&*open());
    journal_keeps_its_order(open);
    plans_come_back_and_never_change(open);
    usage_is_kept_for_an_hour(open);
    tuning::records_come_back_whole(open);
    tuning::plans_never_change(open);
    lock_has_one_holder(open);
    waiting_for_a_lock_can_be_cancelled(open);
}

pub fn unknown_things_are_absent(store: &dyn Store) {
    let host = HostId("unknown".to_owned());
    assert_eq!(ok(store.load(&host)), HostState::default());
    assert_eq!(ok(store.steps(&IntentId("unknown".to_owned()))), []);
    assert_eq!(ok(store.plan(&PlanId("unknown".to_owned()))), None);
    assert_eq!(ok(store.usage_samples(&host)), []);
    assert_eq!(ok(store.tuning(&host)), TuningRecord::default());
    assert_eq!(ok(store.tuning_plan(&PlanId("unknown".to_owned()))), None);
}

/// The revision grows by one; who read another one writes nothing and learns what is there.
pub fn commits_compare_and_set(open: Open<'_>) {
    let (a, b) = (open(), open());
    let host = HostId("compare-and-set".to_owned());
    let state = |name: &str| with_claim(HostState::default(), name);
    assert_eq!(ok(a.commit(&host, 1, &state("early"))), CommitOutcome::Conflict { found: 0 });
    assert_eq!(ok(a.commit(&host, 0, &state("a"))), CommitOutcome::Committed { revision: 1 });
    assert_eq!(ok(b.commit(&host, 0, &state("b"))), CommitOutcome::Conflict { found: 1 });
    assert_eq!(ok(b.load(&host)), HostState { revision: 1, ..state("a") });
    assert_eq!(ok(b.commit(&host, 1, &state("b"))), CommitOutcome::Committed { revision: 2 });
    assert_eq!(ok(a.commit(&host, 3, &state("late"))), CommitOutcome::Conflict { found: 2 });
    // The revision written is the one after `expected`, whatever the state says of itself.
    let odd = HostState { revision: 70, ..state("c") };
    assert_eq!(ok(a.commit(&host, 2, &odd)), CommitOutcome::Committed { revision: 3 });
    assert_eq!(ok(open().load(&host)), HostState { revision: 3, ..state("c") });
}

/// Ledger, intents with their plans, guests with frozen topologies: nothing is lost on the way.
pub fn states_come_back_whole(open: Open<'_>) {
    let host = HostId("whole".to_owned());
    let mut state = samples::state();
    assert_eq!(ok(open().commit(&host, 0, &state)), CommitOutcome::Committed { revision: 1 });
    state.revision = 1;
    assert_eq!(ok(open().load(&host)), state);
    state.intents[0].status = IntentStatus::RolledBack { because: "does not start".to_owned() };
    state.guests.clear();
    assert_eq!(ok(open().commit(&host, 1, &state)), CommitOutcome::Committed { revision: 2 });
    state.revision = 2;
    assert_eq!(ok(open().load(&host)), state);
}

/// Eight threads with handles of their own add 25 claims each: none is lost, none is there twice,
/// and no revision is given out twice.
pub fn threads_commit_at_once(open: Open<'_>) {
    let host = HostId("threads".to_owned());
    let revisions: Vec<u64> = thread::scope(|scope| {
        let host = &host;
        let workers: Vec<_> = (0..8)
            .map(|n| scope.spawn(move || add_claims(&*open(), host, &format!("thread-{n}"), 25)))
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a thread failed")).collect()
    });
    let distinct: BTreeSet<u64> = revisions.iter().copied().collect();
    assert_eq!(distinct, (1..=200).collect());
    assert_eq!(revisions.len(), 200);
    let claims: BTreeSet<ClaimId> =
        ok(open().load(&host)).ledger.claims.into_iter().map(|claim| claim.id).collect();
    let wanted = (0..8).flat_map(|n| (0..25).map(move |i| ClaimId(format!("thread-{n}-{i}"))));
    assert_eq!(claims, wanted.collect());
}

pub fn hosts_do_not_touch(store: &dyn Store) {
    let (a, b) = (HostId("host-a".to_owned()), HostId("host-b".to_owned()));
    let state = with_claim(HostState::default(), "of-a");
    assert_eq!(ok(store.commit(&a, 0, &state)), CommitOutcome::Committed { revision: 1 });
    assert_eq!(ok(store.load(&b)), HostState::default());
    let _held = lock(store, &a);
    let _also = lock(store, &b);
}

/// Steps come back in the order they were appended, from any handle, each intent's apart.
pub fn journal_keeps_its_order(open: Open<'_>) {
    let (first, second) = (IntentId("journal-1".to_owned()), IntentId("journal-2".to_owned()));
    let steps = samples::every_step();
    let store = open();
    for step in &steps {
        ok(store.append_step(&first, step));
        ok(open().append_step(&second, &Step::Verified { findings: 7 }));
        assert_eq!(ok(open().steps(&first)).last(), Some(step), "seen as soon as it is appended");
    }
    assert_eq!(ok(open().steps(&first)), steps);
    assert_eq!(ok(open().steps(&second)), vec![Step::Verified { findings: 7 }; steps.len()]);
}

pub fn plans_come_back_and_never_change(open: Open<'_>) {
    let plan = samples::plan("plan-kept");
    ok(open().save_plan(&plan));
    assert_eq!(ok(open().plan(&plan.id)), Some(plan.clone()));
    // Saving it again is no harm: the outcome of the first time may have been unknown.
    ok(open().save_plan(&plan));
    let mut other = plan.clone();
    other.request.vcpus += 1;
    let error = open().save_plan(&other).expect_err("a plan was overwritten").to_string();
    assert!(error.contains("plan-kept"), "{error}");
    assert_eq!(ok(open().plan(&plan.id)), Some(plan));
}

pub fn usage_is_kept_for_an_hour(open: Open<'_>) {
    let host = HostId("usage".to_owned());
    let sample = |at: i64| UsageSample {
        at_unix_sec: at,
        boot_unix_sec: 1_700_000_000,
        cpus: BTreeMap::from([
            (Pcpu(0), CpuTicks { busy: 5, total: 100 }),
            (Pcpu(8191), CpuTicks { busy: u64::from(u32::MAX) * 5, total: u64::MAX >> 12 }),
        ]),
    };
    let start = 1_800_000_000;
    for at in [start, start + 60, start + 3600] {
        ok(open().add_usage_sample(&host, &sample(at)));
    }
    let kept = |wanted: &[i64]| {
        let wanted: Vec<UsageSample> = wanted.iter().map(|at| sample(*at)).collect();
        assert_eq!(ok(open().usage_samples(&host)), wanted);
    };
    kept(&[start, start + 60, start + 3600]);
    ok(open().add_usage_sample(&host, &sample(start + 3601)));
    kept(&[start + 60, start + 3600, start + 3601]);
    // Added late, still in its place.
    ok(open().add_usage_sample(&host, &sample(start + 3599)));
    kept(&[start + 60, start + 3599, start + 3600, start + 3601]);
    // The clock was wrong and is set back by a day.
    ok(open().add_usage_sample(&host, &sample(start - 86_400)));
    kept(&[start - 86_400]);
    assert_eq!(ok(open().usage_samples(&HostId("usage-of-other".to_owned()))), []);
}

/// While one holds the lock, another waits, is told so once, and gets it when it is dropped.
pub fn lock_has_one_holder(open: Open<'_>) {
    let host = HostId("lock".to_owned());
    let free = AtomicBool::new(false);
    let held = lock(&*open(), &host);
    let waits = thread::scope(|scope| {
        let (host, free) = (&host, &free);
        let waiter = scope.spawn(move || {
            let mut waits = 0;
            let second = open().lock_host(host, &mut || waits += 1, &Cancel::default());
            drop(ok(second));
            assert!(free.load(Ordering::SeqCst), "two held the lock at once");
            waits
        });
        thread::sleep(Duration::from_millis(200));
        assert!(!waiter.is_finished(), "two held the lock at once");
        free.store(true, Ordering::SeqCst);
        drop(held);
        waiter.join().expect("the waiter failed")
    });
    assert_eq!(waits, 1, "on_wait is called once");
    let mut waits = 0;
    drop(ok(open().lock_host(&host, &mut || waits += 1, &Cancel::default())));
    assert_eq!(waits, 0, "on_wait is not called for a free lock");
}

pub fn waiting_for_a_lock_can_be_cancelled(open: Open<'_>) {
    let host = HostId("cancelled".to_owned());
    let _held = lock(&*open(), &host);
    let cancel = Cancel::default();
    let flag = cancel.flag();
    let started = Instant::now();
    // As a signal would while it waits.
    let outcome =
        open().lock_host(&host, &mut || flag.store(true, Ordering::Relaxed), &cancel).map(drop);
    assert!(matches!(outcome, Err(PortError::Cancelled)), "{outcome:?}");
    assert!(started.elapsed() < Duration::from_secs(5), "a cancelled wait goes on");
}

/// Adds claims one commit each, as often as others come first; the revisions it was given.
fn add_claims(store: &dyn Store, host: &HostId, prefix: &str, count: usize) -> Vec<u64> {
    let mut revisions = Vec::new();
    for i in 0..count {
        loop {
            let state = ok(store.load(host));
            let expected = state.revision;
            let state = with_claim(state, &format!("{prefix}-{i}"));
            if let CommitOutcome::Committed { revision } = ok(store.commit(host, expected, &state))
            {
                assert_eq!(revision, expected + 1);
                revisions.push(revision);
                break;
            }
        }
    }
    revisions
}

fn with_claim(mut state: HostState, id: &str) -> HostState {
    state.ledger.claims.push(Claim {
        id: ClaimId(id.to_owned()),
        owner: Owner::Process { name: id.to_owned() },
        cpus: CpuSet::range(3, 5),
        mode: Mode::Shared,
        purpose: Purpose::Vcpus,
        pages: PageCounts::new(),
        source: Source::Numawise,
    });
    state
}

fn lock(store: &dyn Store, host: &HostId) -> Box<dyn numawise_engine::ports::HostLock> {
    ok(store.lock_host(host, &mut || panic!("{host} is locked already"), &Cancel::default()))
}

fn ok<T>(result: Result<T, PortError>) -> T {
    result.unwrap_or_else(|error| panic!("the store failed: {error}"))
}
