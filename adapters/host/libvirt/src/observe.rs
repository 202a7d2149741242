//! A running guest of libvirt by the kernel's word: QEMU's threads and memory from the processes of
//! its host, and the guest's own view through its guest agent.
//!
//! What cannot be looked at from here is no error: it is told as unseen, with the reason. An error
//! is a file that makes no sense, or an interrupt.

mod agent;
mod ram;

use crate::DomainXmlEditor;
use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, named};
use numawise_engine::ports::{Depth, DomainEditor, PortError, Processes};
use numawise_model::{
    GuestConfig, GuestFacts, GuestUuid, MappingFacts, Sight, ThreadFacts, Unseen, Vcpu, VcpuSet,
};

const FROM_AFAR: &str = "the host is reached over the network, and only its own kernel can tell: \
                         run numawise there";

/// Looks at a running guest as closely as `depth` says. `processes` are those of the host that
/// QEMU runs on, `None` where that is another machine; `agent` hands a command to the guest agent
/// and gives its answer.
pub fn observe(
    live_xml: &str,
    guest: &GuestUuid,
    depth: Depth,
    processes: Option<&dyn Processes>,
    agent: &dyn Fn(&str) -> Result<String, PortError>,
) -> Result<GuestFacts, PortError> {
    let config = DomainXmlEditor.read(live_xml)?;
    let mut facts = GuestFacts::default();
    match processes {
        Some(processes) => of_process(&config, guest, depth, processes, &mut facts)?,
        None => nothing_of_process(depth, FROM_AFAR, &mut facts),
    }
    // A guest without nodes of its own has nothing to be asked for.
    if depth >= Depth::Guest && !config.cells.is_empty() {
        match channel(live_xml)? {
            Channel::Open => match agent::guest_cells(agent) {
                Ok(cells) => {
                    let mut vcpus = VcpuSet::new();
                    cells.iter().for_each(|cell| vcpus.extend(&cell.vcpus));
                    facts.guest_cells = Some(cells);
                    // What the guest shows no file of is no part of what was asked for: absent means not seen.
                    facts.guest_l3 = agent::guest_l3(agent, &vcpus).unwrap_or_default();
                }
                Err(agent::AgentError::Cancelled) => return Err(PortError::Cancelled),
                Err(error) => unseen(&mut facts, Sight::GuestNodes, error.to_string()),
            },
            Channel::Closed(why) => unseen(&mut facts, Sight::GuestNodes, why),
        }
    }
    Ok(facts)
}

fn unseen(facts: &mut GuestFacts, what: Sight, why: impl Into<String>) {
    facts.unseen.push(Unseen { what, why: why.into() });
}

fn nothing_of_process(depth: Depth, why: &str, facts: &mut GuestFacts) {
    unseen(facts, Sight::Threads, why);
    if depth >= Depth::Pages {
        unseen(facts, Sight::Pages, why);
    }
}

fn of_process(
    config: &GuestConfig,
    guest: &GuestUuid,
    depth: Depth,
    processes: &dyn Processes,
    facts: &mut GuestFacts,
) -> Result<(), PortError> {
    let gone = "no process here has it in its command line (-uuid): QEMU has just ended, or runs \
                where its processes cannot be seen from here";
    let pid = match processes.find(&["-uuid", &guest.0]) {
        Ok(Some(pid)) => pid,
        Ok(None) => {
            nothing_of_process(depth, gone, facts);
            return Ok(());
        }
        Err(PortError::NoAccess(why)) => {
            nothing_of_process(depth, &why, facts);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    match processes.threads(pid) {
        Ok(Some(threads)) => name_threads(pid, &threads, facts),
        Ok(None) => unseen(facts, Sight::Threads, gone),
        Err(PortError::NoAccess(why)) => unseen(facts, Sight::Threads, why),
        Err(error) => return Err(error),
    }
    if depth >= Depth::Pages {
        match processes.mappings(pid) {
            Ok(Some(mappings)) => count_pages(config, &mappings, facts),
            Ok(None) => unseen(facts, Sight::Pages, "this kernel tells no pages by node"),
            Err(PortError::NoAccess(why)) => unseen(facts, Sight::Pages, why),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// By the names that QEMU gives its threads: `CPU 3/KVM`, `CPU 3/TCG`, `IO iothread1`. libvirt
/// switches the names on wherever QEMU has them. The main thread is the emulator.
fn name_threads(pid: u32, threads: &[ThreadFacts], facts: &mut GuestFacts) {
    for thread in threads {
        let cpus = thread.cpus_allowed.clone();
        if thread.tid == pid {
            facts.emulator_affinity = Some(cpus);
        } else if let Some(vcpu) = vcpu_of(&thread.name) {
            facts.vcpu_affinity.insert(vcpu, cpus);
            let cgroup = thread.cgroup_cpus.clone();
            facts.vcpu_cgroup.extend(cgroup.map(|cgroup| (vcpu, cgroup)));
        } else if let Some(id) = thread.name.strip_prefix("IO iothread").and_then(number) {
            facts.iothread_affinity.insert(id, cpus);
        }
    }
    if !facts.vcpu_affinity.is_empty() {
        return;
    }
    let why = if threads.iter().any(|thread| thread.name.starts_with("ALL CPUs/")) {
        "one thread runs all vCPUs in turn (single-threaded emulation): they have no affinity of \
         their own"
    } else {
        "QEMU does not name the threads of its vCPUs"
    };
    unseen(facts, Sight::Threads, why);
}

fn vcpu_of(name: &str) -> Option<Vcpu> {
    let (id, accelerator) = name.strip_prefix("CPU ")?.split_once('/')?;
    (!accelerator.is_empty()).then(|| number(id).map(Vcpu))?
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn count_pages(config: &GuestConfig, mappings: &[MappingFacts], facts: &mut GuestFacts) {
    let found = ram::find(config, mappings);
    facts.pages = found.pages;
    facts.pages_by_vnode = found.by_vnode;
    for why in found.missing {
        unseen(facts, Sight::Pages, why);
    }
}

enum Channel {
    Open,
    Closed(&'static str),
}

/// Whether the guest has a channel for a guest agent, and something inside holds the other end.
fn channel(live_xml: &str) -> Result<Channel, DomainXmlError> {
    let sheet = Sheet::parse(live_xml)?;
    let of_channel = |node: &roxmltree::Node| {
        named(*node, "target") && node.parent_element().is_some_and(|p| named(p, "channel"))
    };
    let target = sheet
        .nodes()
        .filter(of_channel)
        .find(|node| attr_value(*node, "name") == Some("org.qemu.guest_agent.0"));
    Ok(match target.map(|node| attr_value(node, "state")) {
        None => Channel::Closed("the guest has no channel for a guest agent"),
        Some(Some("disconnected")) => {
            Channel::Closed("no guest agent runs in the guest (qemu-guest-agent)")
        }
        Some(_) => Channel::Open,
    })
}
