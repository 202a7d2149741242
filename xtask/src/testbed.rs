//! `cargo xtask testbed`: the real libvirt and the emulated host that tests run on. `cargo xtask
//! test` prepares them too; here one can do it alone, and look inside.

use anyhow::{Result, bail};
use numawise_testkit::testbed::{Image, Root, Unavailable};
use std::error::Error;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Make what is not in the cache yet: minutes the first time, nothing the second.
    Prepare,
}

pub fn run(args: &Args) -> Result<bool> {
    match args.verb {
        Verb::Prepare => match prepare() {
            None => Ok(true),
            Some(why) => bail!(why),
        },
    }
}

/// Makes each part that is not there and says how long that took; gives back why tests that need
/// it will be skipped, if they will.
pub fn prepare() -> Option<String> {
    let root = match step("root", Root::prepare) {
        Ok(root) => root,
        Err(why) => return Some(why),
    };
    step("emulated host", || Image::prepare(&root)).err()
}

fn step<T>(name: &str, make: impl FnOnce() -> Result<T, Unavailable>) -> Result<T, String> {
    let start = Instant::now();
    let made = make();
    let seconds = start.elapsed().as_secs_f64();
    match &made {
        Ok(_) => eprintln!("test bed: {name} ready in {seconds:.1} s"),
        Err(_) => eprintln!("test bed: {name} failed after {seconds:.1} s"),
    }
    made.map_err(|error| {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(source) = next {
            text = format!("{text}: {source}");
            next = source.source();
        }
        text
    })
}
