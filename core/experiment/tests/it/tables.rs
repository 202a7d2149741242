//! Published figures give the published arithmetic.

use numawise_experiment::gain::{Figures, gain_rows, mean_latency_msec, possible_p95};
use numawise_experiment::targets::{TargetFigures, together};
use numawise_experiment::{Counts, Latencies, Measured, Metric};
use std::time::Duration;

fn figures(scenario: &str, host: &str, tps: f64, p95: f64) -> Figures {
    Figures {
        scenario: scenario.to_owned(),
        host: Some(host.to_owned()),
        threads: Some(300),
        tps,
        latency_p95: Some(p95),
    }
}

#[test]
fn a_guest_with_vnuma_off_on_and_bound_only() {
    let rows = gain_rows(vec![
        figures("vNUMA off", "B", 1843.0, 292.60),
        figures("vNUMA on", "A", 1998.0, 248.83),
        figures("binding only", "A", 1862.0, 277.21),
    ]);
    let told = |of: Option<f64>| of.map_or("/".to_owned(), |percent| format!("{percent:.2}"));
    let told: Vec<_> = rows.iter().map(|r| (told(r.tps_gain), told(r.latency_fall))).collect();
    let wanted = [("/", "/"), ("8.41", "14.96"), ("1.03", "5.26")];
    assert_eq!(told, wanted.map(|(gain, fall)| (gain.to_owned(), fall.to_owned())));
}

#[test]
fn its_seconds_are_milliseconds() {
    let mean = mean_latency_msec(300, 1843.0).expect("there is throughput");
    assert_eq!(format!("{mean:.0}"), "163");
    assert_eq!(possible_p95(300, 1843.0, 292.60), Ok(()));
    let impossible = possible_p95(300, 1843.0, 292_600.0).expect_err("it is far too long");
    assert_eq!(impossible.thousandth, Some(292.60));
    // A million times too long is no slip of this kind.
    let impossible = possible_p95(300, 1843.0, 292_600_000.0).expect_err("it is far too long");
    assert_eq!(impossible.thousandth, None);
    assert_eq!(possible_p95(300, 0.0, 1.0), Ok(()));
}

#[test]
fn four_targets_at_once() {
    let tps = [694.0, 664.0, 713.0, 758.0];
    let latencies = [46.07, 48.18, 44.86, 42.21];
    let p99 = [99.23, 95.0, 90.0, 86.91];
    let targets = (0..4).map(|at| TargetFigures {
        name: format!("guest {at}"),
        tps: tps[at],
        latency_mean: Some(latencies[at]),
        latency_p99: Some(p99[at]),
        latency_max: None,
    });
    let all = together(targets.collect()).expect("four targets");
    assert_eq!(format!("{:.0} {:.0}", all.total_tps, all.average_tps), "2829 707");
    assert_eq!((all.slowest.name.as_str(), all.fastest.name.as_str()), ("guest 1", "guest 3"));
    assert_eq!(format!("{:.1} {:.1}", all.slowest.change, all.fastest.change), "-6.1 7.2");
    let latency = all.latency_mean.expect("all have one");
    assert_eq!(format!("{:.2} {:.1}", latency.average, latency.spread), "45.33 12.4");
    let p99 = all.latency_p99.expect("all have one");
    assert_eq!((p99.least, p99.most), (86.91, 99.23));
    assert_eq!(all.latency_max, None, "what one lacks is given for none");
    assert_eq!(together(Vec::new()), None);
}

fn measured(transactions: u64, latency: Duration) -> Measured {
    let mut latencies = Latencies::new();
    for _ in 0..transactions {
        latencies.record(latency);
    }
    let counts = Counts {
        transactions,
        reads: 14 * transactions,
        writes: 4,
        others: 2,
        ..Counts::default()
    };
    Measured { elapsed: Duration::from_secs(10), counts, latencies, ..Measured::default() }
}

#[test]
fn metrics_of_a_run() {
    let run = measured(100, Duration::from_millis(5));
    assert_eq!(Metric::Tps.of(&run), Some(10.0));
    assert_eq!(Metric::Qps.of(&run), Some(140.6));
    for metric in [Metric::LatencyMean, Metric::LatencyP50, Metric::LatencyP95, Metric::LatencyMax]
    {
        let msec = metric.of(&run).expect("there are latencies");
        assert!((msec - 5.0).abs() < 0.01, "{metric:?} {msec}");
    }
    assert_eq!(Metric::LatencyP999.of(&run), None, "too few for it");
    assert!(Metric::LatencyP999.of(&measured(10_000, Duration::from_millis(5))).is_some());
    assert_eq!(Metric::Nopm.of(&run), None, "the server counts it");
    let nothing = Measured::default();
    assert!(Metric::ALL.iter().all(|metric| metric.of(&nothing).is_none()));
}
