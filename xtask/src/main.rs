//! The chores of this repository: `cargo xtask test | tidy | ci | bench | testbed`.
//!
//! Everything a contributor or a CI machine runs is here, so that both run the same thing. The
//! crate is a tool: it is never shipped, and it may therefore name `testkit`.

mod bench;
mod ci;
mod machine;
mod process;
mod test;
mod testbed;
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Chores of the numawise repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Set the machine up, then run every test of the workspace.
    Test(test::Args),
    /// Check the rules of the repository, the formatting and the lints.
    Tidy(tidy::Args),
    /// What must pass before a change is taken: tidy and test.
    Ci(ci::Args),
    /// Measure speed against lscpu and lstopo, as ratios within one run.
    Bench(bench::Args),
    /// Prepare the test bed, or look into it.
    Testbed(testbed::Args),
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the chore found everything in order.
fn run(cli: Cli) -> Result<bool> {
    let root = process::repository()?;
    match cli.chore {
        Chore::Test(args) => test::run(&root, &args),
        Chore::Tidy(args) => tidy::run(&root, &args),
        Chore::Ci(args) => ci::run(&root, &args),
        Chore::Bench(args) => bench::run(&root, &args),
        Chore::Testbed(args) => testbed::run(&args),
    }
}
