//! What is written beside a host's boxes.

use crate::en::{self, labels};
use crate::layout::{L3Block, Mark, Marks, Share};
use crate::look::HostView;
use crate::quantity::{bytes, bytes_or_unknown, pages};
use numawise_model::{CpuSet, DeviceKind, Host, Locality, PciDevice, Pnode, Topology};
use std::collections::{BTreeMap, BTreeSet};

pub fn title(view: &HostView<'_>) -> String {
    let title = labels::title_host(view.name);
    if view.look.simulated { format!("{title} ({})", labels::SIMULATED) } else { title }
}

/// Model, counts and memory.
pub fn head(t: &Topology) -> Vec<String> {
    let widths: BTreeSet<usize> = t.cores.iter().map(|c| c.cpus.len()).collect();
    let widths: Vec<usize> = widths.into_iter().collect();
    let counts = labels::counts(
        t.online.len(),
        t.cores.len(),
        t.l3_domains.len(),
        t.nodes.len(),
        t.packages.len(),
    );
    let model: Vec<&str> =
        [t.model_name.as_deref(), t.architecture.as_deref()].into_iter().flatten().collect();
    let memory = bytes_or_unknown(t.memory_total_bytes, labels::UNKNOWN);
    let mut lines = Vec::new();
    if !model.is_empty() {
        lines.push(model.join(", "));
    }
    lines.push(format!("{counts}; {}", labels::smt(&widths)));
    lines.push(format!("{} {memory}", labels::MEMORY));
    lines
}

/// Memory, hugepages and devices of a node.
pub fn node_facts(host: &Host, id: Pnode) -> Vec<String> {
    let levels = host.levels.nodes.get(&id);
    let total = host.topology.node(id).and_then(|n| n.memory_total_bytes);
    let free = levels.and_then(|l| l.memory_free_bytes);
    let mut text = vec![labels::memory(
        &bytes_or_unknown(total, labels::UNKNOWN),
        &bytes_or_unknown(free, labels::UNKNOWN),
    )];
    for (size, pool) in levels.map(|l| &l.hugepages).into_iter().flatten() {
        if pool.total == 0 {
            text.push(labels::no_hugepages(size));
            continue;
        }
        let mut words = labels::hugepages(size, pool.free, &pages(pool.total, *size));
        if let Some(reserved) = pool.reserved {
            words += &format!(", {}", labels::reserved_pages(reserved));
        }
        text.push(words);
    }
    let near = |device: &&PciDevice| device.locality == Locality::Node(id);
    let devices: Vec<&PciDevice> = host.topology.devices.iter().filter(near).collect();
    text.extend(device_words(&devices).map(|words| format!("{}: {words}", labels::DEVICES)));
    text
}

/// Network cards, disks and GPUs by name; of the rest only how many.
fn device_words(devices: &[&PciDevice]) -> Option<String> {
    const MOST: usize = 12;
    let (other, named): (Vec<&PciDevice>, Vec<&PciDevice>) =
        devices.iter().partition(|d| d.kind == DeviceKind::Other);
    let mut words: Vec<String> = named.iter().take(MOST).map(|d| device_word(d)).collect();
    let rest = other.len() + named.len().saturating_sub(MOST);
    if rest > 0 {
        words.push(labels::other_devices(rest));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

fn device_word(device: &PciDevice) -> String {
    let kind = labels::device_kind(device.kind);
    match device.names.as_slice() {
        [] => format!("{kind} {}", device.address),
        names => format!("{} ({kind} {})", names.join("/"), device.address),
    }
}

/// `L3 0 (32 MiB)`, `L3 1 (32 MiB, 2 of its 4 CPUs)`.
pub fn l3_name(block: &L3Block) -> String {
    let size = block.size_bytes.map(bytes);
    let part = match block.share {
        Share::Whole => None,
        Share::PartOf(_) => Some(labels::share(&block.cpus, block.share)),
    };
    let notes: Vec<String> = size.into_iter().chain(part).collect();
    let name = labels::l3(block.l3);
    if notes.is_empty() { name } else { format!("{name} ({})", notes.join(", ")) }
}

pub fn mark_words(marks: &Marks, mark: Mark) -> String {
    match mark {
        Mark::Exclusive(owner) | Mark::Shared(owner) => {
            labels::owner_mark(&en::owner(&marks.owners[owner]), mark, &marks.cpus(mark))
        }
        Mark::Free | Mark::SharedBySeveral | Mark::Reserved | Mark::Isolated | Mark::NotAllowed => {
            labels::mark(mark).to_owned()
        }
    }
}

/// The matrix where it fits into so many columns, else its distances in groups; nothing where there
/// is one node or no distance.
pub fn distances(t: &Topology, columns: usize) -> Vec<String> {
    let nodes = &t.nodes;
    if nodes.len() < 2 || nodes.iter().all(|node| node.distances.is_empty()) {
        return Vec::new();
    }
    let ids: Vec<Pnode> = nodes.iter().map(|node| node.id).collect();
    let all = nodes.iter().flat_map(|n| n.distances.values().copied());
    let cell = all.chain(ids.iter().map(|id| id.0)).map(|n| n.to_string().len()).max();
    let cell = cell.map_or(1, |digits| digits + 2);
    let margin = labels::DISTANCES.len();
    if margin + cell * ids.len() > columns {
        return vec![distance_groups(t)];
    }
    let head: String = ids.iter().map(|id| format!("{id:>cell$}")).collect();
    let rows = nodes.iter().map(|node| {
        let row: String = ids
            .iter()
            .map(|to| node.distances.get(to).map_or_else(|| "?".to_owned(), u32::to_string))
            .map(|text| format!("{text:>cell$}"))
            .collect();
        format!("{:>margin$}{row}", node.id)
    });
    std::iter::once(format!("{}{head}", labels::DISTANCES)).chain(rows).collect()
}

fn distance_groups(t: &Topology) -> String {
    let mut pairs: BTreeMap<u32, usize> = BTreeMap::new();
    let mut home = BTreeSet::new();
    for node in &t.nodes {
        for (to, distance) in &node.distances {
            if *to == node.id {
                home.insert(*distance);
            } else {
                *pairs.entry(*distance).or_default() += 1;
            }
        }
    }
    let home = home.into_iter().map(|d| labels::distance_group(d, labels::DISTANCE_HOME));
    let others =
        pairs.into_iter().map(|(d, n)| labels::distance_group(d, &labels::distance_pairs(n)));
    let words: Vec<String> = home.chain(others).collect();
    format!("{}: {}", labels::DISTANCES, words.join(", "))
}

/// CPUs out of use, devices that are in no node's box, a hypervisor below.
pub fn remarks(t: &Topology) -> Vec<String> {
    let some = |set: &&CpuSet| !set.is_empty();
    let denied = t.online.difference(&t.allowed.cpus);
    let mut text = Vec::new();
    text.extend(Some(&t.offline).filter(some).map(labels::offline));
    text.extend(t.isolated.as_ref().filter(some).map(labels::isolated));
    text.extend(t.nohz_full.as_ref().filter(some).map(labels::nohz_full));
    let limited_by = t.allowed.limited_by.as_deref();
    text.extend(Some(&denied).filter(some).map(|cpus| labels::not_allowed(cpus, limited_by)));
    text.extend(devices_elsewhere(t));
    text.extend(t.hypervisor.as_ref().map(|h| labels::hypervisor(h.vendor.as_deref())));
    text
}

fn devices_elsewhere(t: &Topology) -> Vec<String> {
    let mut by_cpus: BTreeMap<&CpuSet, Vec<&PciDevice>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for device in &t.devices {
        match &device.locality {
            Locality::Node(id) if t.node(*id).is_some() => {}
            Locality::NearCpus(cpus) => by_cpus.entry(cpus).or_default().push(device),
            Locality::Node(_) | Locality::Unknown => unknown.push(device),
        }
    }
    let line = |place: &str, devices: &[&PciDevice]| {
        device_words(devices).map(|words| format!("{} {place}: {words}", labels::DEVICES))
    };
    let near = by_cpus.iter().filter_map(|(cpus, all)| line(&labels::devices_near(cpus), all));
    near.chain(line(labels::DEVICES_UNKNOWN, &unknown)).collect()
}
