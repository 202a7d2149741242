//! The CPUs that a thread's cpuset cgroup leaves it.
//!
//! The controller belongs to one hierarchy only: to version 1 where it is mounted there (also
//! beside a version 2 that holds other controllers), else to version 2. The path in
//! `task/TID/cgroup` counts from the root of the reader's cgroup namespace, a mount may show only a
//! part of the hierarchy (its root stands in `mountinfo`), and a cgroup may have the controller
//! switched off; then the nearest one above that has it holds the limit.

use crate::error::ProcessError;
use crate::files::Files;
use crate::octal::unescape;
use numawise_model::{CpuSet, parse_list};
use std::collections::BTreeMap;

/// Where cpusets are, and those that were read already: many threads share one.
pub struct Cpusets<'f> {
    files: &'f Files,
    mount: Option<Mount>,
    read: BTreeMap<String, Option<CpuSet>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    point: String,
    /// The cgroup that the mount shows at its top.
    root: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    V1,
    /// `cpus` for `cpuset.cpus`: the `noprefix` option, and the file system named `cpuset`.
    V1WithoutPrefix,
    V2,
}

impl Kind {
    fn file(self) -> &'static str {
        match self {
            Self::V1 => "cpuset.cpus",
            Self::V1WithoutPrefix => "cpus",
            Self::V2 => "cpuset.cpus.effective",
        }
    }
}

impl<'f> Cpusets<'f> {
    pub fn mounted(files: &'f Files) -> Result<Self, ProcessError> {
        // absent means a /proc of another machine, in which nothing is mounted
        let mountinfo = files.text("self/mountinfo")?.unwrap_or_default();
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(mount).collect();
        let v1 = mounts.iter().find(|mount| mount.kind != Kind::V2);
        let mount = v1.or(mounts.first()).cloned();
        Ok(Self { files, mount, read: BTreeMap::new() })
    }

    /// By a thread's `cgroup` file; `None` without such a controller, or when it is out of sight.
    pub fn of(&mut self, cgroup_file: &str) -> Result<Option<CpuSet>, ProcessError> {
        let Some(mount) = &self.mount else { return Ok(None) };
        let Some(text) = self.files.text(cgroup_file)? else { return Ok(None) };
        let Some(path) = text.lines().find_map(|line| path_in(mount.kind, line)) else {
            return Ok(None);
        };
        let path = unescape(path);
        if let Some(known) = self.read.get(&path) {
            return Ok(known.clone());
        }
        let found = match below(mount, &path) {
            Some(folder) => nearest(self.files, mount, folder)?,
            None => None,
        };
        self.read.insert(path, found.clone());
        Ok(found)
    }
}

/// `36 31 0:31 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset`.
fn mount(line: &str) -> Option<Mount> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (unescape(place.next()?), unescape(place.next()?));
    let mut system = system.split(' ');
    let (file_system, options) = (system.next()?, system.nth(1)?);
    let has = |option| options.split(',').any(|other| other == option);
    let kind = match file_system {
        "cgroup2" => Kind::V2,
        "cpuset" => Kind::V1WithoutPrefix,
        "cgroup" if has("cpuset") && has("noprefix") => Kind::V1WithoutPrefix,
        "cgroup" if has("cpuset") => Kind::V1,
        _ => return None,
    };
    Some(Mount { point, root, kind })
}

/// `3:cpuset:/machine/vcpu0`, `0::/machine.slice/vcpu0`.
fn path_in(kind: Kind, line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let wanted = match kind {
        Kind::V2 => number == "0" && controllers.is_empty(),
        _ => controllers.split(',').any(|name| name == "cpuset"),
    };
    wanted.then_some(path)
}

/// The path below the mount point; `None` for a cgroup that the mount does not show.
fn below<'p>(mount: &Mount, path: &'p str) -> Option<&'p str> {
    let root = mount.root.trim_end_matches('/');
    let rest = path.strip_prefix(root)?;
    let inside = rest.is_empty() || rest.starts_with('/');
    (inside && !rest.split('/').any(|part| part == "..")).then_some(rest)
}

fn nearest(files: &Files, mount: &Mount, folder: &str) -> Result<Option<CpuSet>, ProcessError> {
    let mut folder = folder.trim_end_matches('/');
    loop {
        let path = format!("{}{folder}/{}", mount.point.trim_end_matches('/'), mount.kind.file());
        if let Some(text) = files.text_below_root(&path)? {
            let text = text.trim();
            let set: CpuSet =
                parse_list(text).map_err(|error| ProcessError::set(&path, 1, text, error))?;
            // A cgroup without CPUs could not run the thread: nothing is set there.
            if !set.is_empty() {
                return Ok(Some(set));
            }
        }
        match folder.rsplit_once('/') {
            Some((above, _)) => folder = above,
            None => return Ok(None),
        }
    }
}
