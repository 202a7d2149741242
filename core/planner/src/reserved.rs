//! CPUs kept for the host when nobody says otherwise.

use crate::situation::Places;
use numawise_model::{CpuSet, Topology};
use std::collections::BTreeSet;

/// Hosts with fewer cores keep nothing: there a core would be too large a share.
const FEWEST_CORES: usize = 16;

/// One core of each node, the lowest, with all its threads, on hosts of 16 cores or more. A node of
/// a single core keeps nothing, or a host whose nodes are so small would have nothing left to give.
pub fn default_reserved(topology: &Topology) -> CpuSet {
    let places = Places::new(topology);
    let starts = |cpus: &CpuSet| cpus.iter().map(|c| places.core_start(c)).collect::<BTreeSet<_>>();
    let mut reserved = CpuSet::new();
    if starts(&topology.online).len() < FEWEST_CORES {
        return reserved;
    }
    for cpus in places.nodes().values() {
        let cores = starts(cpus);
        if let (Some(lowest), true) = (cores.first(), cores.len() > 1) {
            let threads = cpus.iter().filter(|cpu| places.core_start(*cpu) == *lowest);
            reserved.extend(&threads.collect());
        }
    }
    reserved
}
