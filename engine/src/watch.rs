//! Watching: one look after the other, and what is different since the one before. Changes nothing.
//!
//! A look at threads alone cannot see pages, nor the guest's own view. What a closer look found
//! there stays known until the next look as close says otherwise. So nothing is told twice, and
//! nothing is taken back that nobody looked at.

use crate::error::EngineError;
use crate::loop_parts::{Engine, Situation};
use crate::ports::{Depth, PortError};
use numawise_model::event::WatchEvent;
use numawise_model::{Finding, FindingKind, GuestUuid, Sight};
use std::collections::BTreeMap;

/// What was seen last.
#[derive(Debug, Default)]
pub struct Watch {
    /// Names or UUIDs; all guests where there are none.
    wanted: Vec<String>,
    /// `None` before the first look.
    known: Option<BTreeMap<GuestUuid, Known>>,
    blind: bool,
}

#[derive(Clone, Debug)]
struct Known {
    name: String,
    running: bool,
    findings: Vec<Finding>,
}

impl Watch {
    pub fn of(wanted: Vec<String>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Looks, and says what changed. The first look has to succeed, and tells every finding that is
    /// there; later ones that fail are told once, and the next that succeeds.
    pub fn look(
        &mut self,
        engine: &Engine<'_>,
        depth: Depth,
    ) -> Result<Vec<WatchEvent>, EngineError> {
        let seen = match self.read(engine, depth) {
            Ok(seen) => seen,
            Err(EngineError::Port(PortError::Cancelled)) => {
                return Err(PortError::Cancelled.into());
            }
            Err(error) if self.known.is_none() => return Err(error),
            Err(_) if self.blind => return Ok(Vec::new()),
            Err(error) => {
                self.blind = true;
                return Ok(vec![WatchEvent::Blind { why: error.to_string() }]);
            }
        };
        let mut events = Vec::new();
        if std::mem::take(&mut self.blind) {
            events.push(WatchEvent::SeesAgain);
        }
        events.extend(differences(self.known.as_ref(), &seen));
        self.known = Some(seen);
        Ok(events)
    }

    fn read(
        &self,
        engine: &Engine<'_>,
        depth: Depth,
    ) -> Result<BTreeMap<GuestUuid, Known>, EngineError> {
        let situation = engine.read_situation(false)?;
        if self.known.is_none() {
            // A name that is not there is a slip of the pen now, and a guest that went away later.
            for wanted in &self.wanted {
                situation.find(wanted, &engine.hypervisor.uri())?;
            }
        }
        let mut seen = BTreeMap::new();
        for guest in &situation.guests.known {
            let uuid = &guest.summary.uuid;
            if !self.is_wanted(uuid, &guest.summary.name) {
                continue;
            }
            let state = match engine.look_at(&guest.summary, &situation, depth) {
                Ok(state) => state,
                // It went away while it was looked at.
                Err(EngineError::Port(PortError::NotFound(_))) => continue,
                Err(error) => return Err(error),
            };
            let mut findings = state.findings;
            if state.summary.running {
                self.drop_passing(uuid, &mut findings);
                self.keep_unseen(uuid, depth, &mut findings);
            }
            let (name, running) = (state.summary.name, state.summary.running);
            seen.insert(uuid.clone(), Known { name, running, findings });
        }
        self.keep_unreadable(&situation, &mut seen);
        Ok(seen)
    }

    fn is_wanted(&self, uuid: &GuestUuid, name: &str) -> bool {
        let names = |wanted: &String| *wanted == name || wanted.to_ascii_lowercase() == uuid.0;
        self.wanted.is_empty() || self.wanted.iter().any(names)
    }

    fn before(&self, uuid: &GuestUuid) -> Option<&Known> {
        self.known.as_ref()?.get(uuid)
    }

    /// Threads that were there at the look before and cannot be found now: the guest is stopping,
    /// and the next look says so.
    fn drop_passing(&self, uuid: &GuestUuid, findings: &mut Vec<Finding>) {
        if let Some(before) = self.before(uuid).filter(|known| known.running) {
            findings.retain(|f| {
                let threads = FindingKind::NotVerified { what: Sight::Threads, why: String::new() };
                without_counts(&f.kind) != threads || has(&before.findings, f)
            });
        }
    }

    /// Adds what a closer look found and this one could not see.
    fn keep_unseen(&self, uuid: &GuestUuid, depth: Depth, findings: &mut Vec<Finding>) {
        let before = self.before(uuid).filter(|known| known.running);
        for old in before.into_iter().flat_map(|known| &known.findings) {
            if needs(&old.kind) > depth && !has(findings, old) {
                findings.push(old.clone());
            }
        }
    }

    /// A guest whose definition cannot be read is there all the same.
    fn keep_unreadable(&self, situation: &Situation, seen: &mut BTreeMap<GuestUuid, Known>) {
        for (guest, _) in &situation.guests.unreadable {
            if let Some(known) = self.before(&guest.uuid) {
                seen.insert(guest.uuid.clone(), known.clone());
            }
        }
    }
}

fn differences(
    before: Option<&BTreeMap<GuestUuid, Known>>,
    now: &BTreeMap<GuestUuid, Known>,
) -> Vec<WatchEvent> {
    let mut events = Vec::new();
    let nothing = BTreeMap::new();
    for (uuid, known) in before.unwrap_or(&nothing) {
        if !now.contains_key(uuid) {
            events.push(WatchEvent::Vanished { guest: known.name.clone() });
        }
    }
    for (uuid, known) in now {
        let old = before.and_then(|before| before.get(uuid));
        let guest = known.name.clone();
        match old.map(|old| old.running) {
            None if before.is_some() => events.push(WatchEvent::Appeared { guest }),
            Some(false) if known.running => events.push(WatchEvent::Started { guest }),
            Some(true) if !known.running => events.push(WatchEvent::Stopped { guest }),
            _ => {}
        }
        let old = old.map(|old| old.findings.as_slice()).unwrap_or_default();
        for finding in old.iter().filter(|f| !has(&known.findings, f)) {
            events.push(WatchEvent::Gone { finding: finding.clone() });
        }
        for finding in known.findings.iter().filter(|f| !has(old, f)) {
            events.push(WatchEvent::Found { finding: finding.clone() });
        }
    }
    events
}

/// How closely one has to look to see whether such a finding is still so.
fn needs(kind: &FindingKind) -> Depth {
    use FindingKind as K;
    match kind {
        K::MemoryElsewhere { .. } | K::NotVerified { what: Sight::Pages, .. } => Depth::Pages,
        K::GuestSeesOtherNodes { .. }
        | K::GuestNodeVcpus { .. }
        | K::GuestNodeDistances { .. }
        | K::GuestSeesOtherL3 { .. }
        | K::GuestNodeMemory { .. }
        | K::NotVerified { what: Sight::GuestNodes, .. } => Depth::Guest,
        _ => Depth::Threads,
    }
}

fn has(findings: &[Finding], wanted: &Finding) -> bool {
    let kind = without_counts(&wanted.kind);
    findings.iter().any(|f| f.subject == wanted.subject && without_counts(&f.kind) == kind)
}

/// A few pages more or less on the wrong node are the same finding.
fn without_counts(kind: &FindingKind) -> FindingKind {
    match kind.clone() {
        FindingKind::MemoryElsewhere { expected, seen, page_size, .. } => {
            FindingKind::MemoryElsewhere { expected, seen, page_size, pages: 0, of: 0 }
        }
        FindingKind::NotVerified { what, .. } => {
            FindingKind::NotVerified { what, why: String::new() }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, Watch, differences};
    use crate::ports::Depth;
    use numawise_model::event::WatchEvent as E;
    use numawise_model::{
        Finding, FindingKind, GuestUuid, PageSize, Pnode, Severity, Sight, Subject,
    };
    use std::collections::BTreeMap;

    fn uuid() -> GuestUuid {
        GuestUuid("1".to_owned())
    }

    fn finding(kind: FindingKind) -> Finding {
        let subject = Subject::Guest { uuid: Some(uuid()), name: "db".to_owned() };
        Finding { severity: Severity::Error, subject, kind }
    }

    fn elsewhere(pages: u64) -> Finding {
        let (expected, seen, page_size) = (Pnode(1), Pnode(0), PageSize::BASE_4K);
        finding(FindingKind::MemoryElsewhere { expected, seen, page_size, pages, of: 100 })
    }

    fn guest(running: bool, findings: &[Finding]) -> BTreeMap<GuestUuid, Known> {
        let known = Known { name: "db".to_owned(), running, findings: findings.to_vec() };
        BTreeMap::from([(uuid(), known)])
    }

    #[test]
    fn what_changed_is_told_once() {
        let found = || E::Found { finding: elsewhere(7) };
        let gone = || E::Gone { finding: elsewhere(7) };
        let name = || "db".to_owned();
        let (ran, moved) = (guest(true, &[]), guest(true, &[elsewhere(7)]));
        assert_eq!(differences(None, &moved), [found()], "a first look tells what there is");
        assert_eq!(differences(Some(&ran), &moved), [found()]);
        assert_eq!(differences(Some(&moved), &guest(true, &[elsewhere(8)])), [], "one page more");
        assert_eq!(differences(Some(&moved), &ran), [gone()]);
        let off = guest(false, &[]);
        assert_eq!(differences(Some(&moved), &off), [E::Stopped { guest: name() }, gone()]);
        assert_eq!(differences(Some(&off), &ran), [E::Started { guest: name() }]);
        let nobody = BTreeMap::new();
        assert_eq!(differences(Some(&off), &nobody), [E::Vanished { guest: name() }]);
        assert_eq!(differences(Some(&nobody), &off), [E::Appeared { guest: name() }]);
    }

    #[test]
    fn a_quick_look_takes_nothing_back_that_it_cannot_see() {
        let pin = finding(FindingKind::GuestUndefined);
        let known = Some(guest(true, &[elsewhere(7), pin]));
        let watch = Watch { known, ..Watch::default() };
        let kept = |depth| {
            let mut findings = Vec::new();
            watch.keep_unseen(&uuid(), depth, &mut findings);
            findings
        };
        assert_eq!(kept(Depth::Threads), [elsewhere(7)]);
        assert_eq!(kept(Depth::Pages), []);
    }

    #[test]
    fn threads_that_cannot_be_found_while_a_guest_stops_are_not_told() {
        let why = "gone".to_owned();
        let unseen = finding(FindingKind::NotVerified { what: Sight::Threads, why });
        let dropped = |before: Option<BTreeMap<GuestUuid, Known>>| {
            let mut findings = vec![unseen.clone()];
            Watch { known: before, ..Watch::default() }.drop_passing(&uuid(), &mut findings);
            findings.is_empty()
        };
        assert!(dropped(Some(guest(true, &[]))));
        assert!(!dropped(None), "a first look");
        assert!(!dropped(Some(guest(false, &[]))), "a guest that has just started");
        assert!(!dropped(Some(guest(true, std::slice::from_ref(&unseen)))), "known already");
    }
}
