//! What is installed behind a connection, and probe guests: what `numawise doctor` asks.

use super::domain::{DESTROY_GRACEFUL, DomainState, START_AUTODESTROY, START_PAUSED};
use super::link::{Link, Version};
use super::{Fault, LibvirtHypervisor};
use numawise_engine::ports::PortError;
use numawise_model::GuestUuid;

/// Three programs that may be of three ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The library that numawise loaded.
    pub library: Version,
    /// The daemon that answers.
    pub daemon: Version,
    /// QEMU, or what else runs the guests; `None` where the driver has none installed.
    pub hypervisor: Option<Version>,
}

impl LibvirtHypervisor {
    pub fn versions(&self) -> Result<Versions, PortError> {
        let library = self.library.version();
        let library =
            library.map_err(|fault| fault.into_port(&self.uri, "reading libvirt's version"))?;
        self.ask("reading versions", |link| {
            let hypervisor = match link.hypervisor_version() {
                Err(fault) if fault.is_lost_connection() => return Err(fault),
                version => version.ok(),
            };
            Ok(Versions { library, daemon: link.daemon_version()?, hypervisor })
        })
    }

    pub fn hostname(&self) -> Result<String, PortError> {
        self.ask("reading the host's name", Link::hostname)
    }

    /// `virsh capabilities`.
    pub fn capabilities(&self) -> Result<String, PortError> {
        self.ask("reading the host's capabilities", Link::capabilities)
    }

    /// `virsh domcapabilities`; `None` takes libvirt's default of each.
    pub fn domain_capabilities(
        &self,
        emulator: Option<&str>,
        arch: Option<&str>,
        machine: Option<&str>,
        virttype: Option<&str>,
    ) -> Result<String, PortError> {
        self.ask("reading what guests may have", |link| {
            link.domain_capabilities([emulator, arch, machine, virttype])
        })
    }

    /// A guest without a stored definition; with `autodestroy` it goes when this connection does.
    pub fn create_transient(
        &self,
        xml: &str,
        autodestroy: bool,
        paused: bool,
    ) -> Result<GuestUuid, PortError> {
        let mut flags = 0;
        if autodestroy {
            flags |= START_AUTODESTROY;
        }
        if paused {
            flags |= START_PAUSED;
        }
        let link = self.link()?;
        let created = link.create(xml, flags).and_then(|domain| domain.uuid());
        created.map_err(|fault| self.failed(fault, "creating a guest"))
    }

    pub fn state(&self, guest: &GuestUuid) -> Result<DomainState, PortError> {
        self.ask_domain(guest, "reading the state", |domain| domain.state())
    }

    /// At once: whatever was in the guest's memory is lost.
    pub fn destroy(&self, guest: &GuestUuid) -> Result<(), PortError> {
        let domain = self.find(guest)?;
        let destroyed = domain.destroy(DESTROY_GRACEFUL).or_else(|_: Fault| domain.destroy(0));
        destroyed.map_err(|fault| self.failed(fault, &format!("switching off the guest {guest}")))
    }
}
