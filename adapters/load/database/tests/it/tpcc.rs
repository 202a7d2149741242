//! TPC-C: what is loaded is consistent, and stays so under load and through a crash; what is counted is
//! what the database has.

use numawise_database::Target;
use numawise_database::tpcc::{self, Prepare, Run, RunProgress, TpccError};
use numawise_experiment::{
    Mix, NoServerCounters, OrdersAgreement, RandomChoice, Route, ServerTransactions, TpccRun,
};
use numawise_testkit::servers::{PrivateMariaDb, PrivatePostgres};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static NEVER: AtomicBool = AtomicBool::new(false);

fn parsed(text: &str) -> Target {
    text.parse().expect(text)
}

fn prepare(target: &Target, warehouses: i64) {
    let wanted = Prepare { warehouses, threads: 2, seed: 1 };
    tpcc::prepare(target, &wanted, &NEVER, &mut |_| ()).expect("prepared");
}

fn seconds(time: u64, route: Route) -> Run {
    Run {
        users: 4,
        ramp_up: Duration::from_secs(1),
        time: Duration::from_secs(time),
        interval: Duration::from_millis(250),
        choice: RandomChoice::HammerDb,
        mix: Mix::Drawn,
        route,
        all_warehouses: false,
        waits: false,
        seed: 7,
    }
}

fn ran(target: &Target, run: &Run) -> TpccRun {
    tpcc::run(target, run, &NEVER, &mut |_| ()).expect("the run")
}

#[track_caller]
fn assert_consistent(target: &Target) {
    let results = tpcc::check(target, &mut |_| ()).expect("checked");
    assert_eq!(results.len(), 12);
    let broken: Vec<_> = results.iter().filter(|result| result.broken > 0).collect();
    assert!(broken.is_empty(), "{target}: {broken:?}");
}

/// Both counts of orders are equal, and all five kinds were there.
#[track_caller]
fn assert_counted(run: &TpccRun) {
    assert_eq!(run.orders.agreement(), OrdersAgreement::Equal, "{:?}", run.orders);
    assert!(run.orders.committed > 0);
    let kinds = &run.measured.kinds;
    assert!(kinds.iter().all(|kind| kind.counts.transactions > 0), "{kinds:?}");
    let of_kinds: u64 = kinds.iter().map(|kind| kind.latencies.count()).sum();
    assert_eq!(run.measured.latencies.count(), of_kinds);
    assert_eq!(run.measured.counts.transactions, of_kinds);
    let measured: u64 = run
        .measured
        .intervals
        .iter()
        .filter(|interval| !interval.warm_up)
        .map(|interval| interval.counts.transactions)
        .sum();
    assert_eq!(measured, of_kinds, "intervals and kinds are of the same transactions");
}

#[track_caller]
fn assert_server_agrees(run: &TpccRun) {
    let ServerTransactions::Counted { commits, rollbacks } = run.server else {
        panic!("{:?}", run.server)
    };
    let (server, clients) = ((commits + rollbacks) as f64, run.client_transactions() as f64);
    assert!((server / clients - 1.0).abs() < 0.01, "{server} by the server, {clients} by clients");
}

/// Everything that holds for a server; `crash` kills it and starts it again.
fn a_server_holds(target: &Target, crash: &mut dyn FnMut()) {
    prepare(target, 2);
    assert_consistent(target);
    for route in [Route::Procedures, Route::Statements] {
        let run = ran(target, &seconds(3, route));
        assert_counted(&run);
        assert_server_agrees(&run);
        assert!(run.nopm() > Some(0.0) && run.tpm() > run.nopm());
        assert_consistent(target);
    }
    let strict = Run {
        choice: RandomChoice::Specification,
        mix: Mix::Dealt,
        all_warehouses: true,
        ..seconds(300, Route::Procedures)
    };
    let run = through_a_crash(target, &strict, crash);
    let restarted = ServerTransactions::NotAvailable { why: NoServerCounters::Restarted };
    assert_eq!((run.server, run.tpm()), (restarted, None));
    assert!(run.measured.counts.reconnects > 0, "{:?}", run.measured.counts);
    let agreement = run.orders.agreement();
    let bounded =
        matches!(agreement, OrdersAgreement::Equal | OrdersAgreement::WithinUnknown { .. });
    assert!(bounded, "{agreement:?} {:?}", run.orders);
    assert!(run.orders.unknown <= run.unknown && run.unknown <= 8, "{:?}", run.unknown);
    assert_consistent(target);
    tpcc::cleanup(target).expect("cleaned up");
    let gone = tpcc::check(target, &mut |_| ()).expect_err("nothing is left");
    assert!(matches!(gone, TpccError::NotPrepared { .. }), "{gone}");
}

/// The server dies once there is something to lose, and the run ends once all of its users are back.
fn through_a_crash(target: &Target, run: &Run, crash: &mut dyn FnMut()) -> TpccRun {
    let (enough, measured, reconnects) =
        (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let mut progress = |seen: RunProgress| {
        if !seen.is_ramp_up {
            measured.fetch_add(seen.counts.transactions, Ordering::Relaxed);
            reconnects.fetch_add(seen.counts.reconnects, Ordering::Relaxed);
        }
    };
    let wait_for = |count: &AtomicU64, wanted: u64| {
        let begun = Instant::now();
        while count.load(Ordering::Relaxed) < wanted {
            assert!(begun.elapsed() < Duration::from_secs(120), "{count:?} of {wanted}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    thread::scope(|scope| {
        let run = scope.spawn(|| tpcc::run(target, run, &enough, &mut progress));
        wait_for(&measured, 200);
        crash();
        wait_for(&reconnects, 4);
        let so_far = measured.load(Ordering::Relaxed);
        wait_for(&measured, so_far + 100);
        enough.store(true, Ordering::Relaxed);
        run.join().expect("the thread").expect("the run")
    })
}

#[test]
fn mariadb_holds_through_runs_and_a_crash() {
    let Some(mut server) = PrivateMariaDb::start(&[]) else { return };
    let target = parsed(&server.target());
    a_server_holds(&target, &mut || server.crash_and_restart());
}

#[test]
fn postgresql_holds_through_runs_and_a_crash() {
    // A kill takes nothing from the page cache; and nobody else may be at work in it.
    let quiet = ["fsync=off", "autovacuum=off"];
    let Some(mut server) = PrivatePostgres::start(&quiet) else { return };
    let target = parsed(&server.target());
    a_server_holds(&target, &mut || server.crash_and_restart());
}

#[test]
fn sqlite_holds_and_has_no_server_to_count_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = parsed(&format!("sqlite:{}", folder.path().join("tpcc.db").display()));
    prepare(&target, 1);
    assert_consistent(&target);
    let refused = tpcc::run(&target, &seconds(1, Route::Procedures), &NEVER, &mut |_| ());
    assert!(matches!(refused, Err(TpccError::NoProcedures { .. })), "{refused:?}");
    let run = ran(&target, &seconds(3, Route::Statements));
    assert_counted(&run);
    let no_server = ServerTransactions::NotAvailable { why: NoServerCounters::NoServer };
    assert_eq!((run.server, run.tpm()), (no_server, None));
    assert_consistent(&target);
    let twice = tpcc::prepare(
        &target,
        &Prepare { warehouses: 1, threads: 1, seed: 1 },
        &NEVER,
        &mut |_| (),
    );
    assert!(matches!(twice, Err(TpccError::AlreadyThere { .. })), "{twice:?}");
}

#[test]
fn a_broken_table_breaks_its_conditions() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = parsed(&format!("sqlite:{}", folder.path().join("tpcc.db").display()));
    prepare(&target, 1);
    let mut admin = numawise_database::Admin::open(&target).expect("open");
    for (change, wanted) in [
        ("UPDATE warehouse SET w_ytd = w_ytd + 1", &[1, 8][..]),
        ("UPDATE district SET d_next_o_id = 3002 WHERE d_id = 3", &[2]),
        ("DELETE FROM new_order WHERE no_d_id = 3 AND no_o_id = 2500", &[3, 5, 11]),
        ("DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 7 AND ol_number = 2", &[4, 6]),
        ("UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 7", &[7]),
        ("DELETE FROM history WHERE h_c_id = 9 AND h_d_id = 9", &[8, 9, 10]),
        ("UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 5 AND c_d_id = 5", &[10, 12]),
    ] {
        admin.run(change).expect(change);
        let broken: Vec<u8> = tpcc::check(&target, &mut |_| ())
            .expect("checked")
            .into_iter()
            .filter(|result| result.broken > 0)
            .map(|result| result.condition)
            .collect();
        assert!(wanted.iter().all(|condition| broken.contains(condition)), "{change}: {broken:?}");
    }
}
