//! Against virsh, on a libvirtd of the benchmark's own.

use super::figure::{Figure, Goal};
use super::{Args, command, timed};
use crate::process::output_of;
use anyhow::{Context, Result};
use numawise_testkit::testbed::PrivateLibvirtd;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// As many as a busy host has.
const GUESTS: u32 = 50;
const LIST: &str = "list of 50 guests, against virsh list";
const APPLY: &str = "apply without a restart, over virsh define";
const LIST_GOAL: Goal = Goal::Times(3.0);
const APPLY_GOAL: Goal = Goal::Over(Duration::from_millis(100));

pub fn measure(numawise: &Path, args: &Args) -> [Figure; 2] {
    let unmeasured = |why: &str| {
        let figure = |name, goal| Figure::unmeasured(name, goal, why.to_owned());
        [figure(LIST, LIST_GOAL), figure(APPLY, APPLY_GOAL)]
    };
    let Some(daemon) = PrivateLibvirtd::start() else { return unmeasured("no test bed") };
    match Scene::make(numawise, &daemon) {
        Ok(scene) => [scene.list(args), scene.apply(args)],
        Err(error) => unmeasured(&format!("{error:#}")),
    }
}

struct Scene<'a> {
    numawise: &'a Path,
    uri: String,
    folder: TempDir,
}

impl<'a> Scene<'a> {
    /// Guests that are off, each bound to a pCPU that it shares with the others.
    fn make(numawise: &'a Path, daemon: &PrivateLibvirtd) -> Result<Self> {
        let folder = TempDir::new().context("a folder for the benchmark")?;
        let scene = Self { numawise, uri: daemon.uri(), folder };
        for number in 1..=GUESTS {
            let name = format!("guest-{number}");
            let file = scene.path(&format!("{name}.xml"));
            std::fs::write(&file, domain(&name)).context("writing a domain XML")?;
            output_of(scene.virsh(&["define"]).arg(&file))?;
            let bind = ["bind", &name, "--policy", "smart", "--shared", "--no-vnuma", "--yes"];
            output_of(&mut scene.ours(&bind))?;
        }
        Ok(scene)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ours(&self, words: &[&str]) -> Command {
        let mut ours = command(self.numawise, &["--connect", &self.uri, "--state"]);
        ours.arg(self.path("state")).args(words);
        ours
    }

    fn virsh(&self, words: &[&str]) -> Command {
        let mut virsh = command(Path::new("virsh"), &["--connect", &self.uri]);
        virsh.args(words);
        virsh
    }

    fn list(&self, args: &Args) -> Figure {
        timed(LIST, LIST_GOAL, args, || self.ours(&["list"]), || self.virsh(&["list", "--all"]))
    }

    /// Each apply is of a new plan on a guest whose old one was taken back, and writes pins; virsh
    /// defines the very text that the apply wrote.
    fn apply(&self, args: &Args) -> Figure {
        let planned = self.path("planned.xml");
        let made = self.new_plan().and_then(|plan| {
            output_of(&mut self.ours(&["apply", &plan]))?;
            let dump = ["dumpxml", "--inactive", "--security-info", "guest-1"];
            Ok(std::fs::write(&planned, output_of(&mut self.virsh(&dump))?)?)
        });
        if let Err(error) = made {
            return Figure::unmeasured(APPLY, APPLY_GOAL, format!("{error:#}"));
        }
        let ours = || match self.new_plan() {
            Ok(plan) => self.ours(&["apply", &plan]),
            // Its failure is told by the run.
            Err(_) => self.ours(&["apply", "there-is-no-plan"]),
        };
        let peer = || self.virsh(&["define", &planned.to_string_lossy()]);
        timed(APPLY, APPLY_GOAL, args, ours, peer)
    }

    fn new_plan(&self) -> Result<String> {
        output_of(&mut self.ours(&["undo", "guest-1", "--yes"]))?;
        let plan = ["plan", "guest-1", "--policy", "smart", "--shared", "--no-vnuma", "--json"];
        let document: Value = serde_json::from_str(&output_of(&mut self.ours(&plan))?)?;
        Ok(document["id"].as_str().context("a plan has an id")?.to_owned())
    }
}

fn domain(name: &str) -> String {
    format!(
        "<domain type='qemu'><name>{name}</name><memory unit='MiB'>64</memory><vcpu>1</vcpu>\
         <os><type arch='x86_64' machine='pc'>hvm</type></os><devices>\
         <memballoon model='none'/></devices></domain>\n"
    )
}
