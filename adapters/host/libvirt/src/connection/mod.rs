//! libvirt at run time: [`LibvirtHypervisor`] is the engine's hypervisor over any libvirt URI.
//!
//! To read: [`library`] (the C functions), [`link`] and [`domain`] (owned values over them),
//! [`fault`] (whose fault an error is), [`address`] (where the guests run), [`host`] (a machine that
//! only libvirt can tell of), [`power`] (stopping a guest), [`work`] (what others do with it),
//! [`migration`] and [`moves`] (taking it to another host), [`watch`] (being told of changes), [`survey`] (what is installed there).
//!
//! A guest is looked up by its UUID for each call: names are given again, and a handle kept for
//! longer would speak of a guest that is gone. A connection that breaks is opened again: questions
//! are then asked once more, while a change is not, since nobody knows whether it was made.

mod address;
mod domain;
mod fault;
mod host;
mod library;
mod link;
mod migration;
mod moves;
mod power;
mod survey;
mod watch;
mod work;

pub use address::Place;
pub use domain::DomainState;
pub use library::LibraryFiles;
pub use link::Version;
pub use migration::LibvirtCarrier;
pub use survey::Versions;

use crate::observe;
use domain::{Thread, XML_INACTIVE, XML_SECURE};
use fault::Fault;
use library::Library;
use link::{Domain, LIST_ALL, LIST_TRANSIENT, Link};
use numawise_engine::ports::{
    Cancel, Depth, GuestSnapshot, GuestSummary, Hypervisor, PortError, Processes, ShutdownOptions,
    Stopped,
};
use numawise_model::guest::SmpCacheAbility;
use numawise_model::{CpuSet, GuestFacts, GuestUuid, Host, HostId, Obstacle, Pins};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use watch::Watch;

/// How long a daemon that went away may take to come back.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(5);
const BETWEEN_TRIES: Duration = Duration::from_millis(200);
/// A guest's agent answers at once or not at all.
const AGENT_TIMEOUT_SEC: i32 = 5;

pub type CapabilitiesReader = Box<dyn Fn(&str) -> Result<Host, PortError>>;

/// What the adapter does not find out by itself: which machine this is, and how to read one.
pub struct Surroundings {
    /// The id of this machine, for guests that run on it.
    pub local_host_id: Box<dyn Fn() -> Result<HostId, PortError>>,
    /// This machine as its kernel tells of it.
    pub local_host: Box<dyn Fn() -> Result<Host, PortError>>,
    /// Makes a host of libvirt's capabilities XML.
    pub read_capabilities: CapabilitiesReader,
    /// This machine's processes; asked for guests that run on it only.
    pub processes: Option<Box<dyn Processes>>,
    /// Ends the wait for a daemon that went away.
    pub cancel: Cancel,
    pub libraries: LibraryFiles,
}

/// Guests behind a libvirt connection.
pub struct LibvirtHypervisor {
    uri: String,
    place: Place,
    surroundings: Surroundings,
    library: Arc<Library>,
    link: RefCell<Option<Arc<Link>>>,
    watch: RefCell<Option<Watch>>,
    /// Asked for once, as the next: the host does not become another while a command runs.
    remote_id: OnceCell<HostId>,
    cpu_count: Cell<Option<usize>>,
}

impl LibvirtHypervisor {
    /// Loads libvirt and connects.
    pub fn open(uri: &str, surroundings: Surroundings) -> Result<Self, PortError> {
        let opening = |fault: Fault| fault.on_opening(uri);
        let library = Arc::new(Library::load(&surroundings.libraries).map_err(opening)?);
        let link = Link::open(&library, uri).map_err(opening)?;
        Ok(Self {
            uri: uri.to_owned(),
            place: address::place(uri),
            surroundings,
            library,
            link: RefCell::new(Some(Arc::new(link))),
            watch: RefCell::new(None),
            remote_id: OnceCell::new(),
            cpu_count: Cell::new(None),
        })
    }

    /// Which machine's kernel runs the guests.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The connection, opened again if it broke.
    fn link(&self) -> Result<Arc<Link>, PortError> {
        if let Some(link) = &*self.link.borrow()
            && link.is_alive()
        {
            return Ok(Arc::clone(link));
        }
        self.link.replace(None);
        let link = Arc::new(self.open_again()?);
        self.link.replace(Some(Arc::clone(&link)));
        Ok(link)
    }

    fn open_again(&self) -> Result<Link, PortError> {
        let until = Instant::now() + COMES_BACK_WITHIN;
        loop {
            match Link::open(&self.library, &self.uri) {
                Ok(link) => return Ok(link),
                Err(_) if self.surroundings.cancel.is_set() => return Err(PortError::Cancelled),
                Err(fault) if Instant::now() >= until => return Err(fault.on_opening(&self.uri)),
                Err(_) => std::thread::sleep(BETWEEN_TRIES),
            }
        }
    }

    /// Asks something that changes nothing; once more where the connection was lost over it.
    fn ask<T>(
        &self,
        doing: &str,
        question: impl Fn(&Link) -> Result<T, Fault>,
    ) -> Result<T, PortError> {
        let mut answer = question(&*self.link()?);
        if answer.as_ref().is_err_and(Fault::is_lost_connection) {
            self.link.replace(None);
            answer = question(&*self.link()?);
        }
        answer.map_err(|fault| fault.into_port(&self.uri, doing))
    }

    /// The error of a change that failed. The next call connects anew.
    fn failed(&self, fault: Fault, doing: &str) -> PortError {
        if fault.is_lost_connection() {
            self.link.replace(None);
        }
        fault.into_port(&self.uri, doing)
    }

    fn find(&self, guest: &GuestUuid) -> Result<Domain, PortError> {
        self.ask(&format!("looking for the guest {guest}"), |link| link.find(guest))
    }

    fn ask_domain<T>(
        &self,
        guest: &GuestUuid,
        doing: &str,
        question: impl Fn(&Domain) -> Result<T, Fault>,
    ) -> Result<T, PortError> {
        self.ask(&format!("{doing} of the guest {guest}"), |link| question(&link.find(guest)?))
    }

    /// Bits in a CPU map of this host.
    fn cpu_count(&self) -> Result<usize, PortError> {
        if let Some(count) = self.cpu_count.get() {
            return Ok(count);
        }
        let count = self.ask("counting the host's CPUs", |link| match link.cpu_map() {
            Err(fault) if fault.is_unsupported() => Ok(0),
            map => map.map(|(_, count)| count),
        })?;
        self.cpu_count.set(Some(count));
        Ok(count)
    }
}

impl Hypervisor for LibvirtHypervisor {
    fn uri(&self) -> String {
        self.uri.clone()
    }

    fn is_simulated(&self) -> bool {
        self.place == Place::Nowhere
    }

    fn smp_cache(&self, xml: &str) -> Result<SmpCacheAbility, PortError> {
        crate::probe::smp_cache(self, xml)
    }

    /// See [`host::id`] for machines that are not this one.
    fn host_id(&self) -> Result<HostId, PortError> {
        if self.place == Place::Here {
            return (self.surroundings.local_host_id)();
        }
        if let Some(id) = self.remote_id.get() {
            return Ok(id.clone());
        }
        let id = self.ask("reading the host's id", host::id)?;
        Ok(self.remote_id.get_or_init(|| id).clone())
    }

    fn host(&self) -> Result<Host, PortError> {
        match self.place {
            Place::Here => (self.surroundings.local_host)(),
            Place::Elsewhere | Place::Nowhere => self.remote_host(),
        }
    }

    /// Two calls whatever the number of guests: what else is needed comes with the list.
    fn guests(&self) -> Result<Vec<GuestSummary>, PortError> {
        let (all, transient) = self
            .ask("listing guests", |link| Ok((link.list(LIST_ALL)?, link.list(LIST_TRANSIENT)?)))?;
        let transient: BTreeSet<GuestUuid> = transient.into_iter().map(|one| one.uuid).collect();
        let mut guests: Vec<GuestSummary> = all
            .into_iter()
            .map(|one| GuestSummary {
                persistent: !transient.contains(&one.uuid),
                uuid: one.uuid,
                name: one.name,
                running: one.running,
            })
            .collect();
        guests.sort_by(|a, b| (&a.name, &a.uuid).cmp(&(&b.name, &b.uuid)));
        Ok(guests)
    }

    fn inactive_xml(&self, guest: &GuestUuid) -> Result<String, PortError> {
        self.ask_domain(guest, "reading the definition", |domain| {
            domain.xml(XML_INACTIVE | XML_SECURE)
        })
    }

    fn live_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        let xml =
            self.ask_domain(guest, "reading the live XML", |domain| domain.xml(XML_SECURE))?;
        Ok(is_live(&xml).then_some(xml))
    }

    fn define(&self, xml: &str) -> Result<(), PortError> {
        let link = self.link()?;
        link.define(xml).map(drop).map_err(|fault| self.failed(fault, "defining the guest"))
    }

    fn start(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let domain = self.find(guest)?;
        domain.start().map_err(|fault| self.failed(fault, &format!("starting the guest {guest}")))
    }

    fn shutdown(
        &self,
        guest: &GuestUuid,
        options: ShutdownOptions,
        cancel: &Cancel,
    ) -> Result<Stopped, PortError> {
        self.stop(guest, options, cancel)
    }

    fn pin_live(&self, guest: &GuestUuid, pins: &Pins) -> Result<(), PortError> {
        let count = self.cpu_count()?;
        let domain = self.find(guest)?;
        let vcpus = pins.vcpus.iter().map(|(vcpu, cpus)| (Thread::Vcpu(vcpu.0), cpus));
        let emulator = pins.emulator.iter().map(|cpus| (Thread::Emulator, cpus));
        let iothreads = pins.iothreads.iter().map(|(id, cpus)| (Thread::Io(*id), cpus));
        for (thread, cpus) in vcpus.chain(emulator).chain(iothreads) {
            let pinned = domain.pin(thread, &cpu_map(cpus, count));
            pinned.map_err(|fault| {
                self.failed(fault, &format!("pinning {thread} of the guest {guest} to {cpus}"))
            })?;
        }
        Ok(())
    }

    fn obstacles(&self, guest: &GuestUuid) -> Result<Vec<Obstacle>, PortError> {
        self.ask_domain(guest, "looking for jobs", work::obstacles)
    }

    fn snapshots(&self, guest: &GuestUuid) -> Result<Vec<GuestSnapshot>, PortError> {
        let doing = "listing the snapshots";
        let xmls = self.ask_domain(guest, doing, |domain| match domain.snapshot_xmls() {
            Err(fault) if fault.is_unsupported() => Ok(Vec::new()),
            answer => answer,
        })?;
        let mut found = Vec::new();
        for xml in xmls {
            found.extend(work::snapshot(&xml)?);
        }
        Ok(found)
    }

    fn observe(&self, guest: &GuestUuid, depth: Depth) -> Result<Option<GuestFacts>, PortError> {
        let Some(live_xml) = self.live_xml(guest)? else { return Ok(None) };
        let agent = |command: &str| {
            if !work::agent_is_connected(&live_xml) {
                return Err(PortError::Failed("no guest agent is connected".to_owned()));
            }
            self.ask_domain(guest, "asking the agent", |domain| {
                domain.ask_agent(command, AGENT_TIMEOUT_SEC)
            })
        };
        let processes = match self.place {
            Place::Here => self.surroundings.processes.as_deref(),
            Place::Elsewhere | Place::Nowhere => None,
        };
        observe::observe(&live_xml, guest, depth, processes, &agent).map(Some)
    }

    fn wait_for_change(&self, at_most: Duration, cancel: &Cancel) -> Result<(), PortError> {
        self.await_event(at_most, cancel)
    }
}

/// libvirt gives a domain an id for as long as it runs, and writes it into the first tag.
fn is_live(xml: &str) -> bool {
    let tag = xml.find("<domain").and_then(|at| xml[at..].split('>').next());
    tag.is_some_and(|tag| tag.contains(" id='"))
}

/// A bit for each CPU, the lowest first; at least as many as the host has, or libvirt would take
/// the rest for unset.
fn cpu_map(cpus: &CpuSet, host_cpus: usize) -> Vec<u8> {
    let needed = cpus.last().map_or(0, |last| last.0 as usize + 1);
    let mut map = vec![0; needed.max(host_cpus).div_ceil(8)];
    for cpu in cpus.iter() {
        map[cpu.0 as usize / 8] |= 1 << (cpu.0 % 8);
    }
    map
}

#[cfg(test)]
mod tests {
    use super::{cpu_map, is_live};
    use numawise_model::{CpuSet, Pcpu};

    #[test]
    fn a_map_has_a_bit_for_each_cpu_of_the_host_and_of_the_set() {
        let set: CpuSet = [0, 1, 9].into_iter().map(Pcpu).collect();
        assert_eq!(cpu_map(&set, 64), [3, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(cpu_map(&set, 8), [3, 2]);
        assert_eq!(cpu_map(&CpuSet::new(), 2), [0]);
    }

    #[test]
    fn only_a_running_domain_has_an_id() {
        assert!(is_live("<domain type='qemu' id='3'>\n  <name>a</name>"));
        assert!(!is_live("<domain type='qemu'>\n  <name id='4'>a</name>"));
    }
}
