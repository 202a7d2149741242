//! `numawise demo`: the main job on a simulated two-node host, with the commands that do it.
//!
//! It runs the very commands a user would type, in a folder of its own that is removed at the end.

use crate::Cli;
use crate::output;
use anyhow::{Context, Result, bail};
use clap::{Args, Parser};
use std::path::Path;
use std::process::ExitCode;

/// The seed's own case: 48 vCPUs on two nodes of 32 pCPUs, bound, given vNUMA, restarted, verified;
/// then a drift is made, and caught.
#[derive(Args)]
pub struct DemoArgs {
    /// Keep the demo's state in this folder, to go on with by hand.
    #[arg(long, value_name = "DIR")]
    keep: Option<std::path::PathBuf>,
}

const GUEST: &str = include_str!("demo_guest.xml");

pub fn run(args: &DemoArgs) -> Result<ExitCode> {
    let folder = tempfile::tempdir().context("making a folder for the demo")?;
    let state = args.keep.clone().unwrap_or_else(|| folder.path().to_owned());
    let stage = Stage { state };
    let guest = folder.path().join("mysql-48.xml");
    std::fs::write(&guest, GUEST).with_context(|| guest.display().to_string())?;

    stage.say("1. This machine, as numawise reads it")?;
    stage.expect(0, &["host", "show"])?;

    stage.say("2. A simulated host of two nodes with 32 pCPUs each, and a 48-vCPU guest on it")?;
    stage.expect(0, &["embedded", "init", "--host", "bundled:two-socket-64"])?;
    stage.expect(0, &["embedded", "define", &guest.to_string_lossy()])?;
    stage.expect(0, &["embedded", "start", "mysql-48"])?;
    stage.expect(0, &["list"])?;

    stage.say("3. Bind it by the smart rule, derive its vNUMA, show the change, apply, restart")?;
    let bind = ["bind", "mysql-48", "--policy", "smart", "--fix-guest", "--restart", "--yes"];
    stage.expect(0, &bind)?;

    stage.say("4. Verify what the (simulated) kernel really did, and look at it")?;
    stage.expect(0, &["verify", "mysql-48"])?;
    stage.expect(0, &["show", "mysql-48"])?;

    stage.say(
        "5. Somebody moves a thread and some memory behind our back: verify tells, exit code 5",
    )?;
    stage.expect(0, &["embedded", "repin", "mysql-48", "--vcpu", "3", "--cpus", "5"])?;
    let migrate =
        ["embedded", "migrate-pages", "mysql-48", "--from", "1", "--to", "0", "--pages", "262144"];
    stage.expect(0, &migrate)?;
    stage.expect(5, &["verify", "mysql-48"])?;
    stage.farewell(args.keep.as_deref())
}

struct Stage {
    state: std::path::PathBuf,
}

impl Stage {
    fn say(&self, text: &str) -> Result<()> {
        output::print(&format!("\n== {text}\n"))
    }

    /// Prints the command as a user would type it and runs it; another exit code than the expected
    /// one ends the demo.
    fn expect(&self, wanted: u8, words: &[&str]) -> Result<()> {
        output::print(&format!("$ numawise {}", words.join(" ")))?;
        let state = self.state.to_string_lossy();
        let all = ["numawise", "--state", &state, "--connect", "embedded:"];
        let cli = Cli::try_parse_from(all.iter().chain(words))?;
        let code = match crate::run(&cli) {
            Ok(code) => code,
            Err(error) => crate::failure::report(&error, None),
        };
        if code != ExitCode::from(wanted) {
            bail!("numawise {} did not end with exit code {wanted}", words.join(" "));
        }
        output::print("")
    }

    fn farewell(&self, kept: Option<&Path>) -> Result<ExitCode> {
        if let Some(folder) = kept {
            let folder = folder.display();
            output::print(&format!(
                "The demo's state is in {folder}: numawise --state {folder} --connect embedded: list"
            ))?;
        }
        output::print(
            "\n== Next, on a host with libvirt: three commands\n\n\
             $ numawise list\n\
             $ numawise bind GUEST --policy smart --fix-guest --restart\n\
             $ numawise verify GUEST",
        )?;
        Ok(ExitCode::SUCCESS)
    }
}
