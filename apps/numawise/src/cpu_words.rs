//! Where a load runs, in words: CPUs (`0-3,^2`), `node:0`, `l3:5`, or so many in a placement
//! (`compact:8`, `spread:8`).

use numawise_model::{CpuSet, L3Policy, PageSize, Pcpu, Pnode, SmtPolicy, Topology, parse_rule};
use numawise_planner::fit::{Cells, Layout, Parting, Stock, Wanted, fit};

/// What is wanted, for help texts and errors.
pub const WORDS: &str = "CPUs (0-3,^2), node:0, l3:5 (counted from 0), compact:8 or spread:8";

/// The CPUs on this host, all of them online.
pub fn resolve(text: &str, topology: &Topology) -> Result<CpuSet, String> {
    let cpus = match text.split_once(':') {
        None => match (text.strip_prefix("node"), parse_rule(text)) {
            (Some(node), _) => on_node(node, topology)?,
            (None, Ok(rule)) => rule.set,
            (None, Err(error)) => return Err(format!("{error}; wanted: {WORDS}")),
        },
        Some(("node", node)) => on_node(node, topology)?,
        Some(("l3", domain)) => in_domain(domain, topology)?,
        Some(("compact", count)) => placed(count, L3Policy::Compact, topology)?,
        Some(("spread", count)) => placed(count, L3Policy::Spread, topology)?,
        Some(_) => return Err(format!("wanted: {WORDS}")),
    };
    let absent = cpus.difference(&topology.online);
    match (cpus.is_empty(), absent.is_empty()) {
        (true, _) => Err("that is no CPU at all".to_owned()),
        (false, false) => Err(format!("CPUs {absent} are not there, or offline")),
        (false, true) => Ok(cpus),
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is no number; wanted: {WORDS}"))
}

fn on_node(text: &str, topology: &Topology) -> Result<CpuSet, String> {
    let wanted = Pnode(number(text)?);
    let node = topology.nodes.iter().find(|node| node.id == wanted);
    node.map(|node| node.cpus.clone()).ok_or_else(|| {
        let ids: Vec<String> = topology.nodes.iter().map(|node| node.id.to_string()).collect();
        format!("there is no node {wanted}; there are {}", ids.join(", "))
    })
}

fn in_domain(text: &str, topology: &Topology) -> Result<CpuSet, String> {
    let wanted = number(text)? as usize;
    topology.l3_domains.get(wanted).map(|domain| domain.cpus.clone()).ok_or_else(|| {
        format!("there is no L3 domain {wanted}; there are {}", topology.l3_domains.len())
    })
}

/// As the planner would place a guest without memory on the empty host.
fn placed(text: &str, l3: L3Policy, topology: &Topology) -> Result<CpuSet, String> {
    let vcpus = number(text)?;
    let wanted = Wanted {
        vcpus,
        pages: vcpus.into(),
        page_size: PageSize::BASE_4K,
        smt: SmtPolicy::Prefer,
        l3,
        cells: Cells::Free(Parting::EvenFirst),
        emulator_cpus: 0,
        devices: Vec::new(),
    };
    let layout = Layout::of(topology);
    // Of memory nothing is known, and nothing is asked.
    let stock = Stock::new(&layout, &topology.online);
    let found = fit(&layout, &stock, &wanted).map_err(|_| {
        format!("{} CPUs are not there; {} are online", wanted.vcpus, topology.online.len())
    })?;
    Ok(found.parts.iter().flat_map(|part| part.pcpus.iter().copied()).collect())
}

/// Runs something with this thread, and whatever it starts, on these CPUs.
pub fn on_cpus<T>(
    cpus: &CpuSet,
    work: impl FnOnce() -> Result<T, numawise_engine::ports::PortError>,
) -> Result<T, numawise_engine::ports::PortError> {
    use numawise_engine::ports::PortError;
    use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};
    let failed = |error: rustix::io::Errno| {
        PortError::NoAccess(format!("CPUs {cpus}: this process may not run there: {error}"))
    };
    let before = sched_getaffinity(None).map_err(failed)?;
    let mut mask = Mask::new();
    for Pcpu(cpu) in cpus.iter() {
        match cpu as usize {
            cpu if cpu < Mask::MAX_CPU => mask.set(cpu),
            _ => {
                let most = Mask::MAX_CPU - 1;
                return Err(PortError::Failed(format!(
                    "CPU {cpu}: only CPUs up to {most} can be asked for"
                )));
            }
        }
    }
    sched_setaffinity(None, &mask).map_err(failed)?;
    let result = work();
    sched_setaffinity(None, &before).map_err(failed)?;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_words() {
        let host = crate::host_source::read(Some("bundled:two-socket-64"), false).expect("bundled");
        let topology = host.host.topology;
        let cpus = |text: &str| resolve(text, &topology).map(|cpus| cpus.to_string());
        assert_eq!(cpus("0-3,^2").as_deref(), Ok("0-1,3"));
        assert_eq!(cpus("node:1"), cpus("node1"));
        assert_eq!(resolve("compact:4", &topology).map(|cpus| cpus.len()), Ok(4));
        for (text, why) in [
            ("node:9", "there are 0, 1"),
            ("l3:99", "there is no L3 domain 99"),
            ("compact:999", "999 CPUs are not there; 64 are online"),
            ("60-70", "CPUs 64-70 are not there"),
            ("near:4", "wanted:"),
            ("x", "wanted:"),
            ("^0", "no CPU at all"),
        ] {
            let error = resolve(text, &topology).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
