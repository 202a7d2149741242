//! Big machines as sysfs trees on disk, and how many files a reader opens to understand one.
//!
//! The trees hold only the files that say something of placement. A real `/sys` has many more, which
//! a reader that looks for all of them pays for: the peer is better off here than on a machine.

use crate::process::{output_of, shown};
use anyhow::{Context, Result, bail};
use numawise_testkit::{Numbering, Shape, sysfs_tree};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Two packages of twelve L3 domains with SMT, one node each; only the cores per L3 differ.
pub const SHAPES: [Geometry; 2] =
    // EPYC Genoa with 96 cores a package, and Turin Dense with 192.
    [Geometry { cores_per_l3: 8 }, Geometry { cores_per_l3: 16 }];

#[derive(Clone, Copy)]
pub struct Geometry {
    cores_per_l3: u32,
}

pub struct Tree {
    dir: TempDir,
    pub cpus: u32,
}

impl Tree {
    pub fn write(geometry: Geometry) -> Result<Self> {
        let shape = Shape {
            packages: 2,
            nodes_per_package: 1,
            l3_per_node: 12,
            cores_per_l3: geometry.cores_per_l3,
            threads: 2,
            numbering: Numbering::SiblingsApart,
            node_bytes: 768 << 30,
            hugepages: BTreeMap::new(),
        };
        let dir = TempDir::new().context("no place for a tree")?;
        sysfs_tree::write_tree(&shape.host(), dir.path())
            .with_context(|| format!("cannot write a tree to {}", dir.path().display()))?;
        Ok(Self { dir, cpus: 2 * 12 * geometry.cores_per_l3 * 2 })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Whether the command's output shows that it read all of the tree.
    pub fn is_seen_by(&self, mut command: Command, sign: &str) -> Result<()> {
        let output = output_of(&mut command)?;
        if !output.contains(sign) {
            bail!("{} shows no {sign}, so it did not see all {} CPUs", shown(&command), self.cpus);
        }
        Ok(())
    }
}

/// Files opened with success, the loader's own among them.
pub fn opened_files(command: Command) -> Result<u64> {
    let log = tempfile::NamedTempFile::new().context("no place for strace's counts")?;
    let mut strace = Command::new("strace");
    // A question mark: not every architecture has every one of these calls.
    strace.args(["-f", "-c", "-e", "trace=?open,openat,?openat2", "-o"]).arg(log.path());
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    strace.stdin(Stdio::null());
    output_of(&mut strace)?;
    let table = std::fs::read_to_string(log.path()).context("strace left no counts")?;
    sum_of_counts(&table)
}

/// `% time  seconds  usecs/call  calls  [errors]  syscall`: calls less errors, over all calls.
fn sum_of_counts(table: &str) -> Result<u64> {
    let mut opened = None;
    for line in table.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (calls, errors) = match columns.as_slice() {
            [_, _, _, calls, "open" | "openat" | "openat2"] => (*calls, "0"),
            [_, _, _, calls, errors, "open" | "openat" | "openat2"] => (*calls, *errors),
            _ => continue,
        };
        let count = |text: &str| {
            text.parse::<u64>().with_context(|| format!("strace counts '{text}' calls in: {line}"))
        };
        let succeeded = count(calls)?.saturating_sub(count(errors)?);
        *opened.get_or_insert(0) += succeeded;
    }
    opened.with_context(|| format!("strace counted no opened file:\n{table}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_opens_are_not_opened_files() {
        let table = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 99.00    0.045678           4     10369      1200 openat
  1.00    0.000100           4        12           openat2
------ ----------- ----------- --------- --------- ----------------
100.00    0.045778           4     10381      1200 total
";
        assert_eq!(sum_of_counts(table).expect("it is strace's own form"), 9_181);
    }

    #[test]
    fn no_count_is_an_error_and_not_zero_files() {
        assert!(sum_of_counts("").is_err());
        let error = sum_of_counts(" 1.0 0.1 4 many openat\n").expect_err("not a number");
        assert!(error.to_string().contains("'many'"), "{error}");
    }
}
