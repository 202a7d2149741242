//! kill -9 at every step, and the next command: the guest ends in the old or in the new state,
//! definition, claims and running state together.

use crate::bench::Bench;
use numawise_engine::intent::IntentStatus;
use numawise_engine::loop_parts::CrashPoint;
use numawise_model::CpuSet;
use std::time::Duration;

/// Everything about the guest that has to be either old or new.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    inactive_xml: String,
    claimed: CpuSet,
    /// Of the plan in force.
    plan: Option<String>,
}

fn state(bench: &Bench) -> State {
    let stored = bench.stored();
    let mut plans = stored.guests.values().filter_map(|record| record.applied.as_ref());
    State {
        inactive_xml: bench.ok(&["embedded", "dumpxml", "db"]),
        claimed: stored.ledger.claimed_cpus(),
        plan: plans.next().map(|applied| applied.plan.id.to_string()),
    }
}

/// Where the threads of the running guest may run, those that may run everywhere left out.
fn live_pins(bench: &Bench) -> (serde_json::Value, serde_json::Value) {
    let shown = bench.json(&["show", "db", "--json"]);
    let pinned = |mut binding: serde_json::Value| {
        if let Some(pins) = binding.as_object_mut() {
            pins.retain(|_, cpus| cpus != "0-63");
        }
        binding
    };
    (pinned(shown["stored"]["binding"].clone()), pinned(shown["live"]["binding"].clone()))
}

fn is_running(bench: &Bench) -> bool {
    bench.json(&["list", "--json"])["guests"][0]["running"] == true
}

/// One crash: an apply (or undo) on a guest that has been bound before, killed at `point`.
struct Case {
    point: &'static str,
    restart: bool,
    live: bool,
    running: bool,
    undo: bool,
}

impl Case {
    fn check(&self) {
        let bench = Bench::new();
        bench.define("db", 40, 64);
        let first = bench.plan("db", &["--policy", "smart"]);
        bench.ok(&["apply", &first]);
        if self.running {
            bench.ok(&["embedded", "start", "db"]);
        }
        let old = state(&bench);
        let rebind = ["--bind", "0-31:0-31", "--bind", "32-39:32-39", "--new-topology"];
        let second = bench.plan("db", &rebind);
        let mut words = match self.undo {
            true => vec!["undo", "db", "--yes"],
            false => vec!["apply", second.as_str()],
        };
        if self.restart {
            words.push("--restart");
        }
        if self.live {
            words.push("--live");
        }
        let killed = [words.as_slice(), &["--crash-at", self.point]].concat();
        let ran = bench.run(&killed);
        // A step that this run does not have (a restart that was not asked for) ends it well.
        let died = ran.code.is_none();
        assert!(died || ran.code == Some(0), "{self}: {ran:?}");
        let next = bench.run(&["list"]);
        assert_eq!(next.code, Some(0), "{self}: {next:?}");
        let now = state(&bench);
        if now != old {
            // The new state is the one that a run without a crash ends in.
            assert_ne!(now.inactive_xml, old.inactive_xml, "{self}: half old, half new");
            assert_ne!(now.plan, old.plan, "{self}: half old, half new");
            let wanted = if self.undo { None } else { Some(second) };
            assert_eq!(now.plan, wanted, "{self}");
            assert_eq!(now.claimed.is_empty(), self.undo, "{self}: {now:?}");
        }
        assert_eq!(is_running(&bench), self.running, "{self}: the guest is not as it was");
        if self.live && self.running {
            let (stored, live) = live_pins(&bench);
            assert_eq!(stored, live, "{self}: the threads are half moved");
        }
        let pending = bench.stored().intents.iter().any(|i| i.status == IntentStatus::Pending);
        assert!(!pending, "{self}: an intent is left over");
        let told = next.err.contains("interrupted") || next.err.contains("killed");
        let needs_telling =
            died && !matches!(self.point, "status-committed" | "finished-journaled");
        assert!(told || !needs_telling, "{self}: recovery was not told: {next:?}");
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Case { point, restart, live, running, undo } = self;
        write!(
            f,
            "killed at {point} (restart {restart}, live {live}, running {running}, undo {undo})"
        )
    }
}

#[test]
fn a_kill_at_any_step_leaves_the_old_or_the_new_state() {
    for (point, _) in CrashPoint::ALL {
        for (restart, live) in [(false, false), (true, false), (false, true)] {
            for bits in 0..4 {
                let (running, undo) = (bits & 1 != 0, bits & 2 != 0);
                Case { point, restart, live, running, undo }.check();
            }
        }
    }
}

/// The kernel does not ask at which step it may kill: 16 kills at times spread over a whole run.
#[test]
fn a_kill_at_any_time_leaves_the_old_or_the_new_state() {
    for round in 0..16u64 {
        let bench = Bench::new();
        bench.define("db", 40, 64);
        bench.ok(&["embedded", "start", "db"]);
        let old = state(&bench);
        let plan = bench.plan("db", &["--policy", "smart"]);
        let mut child = bench.spawn(&["apply", &plan, "--restart"]);
        std::thread::sleep(Duration::from_millis(round * 4));
        // It may be done already; then there is nothing to kill.
        let _ = child.kill();
        child.wait().expect("the child ends");
        let next = bench.run(&["list"]);
        assert_eq!(next.code, Some(0), "round {round}: {next:?}");
        let now = state(&bench);
        if now != old {
            assert_eq!(now.plan.as_ref(), Some(&plan), "round {round}");
            assert_eq!(now.claimed.len(), 40, "round {round}");
            assert_eq!(bench.run(&["verify", "db"]).code, Some(0), "round {round}");
        }
        assert!(is_running(&bench), "round {round}: the guest was left off");
    }
}
