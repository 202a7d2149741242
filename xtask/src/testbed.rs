//! `cargo xtask testbed`: the real libvirt and the emulated host that tests run on. `cargo xtask
//! test` prepares them too; here one can do it alone, and look inside.

use crate::machine;
use anyhow::{Context, Result, bail};
use numawise_testkit::testbed::{Cache, EmulatedHost, Image, PrivateLibvirtd, Root, Unavailable};
use std::io::Write;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Make what is not in the cache yet: two minutes the first time, nothing the second.
    Prepare,
    /// Start an emulated host and type commands into it; it ends with the shell.
    Shell,
    /// Start a private libvirtd, say where it is, and keep it until Enter or the end of input.
    Libvirtd,
    /// Remove everything from the cache.
    Clean,
}

pub fn run(args: &Args) -> Result<bool> {
    if matches!(args.verb, Verb::Clean) {
        let folder = Cache::of_user().folder().to_path_buf();
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
        return Ok(true);
    }
    machine::set_up(machine::TEST_NEEDS, true);
    if let Err(why) = prepare() {
        bail!(why);
    }
    match args.verb {
        Verb::Prepare | Verb::Clean => {}
        Verb::Shell => shell()?,
        Verb::Libvirtd => libvirtd()?,
    }
    Ok(true)
}

/// Line by line, since each is a script of its own: `cd` does not last from one to the next.
fn shell() -> Result<()> {
    let Some(host) = EmulatedHost::start() else { bail!("no emulated host") };
    println!("virsh --connect {}", host.uri());
    println!(
        "Each line is one bash script, run in / with ten minutes at most. Ctrl-D ends the host."
    );
    let lines = std::io::stdin().lines();
    for line in std::iter::once(Ok(String::new())).chain(lines) {
        let line = line.context("standard input cannot be read")?;
        if !line.trim().is_empty() {
            let done = host.run_for(Duration::from_secs(600), &line);
            print!("{}", done.stdout);
            eprint!("{}", done.stderr);
            if done.code != 0 {
                println!("exit code {}", done.code);
            }
        }
        print!("emulated# ");
        std::io::stdout().flush()?;
    }
    println!();
    Ok(())
}

fn libvirtd() -> Result<()> {
    let Some(libvirtd) = PrivateLibvirtd::start() else { bail!("no libvirtd") };
    println!("virsh --connect '{}'", libvirtd.uri());
    println!("shared folder: {}", libvirtd.folder().display());
    std::io::stdin().lines().next();
    Ok(())
}

/// Whether everything is there, and why not, without making anything.
pub fn look() -> Result<(), String> {
    Image::find().map(drop).map_err(with_causes)
}

/// Makes each part that is not there and says how long that took; or why tests that need it are
/// skipped.
pub fn prepare() -> Result<(), String> {
    let root = step("root", Root::prepare)?;
    step("root of a newer release", || root.prepare_newer())?;
    step("emulated host", || Image::prepare(&root)).map(drop)
}

fn step<T>(name: &str, make: impl FnOnce() -> Result<T, Unavailable>) -> Result<T, String> {
    let start = Instant::now();
    let made = make();
    let seconds = start.elapsed().as_secs_f64();
    match &made {
        Ok(_) => eprintln!("test bed: {name} ready in {seconds:.1} s"),
        Err(_) => eprintln!("test bed: {name} failed after {seconds:.1} s"),
    }
    made.map_err(with_causes)
}

fn with_causes(error: Unavailable) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
