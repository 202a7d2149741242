//! The engine's surroundings: the ports it works through, and what every operation begins with.

use crate::error::EngineError;
use crate::intent::{GuestRecord, HostState};
use crate::ledger_view::{Guests, KnownGuest, LedgerView, read_guest, read_guests, view};
use crate::ports::{
    Cancel, Clock, CommitOutcome, Depth, DomainEditor, GuestSummary, HostLock, Hypervisor,
    PortError, ShutdownOptions, Store, pick_guest,
};
use numawise_documents::{parse_frozen, text_digest};
use numawise_model::{Event, FrozenTopology, GuestConfig, GuestUuid, Host, HostId, PageCounts};
use std::cell::RefCell;
use std::time::Duration;

/// Places where a test may kill the process: after each change, and after each journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    Claimed,
    BackupJournaled,
    LivePinsJournaled,
    DefineDone,
    DefinedJournaled,
    PinDone,
    PinJournaled,
    ShutDownDone,
    ShutDownJournaled,
    StartDone,
    StartedJournaled,
    VerifiedJournaled,
    StatusCommitted,
    FinishedJournaled,
    // Of a move to another host.
    MoveNoted,
    Arrived,
    ArrivedJournaled,
    SourceUndefined,
    SourceUndefinedJournaled,
    DestinationRecorded,
    SourceReleased,
}

impl CrashPoint {
    pub const ALL: [(&'static str, Self); 14] = [
        ("claimed", Self::Claimed),
        ("backup-journaled", Self::BackupJournaled),
        ("live-pins-journaled", Self::LivePinsJournaled),
        ("define-done", Self::DefineDone),
        ("defined-journaled", Self::DefinedJournaled),
        ("pin-done", Self::PinDone),
        ("pin-journaled", Self::PinJournaled),
        ("shut-down-done", Self::ShutDownDone),
        ("shut-down-journaled", Self::ShutDownJournaled),
        ("start-done", Self::StartDone),
        ("started-journaled", Self::StartedJournaled),
        ("verified-journaled", Self::VerifiedJournaled),
        ("status-committed", Self::StatusCommitted),
        ("finished-journaled", Self::FinishedJournaled),
    ];

    /// Those that a move to another host comes by, in its order.
    pub const OF_A_MOVE: [(&'static str, Self); 12] = [
        ("move-noted", Self::MoveNoted),
        ("claimed", Self::Claimed),
        ("backup-journaled", Self::BackupJournaled),
        ("arrived", Self::Arrived),
        ("arrived-journaled", Self::ArrivedJournaled),
        ("source-undefined", Self::SourceUndefined),
        ("source-undefined-journaled", Self::SourceUndefinedJournaled),
        ("verified-journaled", Self::VerifiedJournaled),
        ("destination-recorded", Self::DestinationRecorded),
        ("source-released", Self::SourceReleased),
        ("status-committed", Self::StatusCommitted),
        ("finished-journaled", Self::FinishedJournaled),
    ];
}

/// The loop over one host. Every port is borrowed: two hosts can live in one process.
pub struct Engine<'a> {
    pub hypervisor: &'a dyn Hypervisor,
    pub store: &'a dyn Store,
    pub editor: &'a dyn DomainEditor,
    pub clock: &'a dyn Clock,
    pub cancel: &'a Cancel,
    pub shutdown: ShutdownOptions,
    /// How long a guest that was asked to shut down is looked at before it is believed to stay.
    pub settle: Duration,
    /// Where events go.
    pub emit: RefCell<Box<dyn FnMut(Event) + 'a>>,
    /// Called at every [`CrashPoint`]; does nothing outside tests.
    pub probe: Box<dyn Fn(CrashPoint) + 'a>,
    /// Connects to the other end of a move that somebody else began.
    pub open_peer: OpenPeer<'a>,
}

pub type OpenPeer<'a> = Box<dyn Fn(&str) -> Result<Box<dyn Hypervisor>, PortError> + 'a>;

/// All that is known when an operation begins.
pub struct Situation {
    pub host_id: HostId,
    pub host: Host,
    pub state: HostState,
    pub guests: Guests,
    pub view: LedgerView,
}

/// An unreadable definition is told with the guest's name.
fn about(guest: &GuestSummary, error: PortError) -> PortError {
    match error {
        PortError::Unreadable(why) => {
            PortError::Unreadable(format!("the definition of guest '{}': {why}", guest.name))
        }
        other => other,
    }
}

impl Situation {
    /// A guest by name or UUID, with all that was read of it.
    pub fn find(&self, wanted: &str, uri: &str) -> Result<&KnownGuest, PortError> {
        let unreadable = self.guests.unreadable.iter();
        let all =
            self.guests.known.iter().map(|g| &g.summary).chain(unreadable.clone().map(|u| &u.0));
        let found = pick_guest(all, wanted, uri)?;
        match unreadable.clone().find(|(guest, _)| guest.uuid == found.uuid) {
            Some((guest, why)) => Err(about(guest, PortError::Unreadable(why.clone()))),
            None => self.guest(&found.uuid).ok_or_else(|| PortError::NotFound(wanted.to_owned())),
        }
    }

    pub fn guest(&self, uuid: &GuestUuid) -> Option<&KnownGuest> {
        self.guests.known.iter().find(|g| &g.summary.uuid == uuid)
    }

    pub fn record(&self, uuid: &GuestUuid) -> Option<&GuestRecord> {
        self.state.guests.get(uuid)
    }

    /// What the guest is frozen to: the store's word; for a guest that this store never had, the
    /// note in its metadata (it came from another host, where it was frozen).
    pub fn frozen(&self, uuid: &GuestUuid) -> Option<FrozenTopology> {
        if let Some(record) = self.record(uuid) {
            return record.frozen.clone();
        }
        let note = self.guest(uuid)?.inactive.frozen_note.as_deref()?;
        parse_frozen(note).ok()
    }
}

impl Engine<'_> {
    /// The same loop over another host, with the same store.
    pub fn beside<'b>(&'b self, hypervisor: &'b dyn Hypervisor) -> Engine<'b> {
        Engine {
            hypervisor,
            store: self.store,
            editor: self.editor,
            clock: self.clock,
            cancel: self.cancel,
            shutdown: self.shutdown,
            settle: self.settle,
            emit: RefCell::new(Box::new(|event| self.emit(event))),
            probe: Box::new(|point| self.probe(point)),
            open_peer: Box::new(|uri| (self.open_peer)(uri)),
        }
    }

    pub(crate) fn emit(&self, event: Event) {
        (self.emit.borrow_mut())(event);
    }

    pub(crate) fn probe(&self, point: CrashPoint) {
        (self.probe)(point);
    }

    /// Reads host, store and guests; no lock is taken. Guests that were started by somebody else
    /// since are seen here, and their topology freezes.
    pub fn situation(&self, ignore_stopped: bool) -> Result<Situation, EngineError> {
        let mut situation = self.read_situation(ignore_stopped)?;
        self.freeze_seen(&mut situation)?;
        Ok(situation)
    }

    /// The same, and nothing else happens.
    pub(crate) fn read_situation(&self, ignore_stopped: bool) -> Result<Situation, EngineError> {
        let host_id = self.hypervisor.host_id()?;
        let host = self.hypervisor.host()?;
        let state = self.store.load(&host_id)?;
        let guests = read_guests(self.hypervisor, self.editor)?;
        let view = view(&state, &guests, &host.topology.online, ignore_stopped);
        Ok(Situation { host_id, host, state, guests, view })
    }

    /// What has become of one guest, and of the claims.
    pub(crate) fn read_again(
        &self,
        situation: &mut Situation,
        guest: &GuestSummary,
    ) -> Result<(), EngineError> {
        situation.state = self.store.load(&situation.host_id)?;
        let running = self.hypervisor.live_xml(&guest.uuid)?.is_some();
        let summary = GuestSummary { running, ..guest.clone() };
        let fresh = read_guest(self.hypervisor, self.editor, &summary);
        let fresh = fresh.map_err(|error| about(guest, error))?;
        for known in situation.guests.known.iter_mut().filter(|g| g.summary.uuid == guest.uuid) {
            known.clone_from(&fresh);
        }
        let online = &situation.host.topology.online;
        situation.view = view(&situation.state, &situation.guests, online, false);
        Ok(())
    }

    /// Memory the guest gives back when it stops.
    pub(crate) fn held_pages(&self, guest: &KnownGuest) -> Result<PageCounts, EngineError> {
        if guest.live.is_none() {
            return Ok(PageCounts::new());
        }
        let facts = self.hypervisor.observe(&guest.summary.uuid, Depth::Pages)?;
        Ok(facts.map(|facts| facts.pages).unwrap_or_else(PageCounts::new))
    }

    pub(crate) fn guest_digest(&self, xml: &str) -> Result<String, EngineError> {
        Ok(text_digest(&self.editor.stable_part(xml)?))
    }

    pub(crate) fn read_guest(
        &self,
        guest: &GuestSummary,
    ) -> Result<(String, GuestConfig), EngineError> {
        let xml = self.hypervisor.inactive_xml(&guest.uuid)?;
        let config = self.editor.read(&xml).map_err(|error| about(guest, error))?;
        Ok((xml, config))
    }

    pub(crate) fn lock(&self, host: &HostId) -> Result<Box<dyn HostLock>, EngineError> {
        let mut on_wait = || self.emit(Event::WaitingForHostLock);
        Ok(self.store.lock_host(host, &mut on_wait, self.cancel)?)
    }

    /// The lock if nobody has it, without waiting.
    pub(crate) fn try_lock(&self, host: &HostId) -> Result<Option<Box<dyn HostLock>>, EngineError> {
        let at_once = Cancel::default();
        let flag = at_once.flag();
        let mut give_up = || flag.store(true, std::sync::atomic::Ordering::Relaxed);
        match self.store.lock_host(host, &mut give_up, &at_once) {
            Ok(lock) => Ok(Some(lock)),
            Err(PortError::Cancelled) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads, changes and writes the host's document until nobody comes in between. `change` sees
    /// the newest state each time and may give up with an error.
    pub(crate) fn update_state<T>(
        &self,
        host: &HostId,
        mut change: impl FnMut(&mut HostState) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut attempt = 0;
        loop {
            let mut state = self.store.load(host)?;
            let expected = state.revision;
            let result = change(&mut state)?;
            match self.store.commit(host, expected, &state)? {
                CommitOutcome::Committed { .. } => return Ok(result),
                CommitOutcome::Conflict { .. } if self.cancel.is_set() => {
                    return Err(PortError::Cancelled.into());
                }
                CommitOutcome::Conflict { .. } => {
                    attempt += 1;
                    self.emit(Event::ClaimRaced { attempt });
                }
            }
        }
    }
}
