//! Moving the threads of a running guest, and moving them back.
//!
//! Where they were allowed to run is journaled before any of them is moved. While they move the
//! guest holds both its old and its new pCPUs: the new ones by the claims that the intent was
//! written with, the old ones because the ledger view counts the pins of what runs beside the
//! claims; and nobody else can claim at all before the host lock is given back. So no pCPU has two
//! exclusive owners at any instant, also when the process dies halfway.

use crate::error::EngineError;
use crate::intent::{Intent, Step};
use crate::loop_parts::{CrashPoint, Engine};
use crate::ports::{Depth, GuestSummary};
use crate::reconcile::Backup;
use numawise_model::{CpuSet, Event, GuestConfig, Pins, Vcpu};
use std::collections::BTreeMap;

/// What the threads of a running guest may run on.
struct Threads {
    /// By the kernel's word, or by the live definition where nobody could look.
    now: Pins,
    /// Their own pins in the live definition, which libvirt keeps beside the threads.
    by_definition: Pins,
}

impl Engine<'_> {
    /// Journals where the threads of the guest may run, if they are to be moved and it runs.
    pub(crate) fn journal_live_pins(
        &self,
        guest: &GuestSummary,
        intent: &Intent,
    ) -> Result<Option<Pins>, EngineError> {
        if !intent.live {
            return Ok(None);
        }
        let Some(threads) = self.threads(guest)? else { return Ok(None) };
        let before = threads.now;
        self.store.append_step(&intent.id, &Step::LivePins { before: before.clone() })?;
        self.probe(CrashPoint::LivePinsJournaled);
        Ok(Some(before))
    }

    /// Moves the threads to where the new definition has them. Safe to run again.
    pub(crate) fn move_threads(
        &self,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
    ) -> Result<(), EngineError> {
        let name = guest.name.clone();
        let Some(threads) = self.threads(guest)? else {
            self.emit(Event::NothingToMove { guest: name });
            return Ok(());
        };
        self.stop_if_cancelled()?;
        let after = self.editor.read(&backup.after_xml)?;
        let wanted = self.pins_of(&after, &threads.now)?;
        self.pin(guest, &wanted, &after.pins(), &threads)?;
        self.probe(CrashPoint::PinDone);
        self.store.append_step(&intent.id, &Step::PinnedLive)?;
        self.probe(CrashPoint::PinJournaled);
        self.emit(Event::PinnedLive { guest: name });
        Ok(())
    }

    /// Moves the threads back, those that are still there: a guest that was started anew meanwhile
    /// may have others.
    pub(crate) fn move_threads_back(
        &self,
        guest: &GuestSummary,
        before: &Pins,
    ) -> Result<(), EngineError> {
        let Some(threads) = self.threads(guest)? else { return Ok(()) };
        let mut wanted = before.clone();
        wanted.vcpus.retain(|vcpu, _| threads.now.vcpus.contains_key(vcpu));
        wanted.iothreads.retain(|id, _| threads.now.iothreads.contains_key(id));
        self.pin(guest, &wanted, &Pins::default(), &threads)
    }

    /// Names only the threads that are elsewhere, or that the live definition does not have there:
    /// `pinned` are those that are to have a pin of their own in it.
    fn pin(
        &self,
        guest: &GuestSummary,
        wanted: &Pins,
        pinned: &Pins,
        threads: &Threads,
    ) -> Result<(), EngineError> {
        let (now, has) = (&threads.now, &threads.by_definition);
        let pins = Pins {
            vcpus: moved(&wanted.vcpus, &now.vcpus, &has.vcpus, &pinned.vcpus),
            emulator: wanted.emulator.clone().filter(|cpus| {
                now.emulator.as_ref() != Some(cpus)
                    || has.emulator.as_ref().map_or(pinned.emulator.is_some(), |has| has != cpus)
            }),
            iothreads: moved(&wanted.iothreads, &now.iothreads, &has.iothreads, &pinned.iothreads),
        };
        if pins != Pins::default() {
            self.hypervisor.pin_live(&guest.uuid, &pins)?;
        }
        Ok(())
    }

    fn threads(&self, guest: &GuestSummary) -> Result<Option<Threads>, EngineError> {
        let Some(xml) = self.hypervisor.live_xml(&guest.uuid)? else { return Ok(None) };
        let config = self.editor.read(&xml)?;
        let by_definition = config.pins();
        let mut now = self.pins_of(&config, &there(&config))?;
        if let Some(facts) = self.hypervisor.observe(&guest.uuid, Depth::Threads)? {
            if !facts.vcpu_affinity.is_empty() {
                now.vcpus = facts.vcpu_affinity;
            }
            if facts.emulator_affinity.is_some() {
                now.emulator = facts.emulator_affinity;
            }
            if !facts.iothread_affinity.is_empty() {
                now.iothreads = facts.iothread_affinity;
            }
        }
        Ok(Some(Threads { now, by_definition }))
    }

    /// Whether the running guest has other pins than the definition would give its threads.
    pub(crate) fn pins_differ(
        &self,
        live: &GuestConfig,
        stored: &GuestConfig,
    ) -> Result<bool, EngineError> {
        if live.pins() == stored.pins() {
            return Ok(false);
        }
        let there = there(live);
        Ok(self.pins_of(live, &there)? != self.pins_of(stored, &there)?)
    }

    /// The pins that a definition gives the threads that there are. What has none runs where
    /// libvirt would start it: on the `<vcpu cpuset>`, or on every online CPU.
    fn pins_of(&self, config: &GuestConfig, there: &Pins) -> Result<Pins, EngineError> {
        let unpinned = there.vcpus.keys().any(|vcpu| !config.vcpu_pins.contains_key(vcpu))
            || there.iothreads.keys().any(|id| !config.iothread_pins.contains_key(id))
            || config.emulator_pin.is_none();
        let rest = match &config.default_cpuset {
            Some(cpus) => cpus.clone(),
            None if unpinned => self.hypervisor.host()?.topology.online,
            None => CpuSet::new(),
        };
        Ok(Pins {
            vcpus: given(&there.vcpus, &config.vcpu_pins, &rest),
            emulator: there
                .emulator
                .as_ref()
                .map(|_| config.emulator_pin.clone().unwrap_or_else(|| rest.clone())),
            iothreads: given(&there.iothreads, &config.iothread_pins, &rest),
        })
    }
}

/// The threads of a guest by its live definition; what they run on is left open.
fn there(live: &GuestConfig) -> Pins {
    Pins {
        vcpus: (0..live.vcpus_current).map(|id| (Vcpu(id), CpuSet::new())).collect(),
        emulator: Some(CpuSet::new()),
        iothreads: live.iothreads.iter().map(|id| (*id, CpuSet::new())).collect(),
    }
}

/// For each thread that is there its pin, or the rest.
fn given<K: Ord + Copy>(
    there: &BTreeMap<K, CpuSet>,
    pins: &BTreeMap<K, CpuSet>,
    rest: &CpuSet,
) -> BTreeMap<K, CpuSet> {
    there.keys().map(|id| (*id, pins.get(id).unwrap_or(rest).clone())).collect()
}

fn moved<K: Ord + Copy>(
    wanted: &BTreeMap<K, CpuSet>,
    now: &BTreeMap<K, CpuSet>,
    has: &BTreeMap<K, CpuSet>,
    pinned: &BTreeMap<K, CpuSet>,
) -> BTreeMap<K, CpuSet> {
    let elsewhere = |id: &K, cpus: &CpuSet| {
        now.get(id) != Some(cpus) || has.get(id).map_or(pinned.contains_key(id), |has| has != cpus)
    };
    wanted
        .iter()
        .filter(|(id, cpus)| elsewhere(id, cpus))
        .map(|(id, cpus)| (*id, cpus.clone()))
        .collect()
}

pub(crate) fn live_pins_in(steps: &[Step]) -> Option<Pins> {
    steps.iter().find_map(|step| match step {
        Step::LivePins { before } => Some(before.clone()),
        _ => None,
    })
}
