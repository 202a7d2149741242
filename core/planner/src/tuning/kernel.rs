//! Work of the kernel that may run anywhere, and the ways in which it moves memory between nodes.

use super::value::mask;
use super::{Draft, Setting};
use numawise_model::{Place, Switch, TuningFinding, TuningReason};

const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
const INTERRUPTS: &str = "/proc/irq/default_smp_affinity";
const BALANCING: &str = "/proc/sys/kernel/numa_balancing";
const ZONE_RECLAIM: &str = "/proc/sys/vm/zone_reclaim_mode";
const KSM: &str = "/sys/kernel/mm/ksm/merge_across_nodes";
const KSM_SHARED: &str = "/sys/kernel/mm/ksm/pages_shared";

pub fn paths() -> Vec<String> {
    [WORKQUEUES, INTERRUPTS, BALANCING, ZONE_RECLAIM, KSM, KSM_SHARED].map(str::to_owned).to_vec()
}

pub fn wish(draft: &mut Draft<'_>) {
    let request = draft.request();
    let host = draft.host_cpus.clone();
    let moves = [request.workqueues, request.interrupts].contains(&Place::HostCpus);
    if moves && host.is_empty() {
        draft.findings.push(TuningFinding::NoHostCpus);
    }
    if request.workqueues == Place::HostCpus && !host.is_empty() {
        let why = TuningReason::Workqueues { cpus: host.clone() };
        confine(draft, WORKQUEUES, Setting::Workqueues, why);
    }
    if request.interrupts == Place::HostCpus && !host.is_empty() {
        confine(draft, INTERRUPTS, Setting::Interrupts, TuningReason::Interrupts { cpus: host });
    }
    if let Some(on) = wanted(request.numa_balancing) {
        let why = TuningReason::NumaBalancing { on };
        sysctl(draft, BALANCING, "kernel.numa_balancing", Setting::NumaBalancing, on, why);
    }
    if let Some(on) = wanted(request.zone_reclaim) {
        let why = TuningReason::ZoneReclaim { on };
        sysctl(draft, ZONE_RECLAIM, "vm.zone_reclaim_mode", Setting::ZoneReclaim, on, why);
    }
    if let Some(on) = wanted(request.ksm_across_nodes) {
        ksm(draft, on);
    }
}

fn wanted(switch: Switch) -> Option<bool> {
    match switch {
        Switch::On => Some(true),
        Switch::Off => Some(false),
        Switch::Keep => None,
    }
}

fn digit(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}

fn missing(draft: &mut Draft<'_>, path: &str, what: Setting) {
    draft.findings.push(TuningFinding::Missing { path: path.to_owned(), what });
}

fn confine(draft: &mut Draft<'_>, path: &str, what: Setting, why: TuningReason) {
    let Some(now) = draft.settings().text(path) else { return missing(draft, path, what) };
    let text = mask(&draft.host_cpus, now);
    draft.write_at_boot(path, &text);
    draft.wish_now(path, text, why);
}

fn sysctl(
    draft: &mut Draft<'_>,
    path: &str,
    key: &'static str,
    what: Setting,
    on: bool,
    why: TuningReason,
) {
    if draft.settings().text(path).is_none() {
        return missing(draft, path, what);
    }
    draft.wish_now(path, digit(on).to_owned(), why);
    if draft.request().moment.is_boot() {
        draft.sysctls.push((key, digit(on)));
    }
}

/// The kernel answers EBUSY while a page is shared, so then it is left to the next boot.
fn ksm(draft: &mut Draft<'_>, on: bool) {
    let Some(now) = draft.settings().text(KSM) else {
        return missing(draft, KSM, Setting::KsmAcrossNodes);
    };
    let changes = now.trim() != digit(on) && draft.request().moment.is_now();
    let shared = draft.settings().text(KSM_SHARED).and_then(|text| text.trim().parse().ok());
    match shared.filter(|pages| changes && *pages > 0) {
        Some(pages) => draft.findings.push(TuningFinding::KsmShares { pages }),
        None => {
            draft.wish_now(KSM, digit(on).to_owned(), TuningReason::KsmAcrossNodes { on });
        }
    }
    draft.write_at_boot(KSM, digit(on));
}
