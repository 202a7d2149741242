//! A process killed between any two writes leaves the old state or the new one.

use crate::life::{DIR, TASK, spawn};
use crate::scene::{OPTIONS, cpus, domain, open, uuid};
use numawise_engine::ports::{Cancel, Depth, Hypervisor};
use numawise_model::Vcpu;
use std::env;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const ROUNDS: u32 = 50;

fn pinned_to(cpu: u32) -> String {
    // Long enough that a write is more than one block.
    let filler = "x".repeat(20_000);
    domain(&format!(
        "<cputune><vcpupin vcpu='0' cpuset='{cpu}'/></cputune><description>{filler}</description>"
    ))
}

/// Redefines, starts and stops one guest until it is killed.
#[test]
#[ignore = "the other side of the test with killed processes"]
fn churn() {
    let (Ok(round), Some(dir)) = (env::var(TASK), env::var_os(DIR)) else { return };
    let dir = Path::new(&dir);
    let hypervisor = open(dir);
    let stop = || hypervisor.shutdown(&uuid(), OPTIONS, &Cancel::default());
    if hypervisor.guests().expect("guests").iter().any(|guest| guest.running) {
        stop().expect("a shutdown");
    }
    std::fs::write(dir.join(format!("round-{round}")), "").expect("a sign");
    let started = Instant::now();
    for cpu in (1..=2).cycle().take_while(|_| started.elapsed() < Duration::from_secs(60)) {
        hypervisor.define(&pinned_to(cpu)).expect("a definition");
        hypervisor.start(&uuid()).expect("a start");
        hypervisor.define(&pinned_to(3 - cpu)).expect("a definition");
        stop().expect("a shutdown");
    }
}

#[test]
fn fifty_kills_leave_the_old_or_the_new_state() {
    let dir = tempfile::tempdir().expect("a directory");
    let texts = [pinned_to(1), pinned_to(2)];
    let (mut defined, mut found_running) = (false, 0);
    for round in 0..ROUNDS {
        let mut child = spawn("crash::churn", &round.to_string(), dir.path());
        let sign = dir.path().join(format!("round-{round}"));
        let started = Instant::now();
        while !sign.exists() {
            assert!(child.try_wait().expect("looking").is_none(), "round {round}: it ended");
            assert!(started.elapsed() < Duration::from_secs(60), "round {round}: it hangs");
            sleep(Duration::from_micros(200));
        }
        // Steps that share no factor with how long a turn takes: another place each time.
        sleep(Duration::from_micros(u64::from(round) * 7919 % 40_000));
        child.kill().expect("killing");
        child.wait().expect("waiting");

        let hypervisor = open(dir.path());
        let guests = hypervisor.guests().expect("guests");
        let Some(guest) = guests.first() else {
            assert!(!defined, "round {round}: the definition is gone");
            continue;
        };
        defined = true;
        let inactive = hypervisor.inactive_xml(&uuid()).expect("a definition");
        assert!(texts.contains(&inactive), "round {round}: {inactive}");
        let live = hypervisor.live_xml(&uuid()).expect("a live definition or none");
        let facts = hypervisor.observe(&uuid(), Depth::Guest).expect("facts or none");
        assert_eq!((live.is_some(), facts.is_some()), (guest.running, guest.running));
        if let (Some(live), Some(facts)) = (live, facts) {
            found_running += 1;
            let cpu = if live == texts[0] { "1" } else { "2" };
            assert!(texts.contains(&live), "round {round}: {live}");
            assert_eq!(facts.vcpu_affinity[&Vcpu(0)], cpus(cpu), "round {round}");
        }
    }
    assert!(found_running > 0 && found_running < ROUNDS, "the kills hit one place alone");
}
