//! Where libvirt puts its elements when it writes a domain XML. Its schema mostly takes any order;
//! people look for things where libvirt has them.

use crate::patch::Rank;
use crate::sheet::whole_number;
use roxmltree::Node;

const DOMAIN: &[&str] = &[
    "name",
    "uuid",
    "genid",
    "title",
    "description",
    "metadata",
    "maxMemory",
    "memory",
    "currentMemory",
    "blkiotune",
    "memtune",
    "memoryBacking",
    "vcpu",
    "vcpus",
    "iothreads",
    "iothreadids",
    "defaultiothread",
    "cputune",
    "numatune",
    "resource",
    "sysinfo",
    "bootloader",
    "bootloader_args",
    "os",
    "idmap",
    "features",
    "cpu",
    "clock",
    "on_poweroff",
    "on_reboot",
    "on_crash",
    "on_lockfailure",
    "pm",
    "perf",
    "devices",
    "seclabel",
    "keywrap",
    "launchSecurity",
];

const CPUTUNE: &[&str] = &[
    "shares",
    "global_period",
    "global_quota",
    "period",
    "quota",
    "emulator_period",
    "emulator_quota",
    "iothread_period",
    "iothread_quota",
    "vcpupin",
    "emulatorpin",
    "iothreadpin",
    "vcpusched",
    "emulatorsched",
    "iothreadsched",
    "cachetune",
    "memorytune",
];

const NUMATUNE: &[&str] = &["memory", "memnode"];

const CPU: &[&str] =
    &["model", "vendor", "counter", "topology", "cache", "maxphysaddr", "feature", "numa"];

const NUMA: &[&str] = &["cell", "interconnects"];

const CELL: &[&str] = &["distances", "cache"];

const MEMORY_BACKING: &[&str] =
    &["hugepages", "nosharepages", "locked", "source", "access", "allocation", "discard"];

/// The place of an element among its siblings; `None` for what libvirt does not have there.
pub(crate) fn rank(node: Node) -> Option<Rank> {
    if node.tag_name().namespace().is_some() {
        // Foreign elements in the metadata come before numawise's.
        return parent_name(node).filter(|name| *name == "metadata").map(|_| (0, 0));
    }
    let name = node.tag_name().name();
    let keys = ["vcpu", "iothread", "cellid", "id"];
    let number = match keys.iter().find_map(|key| crate::sheet::attr_value(node, key)) {
        Some(text) => u32::try_from(whole_number(text)?).ok()?,
        // Elements without a number have no order among those of their name.
        None => 0,
    };
    rank_in(parent_name(node)?, name, number)
}

/// The place of an element that is to be put into `parent`.
pub(crate) fn rank_in(parent: &str, name: &str, number: u32) -> Option<Rank> {
    let names = match parent {
        "domain" => DOMAIN,
        "cputune" => CPUTUNE,
        "numatune" => NUMATUNE,
        "cpu" => CPU,
        "numa" => NUMA,
        "cell" => CELL,
        "memoryBacking" => MEMORY_BACKING,
        "metadata" => return Some((1, 0)),
        // The balloon goes behind whatever devices there are.
        "devices" => return Some((u32::from(name == "memballoon"), 0)),
        _ => return None,
    };
    let place = names.iter().position(|n| *n == name)?;
    Some((u32::try_from(place).ok()?, number))
}

fn parent_name<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.parent_element().map(|parent| parent.tag_name().name())
}
