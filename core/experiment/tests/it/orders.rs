//! Designs that are refused, and the order of those that are not.

use crate::simulate::design;
use numawise_experiment::design::{DesignPart, DesignRefused};
use numawise_experiment::{Arm, Design, PlannedRun, RunId, Scenario, order};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn on(name: &str, hosts: &[&str]) -> Scenario {
    Scenario { name: name.to_owned(), hosts: hosts.iter().map(|h| (*h).to_owned()).collect() }
}

/// Three scenarios and a control, two workloads, a ladder.
fn large() -> Design {
    let mut design = design(6, 0.01, 7);
    design.scenarios.push(on("binding only", &["a"]));
    design.workloads = vec!["read-write".to_owned(), "point-select".to_owned()];
    design.threads = vec![32, 16, 8, 4, 2];
    design
}

fn runs(design: &Design) -> Vec<PlannedRun> {
    order(design).expect("nothing is refused")
}

#[test]
fn every_arm_runs_once_in_each_cell_of_each_block() {
    let design = large();
    let runs = runs(&design);
    let ids: BTreeSet<RunId> = runs.iter().map(|run| run.id).collect();
    assert_eq!(ids.len(), runs.len());
    assert_eq!(runs.len(), 6 * 4 * 2 * 5);
}

#[test]
fn a_ladder_runs_in_one_applied_placement() {
    let design = large();
    let runs = runs(&design);
    for of_one in runs.chunks(5) {
        let threads: Vec<u32> = of_one.iter().map(|run| run.id.threads).collect();
        assert_eq!(threads, [32, 16, 8, 4, 2]);
        assert!(of_one.iter().all(|run| run.application == of_one[0].application));
        assert!(of_one.iter().all(|run| run.id.arm == of_one[0].id.arm));
    }
    let applications: BTreeSet<u32> = runs.iter().map(|run| run.application).collect();
    assert_eq!(applications.len(), 6 * 4 * 2);
}

#[test]
fn more_blocks_only_add_to_the_end() {
    let short = large();
    let long = Design { blocks: 20, ..large() };
    let (short, long) = (runs(&short), runs(&long));
    assert_eq!(short[..], long[..short.len()]);
}

#[test]
fn another_seed_gives_another_order() {
    let other = Design { seed: 8, ..large() };
    assert_ne!(runs(&large()), runs(&other));
}

#[test]
fn mirrored_blocks_put_each_arm_as_often_before_another_as_after_it() {
    let design = Design { threads: vec![8], ..large() };
    let mut before: BTreeMap<(u32, u32, Arm, Arm), i32> = BTreeMap::new();
    let runs = runs(&design);
    for (at, one) in runs.iter().enumerate() {
        for other in &runs[at + 1..] {
            if one.id.block == other.id.block && one.id.workload == other.id.workload {
                let key = |a: Arm, b: Arm| (one.id.block / 2, one.id.workload, a, b);
                *before.entry(key(one.id.arm, other.id.arm)).or_default() += 1;
                *before.entry(key(other.id.arm, one.id.arm)).or_default() -= 1;
            }
        }
    }
    assert!(before.values().all(|count| *count == 0), "{before:?}");
}

#[test]
fn a_crossover_keeps_each_block_on_one_host_and_gives_all_hosts_as_many() {
    let mut design = large();
    design.blocks = 8;
    for scenario in &mut design.scenarios {
        scenario.hosts = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    }
    let mut blocks: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for run in runs(&design) {
        blocks.entry(run.host).or_default().insert(run.id.block);
    }
    assert_eq!(blocks["a"], BTreeSet::from([0, 1, 4, 5]));
    assert_eq!(blocks["b"], BTreeSet::from([2, 3, 6, 7]));
}

#[test]
fn ids_are_read_as_they_are_written() {
    for (arm, text) in
        [(Arm::Scenario { index: 1 }, "b03-a1-w0-t32"), (Arm::Control, "b03-ac-w0-t32")]
    {
        let id = RunId { block: 3, arm, workload: 0, threads: 32 };
        assert_eq!(id.to_string(), text);
        assert_eq!(RunId::parse(text), Some(id));
    }
    for text in
        ["", "b3-a1-w0-t32", "b03-a1-w0", "b03-a1-w0-t32-x", "b03-a1-t32-w0", "b03-a+1-w0-t2"]
    {
        assert_eq!(RunId::parse(text), None, "{text}");
    }
}

#[test]
fn arms_on_different_hosts_are_refused() {
    let mut design = large();
    design.scenarios = vec![on("off", &["b"]), on("on", &["a"])];
    let hosts = BTreeMap::from([
        ("off".to_owned(), BTreeSet::from(["b".to_owned()])),
        ("on".to_owned(), BTreeSet::from(["a".to_owned()])),
    ]);
    assert_eq!(order(&design), Err(vec![DesignRefused::ArmConfoundedWithHost { hosts }]));
}

#[test]
fn every_refusal_that_applies_is_told() {
    let mut design = large();
    design.scenarios = vec![on("off", &[]), on("off", &[])];
    design.baseline = "of".to_owned();
    design.workloads.clear();
    design.threads = vec![8, 8];
    design.blocks = 0;
    design.worth = 1.0;
    design.measure = Duration::ZERO;
    design.warm_up.at_most = Duration::from_secs(1);
    let expected = [
        DesignRefused::BaselineUnknown {
            name: "of".to_owned(),
            scenarios: vec!["off".to_owned(), "off".to_owned()],
        },
        DesignRefused::NoWorkload,
        DesignRefused::Twice { what: DesignPart::Scenario, name: "off".to_owned() },
        DesignRefused::Twice { what: DesignPart::Threads, name: "8".to_owned() },
        DesignRefused::NoHost { scenario: "off".to_owned() },
        DesignRefused::NoHost { scenario: "off".to_owned() },
        DesignRefused::BlocksOutOfRange { blocks: 0, most: 10_000 },
        DesignRefused::WorthOutOfRange { worth: 1.0 },
        DesignRefused::WarmUpEndsBeforeItBegins {
            at_least: Duration::from_secs(30),
            at_most: Duration::from_secs(1),
        },
        DesignRefused::NothingMeasured,
    ];
    assert_eq!(design.refusals(), expected);
}

#[test]
fn the_hosts_of_a_crossover_need_as_many_mirrored_blocks() {
    let mut design = large();
    for scenario in &mut design.scenarios {
        scenario.hosts = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    }
    assert_eq!(design.refusals(), [DesignRefused::BlocksNotEven { blocks: 6, multiple_of: 4 }]);
}
