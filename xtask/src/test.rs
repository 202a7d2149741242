//! `cargo xtask test`: sets the machine up, runs every test, and ends with the runner's summary.
//!
//! nextest runs the tests where it is installed (one process per test, so one test's crash is one
//! failure); plain `cargo test` does otherwise. nextest does not know documentation tests; they
//! always go through cargo.
//!
//! The test bed is prepared first. Where that is not possible, the tests that need it say that they
//! are skipped, and so does the end of the run; under `Strictness::Whole` they fail.

use crate::machine;
use crate::process::{Watched, cargo, colour_choice, watch};
use crate::testbed;
use anyhow::Result;
use numawise_testkit::testbed::REQUIRED;
use std::path::Path;
use std::process::Command;

#[derive(clap::Args)]
pub struct Args {
    /// Install and prepare nothing; tests that lack a tool say that they are skipped.
    #[arg(long)]
    pub no_install: bool,
    /// Also run the long tests, which boot Linux inside the emulated host: many minutes.
    #[arg(long)]
    pub nightly: bool,
    /// Run only tests whose name contains this; documentation tests are then left out.
    pub filter: Option<String>,
}

/// What becomes of a test whose test bed cannot be made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It is skipped, and says so.
    Skips,
    /// It fails: whoever asks for everything is not told that all is well.
    Whole,
}

/// How the tests went, with the lines that a reader of the last screen needs.
pub struct Outcome {
    pub passed: bool,
    closing: Vec<String>,
}

impl Outcome {
    /// The runner's own summary comes last: that is where people and machines look for it.
    pub fn print_closing(&self) {
        println!();
        for line in &self.closing {
            println!("{line}");
        }
    }
}

pub fn run(root: &Path, args: &Args) -> Result<bool> {
    let outcome = run_tests(root, args, Strictness::Skips)?;
    outcome.print_closing();
    Ok(outcome.passed)
}

pub fn run_tests(root: &Path, args: &Args, strictness: Strictness) -> Result<Outcome> {
    let missing = machine::set_up(machine::TEST_NEEDS, !args.no_install);
    for line in machine::advice(&missing) {
        eprintln!("{line}");
    }
    let mut lacking: Vec<String> =
        missing.iter().map(|need| format!("skipped for want of {}", need.thing)).collect();
    let bed = if args.no_install { testbed::look() } else { testbed::prepare() };
    if let Err(why) = bed {
        eprintln!("no test bed: {why}");
        lacking.push(format!("without a test bed, so nothing met a real libvirt: {why}"));
    }
    let which = Which { filter: args.filter.as_deref(), nightly: args.nightly, strictness };
    let main = if machine::find_program("cargo-nextest").is_some() {
        with_nextest(root, which)?
    } else {
        with_cargo(root, &["--workspace", "--all-targets", "--no-fail-fast"], which)?
    };
    let docs = match args.filter {
        Some(_) => None,
        None => {
            let all = Which { nightly: false, ..which };
            Some(with_cargo(root, &["--workspace", "--doc", "--no-fail-fast"], all)?)
        }
    };
    Ok(close(lacking, docs, main))
}

/// Which tests run, and what they may skip.
#[derive(Clone, Copy)]
struct Which<'a> {
    filter: Option<&'a str>,
    nightly: bool,
    strictness: Strictness,
}

impl Which<'_> {
    /// What the user has set for the tests is left as it is.
    fn tell(self, command: &mut Command) {
        if self.strictness == Strictness::Whole && std::env::var_os(REQUIRED).is_none() {
            command.env(REQUIRED, "1");
        }
    }
}

/// One runner's result: whether it ended well, and what it said in closing.
struct Ran {
    passed: bool,
    summary: Vec<String>,
}

fn close(lacking: Vec<String>, docs: Option<Ran>, main: Ran) -> Outcome {
    let mut closing = lacking;
    let mut passed = main.passed;
    if let Some(docs) = docs {
        passed &= docs.passed;
        closing.extend(docs.summary.iter().map(|line| format!("documentation tests: {line}")));
    }
    closing.extend(main.summary);
    Outcome { passed, closing }
}

fn with_nextest(root: &Path, which: Which<'_>) -> Result<Ran> {
    let mut command = cargo(root);
    command.args(["nextest", "run", "--workspace", "--no-fail-fast"]);
    command.args(["--color", colour_choice()]);
    if which.nightly {
        command.args(["--run-ignored", "all"]);
    }
    command.args(which.filter);
    which.tell(&mut command);
    let mut summary = Vec::new();
    let status = watch(&mut command, Watched::Stderr, &mut |line| {
        if !summary.is_empty() || is_nextest_summary(line) {
            summary.push(line.to_owned());
        }
    })?;
    if summary.is_empty() {
        summary.push(format!("cargo nextest gave no summary and ended with {status}"));
    }
    // The names of failed tests follow the summary; keep the summary itself at the very end.
    summary.rotate_left(1);
    Ok(Ran { passed: status.success(), summary })
}

fn is_nextest_summary(line: &str) -> bool {
    line.contains("Summary") && (line.contains(" tests run:") || line.contains(" test run:"))
}

fn with_cargo(root: &Path, how: &[&str], which: Which<'_>) -> Result<Ran> {
    let mut command = cargo(root);
    command.args(["test", "--quiet", "--color", colour_choice()]).args(how).args(which.filter);
    if which.nightly {
        command.args(["--", "--include-ignored"]);
    }
    which.tell(&mut command);
    let mut sum = Counts::default();
    let status = watch(&mut command, Watched::Stdout, &mut |line| sum.add(line))?;
    let mut summary = vec![sum.summary()];
    if !status.success() && sum.failed == 0 {
        summary.insert(0, format!("cargo test ended with {status}"));
    }
    Ok(Ran { passed: status.success(), summary })
}

/// Sums of the `test result:` lines: cargo prints one for each binary and none for all.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else {
            return;
        };
        // `ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.05s`
        let words: Vec<&str> = counts.split_whitespace().collect();
        for pair in words.windows(2) {
            let [number, what] = pair else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match *what {
                "passed;" => self.passed += number,
                "failed;" => self.failed += number,
                "ignored;" => self.ignored += number,
                _ => {}
            }
        }
    }

    fn summary(&self) -> String {
        let word = if self.failed == 0 { "ok" } else { "FAILED" };
        let Self { passed, failed, ignored } = self;
        format!("test result: {word}. {passed} passed; {failed} failed; {ignored} ignored")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_binaries_are_summed() {
        let mut sum = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.05s",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ] {
            sum.add(line);
        }
        assert_eq!(sum, Counts { passed: 14, failed: 1, ignored: 1 });
        assert_eq!(sum.summary(), "test result: FAILED. 14 passed; 1 failed; 1 ignored");
    }

    #[test]
    fn the_summary_of_nextest_is_known_from_its_other_lines() {
        assert!(is_nextest_summary("     Summary [   0.031s] 26 tests run: 26 passed, 0 skipped"));
        assert!(is_nextest_summary("     Summary [   0.031s] 1 test run: 1 passed, 25 skipped"));
        assert!(!is_nextest_summary("        PASS [   0.009s] render::it summary"));
    }

    #[test]
    fn the_runners_summary_comes_last_and_any_failure_counts() {
        let ran = |passed, line: &str| Ran { passed, summary: vec![line.to_owned()] };
        let outcome = close(
            vec!["skipped for want of virt-xml-validate".to_owned()],
            Some(ran(false, "test result: FAILED. 1 passed; 1 failed; 0 ignored")),
            ran(true, "Summary [1s] 26 tests run: 26 passed, 0 skipped"),
        );
        assert!(!outcome.passed);
        assert_eq!(
            outcome.closing,
            [
                "skipped for want of virt-xml-validate",
                "documentation tests: test result: FAILED. 1 passed; 1 failed; 0 ignored",
                "Summary [1s] 26 tests run: 26 passed, 0 skipped",
            ]
        );
    }
}
