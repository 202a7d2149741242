//! What moving a guest needs of a hypervisor beyond changing it where it is.

use crate::ports::{Cancel, PortError};
use numawise_model::{GuestUuid, MoveProgress};
use std::time::Duration;

/// Either end of a move. Everything here is safe to ask for again.
pub trait MovesGuests {
    /// The machine by its driver's word: two connections with the same word lead to one host.
    fn machine(&self) -> Result<String, PortError>;
    /// The XML of the running guest that one for another host is made of; `None` while it is off.
    fn migratable_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError>;
    /// Whether the guest is there and stands still: paused by somebody, or between two hosts.
    fn is_paused(&self, guest: &GuestUuid) -> Result<bool, PortError>;
    fn resume(&self, guest: &GuestUuid) -> Result<(), PortError>;
    /// At once: whatever was in the guest's memory is lost. One that is off already is off.
    fn power_off(&self, guest: &GuestUuid) -> Result<(), PortError>;
    /// Takes the definition away, and none of the files that it names.
    fn undefine(&self, guest: &GuestUuid) -> Result<(), PortError>;
    /// Breaks off a move of the guest to another host, if one is under way. Other jobs are not ours.
    fn abort_job(&self, guest: &GuestUuid) -> Result<(), PortError>;
    /// Whether the guest is started with its host.
    fn autostarts(&self, guest: &GuestUuid) -> Result<bool, PortError>;
    fn set_autostart(&self, guest: &GuestUuid, on: bool) -> Result<(), PortError>;
    /// `None` where the host's files cannot be looked at from here.
    fn has_file(&self, path: &str) -> Result<Option<bool>, PortError>;
    /// The host's own CPU, as the other end's `misfits` takes it.
    fn host_cpu(&self) -> Result<Option<String>, PortError>;
    /// Why this host could not run the guest, as far as it tells: machine type, CPU. `host_cpu` is
    /// that of the host that it comes from, for guests that have their host's.
    fn misfits(&self, domain_xml: &str, host_cpu: Option<&str>) -> Result<Vec<String>, PortError>;
}

/// Takes a running guest from one hypervisor to another of its kind. It knows both ends.
pub trait Carrier {
    /// Returns when the guest runs there, or when it does not and the way is given up. Interrupted,
    /// it breaks the move off first.
    fn carry(
        &self,
        guest: &GuestUuid,
        order: &CarryOrder,
        told: &mut dyn FnMut(MoveProgress),
        cancel: &Cancel,
    ) -> Result<(), PortError>;
}

/// How a running guest is to travel, and what it is to be there.
#[derive(Clone, Debug, Default)]
pub struct CarryOrder {
    /// What it runs with there.
    pub live_xml: String,
    /// What is stored there.
    pub stored_xml: String,
    pub undefine_source: bool,
    pub travel: Travel,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Travel {
    /// Given up when it takes longer.
    pub timeout: Option<Duration>,
    pub bandwidth_mib: Option<u64>,
    /// The guest is slowed down until its memory can be moved faster than it writes.
    pub auto_converge: bool,
    /// Where the hypervisors meet, if not where they would by themselves.
    pub uri: Option<String>,
}
