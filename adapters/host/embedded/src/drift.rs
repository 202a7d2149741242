//! Making a running guest differ from its definition, as `taskset`, `migratepages` or a kernel that
//! balances would: only what runs is changed, neither XML knows of it.

use crate::live_definition::with_pins;
use crate::memory::Room;
use crate::{EmbeddedHypervisor, Operation, canonical, fail_if_planted, failed};
use numawise_engine::ports::PortError;
use numawise_model::{CpuSet, GuestUuid, PageCounts, PageSize, Pins, Pnode, Vcpu, Vnode};
use std::collections::BTreeMap;

impl EmbeddedHypervisor {
    /// Sets the affinity of one vCPU's thread.
    pub fn repin(&self, guest: &GuestUuid, vcpu: Vcpu, cpus: &CpuSet) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        let change = self.folder.change()?;
        self.must_run(&change, &guest)?;
        let Some(mut running) = change.running(&guest)? else {
            return Err(self.no_guest(&guest));
        };
        self.set_affinity(&guest, &mut running.vcpus, &format!("vCPU {vcpu}"), vcpu, cpus)?;
        change.write_running(&guest, &running)
    }

    /// Sets the affinity of the threads that `pins` names, and writes it into the XML of what runs.
    pub(crate) fn move_threads(&self, guest: &GuestUuid, pins: &Pins) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        let change = self.folder.change()?;
        self.must_run(&change, &guest)?;
        fail_if_planted(&change, Operation::Pin)?;
        let Some(mut running) = change.running(&guest)? else {
            return Err(self.no_guest(&guest));
        };
        for (vcpu, cpus) in &pins.vcpus {
            self.set_affinity(&guest, &mut running.vcpus, &format!("vCPU {vcpu}"), *vcpu, cpus)?;
        }
        for (id, cpus) in &pins.iothreads {
            self.set_affinity(
                &guest,
                &mut running.iothreads,
                &format!("I/O thread {id}"),
                *id,
                cpus,
            )?;
        }
        if let Some(cpus) = &pins.emulator {
            self.can_run_on("the emulator", cpus)?;
            running.emulator.clone_from(cpus);
        }
        let Some(live) = change.live(&guest)? else { return Err(self.no_guest(&guest)) };
        change.write_started(&guest, &with_pins(&live, pins)?, &running)
    }

    /// What the kernel would say to such a mask.
    fn can_run_on(&self, thread: &str, cpus: &CpuSet) -> Result<(), PortError> {
        let online = &self.host.topology.online;
        if !cpus.is_empty() && cpus.is_subset(online) {
            return Ok(());
        }
        Err(failed(format!(
            "cannot set CPU affinity of {thread} to '{cpus}': Invalid argument: the host has \
             {online}"
        )))
    }

    fn set_affinity<K: Ord>(
        &self,
        guest: &GuestUuid,
        threads: &mut BTreeMap<K, CpuSet>,
        name: &str,
        id: K,
        cpus: &CpuSet,
    ) -> Result<(), PortError> {
        self.can_run_on(name, cpus)?;
        let count = threads.len();
        let Some(affinity) = threads.get_mut(&id) else {
            return Err(failed(format!("guest {guest} has no {name}: it has {count} running")));
        };
        affinity.clone_from(cpus);
        Ok(())
    }

    /// Moves pages of the guest from one node to another: so many, or all. Says how many.
    pub fn migrate_pages(
        &self,
        guest: &GuestUuid,
        from: Pnode,
        to: Pnode,
        pages: Option<u64>,
    ) -> Result<u64, PortError> {
        let guest = canonical(guest)?;
        let change = self.folder.change()?;
        self.must_run(&change, &guest)?;
        let Some(mut running) = change.running(&guest)? else {
            return Err(self.no_guest(&guest));
        };
        let total = running.total_pages();
        let there: u64 = total.get(&from).map_or(0, |sizes| sizes.values().sum());
        let wanted = pages.unwrap_or(there);
        self.can_migrate(&guest, (from, to), wanted, there)?;
        let room = Room::of(&self.host, &self.held(&change)?).map_err(failed)?;
        let moves = choose(&running.pages, from, wanted);
        for (size, count) in by_size(&moves) {
            let free = room.free(to, size);
            if free < count {
                return Err(failed(format!(
                    "node {to} has room for {free} pages of {size}, and {count} are to be moved"
                )));
            }
        }
        for Move { vnode, size, count } in moves {
            let by_node = running.pages.entry(vnode).or_default();
            let old = by_node.entry(from).or_default();
            if let Some(left) = old.get_mut(&size) {
                *left -= count;
            }
            old.retain(|_, pages| *pages > 0);
            *by_node.entry(to).or_default().entry(size).or_default() += count;
            by_node.retain(|_, sizes| !sizes.is_empty());
        }
        change.write_running(&guest, &running)?;
        Ok(wanted)
    }

    fn can_migrate(
        &self,
        guest: &GuestUuid,
        (from, to): (Pnode, Pnode),
        wanted: u64,
        there: u64,
    ) -> Result<(), PortError> {
        if let Some(absent) = [from, to].iter().find(|id| self.host.topology.node(**id).is_none()) {
            let nodes: Vec<String> =
                self.host.topology.nodes.iter().map(|node| node.id.to_string()).collect();
            return Err(failed(format!("no node {absent}; the host has {}", nodes.join(", "))));
        }
        if from == to || wanted == 0 || wanted > there {
            return Err(failed(format!(
                "cannot move {wanted} pages of guest {guest} from node {from} to node {to}: it has \
                 {there} on node {from}"
            )));
        }
        Ok(())
    }
}

struct Move {
    vnode: Vnode,
    size: PageSize,
    count: u64,
}

/// The lowest vNUMA node's pages first, the smallest pages first.
fn choose(pages: &BTreeMap<Vnode, PageCounts>, from: Pnode, mut wanted: u64) -> Vec<Move> {
    let mut moves = Vec::new();
    for (vnode, by_node) in pages {
        for (size, pages) in by_node.get(&from).into_iter().flatten() {
            let count = wanted.min(*pages);
            wanted -= count;
            if count > 0 {
                moves.push(Move { vnode: *vnode, size: *size, count });
            }
        }
    }
    moves
}

fn by_size(moves: &[Move]) -> BTreeMap<PageSize, u64> {
    let mut sums = BTreeMap::new();
    for Move { size, count, .. } in moves {
        *sums.entry(*size).or_default() += count;
    }
    sums
}
