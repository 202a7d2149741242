//! The CPUs and memory nodes that a guest may use, as cgroups limit them.
//!
//! Guests do not run in the cgroup of the process that reads: libvirt puts them below `machine.slice`
//! (with systemd) or `machine`, right below the root. Where that is there its limit counts. A host
//! whose guests have CPUs of their own takes these from everybody else, a shell included, and what
//! is left to the shell is just what guests must not have. Before the first guest has made that
//! cgroup, and for a process that is in it, the limit of the process counts: in a container it is
//! what guests started there would get.
//!
//! sysfs shows the whole machine even inside a container; the limits stand in the `cpuset`
//! controller's files. Where these are depends on the age and the habits of the system: cgroup v1
//! (mounted anywhere, with or without the `cpuset.` prefix), v2, or v1 for some controllers beside
//! v2 for others. A controller belongs to one hierarchy only, so a v1 mount of `cpuset` decides.
//!
//! The path in `proc/self/cgroup` may not exist under the mount (a container sees a part of the
//! hierarchy) or may not have the controller switched on; then the nearest directory above it that
//! has the file holds the limit.

use crate::error::ReadError;
use crate::root::{Reader, join, parent};
use numawise_model::{CpuSet, Id, IdSet, NodeSet};

pub const MOUNTS: &str = "proc/mounts";
pub const SELF_CGROUP: &str = "proc/self/cgroup";
pub const SELF_CPUSET: &str = "proc/self/cpuset";

#[derive(Clone, Debug, Default)]
pub struct CgroupFacts {
    /// With the file that says so.
    pub cpus: Option<(String, CpuSet)>,
    pub memory_nodes: Option<(String, NodeSet)>,
}

pub fn read(reader: &mut Reader<'_>) -> Result<CgroupFacts, ReadError> {
    let Some(mounts) = reader.text(MOUNTS)?.map(parse_mounts) else {
        return Ok(CgroupFacts::default());
    };
    let paths = read_paths(reader)?;
    let v1 = mounts.iter().find(|mount| mount.kind != Kind::V2).zip(paths.v1.as_deref());
    let v2 = mounts.iter().find(|mount| mount.kind == Kind::V2).zip(paths.v2.as_deref());
    let Some((mount, path)) = v1.or(v2) else { return Ok(CgroupFacts::default()) };
    let [cpus, memory_nodes] = mount.kind.files();
    Ok(CgroupFacts {
        cpus: limit(reader, mount, path, cpus)?,
        memory_nodes: limit(reader, mount, path, memory_nodes)?,
    })
}

/// Where libvirt puts guests, with systemd and without, unless a definition says otherwise.
const GUESTS: [&str; 2] = ["machine.slice", "machine"];

fn limit<I: Id>(
    reader: &mut Reader<'_>,
    mount: &Mount,
    path: &str,
    file: &str,
) -> Result<Option<(String, IdSet<I>)>, ReadError> {
    let top = path.trim_start_matches('/').split('/').next();
    if top.is_none_or(|top| !GUESTS.contains(&top)) {
        for guests in GUESTS {
            let found = limit_at(reader, mount, guests, file)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    nearest(reader, mount, path, file)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    V1,
    /// `cpus` for `cpuset.cpus`: the `noprefix` option, and the file system named `cpuset`.
    V1WithoutPrefix,
    V2,
}

impl Kind {
    /// Files with the CPUs and with the memory nodes. In v1 the set that was configured is the one
    /// that holds (it cannot exceed its parent's); in v2 it may be empty or a wish.
    fn files(self) -> [&'static str; 2] {
        match self {
            Self::V1 => ["cpuset.cpus", "cpuset.mems"],
            Self::V1WithoutPrefix => ["cpus", "mems"],
            Self::V2 => ["cpuset.cpus.effective", "cpuset.mems.effective"],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// Relative to the root that is read.
    point: String,
    kind: Kind,
}

/// Mounts that hold the cpuset controller.
fn parse_mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let mut words = line.split_ascii_whitespace();
    let (point, file_system, options) = (words.nth(1)?, words.next()?, words.next()?);
    let has = |option| options.split(',').any(|other| other == option);
    let kind = match file_system {
        "cgroup2" => Kind::V2,
        "cpuset" => Kind::V1WithoutPrefix,
        "cgroup" if has("cpuset") && has("noprefix") => Kind::V1WithoutPrefix,
        "cgroup" if has("cpuset") => Kind::V1,
        _ => return None,
    };
    // The kernel writes blanks in paths as octal escapes.
    let point = point.replace("\\040", " ").replace("\\011", "\t");
    Some(Mount { point: point.trim_matches('/').to_owned(), kind })
}

/// Of the mounts, the lines that [`parse_mounts`] takes, without the devices and the other options.
pub fn essential_mounts(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines().filter(|line| parse_mount(line).is_some()) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let options: Vec<&str> =
            words[3].split(',').filter(|option| ["cpuset", "noprefix"].contains(option)).collect();
        let options = if options.is_empty() { "rw".to_owned() } else { options.join(",") };
        kept.push_str(&format!("none {} {} {options} 0 0\n", words[1], words[2]));
    }
    kept
}

#[derive(Clone, Debug, Default)]
struct Paths {
    v1: Option<String>,
    v2: Option<String>,
}

/// Where this process is in each hierarchy.
fn read_paths(reader: &mut Reader<'_>) -> Result<Paths, ReadError> {
    if let Some(text) = reader.text(SELF_CGROUP)? {
        let mut paths = Paths::default();
        for (controllers, path) in text.lines().filter_map(cgroup_line) {
            match controllers {
                "" => paths.v2 = Some(path.to_owned()),
                list if list.split(',').any(|name| name == "cpuset") => {
                    paths.v1 = Some(path.to_owned());
                }
                _ => {}
            }
        }
        return Ok(paths);
    }
    // One file for whichever hierarchy has the controller.
    let path = reader.text(SELF_CPUSET)?.map(str::to_owned);
    Ok(Paths { v1: path.clone(), v2: path })
}

/// `5:cpuset:/path`, `0::/path`.
fn cgroup_line(line: &str) -> Option<(&str, &str)> {
    line.split_once(':')?.1.split_once(':')
}

/// Of `proc/self/cgroup`, the lines that are read.
pub fn essential_cgroup(text: &str) -> String {
    let wanted = |line: &&str| {
        cgroup_line(line).is_some_and(|(controllers, _)| {
            controllers.is_empty() || controllers.split(',').any(|name| name == "cpuset")
        })
    };
    text.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

/// The limit of the directory at `path` under the mount, or of the nearest one above that has one.
fn nearest<I: Id>(
    reader: &mut Reader<'_>,
    mount: &Mount,
    path: &str,
    file: &str,
) -> Result<Option<(String, IdSet<I>)>, ReadError> {
    // Absent means that the path climbs above its namespace's root (`/../..`); such a process is
    // seen from the mount point.
    let mut directory = join("", path.trim_start_matches('/')).unwrap_or_default();
    loop {
        let found = limit_at(reader, mount, &directory, file)?;
        if found.is_some() {
            return Ok(found);
        }
        if directory.is_empty() {
            return Ok(None);
        }
        directory = parent(&directory).to_owned();
    }
}

/// The limit of just this directory. An empty set is none: without CPUs nothing could run there.
fn limit_at<I: Id>(
    reader: &mut Reader<'_>,
    mount: &Mount,
    directory: &str,
    file: &str,
) -> Result<Option<(String, IdSet<I>)>, ReadError> {
    let parts = [mount.point.as_str(), directory, file];
    let full: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let full = full.join("/");
    let set = reader.list::<I>(&full)?.filter(|set| !set.is_empty());
    Ok(set.map(|set| (format!("/{full}"), set)))
}

#[cfg(test)]
mod tests {
    use super::{Kind, essential_mounts, parse_mounts};

    #[test]
    fn mounts_that_hold_cpusets_are_found_wherever_they_are() {
        let text = "none /dev/cpuset cpuset rw 0 0\n\
                    none /dev/old cgroup rw,relatime,cpuset,noprefix,release_agent=/x 0 0\n\
                    cgroup /sys/fs/cgroup/cpuset cgroup rw,nosuid,cpuset 0 0\n\
                    cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
                    filer.example:/home /home nfs rw,addr=10.0.0.1 0 0\n\
                    none /cgroup/uni\\040fied cgroup2 rw 0 0\n";
        let wanted = [
            ("dev/cpuset", Kind::V1WithoutPrefix),
            ("dev/old", Kind::V1WithoutPrefix),
            ("sys/fs/cgroup/cpuset", Kind::V1),
            ("cgroup/uni fied", Kind::V2),
        ];
        let found = parse_mounts(text);
        let found: Vec<(&str, Kind)> = found.iter().map(|m| (m.point.as_str(), m.kind)).collect();
        assert_eq!(found, wanted);
        let essential = essential_mounts(text);
        assert_eq!(parse_mounts(&essential), parse_mounts(text));
        assert!(
            !essential.contains("filer") && !essential.contains("release_agent"),
            "{essential}"
        );
    }
}
