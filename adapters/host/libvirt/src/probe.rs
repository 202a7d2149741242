//! Probe guests: what a hypervisor host can do is believed when a guest has done it.
//!
//! A device file or a line in the capabilities says that somebody hoped so. A probe guest is small,
//! transient, and bound to the connection: it is gone when the command is, however that ends.

use crate::connection::{DomainState, LibvirtHypervisor};
use crate::markup::escape;
use crate::qemu_args;
use crate::sheet::{Sheet, attr_value, text};
use numawise_engine::ports::{Cancel, PortError};
use numawise_model::checkup::{Accelerator, DefectOutcome, ProbeOutcome};
use numawise_model::guest::{CacheLevel, SmpCache, SmpCacheAbility};
use numawise_model::{GuestUuid, Topology};
use std::time::{Duration, Instant};

const MEMORY_MIB: u32 = 32;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Boots a guest that has nothing to boot from: its firmware runs to the end, finds no disk, and
/// resets the machine, which here means that the guest is gone. Only executed code gets that far.
pub fn boot(
    hypervisor: &LibvirtHypervisor,
    accelerator: Accelerator,
    time_limit: Duration,
    cancel: &Cancel,
) -> Result<ProbeOutcome, PortError> {
    let started = Instant::now();
    let guest = match hypervisor.create_transient(&boot_xml(accelerator), true, false) {
        Ok(guest) => guest,
        Err(PortError::Failed(why)) => return Ok(ProbeOutcome::NotBooted { why }),
        Err(error) => return Err(error),
    };
    let outcome = loop {
        if !is_there(hypervisor, &guest)? {
            let took_msec = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            return Ok(ProbeOutcome::Booted { took_msec });
        }
        if cancel.is_set() {
            break Err(PortError::Cancelled);
        }
        if started.elapsed() >= time_limit {
            let why = format!("it had not run its firmware after {} s", time_limit.as_secs());
            break Ok(ProbeOutcome::NotBooted { why });
        }
        std::thread::sleep(BETWEEN_LOOKS);
    };
    hypervisor.destroy(&guest)?;
    outcome
}

/// Whether a guest with preallocated memory on one node starts when its emulator is pinned to
/// another: libvirt 9.0 lets QEMU allocate from a thread on the memory's node, which the emulator's
/// cgroup may not use, and QEMU gives up. Distributions mend it without a new version number.
pub fn emulator_pin_defect(
    hypervisor: &LibvirtHypervisor,
    topology: &Topology,
) -> Result<DefectOutcome, PortError> {
    let usable = topology.nodes.iter().filter(|node| node.has_memory());
    let mut nodes = usable.filter_map(|node| Some((node.id, node.cpus.first()?)));
    let (Some((_, emulator)), Some((memory, _))) = (nodes.next(), nodes.next()) else {
        let why = "it takes two nodes with CPUs and memory".to_owned();
        return Ok(DefectOutcome::NotTried { why });
    };
    let xml = format!(
        "<domain type='qemu'><name>{}</name><memory unit='MiB'>{MEMORY_MIB}</memory>\
         <memoryBacking><allocation mode='immediate'/></memoryBacking><vcpu>1</vcpu>\
         <cputune><emulatorpin cpuset='{emulator}'/></cputune>\
         <numatune><memory mode='strict' nodeset='{memory}'/>\
         <memnode cellid='0' mode='strict' nodeset='{memory}'/></numatune>\
         <os><type>hvm</type></os>\
         <cpu><numa><cell id='0' cpus='0' memory='{MEMORY_MIB}' unit='MiB'/></numa></cpu>\
         <devices><controller type='usb' model='none'/><memballoon model='none'/></devices>\
         </domain>",
        name("pin")
    );
    match hypervisor.create_transient(&xml, true, true) {
        Ok(guest) => {
            hypervisor.destroy(&guest)?;
            Ok(DefectOutcome::Absent)
        }
        Err(PortError::Failed(said)) if said.contains("CPU affinity") => {
            Ok(DefectOutcome::Present { said: last_line(&said) })
        }
        Err(PortError::Failed(why)) => Ok(DefectOutcome::NotTried { why }),
        Err(error) => Err(error),
    }
}

/// Whether the QEMU of a definition takes `smp-cache` for an L3: its property is listed by versions
/// and machines that refuse to use it, so a paused guest of the same emulator, machine and
/// accelerator is started with the very argument. Whatever stands against that guest stands against
/// the real one.
pub fn smp_cache(hypervisor: &LibvirtHypervisor, xml: &str) -> Result<SmpCacheAbility, PortError> {
    let sheet = Sheet::parse(xml)?;
    if let Some(SmpCache::Others(text)) = qemu_args::read(&sheet) {
        let why = format!("the guest has arguments of its own on it ('{text}')");
        return Ok(SmpCacheAbility::No { why });
    }
    let kind = sheet.find(&["os", "type"])?;
    let attribute = |name| {
        let value = kind.and_then(|kind| attr_value(kind, name));
        value.map_or_else(String::new, |value| format!(" {name}='{}'", escape(value, Some('\''))))
    };
    // Absent means libvirt's own choice, for the probe as for the guest.
    let emulator = sheet.find(&["devices", "emulator"])?.map(text).unwrap_or_default();
    let emulator = match emulator.trim() {
        "" => String::new(),
        path => format!("<emulator>{}</emulator>", escape(path, None)),
    };
    let xml = format!(
        "<domain type='{}'><name>{}</name><memory unit='MiB'>{MEMORY_MIB}</memory>\
         <vcpu>2</vcpu><os><type{}{}>hvm</type></os><cpu><topology sockets='1' cores='2' \
         threads='1'/></cpu><devices>{emulator}<controller type='usb' model='none'/>\
         <memballoon model='none'/></devices>{}</domain>",
        escape(attr_value(sheet.domain(), "type").unwrap_or("kvm"), Some('\'')),
        name("cache"),
        attribute("arch"),
        attribute("machine"),
        qemu_args::element(CacheLevel::Core),
    );
    match hypervisor.create_transient(&xml, true, true) {
        Ok(guest) => {
            hypervisor.destroy(&guest)?;
            Ok(SmpCacheAbility::Yes)
        }
        Err(PortError::Failed(said)) => Ok(SmpCacheAbility::No { why: last_line(&said) }),
        Err(error) => Err(error),
    }
}

fn boot_xml(accelerator: Accelerator) -> String {
    let kind = match accelerator {
        Accelerator::Kvm => "kvm",
        Accelerator::Software => "qemu",
    };
    format!(
        "<domain type='{kind}'><name>{}</name><memory unit='MiB'>{MEMORY_MIB}</memory>\
         <vcpu>1</vcpu><os><type arch='x86_64' machine='pc'>hvm</type>\
         <bios rebootTimeout='0'/></os><features><acpi/><apic/></features>\
         <on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot>\
         <on_crash>destroy</on_crash><devices><controller type='usb' model='none'/>\
         <memballoon model='none'/></devices></domain>",
        name(kind)
    )
}

/// Two check-ups at once do not meet.
fn name(what: &str) -> String {
    format!("numawise-probe-{what}-{}", std::process::id())
}

/// A transient guest that is off is unknown.
fn is_there(hypervisor: &LibvirtHypervisor, guest: &GuestUuid) -> Result<bool, PortError> {
    match hypervisor.state(guest) {
        Ok(DomainState::ShutOff | DomainState::Crashed) | Err(PortError::NotFound(_)) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(error),
    }
}

fn last_line(text: &str) -> String {
    text.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, str::to_owned)
}
