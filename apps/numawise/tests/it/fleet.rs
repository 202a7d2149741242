//! Bad input to the fleet commands is told by file, line and value; what has no place by host.

use crate::bench::{Bench, repository};

/// Two hosts of 64 pCPUs in a folder.
fn with_hosts() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("hosts")).expect("a folder");
    let capture = repository().join("fixtures/hosts/two-socket-64.tar.xz");
    for name in ["hosts/a.tar.xz", "hosts/b.tar.xz"] {
        std::fs::copy(&capture, bench.path(name)).expect("copied");
    }
    bench
}

fn plan(bench: &Bench, file: &str, text: &str, more: &[&str]) -> (Option<i32>, String, String) {
    std::fs::write(bench.path(file), text).expect("written");
    let words = ["fleet", "plan", "--hosts", "hosts", "--requests", file];
    let ran = bench.run(&[&words[..], more].concat());
    (ran.code, ran.out, ran.err)
}

#[test]
fn a_bad_request_is_told_by_line_and_value() {
    let bench = with_hosts();
    for (text, told) in [
        ("{\"vcpus\": 4, \"memory\": \"8\"}", "line 1: memory: '8' has no unit"),
        ("\n{\"vcpus\": 0, \"memory\": \"8G\"}", "line 2: vcpus: 0 is not between 1 and 8192"),
        ("{\"vcpus\": 4, \"memory\": \"8G\", \"l3\": \"none\"}", "l3: 'none' is none of compact"),
        ("{\"vcpus\": 4, \"memory\": \"8G\", \"cpus\": 1}", "unknown field `cpus`"),
        (
            "{\"vcpus\": 4, \"memory\": \"1M\", \"page-size\": \"2M\"}",
            "no whole number of pages of 2M",
        ),
        ("", "has no request in it"),
    ] {
        let (code, _, err) = plan(&bench, "bad.jsonl", text, &[]);
        assert_eq!(code, Some(2), "{text}: {err}");
        assert!(err.contains(told) && err.contains("bad.jsonl"), "{text}: {err}");
    }
    let (code, _, err) = plan(&bench, "bad.toml", "[[request]]\nvcpus = 4\n", &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("memory"), "{err}");
}

#[test]
fn a_host_that_is_not_there_is_told() {
    let bench = with_hosts();
    std::fs::write(bench.path("hosts/hosts.toml"), "[c]\nrack = \"r\"\n").expect("written");
    let (code, _, err) = plan(&bench, "r.jsonl", "{\"vcpus\": 4, \"memory\": \"8G\"}", &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("there is no host 'c'") && err.contains("a, b"), "{err}");
    std::fs::remove_file(bench.path("hosts/hosts.toml")).expect("removed");
    let ran = bench.run(&["fleet", "evacuate", "c", "--hosts", "hosts"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn all_or_nothing_and_as_many_as_can_be_had() {
    let bench = with_hosts();
    let three = "{\"vcpus\": 20, \"memory\": \"8G\", \"count\": 3, \"apart\": \"g\"}";
    let (code, out, err) = plan(&bench, "r.jsonl", three, &[]);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    assert!(err.contains("group rules"), "{err}");
    let (code, out, _) = plan(&bench, "r.jsonl", three, &["--most"]);
    assert_eq!(code, Some(3));
    assert!(out.contains("request-1-1") && out.contains("request-1-2"), "{out}");
    let two = three.replace("3, \"apart\"", "2, \"apart\"");
    let (code, out, err) = plan(&bench, "r.jsonl", &two, &["--json"]);
    assert_eq!(code, Some(0), "{err}");
    let doc: serde_json::Value = serde_json::from_str(&out).expect("a document");
    assert_eq!(doc["schema"], "numawise.fleet-plan");
    assert_ne!(doc["placed"][0]["host"], doc["placed"][1]["host"]);
}

/// `a` with one guest on pCPUs 1-8, claimed like this.
fn with_guest(claim: &str) -> Bench {
    let bench = with_hosts();
    let guest = "\"owner\":{\"kind\":\"guest\",\"uuid\":\"00000001-0000-4000-8000-000000000000\",\"name\":\"web\"}";
    let ledger = format!(
        "{{\"schema\":\"numawise.ledger\",\"version\":1,\"claims\":[{{\"id\":\"c\",{guest},\
         \"purpose\":\"vcpus\",\"source\":\"numawise\",{claim}}}]}}"
    );
    std::fs::write(bench.path("hosts/a.ledger.json"), ledger).expect("written");
    bench
}

#[test]
fn a_guest_that_cannot_be_moved_is_named() {
    let own = "\"cpus\":\"1-8\",\"mode\":\"exclusive\"";
    for (claim, told, reason) in [
        (
            "\"cpus\":\"1-8\",\"mode\":\"shared\",\"pages\":{\"0\":{\"4096\":1024}}".to_owned(),
            "shares pCPUs 1-8",
            "shares-cpus",
        ),
        (
            format!("{own},\"pages\":{{\"0\":{{\"4096\":1024,\"2097152\":8}}}}"),
            "pages of several sizes",
            "several-page-sizes",
        ),
        (
            format!("{own},\"pages\":{{\"7\":{{\"4096\":1024}}}}"),
            "memory of node 7",
            "unknown-nodes",
        ),
        (format!("{own},\"pages\":{{}}"), "nothing of its memory", "no-memory"),
        (
            "\"cpus\":\"\",\"mode\":\"exclusive\",\"pages\":{\"0\":{\"4096\":1024}}".to_owned(),
            "no pCPUs of its own",
            "no-cpus",
        ),
        (
            "\"cpus\":\"900-910\",\"mode\":\"exclusive\",\"pages\":{\"0\":{\"4096\":1024}}"
                .to_owned(),
            "pCPUs 900-910",
            "unknown-cpus",
        ),
    ] {
        let bench = with_guest(&claim);
        let words = ["fleet", "evacuate", "a", "--hosts", "hosts"];
        let ran = bench.run(&words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{claim}: {}", ran.err);
        assert!(ran.err.contains("web on a") && ran.err.contains(told), "{claim}: {}", ran.err);
        let ran = bench.run(&[&words[..], &["--json"]].concat());
        let doc: serde_json::Value = serde_json::from_str(&ran.out).expect("a document");
        assert_eq!(ran.code, Some(3), "{claim}");
        assert_eq!((&doc["complete"], &doc["fewest"]), (&false.into(), &false.into()), "{claim}");
        assert_eq!(doc["stay"][0]["reason"], reason, "{claim}");
    }
}

#[test]
fn a_ledger_of_no_host_is_told() {
    let bench = with_hosts();
    let ledger = "{\"schema\":\"numawise.ledger\",\"version\":1,\"claims\":[]}";
    std::fs::write(bench.path("hosts/ghost.ledger.json"), ledger).expect("written");
    let (code, _, err) = plan(&bench, "r.jsonl", "{\"vcpus\": 4, \"memory\": \"8G\"}", &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("there is no host 'ghost'") && err.contains("a, b"), "{err}");
}

#[test]
fn only_what_has_no_place_is_refused_and_for_its_own_reason() {
    let bench = with_hosts();
    let small = "{\"name\": \"a\", \"vcpus\": 4, \"memory\": \"8G\"}";
    let large = "{\"name\": \"big\", \"vcpus\": 99, \"memory\": \"8G\"}";
    let (code, out, err) = plan(&bench, "r.jsonl", &format!("{small}\n{large}"), &[]);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    assert!(err.contains("big: fits on none of 2 hosts") && !err.contains("a: fits"), "{err}");
    assert!(err.contains("No place for 1 of 2") && !err.contains("defrag"), "{err}");
    assert!(err.contains("fewer vCPUs"), "{err}");

    let many = "{\"name\": \"w\", \"vcpus\": 1, \"memory\": \"1M\", \"count\": 1000}";
    let (code, _, err) = plan(&bench, "r.jsonl", many, &[]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("want 1000 pCPUs in all") && err.contains("like it"), "{err}");
    assert!(err.contains("too few free pCPUs") && err.lines().count() < 20, "{err}");
}

#[test]
fn what_of_a_request_stands_against_it_is_named() {
    let bench = with_hosts();
    let base = ["fleet", "defrag", "--hosts", "hosts", "--for"];
    for (wanted, told) in [
        ("vcpus=4,memory=1G,l3=99", "leave out l3"),
        ("vcpus=4,memory=1G,vnodes=7", "leave out vnodes"),
    ] {
        let ran = bench.run(&[&base[..], &[wanted]].concat());
        assert_eq!(ran.code, Some(3), "{wanted}: {}", ran.err);
        assert!(ran.err.contains(told) && !ran.err.contains("fewer vCPUs"), "{}", ran.err);
    }
    for (wanted, told) in [
        ("vcpus=4", "memory is missing"),
        ("", "vcpus is missing"),
        ("vcpus=4,memory=1G,vcpus=8", "vcpus is given twice"),
        ("vcpus=4,memory=1G,split=exact:3,2", "exact names 5 vCPUs"),
    ] {
        let ran = bench.run(&[&base[..], &[wanted]].concat());
        assert_eq!(ran.code, Some(2), "{wanted}: {}", ran.err);
        assert!(ran.err.contains(told), "{wanted}: {}", ran.err);
    }
}

#[test]
fn groups_that_cannot_be_are_named() {
    let bench = with_hosts();
    let both =
        "{\"vcpus\": 4, \"memory\": \"8G\", \"count\": 2, \"apart\": \"g\", \"together\": \"h\"}";
    let (code, _, err) = plan(&bench, "r.jsonl", both, &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("together 'h'") && err.contains("apart 'g'"), "{err}");
    let rack = "{\"vcpus\": 4, \"memory\": \"8G\", \"per-rack\": \"g\"}";
    let (code, _, err) = plan(&bench, "r.jsonl", rack, &[]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("hosts.toml"), "{err}");
    let twice = "{\"name\": \"x\", \"vcpus\": 1, \"memory\": \"1G\"}";
    let (code, _, err) = plan(&bench, "r.jsonl", &format!("{twice}\n{twice}"), &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("'x' is taken by"), "{err}");
}

#[test]
fn sizes_an_emulator_and_a_number_of_l3_domains_are_had() {
    let bench = with_hosts();
    let text = "{\"vcpus\": 12, \"memory\": \"12G\", \"split\": \"exact:8,4\", \"emulator\": \"isolate\"}\n\
                {\"vcpus\": 31, \"memory\": \"1G\", \"l3\": 1, \"split\": \"auto\"}";
    let (code, out, err) = plan(&bench, "r.jsonl", text, &["--json"]);
    assert_eq!(code, Some(0), "{err}");
    let doc: serde_json::Value = serde_json::from_str(&out).expect("a document");
    let parts = doc["placed"][0]["parts"].as_array().expect("parts");
    let sizes: Vec<usize> =
        parts.iter().map(|part| part["pcpus"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!(sizes, [8, 4], "{out}");
    assert_eq!(parts[0]["memory_bytes"], 8u64 << 30, "{out}");
}

#[test]
fn a_search_that_is_cut_short_says_so() {
    let bench =
        with_guest("\"cpus\":\"1-8\",\"mode\":\"exclusive\",\"pages\":{\"0\":{\"4096\":1024}}");
    let ran = bench.run(&["fleet", "evacuate", "a", "--hosts", "hosts", "--deadline", "0ms"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("cut short") && ran.err.contains("on 1 host"), "{}", ran.err);
    assert!(!ran.err.contains("group rules"), "{}", ran.err);
}
