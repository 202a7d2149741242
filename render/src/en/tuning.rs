//! The words for the tuning of a host: what each change is for, what was found, what is refused.

use super::{Said, list, named_set, say};
use crate::quantity::{bytes, count, pages};
use numawise_model::tuning::{
    PathState, Setting, TuningFinding as F, TuningReason as R, TuningRefusal,
};
use numawise_model::{PageSize, Pnode, TuningChange};

pub const NOTHING: &str = "nothing to change: the host is as asked";
pub const TABLE: [&str; 3] = ["path", "now", "planned"];
pub const ABSENT: &str = "(not there)";
pub const FOLDER: &str = "(folder)";
pub const EMPTY: &str = "(empty)";
pub const FILE: &str = "(file)";
pub const NOW: &str = "now";
pub const PLANNED: &str = "planned";

pub fn title(id: &str, host: &str) -> String {
    format!("tuning plan {id} for host {host}")
}

pub fn title_undo(id: &str) -> String {
    format!("undo of tuning {id}")
}

/// What a change is for. Files for the boot speak for themselves in their diff.
pub fn reason(change: &TuningChange) -> Option<String> {
    Some(match &change.why {
        R::Hugepages { node, size, pages: n } => {
            format!("node {node} gets {}", pages(*n, *size))
        }
        R::Workqueues { cpus } => {
            format!("work of the kernel that may run anywhere runs on {}", named_set(cpus, "pCPU"))
        }
        R::Interrupts { cpus } => format!(
            "interrupts that come up from now on go to {}; those that are up stay where they are",
            named_set(cpus, "pCPU")
        ),
        R::NumaBalancing { on: false } => {
            "the kernel no longer moves memory after threads by itself: guests here are bound"
                .into()
        }
        R::NumaBalancing { on: true } => "the kernel moves memory after threads by itself".into(),
        R::KsmAcrossNodes { on: false } => {
            "same-page merging stays within a node: no guest reads its pages from another".into()
        }
        R::KsmAcrossNodes { on: true } => "same-page merging goes across nodes".into(),
        R::ZoneReclaim { on: false } => {
            "a full node takes memory from the next instead of throwing out its file cache".into()
        }
        R::ZoneReclaim { on: true } => {
            "a full node throws out its file cache before it takes memory from another".into()
        }
        R::GuestCgroup => "the guests' cgroup is made before the first guest needs it".into(),
        R::GuestCpus { cpus } => format!("guests run on {}", named_set(cpus, "pCPU")),
        R::Partition { balanced: true } => {
            "the guests' pCPUs are a partition: nobody else runs there".into()
        }
        R::Partition { balanced: false } => "the guests' pCPUs are a partition without load \
                                             balancing: a thread stays where it is put"
            .into(),
        R::Slice { slice, cpus } => format!("{slice} runs on {}", named_set(cpus, "pCPU")),
        R::NoLongerAsked => match change.kind {
            numawise_model::ChangeKind::Runtime => {
                format!("{} goes back to what it was", change.path)
            }
            numawise_model::ChangeKind::Persistent => return None,
        },
        R::AtBoot | R::Folder => return None,
    })
}

pub fn finding(finding: &F) -> Said {
    match finding {
        F::Missing { path, what } => {
            say(format!("this kernel has no {path}: {} is left out", setting(*what)))
        }
        F::HugepagesMayFallShort { node, wanted_bytes, available_bytes } => say(format!(
            "node {node} would have to find {} more for hugepages and has {} to give",
            bytes(*wanted_bytes),
            bytes(*available_bytes)
        ))
        .way("ask for fewer, or stop what uses the node's memory, or boot with them: --when boot"),
        F::HugepagesInUse { node, size, in_use, wanted } => say(format!(
            "{} of node {node} are in use, and {wanted} are asked for: the kernel takes the rest \
             back as guests stop",
            pages(*in_use, *size)
        )),
        F::KernelArgument { argument } => {
            say("a running kernel seldom finds pages of this size; at boot it does")
                .way(format!("add `{argument}` to the kernel's command line"))
        }
        F::KsmShares { pages } => say(format!(
            "{} shared by same-page merging, and the kernel changes merge_across_nodes only while \
             none is: it is left to the next boot",
            if *pages == 1 { "1 page is".to_owned() } else { format!("{pages} pages are") }
        ))
        .way("to have it now, unmerge (`echo 2 > /sys/kernel/mm/ksm/run`) and plan again"),
        F::NoHostCpus => say(
            "no pCPU is the host's own, so unbound work and interrupts stay where they are",
        )
        .way("keep some for the host: --guest-cpus LIST, or cpus.reserved in the configuration"),
        F::OverriddenAtBoot { file, key, value } => {
            say(format!("{file} is read later at boot and sets {key} = {value}"))
                .way(format!("take {key} out of {file}"))
        }
        F::PartitionNotAtBoot { cgroup } => say(format!(
            "systemd makes {cgroup} anew at boot and keeps no partition: this one lasts until then"
        ))
        .way("--isolate systemd lasts; or apply this again after each boot"),
        F::HugepagesShort { node, size, wanted, got } => short(*node, *size, *wanted, *got),
        F::PartitionInvalid { path, seen } => {
            say(format!("the kernel took the partition and calls it '{seen}' ({path})")).way(
                "give its CPUs to no other cgroup beside it, then apply again; or undo: numawise \
                 host tune undo",
            )
        }
        F::NotAsWritten { path, wanted, seen } => say(format!(
            "{path} should say '{}' and says '{}'",
            first_line(wanted),
            first_line(seen.as_deref().unwrap_or(ABSENT))
        ))
        .way("numawise host tune plan with the same options shows what would mend it"),
        F::NotInEffect { path, wanted, seen } => say(format!(
            "{path} should be {} and is {}",
            list(wanted),
            seen.as_deref().unwrap_or(ABSENT)
        )),
        F::FolderKept { path } => {
            say(format!("{path} stays: something is in it, or uses it, that is not numawise's"))
        }
    }
}

fn short(node: Pnode, size: PageSize, wanted: u64, got: u64) -> Said {
    if got > wanted {
        return say(format!(
            "node {node} still has {} of the {wanted} asked for: the rest is in use",
            pages(got, size)
        ));
    }
    say(format!(
        "node {node} got {} of {wanted}: the kernel found no more; they are kept",
        pages(got, size)
    ))
    .way("apply again when memory is free; the next boot asks for all of them")
    .way("or ask for what there is, or give them back: numawise host tune undo")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

fn setting(setting: Setting) -> &'static str {
    match setting {
        Setting::Workqueues => "where unbound work runs",
        Setting::Interrupts => "where interrupts go",
        Setting::NumaBalancing => "automatic NUMA balancing",
        Setting::KsmAcrossNodes => "same-page merging across nodes",
        Setting::ZoneReclaim => "zone reclaim",
        Setting::Hugepages => "this pool of hugepages",
    }
}

pub fn refusal(refusal: &TuningRefusal) -> Said {
    match refusal {
        TuningRefusal::UnknownNode { node, nodes } => {
            let nodes: Vec<String> = nodes.iter().map(Pnode::to_string).collect();
            say(format!("this host has no node {node}; it has {}", nodes.join(", ")))
                .way("name one of these in --hugepages")
        }
        TuningRefusal::PageSizeUnknown { size, known } if known.is_empty() => {
            say(format!("this kernel has no hugepages at all, and {size} ones are asked for"))
        }
        TuningRefusal::PageSizeUnknown { size, known } => {
            let known: Vec<String> = known.iter().map(PageSize::to_string).collect();
            say(format!("this kernel has no hugepages of {size}; it has {}", known.join(" and ")))
                .way("ask for one of these sizes in --hugepages")
        }
        TuningRefusal::MoreThanNode { node, wanted_bytes, total_bytes } => say(format!(
            "hugepages of {} on node {node}, which has {} of memory",
            bytes(*wanted_bytes),
            bytes(*total_bytes)
        ))
        .way("ask for fewer; pools that --hugepages does not name stay as they are and count too"),
        TuningRefusal::CpusUnknown { cpus, online } => say(format!(
            "{} {} not online here; online are {online}",
            named_set(cpus, "pCPU"),
            super::are(cpus)
        ))
        .way("name others in --guest-cpus"),
        TuningRefusal::NoGuestCpus => say("there is no pCPU to keep for guests")
            .way("name some: --guest-cpus LIST"),
        TuningRefusal::NoHostCpus { guest_cpus } => say(format!(
            "the guests would get {}, and nothing would be left to the host",
            named_set(guest_cpus, "pCPU")
        ))
        .way("keep at least one core for the host: --guest-cpus LIST, or cpus.reserved in the \
              configuration"),
        TuningRefusal::NoCgroupV2 => {
            say("a partition needs cgroup v2 with the cpuset controller at /sys/fs/cgroup")
                .way("boot with systemd.unified_cgroup_hierarchy=1, or leave --isolate out")
        }
        TuningRefusal::CpusetNotDelegated { cgroup } => say(format!(
            "the cpuset controller is not switched on below the root, so {cgroup} cannot have it"
        ))
        .way("`echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control`, then plan again")
        .way("on a host of systemd: --isolate systemd"),
        TuningRefusal::NoPartitions { cgroup } => say(format!(
            "this kernel has no cpuset partitions: there is no cpuset.cpus.partition in {cgroup}"
        ))
        .way("--isolate systemd, or isolcpus= on the kernel's command line"),
        TuningRefusal::NestedCgroup { cgroup } => say(format!(
            "'{cgroup}' is not the name of a cgroup right below the root, where a partition has to be"
        ))
        .way("--guest-cgroup machine, or machine.slice"),
        TuningRefusal::NotSystemd => {
            say("--isolate systemd needs a host that systemd runs, and this one has no \
                 /run/systemd/system")
            .way("--isolate partition")
        }
    }
}

/// What a value of a kernel file may need to be taken.
pub fn hint(path: &str) -> Option<&'static str> {
    path.ends_with("/ksm/merge_across_nodes").then_some(
        "the kernel changes it only while no page is shared: unmerge first (`echo 2 > \
         /sys/kernel/mm/ksm/run`), or leave it: --ksm-across-nodes keep",
    )
}

pub fn state(state: &PathState) -> String {
    match state {
        PathState::Absent => ABSENT.to_owned(),
        PathState::Folder => FOLDER.to_owned(),
        PathState::Text(text) if text.trim().is_empty() => EMPTY.to_owned(),
        PathState::Text(text) => text.trim().to_owned(),
    }
}

pub fn undo_conflicts(n: usize) -> String {
    let (values, them) = if n == 1 { ("has changed", "it") } else { ("have changed", "them") };
    format!(
        "{} {values} since numawise wrote {them}, and undo would lose that",
        count(n as u64, "value")
    )
}

pub const UNDO_WAYS: [&str; 2] = [
    "set them to what numawise wrote, then undo again",
    "put the old values back all the same: numawise host tune undo --force",
];

pub fn recovered(plan: &str, undo: bool) -> String {
    match undo {
        true => format!("the undo of tuning {plan} was interrupted; it is finished now"),
        false => format!(
            "applying tuning {plan} was interrupted; everything that it had written was put back"
        ),
    }
}

pub const WAITING: &str = "another numawise command works on this host; waiting for it";

pub fn applied(plan: &str, written: usize) -> String {
    match written {
        0 => format!("nothing was written: the host is as tuning {plan} asks"),
        n => format!(
            "tuning {plan} is in force ({}); take it back with `numawise host tune undo`",
            count(n as u64, "change")
        ),
    }
}

pub fn undone(written: usize) -> String {
    format!("the tuning is taken back ({})", count(written as u64, "change"))
}

pub fn in_force(plan: &str, values: usize) -> String {
    format!("tuning {plan} is in force: {}", count(values as u64, "value"))
}

pub const NOT_TUNED: &str = "no tuning of numawise is in force";
