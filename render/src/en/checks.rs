//! What a check-up says.

use crate::en::{Said, say};
use crate::quantity::count;
use numawise_model::Verdict;
use numawise_model::checkup::{
    Accelerator, CheckKind as K, DefectOutcome, HostSetting, Platform, ProbeOutcome,
};

pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Untried => "untried",
        Verdict::Warning => "warning",
        Verdict::Bad => "bad",
    }
}

pub fn check(kind: &K) -> Said {
    match kind {
        K::Connection { uri, answer: Some(platform), .. } => connected(uri, platform),
        K::Connection { uri, why, .. } => {
            say(format!("{uri} does not answer: {}", why.as_deref().unwrap_or("no reason given")))
        }
        K::ProbeGuest { accelerator, outcome } => probe(*accelerator, outcome),
        K::NoKvm { device_file: true } => {
            say("/dev/kvm is there, and the hypervisor offers no KVM all the same")
                .way("look at its log: the user that QEMU runs as may not open /dev/kvm")
        }
        K::NoKvm { device_file: false } => say(
            "no KVM here: no /dev/kvm; guests of type 'kvm' do not start, software emulation does",
        )
        .way("switch virtualisation on in the firmware, or load kvm_intel or kvm_amd"),
        K::EmulatorPinDefect { outcome } => defect(outcome),
        K::KernelFacts { why_not: None } => {
            say("the kernel tells where guests' threads and pages are")
        }
        K::KernelFacts { why_not: Some(why) } => {
            say(format!("not all of guests' threads and pages can be looked at: {why}"))
        }
        K::Nodes { nodes } => {
            let nodes = nodes.len() as u64;
            let many = if nodes > 1 { "" } else { "; with one there is nothing to place by" };
            say(format!("the host has {}{many}", count(nodes, "NUMA node")))
        }
        K::Database { target, check } => super::databases::check(target, check),
        K::AgainstBinding { setting } => against_binding(*setting),
        K::State { folder, why_not: None } => {
            say(format!("{folder} keeps claims, journal and plans"))
        }
        K::State { folder, why_not: Some(why) } => {
            say(format!("{folder} cannot be used: {why}")).way("name another one: --state DIR")
        }
    }
}

fn connected(uri: &str, platform: &Platform) -> Said {
    let Platform { libvirt_client, libvirt_daemon, hypervisor, remote } = platform;
    let place = match remote {
        true => "; it is another machine, so threads and pages cannot be verified from here",
        false => "",
    };
    say(format!(
        "{uri} answers: libvirt {libvirt_daemon}, {hypervisor} (this side: libvirt \
         {libvirt_client}){place}"
    ))
}

fn probe(accelerator: Accelerator, outcome: &ProbeOutcome) -> Said {
    let with = match accelerator {
        Accelerator::Kvm => "KVM",
        Accelerator::Software => "software emulation",
    };
    match outcome {
        ProbeOutcome::Booted { took_msec } => say(format!(
            "{with} works: a probe guest ran its firmware ({}.{} s)",
            took_msec / 1000,
            took_msec % 1000 / 100
        )),
        ProbeOutcome::NotBooted { why } => {
            let said = say(format!("{with} does not work: the probe guest did not boot: {why}"));
            match accelerator {
                Accelerator::Kvm => {
                    said.way("use type='qemu' until it does, or look at dmesg for what KVM says")
                }
                Accelerator::Software => said.way("look at the log of the hypervisor"),
            }
        }
        ProbeOutcome::NotTried { why } => say(format!("{with} was not tried: {why}")),
    }
}

fn defect(outcome: &DefectOutcome) -> Said {
    match outcome {
        DefectOutcome::Absent => {
            say("guests with memory taken at start may have their emulator on other nodes: this \
             libvirt has no trouble with it")
        }
        DefectOutcome::Present { said } => say(format!(
            "guests with hugepages or immediate allocation do not start when the emulator's pin \
             lacks a node of their memory ({said}); plans keep clear of that"
        ))
        .way("update libvirt to have the emulator on fewer nodes"),
        DefectOutcome::NotTried { why } => say(format!(
            "whether hugepages bear with an emulator pin on other nodes was not tried: {why}; plans \
             keep clear of it"
        )),
    }
}

fn against_binding(setting: HostSetting) -> Said {
    match setting {
        HostSetting::NumaBalancing => {
            say("automatic NUMA balancing is on: it scans bound guests for nothing")
        }
        HostSetting::KsmAcrossNodes => {
            say("KSM merges pages across nodes: guests then read memory of other nodes")
        }
    }
    .way("numawise host tune plan shows how to change it")
}
