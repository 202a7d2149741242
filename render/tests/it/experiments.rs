//! Verdicts, doubts, refused designs, and the tables of reports.

use expect_test::{expect, expect_file};
use numawise_experiment::gain::{Figures, gain_rows};
use numawise_experiment::targets::{TargetFigures, together};
use numawise_experiment::{
    Cell, Comparison, DesignPart, DesignRefused, Doubt, Effect, Interval95, Judgement, LimitedTier,
    Mechanism, Metric, Panel, Tier, Verdict,
};
use numawise_render::{Look, text};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn look() -> Look {
    Look { width: 110, ..Look::default() }
}

fn effect(change: f64, interval: Option<Interval95>) -> Effect {
    Effect {
        pairs: 12,
        change,
        interval,
        robust_change: change,
        spread: Some(0.02),
        chance: 0.0005,
        chance_adjusted: 0.001,
        points: Vec::new(),
    }
}

fn comparison(scenario: &str, metric: Metric, verdict: Verdict, doubts: Vec<Doubt>) -> Comparison {
    Comparison {
        scenario: scenario.to_owned(),
        cell: Cell { workload: "read-write".to_owned(), threads: 16 },
        metric,
        baseline_value: Some(1843.0),
        scenario_value: Some(1998.0),
        effect: Some(effect(8.41, Some(Interval95 { low: 6.5, high: 10.25 }))),
        noise_floor: Some(1.1),
        verdict,
        doubts,
    }
}

fn judgement(comparisons: Vec<Comparison>) -> Judgement {
    Judgement {
        primary: Metric::Tps,
        worth: 0.01,
        baseline: "vNUMA off".to_owned(),
        comparisons,
        panels: Vec::new(),
    }
}

#[test]
fn verdicts_read_well() {
    let drift = Doubt::Drift { change: -4.5 };
    let bound = Doubt::ClientBound { runs: 8, of: 24, most: 0.93 };
    let mut judgement = judgement(vec![
        comparison("vNUMA on", Metric::Tps, Verdict::ProvenGain, vec![drift.clone()]),
        comparison(
            "binding only",
            Metric::Tps,
            Verdict::Inconclusive { pairs: Some(44) },
            Vec::new(),
        ),
        comparison(
            "vNUMA on",
            Metric::LatencyP95,
            Verdict::Inconclusive { pairs: None },
            vec![bound],
        ),
        comparison("binding only", Metric::LatencyP95, Verdict::Equivalent, Vec::new()),
        comparison("two CCDs", Metric::Tps, Verdict::ProvenLoss, vec![drift]),
        comparison(
            "two CCDs",
            Metric::LatencyP95,
            Verdict::Inconclusive { pairs: None },
            Vec::new(),
        ),
    ]);
    judgement.comparisons[5].effect = None;
    judgement.panels.push(Panel {
        cell: Cell { workload: "read-write".to_owned(), threads: 16 },
        metric: Metric::Tps,
        pairs: 12,
        change: 0.25,
        interval: Some(Interval95 { low: -0.8, high: 1.3 }),
        noise_floor: Some(1.05),
    });
    expect![[r#"
        scenario      at                      metric  baseline  with it  change   95 % interval      pairs
        vNUMA on      read-write, 16 threads  TPS     1843.00   1998.00  +8.41 %  +6.50 .. +10.25 %  12
        binding only  read-write, 16 threads  TPS     1843.00   1998.00  +8.41 %  +6.50 .. +10.25 %  12
        vNUMA on      read-write, 16 threads  p95 ms  1843.00   1998.00  +8.41 %  +6.50 .. +10.25 %  12
        binding only  read-write, 16 threads  p95 ms  1843.00   1998.00  +8.41 %  +6.50 .. +10.25 %  12
        two CCDs      read-write, 16 threads  TPS     1843.00   1998.00  +8.41 %  +6.50 .. +10.25 %  12
        two CCDs      read-write, 16 threads  p95 ms  1843.00   1998.00  -        -                  -

        baseline against itself  metric  change   95 % interval     pairs  noise floor
        read-write, 16 threads   TPS     +0.25 %  -0.80 .. +1.30 %  12     1.05 %

        against vNUMA off, where 1.0 % is the smallest change worth claiming:
          vNUMA on, read-write, 16 threads, TPS: proven gain (chance alone would do it in 0.10 % of experiments)
          binding only, read-write, 16 threads, TPS: inconclusive: 44 pairs in all would settle it
          vNUMA on, read-write, 16 threads, p95 ms: inconclusive: bound by the client
          binding only, read-write, 16 threads, p95 ms: equivalent: any difference is smaller than 1.0 %
          two CCDs, read-write, 16 threads, TPS: proven loss (chance alone would do it in 0.10 % of experiments)
          two CCDs, read-write, 16 threads, p95 ms: inconclusive: no pair of runs that counts

        no verdict: vNUMA on, read-write, 16 threads, p95 ms: in 8 of 24 runs the generator used up to 93.0 % of its CPUs, so it may have measured itself
          to do: give the generator more CPUs, or a host of its own
        note: vNUMA on, read-write, 16 threads, TPS; two CCDs, read-write, 16 threads, TPS: the baseline changed by -4.50 % from the first block to the last; mirrored blocks even that out
    "#]].assert_eq(&text::judgement(&judgement, &look()));
}

#[test]
fn every_doubt_has_its_sentence() {
    let limited = LimitedTier { tier: Tier::Disk, baseline: Some(0.6), scenario: Some(0.97) };
    let doubts = vec![
        Doubt::OneRunPerArm,
        Doubt::TooFewPairs { pairs: 5, wanted: 6 },
        Doubt::ArmConfoundedWithHost {
            hosts: BTreeMap::from([
                ("vNUMA off".to_owned(), vec!["B".to_owned()]),
                ("vNUMA on".to_owned(), vec!["A".to_owned()]),
            ]),
        },
        Doubt::NotInterleaved,
        Doubt::ClientBound { runs: 3, of: 24, most: 0.93 },
        Doubt::Unsteady { runs: 1, of: 24 },
        Doubt::NotWarmedUp { runs: 24, of: 24 },
        Doubt::GeneratorLost { runs: 2, of: 24, names: vec!["g1".to_owned(), "g2".to_owned()] },
        Doubt::NoNoiseFloor,
        Doubt::EqualArmsDiffer { change: 3.25, surely: true },
        Doubt::EqualArmsDiffer { change: -1.5, surely: false },
        Doubt::BelowNoiseFloor { floor: 2.5 },
        Doubt::MechanismDidNotMove {
            mechanism: Mechanism::RemotePages,
            baseline: 0.5,
            scenario: 0.495,
        },
        Doubt::MechanismDidNotMove {
            mechanism: Mechanism::L3Crossings,
            baseline: 1000.0,
            scenario: 980.0,
        },
        Doubt::MechanismUnseen { mechanism: Mechanism::L3Crossings },
        Doubt::Saturated { limited },
        Doubt::Outliers { blocks: vec![3] },
        Doubt::Outliers { blocks: vec![3, 9] },
        Doubt::Drift { change: -4.5 },
        Doubt::EffectDrifts { change: 2.0 },
        Doubt::Autocorrelated { correlation: 0.6, widened_by: 2.0 },
        Doubt::Steal { most: 0.02 },
        Doubt::SettingDiffers {
            name: "sync_binlog".to_owned(),
            values: vec!["0".to_owned(), "1".to_owned()],
            durability: true,
        },
        Doubt::SettingDiffers {
            name: "table_open_cache".to_owned(),
            values: vec!["400".to_owned(), "4000".to_owned()],
            durability: false,
        },
        Doubt::ErrorsDiffer { baseline: 0.001, scenario: 0.03 },
    ];
    let verdict = Verdict::Inconclusive { pairs: None };
    let judgement = judgement(vec![comparison("vNUMA on", Metric::Tps, verdict, doubts)]);
    expect_file!["doubts.txt"].assert_eq(&text::judgement(&judgement, &look()));
}

#[test]
fn every_refused_design_says_what_would_do() {
    let set = |name: &str| BTreeSet::from([name.to_owned()]);
    let refusals = [
        DesignRefused::NothingToCompare,
        DesignRefused::NoWorkload,
        DesignRefused::NoThreads,
        DesignRefused::Twice { what: DesignPart::Scenario, name: "on".to_owned() },
        DesignRefused::Twice { what: DesignPart::Workload, name: "read-write".to_owned() },
        DesignRefused::Twice { what: DesignPart::Threads, name: "8".to_owned() },
        DesignRefused::BaselineUnknown {
            name: "of".to_owned(),
            scenarios: vec!["off".to_owned(), "on".to_owned()],
        },
        DesignRefused::BaselineUnknown { name: "off".to_owned(), scenarios: Vec::new() },
        DesignRefused::ArmConfoundedWithHost {
            hosts: BTreeMap::from([("off".to_owned(), set("B")), ("on".to_owned(), set("A"))]),
        },
        DesignRefused::NoHost { scenario: "on".to_owned() },
        DesignRefused::BlocksNotEven { blocks: 6, multiple_of: 4 },
        DesignRefused::BlocksOutOfRange { blocks: 0, most: 10_000 },
        DesignRefused::WorthOutOfRange { worth: 5.0 },
        DesignRefused::WarmUpEndsBeforeItBegins {
            at_least: Duration::from_secs(30),
            at_most: Duration::from_secs(10),
        },
        DesignRefused::NothingMeasured,
    ];
    expect![[r#"
        refused: there are fewer than two scenarios
          to do: add the one to compare with
        refused: there is no workload
          to do: name at least one
        refused: there is no number of threads, or one of them is 0
          to do: name some, like 32, 16, 8
        refused: scenario on is there twice
          to do: leave one out
        refused: workload read-write is there twice
          to do: leave one out
        refused: number of threads 8 is there twice
          to do: leave one out
        refused: the baseline of is no scenario
          to do: take one of off and on
        refused: the baseline off is no scenario
          to do: add it
        refused: the scenarios live on different hosts: the host would explain a difference as well as the scenario does
            off: B
            on: A
          to do: let each scenario run on each of these hosts
             or: measure all of them on one host
        refused: scenario on has no host
          to do: say where it can be applied
        refused: 6 blocks cannot be shared out evenly: each host gets them in mirrored pairs
          to do: take 8 blocks
        refused: 0 is no number of blocks
          to do: take 1 to 10000; 10 is usual
        refused: 5 is no smallest gain worth claiming
          to do: give a share of one: 0.01 is 1 %
        refused: the warm-up is to take at least 30.0 s and at most 10.0 s
          to do: exchange the two
        refused: the time to measure is 0
          to do: give each run at least some seconds
    "#]].assert_eq(&text::design_refusals(&refusals, &look()));
}

#[test]
fn the_published_table_comes_out_as_it_is_printed() {
    let figures = |scenario: &str, host: &str, tps: f64, p95: f64| Figures {
        scenario: scenario.to_owned(),
        host: Some(host.to_owned()),
        threads: Some(300),
        tps,
        latency_p95: Some(p95),
    };
    let rows = gain_rows(vec![
        figures("vNUMA off", "B", 1843.0, 292.60),
        figures("vNUMA on", "A", 1998.0, 248.83),
        figures("binding only", "A", 1862.0, 277.21),
        Figures { latency_p95: None, ..figures("no latency", "A", 1843.0, 0.0) },
    ]);
    expect![[r#"
        scenario      host  threads  TPS   TPS gain  p95 ms  p95 fall
        vNUMA off     B     300      1843  /         292.60  /
        vNUMA on      A     300      1998  8.41 %    248.83  14.96 %
        binding only  A     300      1862  1.03 %    277.21  5.26 %
        no latency    A     300      1843  0.00 %    -       -
    "#]]
    .assert_eq(&text::gains(&rows, &look()));
}

#[test]
fn four_targets_come_out_with_their_sum() {
    let tps = [694.0, 664.0, 713.0, 758.0];
    let mean = [46.07, 48.18, 44.86, 42.21];
    let p99 = [86.91, 99.23, 90.0, 95.5];
    let targets = (0..4).map(|at| TargetFigures {
        name: format!("guest {}", at + 1),
        tps: tps[at],
        latency_mean: Some(mean[at]),
        latency_p99: Some(p99[at]),
        latency_max: None,
    });
    let all = together(targets.collect()).expect("four targets");
    expect![[r#"
        target   TPS  against average  mean ms  p99 ms  max ms
        guest 1  694  -1.9 %           46.07    86.91   -
        guest 2  664  -6.1 %           48.18    99.23   -
        guest 3  713  +0.8 %           44.86    90.00   -
        guest 4  758  +7.2 %           42.21    95.50   -

        TPS: 2829 in all, 707 on average
        against the average: slowest guest 2 -6.1 %, fastest guest 4 +7.2 %
        mean latency: 45.33 ms on average of targets, spread (max - min) / max 12.4 %
        p99: 86.91 to 99.23 ms
    "#]]
    .assert_eq(&text::targets(&all, &look()));
}
