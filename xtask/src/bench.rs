//! `cargo xtask bench`: how fast numawise is, as ratios to what people use today.
//!
//! A number of milliseconds says more about the machine than about the program. Each figure
//! therefore runs ours and the peer's command in turn, in the same minute, with a warm page cache;
//! what is judged is the ratio of the medians. Which of a pair goes first is drawn from a seed, so
//! that neither always profits from the other's caches.

mod figure;
mod fleet;
mod libvirt;
mod oltp;
mod place;
mod python;
mod timing;
mod trees;

use crate::machine::{self, find_program};
use crate::process::{cargo, output_of, succeeds};
use anyhow::{Context, Result, bail};
use figure::{Figure, Goal, Outcome};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trees::Tree;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Few runs, for a first look; too few for a claim.
    #[arg(long)]
    quick: bool,
    /// Also write every single run to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Fail when a goal is missed or a figure could not be measured.
    #[arg(long)]
    check: bool,
    /// Draws the order within each pair.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(clap::Subcommand, Clone)]
enum What {
    /// Placement over many hosts: speed, memory, growth.
    Fleet(fleet::FleetArgs),
    /// The OLTP load beside sysbench.
    Oltp(oltp::OltpArgs),
    /// Placement on one host: speed beside Nova's.
    Place(place::PlaceArgs),
}

impl Args {
    /// As the nightly run wants it.
    pub fn checking() -> Self {
        Self { what: None, quick: false, json: None, check: true, seed: 1 }
    }

    fn runs(&self) -> usize {
        if self.quick { 5 } else { 31 }
    }
}

pub fn run(root: &Path, args: &Args) -> Result<bool> {
    match &args.what {
        Some(What::Fleet(args)) => return fleet::run(root, args),
        Some(What::Oltp(args)) => return oltp::run(root, args),
        Some(What::Place(args)) => return place::run(root, args),
        None => {}
    }
    for line in machine::advice(&machine::set_up(machine::BENCH_NEEDS, true)) {
        eprintln!("{line}");
    }
    let numawise = build_release(root)?;
    let figures = measure(&numawise, args)?;
    println!("{}", figure::table(&figures));
    println!(
        "{} interleaved runs each, seed {}; medians; ratios over all pairs in brackets{}",
        args.runs(),
        args.seed,
        if args.quick { "; too few runs for a claim" } else { "" }
    );
    if let Some(file) = &args.json {
        let document = as_json(&figures, args);
        std::fs::write(file, format!("{document:#}\n"))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(!args.check || figures.iter().all(Figure::is_met))
}

fn as_json(figures: &[Figure], args: &Args) -> Value {
    json!({
        "schema": "numawise-bench",
        "version": 1,
        "runs": args.runs(),
        "seed": args.seed,
        "figures": figures.iter().map(Figure::as_json).collect::<Vec<_>>(),
    })
}

fn build_release(root: &Path) -> Result<PathBuf> {
    if !succeeds(cargo(root).args(["build", "--release", "--package", "numawise"]))? {
        bail!("the release build failed, so there is nothing to measure");
    }
    let mut metadata = cargo(root);
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&output_of(&mut metadata)?)?;
    let target =
        metadata["target_directory"].as_str().context("cargo names no target directory")?;
    Ok(Path::new(target).join("release/numawise"))
}

fn measure(numawise: &Path, args: &Args) -> Result<Vec<Figure>> {
    let mut figures = vec![
        timed(
            "host show --json, this machine, against lscpu -J",
            Goal::Times(1.1),
            args,
            || command(numawise, &["host", "show", "--json"]),
            || command(Path::new("lscpu"), &["-J"]),
        ),
        timed(
            "--version, over true",
            Goal::Over(Duration::from_millis(5)),
            args,
            || command(numawise, &["--version"]),
            || command(Path::new("true"), &[]),
        ),
    ];
    for shape in trees::SHAPES {
        let tree = Tree::write(shape)?;
        figures.extend(on_tree(numawise, args, &tree));
    }
    figures.extend(libvirt::measure(numawise, args));
    Ok(figures)
}

/// Time and opened files on one unpacked tree.
fn on_tree(numawise: &Path, args: &Args, tree: &Tree) -> [Figure; 2] {
    let ours = || {
        let mut show = command(numawise, &["host", "show", "--json", "--host"]);
        show.arg(tree.path());
        show
    };
    let peer = || {
        let mut lstopo = command(Path::new("lstopo-no-graphics"), &["--of", "console"]);
        lstopo.env("HWLOC_FSROOT", tree.path()).env("HWLOC_THISSYSTEM", "0");
        lstopo
    };
    let cpus = tree.cpus;
    let name = format!("host show --json, {cpus} CPUs, against lstopo");
    let goal = Goal::Faster(4.0);
    // Both must have seen the whole machine, or the faster one is the one that gave up.
    let seen = tree.is_seen_by(ours(), &format!("\"0-{}\"", cpus - 1)).and_then(|()| {
        // hwloc numbers CPUs in its own order, so the last logical number is the count.
        tree.is_seen_by(peer(), &format!("PU L#{}", cpus - 1))
    });
    let time = match seen {
        Ok(()) => timed(&name, goal, args, ours, peer),
        Err(error) => Figure::unmeasured(&name, goal, format!("{error:#}")),
    };
    [time, opened_files(tree, ours(), peer())]
}

fn opened_files(tree: &Tree, ours: Command, peer: Command) -> Figure {
    let name = format!("opened files per CPU, {} CPUs, against lstopo", tree.cpus);
    let goal = Goal::FilesPerCpu(4.0);
    if find_program("strace").is_none() {
        return Figure::unmeasured(&name, goal, "strace is not installed".to_owned());
    }
    let counted = trees::opened_files(ours)
        .and_then(|ours| trees::opened_files(peer).map(|peer| (ours, peer)));
    match counted {
        Ok((ours, peer)) => {
            let per_cpu = |files: u64| files as f64 / f64::from(tree.cpus);
            let outcome = Outcome::Counted { ours: per_cpu(ours), peer: per_cpu(peer) };
            Figure { name, goal, outcome }
        }
        Err(error) => Figure::unmeasured(&name, goal, format!("{error:#}")),
    }
}

fn timed(
    name: &str,
    goal: Goal,
    args: &Args,
    ours: impl Fn() -> Command,
    peer: impl Fn() -> Command,
) -> Figure {
    match timing::interleaved(args.runs(), args.seed, &ours, &peer) {
        Ok(pairs) => Figure { name: name.to_owned(), goal, outcome: Outcome::Timed(pairs) },
        Err(error) => Figure::unmeasured(name, goal, format!("{error:#}")),
    }
}

fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Messages in one language, and no library that somebody preloads.
    command.args(args).env("LC_ALL", "C").env_remove("LD_PRELOAD");
    command
}
