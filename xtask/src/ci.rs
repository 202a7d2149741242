//! `cargo xtask ci`: what must pass before a change is taken. Everything is run even when something
//! has failed, so that one round shows all there is to mend.

use crate::process::{cargo, succeeds};
use crate::{bench, machine, test, tidy};
use anyhow::Result;
use std::path::Path;

#[derive(clap::Args)]
pub struct Args {
    /// Also check licences, advisories and sources of every dependency, and the speed, and run the
    /// long tests.
    #[arg(long)]
    nightly: bool,
}

pub fn run(root: &Path, args: &Args) -> Result<bool> {
    let mut failed = Vec::new();
    if !tidy::run(root, &tidy::Args::default())? {
        failed.push("tidy");
    }
    if args.nightly {
        if !dependencies_are_acceptable(root)? {
            failed.push("deny");
        }
        if !bench::run(root, &bench::Args::checking())? {
            failed.push("bench");
        }
    }
    let all = test::Args { no_install: false, nightly: args.nightly, filter: None };
    let tests = test::run_tests(root, &all, strictness())?;
    if !tests.passed {
        failed.push("test");
    }
    println!();
    match failed.as_slice() {
        [] => println!("ci: everything passed"),
        chores => println!("ci: failed: {} (see above)", chores.join(", ")),
    }
    tests.print_closing();
    Ok(failed.is_empty())
}

/// On a machine that `cargo xtask test` sets up itself, nothing may be skipped for want of the test
/// bed. Elsewhere (not root, no apt, another architecture) nobody could mend that.
fn strictness() -> test::Strictness {
    if machine::can_be_set_up() && std::env::consts::ARCH == "x86_64" {
        test::Strictness::Whole
    } else {
        test::Strictness::Skips
    }
}

/// cargo-deny takes minutes to build, so only the nightly run asks for it.
fn dependencies_are_acceptable(root: &Path) -> Result<bool> {
    if machine::find_program("cargo-deny").is_none()
        && !succeeds(cargo(root).args(["install", "--locked", "cargo-deny"]))?
    {
        eprintln!("xtask: cargo-deny could not be installed, so no dependency was checked");
        return Ok(false);
    }
    // Apart, because advisories need the network and the rest does not.
    let check = ["deny", "--workspace", "check"];
    let ours = succeeds(cargo(root).args(check).args(["bans", "licenses", "sources"]))?;
    let advisories = succeeds(cargo(root).args(check).arg("advisories"))?;
    Ok(ours && advisories)
}
