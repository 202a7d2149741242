//! What the engine needs of the outside. Each trait is here because two real things implement it
//! (libvirt and the embedded hypervisor, SQLite and etcd) or because the arrows between the parts
//! demand it (the engine must not know the domain XML editor).
//!
//! Everything is blocking and takes a [`Cancel`] where it may wait.

use crate::intent::{HostState, IntentId, Step};
use crate::moves::ports::MovesGuests;
use crate::usage::UsageSample;
use numawise_model::guest::SmpCacheAbility;
use numawise_model::{
    ChangeKind, GuestConfig, GuestEdit, GuestFacts, GuestUuid, Host, HostId, MappingFacts,
    Obstacle, PathState, Pins, Plan, PlanId, ThreadFacts, TuningPlan, TuningRecord,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thiserror::Error;

/// Set from a signal handler; whoever waits looks at it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a port could not do what it was asked. The text names the file, domain or address.
#[derive(Debug, Error)]
pub enum PortError {
    /// No such guest, host or plan. Exit code 2.
    #[error("{0}")]
    NotFound(String),
    /// Permission, or nobody answers. Exit code 6.
    #[error("{0}")]
    NoAccess(String),
    /// What is there cannot be understood. Exit code 2.
    #[error("{0}")]
    Unreadable(String),
    /// The other side was asked and said no, or failed. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// The wait was cancelled. Exit code 7.
    #[error("interrupted")]
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestSummary {
    pub uuid: GuestUuid,
    pub name: String,
    pub running: bool,
    /// Has a stored definition; a transient guest is gone when it stops.
    pub persistent: bool,
}

/// How a guest is stopped.
#[derive(Clone, Copy, Debug)]
pub struct ShutdownOptions {
    pub timeout: Duration,
    /// Pull the plug when the time is up, instead of giving up.
    pub force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    Orderly,
    /// It did not stop by itself.
    Forced,
}

/// How closely a running guest is looked at. Each takes longer than the one before: memory maps of
/// big guests take the kernel seconds, and the guest agent takes its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    Threads,
    Pages,
    /// And what the guest itself sees.
    Guest,
}

/// A snapshot with the domain XML that reverting to it brings back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestSnapshot {
    pub name: String,
    pub domain_xml: String,
}

/// libvirt, or the embedded hypervisor. Definitions are XML text: what comes out is the inactive
/// XML with its secrets, what goes in is the same text edited.
pub trait Hypervisor: MovesGuests {
    /// The URI it was reached at.
    fn uri(&self) -> String;
    /// Whether its host and guests are only modelled; every output then says so.
    fn is_simulated(&self) -> bool;
    fn host_id(&self) -> Result<HostId, PortError>;
    fn host(&self) -> Result<Host, PortError>;
    /// Every guest, by name.
    fn guests(&self) -> Result<Vec<GuestSummary>, PortError>;
    /// The definition that the next boot takes, secrets included.
    fn inactive_xml(&self, guest: &GuestUuid) -> Result<String, PortError>;
    /// What the running guest was started from; `None` while it is off.
    fn live_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError>;
    fn define(&self, xml: &str) -> Result<(), PortError>;
    fn start(&self, guest: &GuestUuid) -> Result<(), PortError>;
    /// A full stop; returns when the guest is off. Never unplugs it without `options.force`.
    fn shutdown(
        &self,
        guest: &GuestUuid,
        options: ShutdownOptions,
        cancel: &Cancel,
    ) -> Result<Stopped, PortError>;
    /// Moves threads of the running guest at once; those that `pins` does not name stay. The
    /// stored definition is not touched.
    fn pin_live(&self, guest: &GuestUuid, pins: &Pins) -> Result<(), PortError>;
    /// Work of others on the guest that a change would collide with; snapshots apart.
    fn obstacles(&self, guest: &GuestUuid) -> Result<Vec<Obstacle>, PortError>;
    fn snapshots(&self, guest: &GuestUuid) -> Result<Vec<GuestSnapshot>, PortError>;
    /// Affinities and pages by the kernel's word, as far as it can be had from here; `None` while
    /// the guest is off.
    fn observe(&self, guest: &GuestUuid, depth: Depth) -> Result<Option<GuestFacts>, PortError>;
    /// Whether the QEMU of a definition takes `smp-cache`, as tried with a guest of its kind. What
    /// could not be tried is no.
    fn smp_cache(&self, _xml: &str) -> Result<SmpCacheAbility, PortError> {
        Ok(SmpCacheAbility::No { why: "guests run without QEMU here".to_owned() })
    }
    /// Waits until something about any guest may have changed, or the time is up.
    fn wait_for_change(&self, at_most: Duration, cancel: &Cancel) -> Result<(), PortError>;
}

/// Processes of the machine that guests run on, as its kernel tells of them.
pub trait Processes {
    /// The process with all of these arguments in its command line.
    fn find(&self, arguments: &[&str]) -> Result<Option<u32>, PortError>;
    /// `None` when the process is gone.
    fn threads(&self, pid: u32) -> Result<Option<Vec<ThreadFacts>>, PortError>;
    fn mappings(&self, pid: u32) -> Result<Option<Vec<MappingFacts>>, PortError>;
}

/// Finds a guest by name or UUID.
pub fn find_guest(hypervisor: &dyn Hypervisor, wanted: &str) -> Result<GuestSummary, PortError> {
    pick_guest(&hypervisor.guests()?, wanted, &hypervisor.uri()).cloned()
}

/// The same among guests that have been listed already.
pub fn pick_guest<'g>(
    guests: impl IntoIterator<Item = &'g GuestSummary> + Clone,
    wanted: &str,
    uri: &str,
) -> Result<&'g GuestSummary, PortError> {
    let uuid = wanted.to_ascii_lowercase();
    let mut all = guests.clone().into_iter();
    all.find(|guest| guest.name == wanted || guest.uuid.0 == uuid).ok_or_else(|| {
        let names: Vec<&str> = guests.into_iter().map(|guest| guest.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        PortError::NotFound(format!("no guest '{wanted}' at {uri}; guests there: {known}"))
    })
}

/// An element that numawise wrote and that says something else today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoConflict {
    /// `cputune/vcpupin[vcpu=3]`.
    pub element: String,
    pub before: Option<String>,
    pub written: Option<String>,
    pub today: Option<String>,
}

#[derive(Debug, Error)]
pub enum RevertError {
    #[error("elements changed since they were written")]
    Conflicts(Vec<UndoConflict>),
    #[error(transparent)]
    Unreadable(#[from] PortError),
}

/// What a definition names of its host's files, and what a move would have to find at the other end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestFiles {
    /// Disks, firmware variables, kernels, in the order of the text.
    pub paths: Vec<String>,
    /// An emulated TPM, whose state the hypervisor keeps where it likes.
    pub tpm: bool,
}

/// Reads and edits domain XML in place; everything but the elements numawise owns comes back byte
/// for byte. Reads are strict about what placement depends on and indifferent to the rest.
pub trait DomainEditor {
    fn read(&self, xml: &str) -> Result<GuestConfig, PortError>;
    /// Writes the edit, and the note on the topology into the metadata: `Some("")` takes it out,
    /// `None` leaves it. Text in which nothing changes comes back byte for byte.
    fn apply(&self, xml: &str, edit: &GuestEdit, note: Option<&str>) -> Result<String, PortError>;
    /// Takes back on today's XML what was written between `before` and `after`, element by element.
    fn revert(&self, today: &str, before: &str, after: &str) -> Result<String, RevertError>;
    /// The same text with secrets (passwords, keys) replaced by `***`.
    fn mask_secrets(&self, xml: &str) -> String;
    /// The XML without what libvirt generates by itself: what a digest is made of.
    fn stable_part(&self, xml: &str) -> Result<String, PortError>;
    /// What of the guest lies in files of its host.
    fn files(&self, xml: &str) -> Result<GuestFiles, PortError>;
}

#[derive(Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    Committed {
        revision: u64,
    },
    /// Somebody else wrote in between: read again.
    Conflict {
        found: u64,
    },
}

/// Held while an intent is carried out; released when dropped, also by the death of the process.
pub trait HostLock {}

/// The ledger of a host under compare-and-set, and what belongs to this machine alone (journal,
/// plans, usage).
pub trait Store {
    /// A host that is not there yet has revision 0 and nothing in it.
    fn load(&self, host: &HostId) -> Result<HostState, PortError>;
    /// One transaction; `expected` is the revision that was read.
    fn commit(
        &self,
        host: &HostId,
        expected: u64,
        state: &HostState,
    ) -> Result<CommitOutcome, PortError>;
    /// `on_wait` is called once when the lock is not free at once.
    fn lock_host(
        &self,
        host: &HostId,
        on_wait: &mut dyn FnMut(),
        cancel: &Cancel,
    ) -> Result<Box<dyn HostLock>, PortError>;
    /// Durable when it returns.
    fn append_step(&self, intent: &IntentId, step: &Step) -> Result<(), PortError>;
    fn steps(&self, intent: &IntentId) -> Result<Vec<Step>, PortError>;
    fn save_plan(&self, plan: &Plan) -> Result<(), PortError>;
    fn plan(&self, id: &PlanId) -> Result<Option<Plan>, PortError>;
    /// Newest last. Samples older than an hour are dropped when one is added.
    fn usage_samples(&self, host: &HostId) -> Result<Vec<UsageSample>, PortError>;
    fn add_usage_sample(&self, host: &HostId, sample: &UsageSample) -> Result<(), PortError>;
    /// What is remembered of the host's tuning; an empty record when there is nothing.
    fn tuning(&self, host: &HostId) -> Result<TuningRecord, PortError>;
    /// Durable when it returns. Only the holder of the host's lock writes it.
    fn save_tuning(&self, host: &HostId, record: &TuningRecord) -> Result<(), PortError>;
    fn save_tuning_plan(&self, plan: &TuningPlan) -> Result<(), PortError>;
    fn tuning_plan(&self, id: &PlanId) -> Result<Option<TuningPlan>, PortError>;
}

/// The files of the host that tuning reads and writes, by their path from its root.
pub trait HostFiles {
    /// Whether a kernel is behind the files: else nothing follows from writing them.
    fn is_live(&self) -> bool;
    fn look(&self, path: &str) -> Result<PathState, PortError>;
    /// Names in a folder; none where there is no such folder.
    fn names(&self, folder: &str) -> Result<Vec<String>, PortError>;
    /// A kernel file in one write; a file on a disk whole or not at all.
    fn write(&self, path: &str, text: &str, kind: ChangeKind) -> Result<(), PortError>;
    fn make_folder(&self, path: &str) -> Result<(), PortError>;
    /// Takes away a file, or a folder with nothing in it.
    fn remove(&self, path: &str) -> Result<Removal, PortError>;
    /// Lets the service manager read its drop-ins again, where there is one.
    fn reload_units(&self) -> Result<(), PortError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Or was not there any more.
    Gone,
    /// A folder with something in it, or in use.
    Kept,
}

/// Unix seconds and waiting.
pub trait Clock {
    fn now_unix_sec(&self) -> i64;
}
