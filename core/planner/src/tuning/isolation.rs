//! Keeping everybody else off the guests' CPUs: a cpuset partition, or systemd's `AllowedCPUs=`.
//!
//! A partition is the stronger of the two: the kernel takes its CPUs out of every other cgroup at
//! once. It needs a cgroup of its own right below the root. systemd knows nothing of partitions and
//! hands controllers out as its units ask, so there the slices are confined instead.

use super::{Draft, Wish};
use numawise_model::{
    ChangeKind, Expectation, Isolation, PathState, TuningFinding, TuningReason, TuningRefusal,
    TuningRequest,
};

const MOUNT: &str = "/sys/fs/cgroup";
const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
const DELEGATED: &str = "/sys/fs/cgroup/cgroup.subtree_control";
const SYSTEMD: &str = "/run/systemd/system";
const UNITS: &str = "/etc/systemd/system";
const DROP_IN: &str = "50-numawise.conf";
/// Each with its section, and whether it is the guests'.
const SLICES: [(&str, &str, bool); 4] = [
    ("init.scope", "Scope", false),
    ("system.slice", "Slice", false),
    ("user.slice", "Slice", false),
    ("machine.slice", "Slice", true),
];
/// What libvirt puts guests in, without systemd and with it.
const USUAL: [&str; 2] = ["machine", "machine.slice"];

fn file(cgroup: &str, name: &str) -> String {
    format!("{MOUNT}/{cgroup}/{name}")
}

fn drop_ins(slice: &str) -> String {
    format!("{UNITS}/{slice}.d")
}

pub fn paths(request: &TuningRequest) -> Vec<String> {
    let mut paths = vec![CONTROLLERS.to_owned(), DELEGATED.to_owned(), SYSTEMD.to_owned()];
    let cgroups = USUAL.into_iter().chain(request.guest_cgroup.as_deref());
    for cgroup in cgroups {
        paths.push(format!("{MOUNT}/{cgroup}"));
        paths.push(file(cgroup, "cpuset.cpus"));
        paths.push(file(cgroup, "cpuset.cpus.partition"));
    }
    for (slice, _, _) in SLICES {
        let folder = drop_ins(slice);
        paths.push(format!("{folder}/{DROP_IN}"));
        paths.push(folder);
    }
    paths
}

pub fn wish(draft: &mut Draft<'_>) {
    let isolation = draft.request().isolation;
    if isolation == Isolation::None {
        return;
    }
    if draft.request().guest_cpus.is_empty() {
        draft.refusals.push(TuningRefusal::NoGuestCpus);
    } else if draft.host_cpus.is_empty() {
        let guest_cpus = draft.request().guest_cpus.clone();
        draft.refusals.push(TuningRefusal::NoHostCpus { guest_cpus });
    }
    match isolation {
        Isolation::Systemd => slices(draft),
        Isolation::Partition => partition(draft, true),
        Isolation::PartitionIsolated => partition(draft, false),
        Isolation::None => {}
    }
}

fn is_systemd(draft: &Draft<'_>) -> bool {
    *draft.settings().at(SYSTEMD) == PathState::Folder
}

fn slices(draft: &mut Draft<'_>) {
    if !is_systemd(draft) {
        draft.refusals.push(TuningRefusal::NotSystemd);
        return;
    }
    for (slice, section, is_guests) in SLICES {
        let cpus = match is_guests {
            true => draft.request().guest_cpus.clone(),
            false => draft.host_cpus.clone(),
        };
        let text = format!("{}[{section}]\nAllowedCPUs={cpus}\n", super::boot::HEAD);
        let why = TuningReason::Slice { slice: slice.to_owned(), cpus: cpus.clone() };
        draft.wish_file(&drop_ins(slice), DROP_IN, text, why);
        let path = file(slice, "cpuset.cpus.effective");
        draft.expects.push(Expectation { path, cpus });
    }
}

fn partition(draft: &mut Draft<'_>, balanced: bool) {
    let usual = if is_systemd(draft) { USUAL[1] } else { USUAL[0] };
    let cgroup = draft.request().guest_cgroup.as_deref().unwrap_or(usual).to_owned();
    if !can_partition(draft, &cgroup) {
        return;
    }
    let (cpus_file, kind_file) =
        (file(&cgroup, "cpuset.cpus"), file(&cgroup, "cpuset.cpus.partition"));
    let cpus = draft.request().guest_cpus.clone();
    let word = if balanced { "root" } else { "isolated" };
    let folder = format!("{MOUNT}/{cgroup}");
    if draft.request().moment.is_now() {
        let is_new = *draft.settings().at(&folder) == PathState::Absent;
        // What a cgroup says of itself when it has just been made.
        let fresh = |text: &str| is_new.then(|| PathState::Text(text.to_owned()));
        let mut runtime = |path: &str, before, after, why| {
            let kind = ChangeKind::Runtime;
            draft.wishes.insert(path.to_owned(), Wish { kind, before, after, why });
        };
        if is_new {
            runtime(&folder, None, PathState::Folder, TuningReason::GuestCgroup);
        }
        let why = TuningReason::GuestCpus { cpus: cpus.clone() };
        runtime(&cpus_file, fresh("\n"), PathState::Text(cpus.to_string()), why);
        let why = TuningReason::Partition { balanced };
        runtime(&kind_file, fresh("member\n"), PathState::Text(word.to_owned()), why);
        let path = file(&cgroup, "cpuset.cpus.effective");
        draft.expects.push(Expectation { path, cpus: cpus.clone() });
    }
    if is_systemd(draft) {
        // It would make the cgroup before systemd does, which then takes the controller away.
        if draft.request().moment.is_boot() {
            draft.findings.push(TuningFinding::PartitionNotAtBoot { cgroup });
        }
        return;
    }
    if draft.request().moment.is_boot() {
        draft.tmpfiles.push(format!("w {DELEGATED} - - - - +cpuset"));
        draft.tmpfiles.push(format!("d {folder} 0755 root root -"));
    }
    draft.write_at_boot(&cpus_file, &cpus.to_string());
    draft.write_at_boot(&kind_file, word);
}

fn can_partition(draft: &mut Draft<'_>, cgroup: &str) -> bool {
    let settings = draft.settings();
    let has_cpuset =
        |path: &str| settings.text(path).map(|text| text.split_whitespace().any(|w| w == "cpuset"));
    let is_there = *settings.at(&format!("{MOUNT}/{cgroup}")) == PathState::Folder;
    let cgroup_name = cgroup.to_owned();
    let refusal = if has_cpuset(CONTROLLERS) != Some(true) {
        Some(TuningRefusal::NoCgroupV2)
    } else if cgroup.contains('/') || cgroup.starts_with('.') || cgroup.is_empty() {
        Some(TuningRefusal::NestedCgroup { cgroup: cgroup_name })
    } else if has_cpuset(DELEGATED) != Some(true) {
        Some(TuningRefusal::CpusetNotDelegated { cgroup: cgroup_name })
    } else if is_there && settings.text(&file(cgroup, "cpuset.cpus.partition")).is_none() {
        Some(TuningRefusal::NoPartitions { cgroup: cgroup_name })
    } else {
        None
    };
    let fits = refusal.is_none();
    draft.refusals.extend(refusal);
    fits
}
