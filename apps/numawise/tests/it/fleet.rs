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
