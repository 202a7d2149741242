//! Threads: name, affinity, and what their cgroup leaves them.

use crate::cgroup::Cpusets;
use crate::error::ProcessError;
use crate::files::Files;
use numawise_model::{CpuSet, Id, IdSet, NodeSet, ThreadFacts, parse_list};

pub fn read(files: &Files, pid: u32) -> Result<Option<Vec<ThreadFacts>>, ProcessError> {
    let Some(tids) = files.numbers(&format!("{pid}/task"))? else { return Ok(None) };
    let mut cpusets = Cpusets::mounted(files)?;
    let mut threads = Vec::new();
    for tid in tids {
        threads.extend(thread(files, &mut cpusets, pid, tid)?);
    }
    // The last thread to go takes the process with it.
    Ok((!threads.is_empty()).then_some(threads))
}

/// `None` when the thread has ended.
fn thread(
    files: &Files,
    cpusets: &mut Cpusets<'_>,
    pid: u32,
    tid: u32,
) -> Result<Option<ThreadFacts>, ProcessError> {
    let folder = format!("{pid}/task/{tid}");
    let Some(name) = files.text(&format!("{folder}/comm"))? else { return Ok(None) };
    let path = format!("{folder}/status");
    let Some(status) = files.text(&path)? else { return Ok(None) };
    let shown = files.shown(&path);
    // A thread that is being taken down has lost its memory and with it `Mems_allowed`.
    let cpus: Option<CpuSet> = field(&shown, &status, "Cpus_allowed_list:")?;
    let nodes: Option<NodeSet> = field(&shown, &status, "Mems_allowed_list:")?;
    let Some(cpus_allowed) = cpus else {
        return Err(ProcessError::Lacks { path: shown, wanted: "Cpus_allowed_list:" });
    };
    let cgroup_cpus = cpusets.of(&format!("{folder}/cgroup"))?;
    let name = name.trim_end_matches('\n').to_owned();
    Ok(Some(ThreadFacts { tid, name, cpus_allowed, nodes_allowed: nodes, cgroup_cpus }))
}

fn field<I: Id>(path: &str, status: &str, wanted: &str) -> Result<Option<IdSet<I>>, ProcessError> {
    for (index, line) in status.lines().enumerate() {
        if let Some(value) = line.strip_prefix(wanted) {
            let value = value.trim();
            let set = parse_list(value);
            return set.map(Some).map_err(|e| ProcessError::set(path, index + 1, value, e));
        }
    }
    Ok(None)
}
