//! What the benchmarks need of Python: a virtual environment with one package, for a benchmark only.
//!
//! Each is made once (with network) in this user's cache folder.

use crate::machine::find_program;
use crate::process::output_of;
use anyhow::{Context, Result, bail};
use numawise_testkit::testbed::Cache;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter that has this package, such as `nova==34.0.0`. Made where it is not there; a
/// half-made one is not taken for one.
pub fn with(package: &str) -> Result<PathBuf> {
    let cache = Cache::of_user();
    let folder = cache.folder().with_file_name("bench").join(package.replace("==", "-"));
    let (python, done) = (folder.join("bin/python"), folder.join("complete"));
    if done.is_file() {
        return Ok(python);
    }
    if find_program("python3").is_none() {
        bail!("python3 is not installed; as root: apt-get install -y python3 python3-venv");
    }
    eprintln!("making {} (once, about two minutes)", folder.display());
    output_of(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder)).context(
        "python3 cannot make a virtual environment; as root: apt-get install -y python3-venv",
    )?;
    install(&folder, package)
        .with_context(|| format!("{package} cannot be installed; is there a network?"))?;
    std::fs::write(&done, "").with_context(|| format!("cannot write {}", done.display()))?;
    Ok(python)
}

fn install(folder: &Path, package: &str) -> Result<()> {
    let mut pip = Command::new(folder.join("bin/pip"));
    output_of(pip.args(["install", "--quiet", "--disable-pip-version-check", package])).map(drop)
}
