//! The embedded hypervisor: guests of a simulated host, for machines without libvirt.
//!
//! It does with domain XML what libvirt, QEMU and the kernel would do with it: refuses
//! contradictions, keeps a definition apart from what runs, gives each thread its affinity, takes
//! each page from a node, and refuses to start what would not start there. All of that is derived
//! from the XML and the host alone, never from a plan, and with code that shares nothing with the
//! editor that writes the XML. So a mistake in a plan or in the editor shows when it is verified.
//!
//! The host is a value that the caller has read from wherever it likes. What running guests hold is
//! taken from its levels, in whatever process they were started.
//!
//! To read: [`folder`] (what is on disk), [`domain`] (what is taken from XML), [`rules`] (what
//! cannot be defined), [`boot`] and [`memory`] (what starting does), [`drift`] (how to make a guest
//! differ from its definition).

mod boot;
mod cpuset;
mod domain;
mod drift;
mod folder;
mod live_definition;
mod memory;
mod moves;
mod rules;
mod running;
mod xml;

pub use moves::EmbeddedCarrier;

use crate::domain::Domain;
use crate::folder::{Change, Folder, View};
use numawise_engine::ports::{
    Cancel, Depth, GuestSnapshot, GuestSummary, Hypervisor, PortError, ShutdownOptions, Stopped,
};
use numawise_model::guest::GuestCell;
use numawise_model::{GuestFacts, GuestUuid, Host, HostId, Obstacle, PageCounts, Pins, Vnode};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Guests in a folder, on a host that is a value.
pub struct EmbeddedHypervisor {
    folder: Folder,
    host: Host,
    id: HostId,
}

/// What can be made to fail, once, to see what callers do then.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Define,
    Start,
    Shutdown,
    Pin,
    Migrate,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Define => "define",
            Self::Start => "start",
            Self::Shutdown => "shutdown",
            Self::Pin => "pin",
            Self::Migrate => "migrate",
        }
    }
}

impl EmbeddedHypervisor {
    /// Opens the folder, or makes it. `host` is the machine with no guest on it.
    pub fn open(dir: &Path, host: Host, id: HostId) -> Result<Self, PortError> {
        Ok(Self { folder: Folder::open(dir)?, host, id })
    }

    /// Where it lives, as it was named.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Defines a guest that must not be there yet. A text without a UUID gets one.
    pub fn define_new(&self, xml: &str) -> Result<GuestUuid, PortError> {
        let change = self.folder.change()?;
        let domain = Domain::read(xml)?;
        if let Some(uuid) = &domain.uuid
            && change.guests()?.contains(uuid)
        {
            return Err(failed(format!("there is a guest with the UUID {uuid} already")));
        }
        define(&change, xml, &domain)
    }

    /// Takes the definition away. A running guest runs on and is gone when it stops.
    pub fn undefine(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        let change = self.folder.change()?;
        if change.inactive(&guest)?.is_none() {
            return Err(self.no_guest(&guest));
        }
        change.remove_inactive(&guest)
    }

    /// Stops a guest at once, whatever is planted for an orderly shutdown.
    pub fn force_off(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        let change = self.folder.change()?;
        self.must_run(&change, &guest)?;
        change.remove_running(&guest)
    }

    /// The next such operation on this folder fails, by whichever process, without having done
    /// anything.
    #[doc(hidden)]
    pub fn fail_next(&self, operation: Operation) -> Result<(), PortError> {
        self.folder.change()?.plant_fault(operation.word())
    }

    /// Starts a guest from this XML.
    fn boot(&self, change: &Change<'_>, guest: &GuestUuid, xml: &str) -> Result<(), PortError> {
        let domain = Domain::read(xml)?;
        let held = self.held(change)?;
        let running = boot::boot(&domain, &self.host, &held)
            .map_err(|why| failed(format!("guest '{}' does not start: {why}", domain.name)))?;
        change.write_started(guest, xml, &running)
    }

    fn must_run(&self, view: &View<'_>, guest: &GuestUuid) -> Result<(), PortError> {
        if view.is_running(guest)? {
            return Ok(());
        }
        match view.inactive(guest)? {
            Some(_) => Err(failed(format!("guest {guest} is not running"))),
            None => Err(self.no_guest(guest)),
        }
    }

    fn no_guest(&self, guest: &GuestUuid) -> PortError {
        PortError::NotFound(format!(
            "simulated host: no guest with the UUID {guest} at {}",
            self.uri()
        ))
    }

    /// What all running guests hold.
    fn held(&self, view: &View<'_>) -> Result<PageCounts, PortError> {
        let mut held = PageCounts::new();
        for guest in view.guests()? {
            let Some(running) = view.running(&guest)? else { continue };
            for (node, sizes) in running.total_pages() {
                if self.host.topology.node(node).is_none() {
                    return Err(PortError::Unreadable(format!(
                        "simulated host: guest {guest} in {} has memory on node {node}, which this \
                         host has not: the folder belongs to another host; name a folder of its own",
                        self.folder.path().display()
                    )));
                }
                for (size, pages) in sizes {
                    *held.entry(node).or_default().entry(size).or_default() += pages;
                }
            }
        }
        Ok(held)
    }
}

impl Hypervisor for EmbeddedHypervisor {
    fn uri(&self) -> String {
        format!("embedded:{}", self.folder.path().display())
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn host_id(&self) -> Result<HostId, PortError> {
        Ok(self.id.clone())
    }

    fn host(&self) -> Result<Host, PortError> {
        let held = self.held(&self.folder.view()?)?;
        Ok(memory::lowered(&self.host, &held))
    }

    fn guests(&self) -> Result<Vec<GuestSummary>, PortError> {
        let mut guests = summaries(&self.folder.view()?)?;
        guests.sort_by(|a, b| (&a.name, &a.uuid).cmp(&(&b.name, &b.uuid)));
        Ok(guests)
    }

    /// As in libvirt, a running guest whose definition is gone shows what it runs with.
    fn inactive_xml(&self, guest: &GuestUuid) -> Result<String, PortError> {
        let guest = canonical(guest)?;
        let view = self.folder.view()?;
        let xml = match view.inactive(&guest)? {
            Some(xml) => Some(xml),
            None => view.live(&guest)?,
        };
        xml.ok_or_else(|| self.no_guest(&guest))
    }

    fn live_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        let guest = canonical(guest)?;
        let view = self.folder.view()?;
        let live = view.live(&guest)?;
        if live.is_none() && view.inactive(&guest)?.is_none() {
            return Err(self.no_guest(&guest));
        }
        Ok(live)
    }

    fn define(&self, xml: &str) -> Result<(), PortError> {
        let change = self.folder.change()?;
        fail_if_planted(&change, Operation::Define)?;
        let domain = Domain::read(xml)?;
        define(&change, xml, &domain)?;
        Ok(())
    }

    fn start(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let guest = canonical(guest)?;
        let change = self.folder.change()?;
        fail_if_planted(&change, Operation::Start)?;
        if change.is_running(&guest)? {
            return Err(failed(format!("guest {guest} is already running")));
        }
        let xml = change.inactive(&guest)?.ok_or_else(|| self.no_guest(&guest))?;
        self.boot(&change, &guest, &xml)
    }

    /// A simulated guest never takes its time over it.
    fn shutdown(
        &self,
        guest: &GuestUuid,
        _options: ShutdownOptions,
        cancel: &Cancel,
    ) -> Result<Stopped, PortError> {
        let guest = canonical(guest)?;
        if cancel.is_set() {
            return Err(PortError::Cancelled);
        }
        let change = self.folder.change()?;
        fail_if_planted(&change, Operation::Shutdown)?;
        self.must_run(&change, &guest)?;
        change.remove_running(&guest)?;
        Ok(Stopped::Orderly)
    }

    fn pin_live(&self, guest: &GuestUuid, pins: &Pins) -> Result<(), PortError> {
        self.move_threads(guest, pins)
    }

    /// Nobody else works on simulated guests.
    fn obstacles(&self, _guest: &GuestUuid) -> Result<Vec<Obstacle>, PortError> {
        Ok(Vec::new())
    }

    fn snapshots(&self, _guest: &GuestUuid) -> Result<Vec<GuestSnapshot>, PortError> {
        Ok(Vec::new())
    }

    /// Looks at everything whatever the depth: it is all in one file.
    fn observe(&self, guest: &GuestUuid, _depth: Depth) -> Result<Option<GuestFacts>, PortError> {
        let guest = canonical(guest)?;
        let view = self.folder.view()?;
        let (Some(running), Some(live)) = (view.running(&guest)?, view.live(&guest)?) else {
            return match view.inactive(&guest)? {
                Some(_) => Ok(None),
                None => Err(self.no_guest(&guest)),
            };
        };
        Ok(Some(GuestFacts {
            pages: running.total_pages(),
            pages_by_vnode: Some(running.pages),
            vcpu_affinity: running.vcpus,
            emulator_affinity: Some(running.emulator),
            iothread_affinity: running.iothreads,
            guest_cells: Some(seen_by_guest(&live)?),
            ..GuestFacts::default()
        }))
    }

    /// Nothing tells of changes to files, so the time is cut into short looks by the caller's hand:
    /// a second at most.
    fn wait_for_change(&self, at_most: Duration, cancel: &Cancel) -> Result<(), PortError> {
        let until = Instant::now() + at_most.min(Duration::from_secs(1));
        while Instant::now() < until && !cancel.is_set() {
            std::thread::sleep(Duration::from_millis(20));
        }
        if cancel.is_set() { Err(PortError::Cancelled) } else { Ok(()) }
    }
}

/// Writes the definition once it has passed the rules. A running guest keeps what it runs with.
fn define(change: &Change<'_>, xml: &str, domain: &Domain) -> Result<GuestUuid, PortError> {
    rules::check(domain).map_err(|why| failed(format!("unsupported configuration: {why}")))?;
    for known in summaries(change)? {
        let same_uuid = domain.uuid.as_ref() == Some(&known.uuid);
        if known.name == domain.name && !same_uuid {
            return Err(failed(format!(
                "domain '{}' already exists with uuid {}",
                known.name, known.uuid
            )));
        }
        if known.name != domain.name && same_uuid {
            return Err(failed(format!(
                "domain '{}' is already defined with uuid {}",
                known.name, known.uuid
            )));
        }
    }
    match &domain.uuid {
        Some(uuid) => {
            change.write_inactive(uuid, xml)?;
            Ok(uuid.clone())
        }
        None => {
            let uuid = GuestUuid(uuid::Uuid::new_v4().hyphenated().to_string());
            change.write_inactive(&uuid, &xml::with_uuid(xml, &uuid)?)?;
            Ok(uuid)
        }
    }
}

/// In the order of their UUIDs.
fn summaries(view: &View<'_>) -> Result<Vec<GuestSummary>, PortError> {
    let mut guests = Vec::new();
    for uuid in view.guests()? {
        let running = view.is_running(&uuid)?;
        let xml = match view.inactive(&uuid)? {
            Some(xml) => Some(xml),
            None => view.live(&uuid)?,
        };
        if let Some(xml) = xml {
            guests.push(GuestSummary {
                name: xml::domain_name(&xml)?,
                persistent: view.inactive(&uuid)?.is_some(),
                uuid,
                running,
            });
        }
    }
    Ok(guests)
}

fn fail_if_planted(change: &Change<'_>, operation: Operation) -> Result<(), PortError> {
    if change.take_fault(operation.word())? {
        return Err(failed(format!("{} failed: a planted fault", operation.word())));
    }
    Ok(())
}

/// The guest's own nodes. Where the XML gives no distances, libvirt makes them 10 and 20.
fn seen_by_guest(live_xml: &str) -> Result<Vec<GuestCell>, PortError> {
    let domain = Domain::read(live_xml)?;
    let mut cells = boot::cells(&domain).map_err(failed)?;
    let ids: Vec<Vnode> = cells.iter().map(|cell| cell.id).collect();
    for cell in &mut cells {
        let own = cell.id;
        let usual = |other: Vnode| if other == own { 10 } else { 20 };
        let distances: BTreeMap<Vnode, u32> = ids
            .iter()
            .map(|id| (*id, cell.distances.get(id).copied().unwrap_or_else(|| usual(*id))))
            .collect();
        cell.distances = distances;
    }
    Ok(cells)
}

/// File names are made from it, so it must really be a UUID.
fn canonical(guest: &GuestUuid) -> Result<GuestUuid, PortError> {
    match uuid::Uuid::parse_str(&guest.0) {
        Ok(uuid) => Ok(GuestUuid(uuid.hyphenated().to_string())),
        Err(_) => Err(PortError::NotFound(format!(
            "simulated host: '{guest}' is no UUID: 32 hexadecimal digits are wanted"
        ))),
    }
}

fn failed(text: String) -> PortError {
    PortError::Failed(format!("simulated host: {text}"))
}
