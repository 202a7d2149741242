//! Generators that are shell scripts, so that clocks can be wrong and processes can be lost. Real ones
//! are tested where the real loads are.

use numawise_documents::generator::{FromGenerator, line};
use numawise_engine::ports::Cancel;
use numawise_experiment::{Counts, Interval, Latencies, Measured, Steadiness, SteadyRule, WarmUp};
use numawise_generator::{Coordinated, Course, GeneratorError, GeneratorSpec, Generators};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

fn at_once() -> Course {
    let warm_up = WarmUp { at_least: Duration::ZERO, at_most: Duration::ZERO, ..WarmUp::default() };
    Course { warm_up, measure: Duration::from_secs(1), interval: Duration::from_secs(1) }
}

fn measured(latencies_msec: &[u64]) -> Measured {
    let mut latencies = Latencies::new();
    latencies_msec.iter().for_each(|msec| latencies.record(Duration::from_millis(*msec)));
    Measured {
        elapsed: Duration::from_secs(1),
        counts: Counts { transactions: latencies.count(), ..Counts::default() },
        latencies,
        ..Measured::default()
    }
}

/// Speaks as a generator whose clock is ahead; after the start it does what `then` says.
fn script(name: &str, ahead_sec: i64, then: &str) -> GeneratorSpec {
    let text = format!(
        r#"echo '{{"ready":{{"numawise":"0"}}}}'
        while read -r said; do case "$said" in
            *ping*) n=${{said#*number\":}}; n=${{n%%\}}*}}
                echo "{{\"pong\":{{\"number\":$n,\"unix_nsec\":$(( $(date +%s%N) + {ahead_sec}000000000 ))}}}}" ;;
            *at_unix*) at=${{said#*nsec\":}}; at=${{at%%\}}*}}
                echo "{name} $(( at - $(date +%s%N) - {ahead_sec}000000000 ))" >&2
                {then} ;;
            *stop*) exit 0 ;;
        esac; done"#
    );
    let words = ["bash", "-c", &text].map(str::to_owned).to_vec();
    GeneratorSpec { name: name.to_owned(), words }
}

fn says(said: &FromGenerator) -> String {
    format!("cat <<'END'\n{}END\nexit 0", line(said))
}

fn done(latencies_msec: &[u64]) -> String {
    says(&FromGenerator::done(&measured(latencies_msec), &BTreeMap::new()))
}

#[test]
fn histograms_of_several_are_merged_whole_and_clocks_are_compared() {
    let all: Vec<u64> = (1..=100).collect();
    let specs =
        [script("here", 0, &done(&all[..90])), script("hour-ahead", 3_600, &done(&all[90..]))];
    let cancel = Cancel::default();
    let ready = Generators::start(&specs, PATIENCE, &cancel).expect("both get ready");
    let outcome = ready.run(&at_once(), &cancel, &mut |_, _| {});
    let merged = outcome.merged().expect("both came to their end");
    assert_eq!(merged.latencies, measured(&all).latencies);
    assert_eq!(merged.counts.transactions, 100);
    let [here, ahead] = &outcome.parts[..] else { panic!("{outcome:?}") };
    let hour = 3_600_000_000_000_i64;
    for (part, wanted) in [(here, 0), (ahead, hour)] {
        // A shell takes milliseconds to tell the time, and that is inside what is said of it.
        let within = part.clock.within.as_nanos() as i64;
        let off = (part.clock.ahead_nsec - wanted).abs();
        assert!(off <= within && within < 1_000_000_000, "{part:?}");
    }
    assert!(outcome.skew().as_nanos() as i64 >= hour);
}

#[test]
fn one_that_is_lost_is_named_and_the_others_count() {
    let interval =
        Interval { begin: Duration::ZERO, length: Duration::from_secs(1), ..Interval::default() };
    let dies = format!(
        "cat <<'END'\n{}END\necho out of memory >&2; kill -9 $$",
        line(&FromGenerator::interval(&interval))
    );
    let specs = [script("good", 0, &done(&[5])), script("bad", 0, &dies)];
    let cancel = Cancel::default();
    let mut heard = Vec::new();
    let ready = Generators::start(&specs, PATIENCE, &cancel).expect("both get ready");
    let outcome = ready.run(&at_once(), &cancel, &mut |from, _| heard.push(from));
    assert_eq!(heard, [1]);
    assert!(outcome.parts[0].result.is_ok());
    let lost = outcome.parts[1].result.as_ref().expect_err("killed");
    assert!(
        lost.why.contains("ended without a word") && lost.why.contains("out of memory"),
        "{lost:?}"
    );
    assert_eq!(lost.intervals, [interval]);
    assert!(lost.after < Duration::from_secs(10), "{lost:?}");
    assert_eq!(outcome.merged().map(|merged| merged.counts.transactions), Some(1));
}

#[test]
fn nothing_starts_when_one_does_not_get_ready() {
    let cancel = Cancel::default();
    let words = |text: &str| ["bash", "-c", text].map(str::to_owned).to_vec();
    for (words, why) in [
        (words("echo no such host >&2; exit 255"), "no such host"),
        (words("echo Last login: today"), "Last login"),
        (words("echo '{\"failed\":{\"why\":\"no table sbtest1\"}}'; sleep 9"), "no table sbtest1"),
        (vec!["/nonexistent/program".to_owned()], "could not be started"),
        (words("sleep 60"), "nothing was heard of it in 1 s"),
    ] {
        let bad = GeneratorSpec { name: "bad".to_owned(), words };
        let specs = [script("good", 0, "touch /nonexistent/never"), bad];
        let patience = if why.contains("1 s") { Duration::from_secs(1) } else { PATIENCE };
        let result = Generators::start(&specs, patience, &cancel);
        let error = result.err().expect("one is bad").to_string();
        assert!(error.contains("bad") && error.contains(why), "{why}: {error}");
    }
}

#[test]
fn an_interruption_stops_all_and_one_that_does_not_listen_is_left() {
    let specs = [script("good", 0, ":")];
    let cancel = Cancel::default();
    let ready = Generators::start(&specs, PATIENCE, &cancel).expect("ready");
    cancel.flag().store(true, Ordering::Relaxed);
    let outcome = ready.run(&at_once(), &cancel, &mut |_, _| {});
    assert!(outcome.parts[0].result.is_err());
    assert!(matches!(Generators::start(&specs, PATIENCE, &cancel), Err(GeneratorError::Cancelled)));
}

/// The generator's own side, over a socket as over a pipe.
#[test]
fn a_generator_answers_starts_in_time_and_stops_with_its_coordinator() {
    let (mut ours, theirs) = UnixStream::pair().expect("a pair");
    let stop = Arc::new(AtomicBool::new(false));
    let output = theirs.try_clone().expect("a clone");
    let (measure, measures) = std::sync::mpsc::channel();
    let coordinated = Coordinated::begin(
        theirs,
        output,
        move |after, time| measure.send((after, time)).expect("heard"),
        Arc::clone(&stop),
    );
    let generator = std::thread::spawn(move || {
        let start = coordinated.ready("0.1.0");
        coordinated.interval(&Interval::default());
        coordinated.done(&measured(&[1]), &BTreeMap::new());
        start
    });
    let mut lines = BufReader::new(ours.try_clone().expect("a clone")).lines();
    let mut next = || lines.next().expect("a line").expect("a text");
    assert_eq!(next(), r#"{"ready":{"numawise":"0.1.0"}}"#);
    ours.write_all(b"{\"ping\":{\"number\":7}}\n").expect("sent");
    assert!(next().starts_with(r#"{"pong":{"number":7,"unix_nsec":1"#));
    let at = std::time::SystemTime::now() + Duration::from_millis(400);
    let at = at.duration_since(std::time::UNIX_EPOCH).expect("now").as_nanos();
    let wanted = Instant::now() + Duration::from_millis(400);
    ours.write_all(format!("{{\"start\":{{\"at_unix_nsec\":{at}}}}}\n").as_bytes()).expect("sent");
    let start = generator.join().expect("ended").expect("a start");
    let off = start.max(wanted) - start.min(wanted);
    assert!(off < Duration::from_millis(50), "{off:?}");
    assert!(next().contains("interval") && next().contains("done"));
    assert!(!stop.load(Ordering::Relaxed));
    ours.write_all(b"{\"measure\":{\"after_start_nsec\":3000000000,\"for_nsec\":5}}\n")
        .expect("sent");
    let heard = measures.recv_timeout(Duration::from_secs(10)).expect("an order");
    assert_eq!(heard, (Duration::from_secs(3), Duration::from_nanos(5)));
    drop(lines);
    drop(ours);
    let begun = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        assert!(begun.elapsed() < Duration::from_secs(10), "its coordinator is gone");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Tells intervals of 50 ms, with throughputs that rise and then stay, until it is told to measure.
fn rising(name: &str, until: u32) -> GeneratorSpec {
    let interval = Interval {
        length: Duration::from_millis(50),
        counts: Counts { transactions: 1, ..Counts::default() },
        ..Interval::default()
    };
    let text = line(&FromGenerator::interval(&interval));
    let text = text.trim_end().replace("\"transactions\":1,", "\"transactions\":'$n',");
    script(
        name,
        0,
        &format!(
            "( for i in $(seq 1 200); do n=$(( i < {until} ? i * 10 : {until} * 10 )); \
             echo '{text}'; sleep 0.05; done ) &\nteller=$! ;;\n*measure*) kill $teller; \
             echo \"$said\" >&2; {}",
            done(&[1])
        ),
    )
}

#[test]
fn the_warm_up_ends_when_all_together_are_steady_or_its_time_is_up() {
    let cancel = Cancel::default();
    let specs = [rising("slow", 30), rising("fast", 5)];
    let rule = SteadyRule { windows: 10, ..SteadyRule::default() };
    for (at_most, steady) in [(Duration::from_secs(60), true), (Duration::from_millis(900), false)]
    {
        let warm_up = WarmUp { at_least: Duration::from_millis(100), at_most, rule };
        let interval = Duration::from_millis(50);
        let course = Course { warm_up, measure: Duration::from_secs(1), interval };
        let ready = Generators::start(&specs, PATIENCE, &cancel).expect("both get ready");
        let outcome = ready.run(&course, &cancel, &mut |_, _| {});
        let merged = outcome.merged().unwrap_or_else(|| panic!("{outcome:?}"));
        match merged.steadiness {
            // The slower one rises for thirty intervals and more.
            Steadiness::Steady { after } if steady => {
                assert!(after > Duration::from_millis(1_500) && after < at_most, "{after:?}");
                assert_eq!(after.as_nanos() % interval.as_nanos(), 0);
            }
            Steadiness::NotSteady { after } if !steady => assert!(after >= at_most),
            other => panic!("{other:?} with at most {at_most:?}"),
        }
    }
}
