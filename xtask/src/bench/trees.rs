//! Big machines as sysfs trees on disk, and how many files a reader opens to understand one.
//!
//! The testkit writes the files that say something of placement. A kernel shows many more, which a
//! reader has to pass over or pays for; they are added here, so that both sides meet what they meet
//! on a machine.

use crate::process::{output_of, shown};
use anyhow::{Context, Result, bail};
use numawise_testkit::sysfs_tree::{self, Files};
use numawise_testkit::{Numbering, Shape};
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
        let mut files = sysfs_tree::files(&shape.host());
        add_what_kernels_show_besides(&mut files);
        sysfs_tree::write_files(&files, dir.path())
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

/// Caches below the third level, the geometry of all caches, and the older names of the masks.
fn add_what_kernels_show_besides(files: &mut Files) {
    const CORE_CPUS: &str = "/topology/core_cpus";
    let cpus: Vec<String> =
        files.keys().filter_map(|path| path.strip_suffix(CORE_CPUS).map(str::to_owned)).collect();
    for (core_id, cpu) in cpus.iter().enumerate() {
        let mut copy = |from: String, to: String| {
            if let Some(text) = files.get(&from).cloned() {
                files.insert(to, text);
            }
        };
        for form in ["", "_list"] {
            let core = format!("{cpu}{CORE_CPUS}{form}");
            let package = format!("{cpu}/topology/package_cpus{form}");
            copy(core.clone(), format!("{cpu}/topology/thread_siblings{form}"));
            copy(package.clone(), format!("{cpu}/topology/core_siblings{form}"));
            copy(package, format!("{cpu}/topology/die_cpus{form}"));
            let of_cache = if form.is_empty() { "shared_cpu_map" } else { "shared_cpu_list" };
            for index in 0..3 {
                copy(core.clone(), format!("{cpu}/cache/index{index}/{of_cache}"));
            }
        }
        let mut put = |name: &str, text: &str| {
            files.insert(format!("{cpu}/{name}"), format!("{text}\n"));
        };
        put("topology/core_id", &core_id.to_string());
        put("topology/die_id", "0");
        let caches = [("1", "Data", "32K"), ("1", "Instruction", "32K"), ("2", "Unified", "1024K")];
        for (index, (level, kind, size)) in caches.into_iter().enumerate() {
            put(&format!("cache/index{index}/level"), level);
            put(&format!("cache/index{index}/type"), kind);
            put(&format!("cache/index{index}/size"), size);
        }
        for index in 0..4 {
            put(&format!("cache/index{index}/coherency_line_size"), "64");
            put(&format!("cache/index{index}/number_of_sets"), "1024");
            put(&format!("cache/index{index}/physical_line_partition"), "1");
            put(&format!("cache/index{index}/ways_of_associativity"), "16");
        }
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
    fn a_tree_looks_like_a_kernels() {
        let mut files = Files::from([
            ("cpu0/topology/core_cpus".to_owned(), "3\n".to_owned()),
            ("cpu0/topology/core_cpus_list".to_owned(), "0-1\n".to_owned()),
            ("cpu0/topology/package_cpus".to_owned(), "f\n".to_owned()),
        ]);
        add_what_kernels_show_besides(&mut files);
        let text = |path: &str| files.get(path).map(|text| text.trim_end());
        assert_eq!(text("cpu0/cache/index2/shared_cpu_list"), Some("0-1"));
        assert_eq!(text("cpu0/cache/index2/level"), Some("2"));
        assert_eq!(text("cpu0/topology/core_siblings"), Some("f"));
        assert_eq!(text("cpu0/topology/core_siblings_list"), None);
    }

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
