//! Shell completions and man pages, made from the argument parser itself.

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct CompletionsArgs {
    shell: Shell,
}

#[derive(Args)]
pub struct ManArgs {
    /// Folder to write into; made if it is not there.
    folder: PathBuf,
}

pub fn completions(args: &CompletionsArgs, mut command: Command) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "numawise", &mut text);
    crate::output::print(&String::from_utf8(text)?)?;
    Ok(ExitCode::SUCCESS)
}

pub fn man(args: &ManArgs, command: Command) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(command, &args.folder))
        .with_context(|| format!("writing man pages into {}", args.folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
