//! Stalls, deadlocks, servers that die.

use crate::tables::{fill, options, run, target};
use numawise_database::oltp::Workload;
use numawise_database::{Connected, Load, LoadError, Rate, Spacing};
use numawise_testkit::servers::{PrivateMariaDb, PrivatePostgres};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn signal(pid: u32, name: &str) {
    let done =
        std::process::Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(done.is_ok_and(|status| status.success()), "kill -{name} {pid}");
}

/// One second of standstill in a run of four: an open loop shows it, a closed one hides it.
#[test]
fn an_open_loop_shows_a_stall_and_accounts_for_every_arrival() {
    let Some(server) = PrivateMariaDb::start(&[]) else { return };
    let wanted = options(Workload::PointSelect, 1, 10_000);
    let target = target(&server.target());
    fill(&target, &wanted, 1, false);
    let time = Some(Duration::from_secs(4));
    let closed = Load { time, connections: 2, ..Load::new(wanted.clone()) };
    let rate = Some(Rate { per_second: 500.0, spacing: Spacing::Poisson });
    let open = Load { rate, ..closed.clone() };
    let [closed, open] = [closed, open].map(|load| {
        let pid = server.pid();
        let stall = thread::spawn(move || {
            thread::sleep(Duration::from_millis(1500));
            signal(pid, "STOP");
            thread::sleep(Duration::from_secs(1));
            signal(pid, "CONT");
        });
        let measured = run(&target, &load).expect("a run");
        stall.join().expect("stalled");
        measured
    });
    let p99 = |measured: &numawise_experiment::Measured| measured.latencies.quantile(0.99);
    assert!(p99(&open) > Some(Duration::from_millis(500)), "{:?}", p99(&open));
    assert!(p99(&closed) < Some(Duration::from_millis(100)), "{:?}", p99(&closed));
    let schedule = open.schedule.expect("it had one");
    assert_eq!(schedule.intended, schedule.done + schedule.late + schedule.failed, "{schedule:?}");
    assert_eq!(schedule.done + schedule.late, open.latencies.count());
    assert!((1800..=2200).contains(&schedule.intended), "{schedule:?}");
    assert!(
        schedule.late > 300 && schedule.longest_wait > Duration::from_millis(800),
        "{schedule:?}"
    );
}

#[test]
fn a_server_that_never_comes_back_leaves_failed_arrivals_and_an_end() {
    let Some(mut server) = PrivateMariaDb::start(&[]) else { return };
    let wanted = options(Workload::PointSelect, 1, 10_000);
    let target = target(&server.target());
    fill(&target, &wanted, 1, false);
    let rate = Some(Rate { per_second: 200.0, spacing: Spacing::Even });
    let time = Some(Duration::from_secs(2));
    let load = Load { time, connections: 2, rate, ..Load::new(wanted) };
    let connected = Connected::connect(&target, &load).expect("it is up");
    let running = thread::spawn(move || {
        connected.run(Instant::now(), &AtomicBool::new(false), |_| {}).expect("a run")
    });
    thread::sleep(Duration::from_secs(1));
    server.kill();
    let schedule = running.join().expect("an end").schedule.expect("it had one");
    assert_eq!(schedule.intended, schedule.done + schedule.late + schedule.failed, "{schedule:?}");
    assert!((395..=405).contains(&schedule.intended), "{schedule:?}");
    assert!(schedule.failed > 100 && schedule.done > 50, "{schedule:?}");
}

#[test]
fn a_server_that_comes_back_is_used_again() {
    let Some(mut server) = PrivateMariaDb::start(&[]) else { return };
    let wanted = options(Workload::ReadWrite, 1, 10_000);
    let target = target(&server.target());
    fill(&target, &wanted, 1, false);
    // Two workers with two connections each.
    let load = Load {
        time: None,
        events: Some(u64::MAX),
        connections: 4,
        workers: Some(2),
        ..Load::new(wanted)
    };
    let connected = Connected::connect(&target, &load).expect("it is up");
    let cancel = std::sync::Arc::new(AtomicBool::new(false));
    let told = std::sync::Arc::clone(&cancel);
    let running = thread::spawn(move || {
        let mut last = 0;
        let measured =
            connected.run(Instant::now(), &told, |interval| last = interval.counts.transactions);
        (measured.expect("a run"), last)
    });
    thread::sleep(Duration::from_millis(500));
    server.crash_and_restart();
    thread::sleep(Duration::from_millis(3500));
    cancel.store(true, Ordering::Relaxed);
    let (measured, _) = running.join().expect("an end");
    assert_eq!(measured.counts.reconnects, 4);
    let last = measured.intervals.iter().rev().find(|i| i.length >= Duration::from_secs(1));
    assert!(last.is_some_and(|interval| interval.counts.transactions > 0), "{last:?}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM sbtest.sbtest1").trim(), "10000");
}

/// Many connections on few hot rows, in groups whose order is drawn: deadlocks are certain.
#[test]
fn deadlocks_are_run_again_and_leave_no_half_of_a_transaction() {
    let Some(server) = PrivateMariaDb::start(&["--innodb-lock-wait-timeout=1"]) else { return };
    let mut wanted = options(Workload::WriteOnly, 2, 20);
    wanted.index_updates = 3;
    wanted.non_index_updates = 3;
    let target_text = server.target();
    fill(&target(&target_text), &wanted, 1, false);
    let load =
        Load { time: Some(Duration::from_secs(2)), connections: 16, ..Load::new(wanted.clone()) };
    let measured = run(&target(&target_text), &load).expect("a run");
    assert!(measured.counts.ignored_errors > 0, "{:?}", measured.counts);
    for table in ["sbtest1", "sbtest2"] {
        assert_eq!(server.sql(&format!("SELECT COUNT(*) FROM sbtest.{table}")).trim(), "20");
    }
}

#[test]
fn deadlocks_on_postgres_are_rolled_back_and_run_again() {
    let Some(server) = PrivatePostgres::start(&["deadlock_timeout=20ms"]) else { return };
    let mut wanted = options(Workload::WriteOnly, 2, 20);
    wanted.index_updates = 3;
    let target = target(&server.target());
    fill(&target, &wanted, 1, false);
    let load = Load { time: Some(Duration::from_secs(2)), connections: 16, ..Load::new(wanted) };
    let measured = run(&target, &load).expect("a run");
    assert!(measured.counts.ignored_errors > 0, "{:?}", measured.counts);
    assert_eq!(server.sql("SELECT COUNT(*) FROM sbtest1").trim(), "20");
}

#[test]
fn what_cannot_run_is_told_with_its_reason() {
    let Some(server) = PrivateMariaDb::start(&["--max-prepared-stmt-count=10"]) else { return };
    let here = target(&server.target());
    let load = Load::new(options(Workload::PointSelect, 1, 1000));
    let missing = Connected::connect(&here, &load).err();
    assert!(
        matches!(&missing, Some(LoadError::Statement { code, .. }) if code == "1146"),
        "{missing:?}"
    );
    fill(&here, &options(Workload::ReadWrite, 1, 1000), 1, false);
    let many = Load { connections: 5, ..Load::new(options(Workload::ReadWrite, 1, 1000)) };
    let refused = Connected::connect(&here, &many).err();
    assert!(
        matches!(&refused, Some(LoadError::Statement { code, .. }) if code == "1461"),
        "{refused:?}"
    );
    let as_text = Load { as_text: true, time: None, events: Some(50), ..many };
    assert_eq!(run(&here, &as_text).expect("a run").counts.transactions, 50);
    let stranger = target(&server.target().replace("sb-secret", "wrong"));
    let shut_out = Connected::connect(&stranger, &load).err().expect("a refusal");
    assert!(shut_out.is_no_access() && !shut_out.to_string().contains("wrong"), "{shut_out}");
}
