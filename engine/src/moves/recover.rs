//! Moves that somebody began and did not end, found by a later command on either host.

use super::Move;
use super::settle::Settled;
use crate::error::EngineError;
use crate::intent::{Intent, IntentKind, IntentStatus, Peer};
use crate::loop_parts::Engine;
use crate::ports::PortError;
use numawise_model::event::Recovery;
use numawise_model::{Event, HostId};

const DIED: &str = "the process that carried it out was killed";

impl Engine<'_> {
    /// `held` is an engine over another host whose lock the caller holds too. `None` when the move
    /// has to wait, which is said: both claims stand.
    pub(crate) fn recover_move(
        &self,
        host: &HostId,
        intent: &Intent,
        peer: &Peer,
        held: Option<&Engine<'_>>,
    ) -> Result<Option<Recovery>, EngineError> {
        let Some(half) = self.half_of(host, intent)? else { return Ok(None) };
        let Some(twin) = self.half_of(&peer.host, intent)? else {
            return self.end_alone(host, &half).map(Some);
        };
        let leaves = matches!(half.kind, IntentKind::MoveOut { .. });
        let route = match leaves {
            true => route(host, &half, &twin),
            false => route(&peer.host, &twin, &half),
        };
        let Some(route) = route else { return Ok(None) };
        let ended = match held.filter(|held| held.is_over(&peer.host)) {
            Some(other) => self.settle_with(other, leaves, &route),
            None => match self.try_lock(&peer.host)? {
                // Whoever works there may be just about to end it.
                None => return Ok(None),
                Some(lock) => {
                    let ended = self.settle_over(peer, leaves, &route);
                    drop(lock);
                    ended
                }
            },
        };
        match ended {
            Ok(Settled::There(_)) => Ok(Some(Recovery::Finished)),
            Ok(Settled::Here) => Ok(Some(Recovery::Reverted)),
            Err(EngineError::Port(PortError::Cancelled)) => Err(PortError::Cancelled.into()),
            Err(why) => {
                let (guest, intent) = (intent.guest_name.clone(), intent.id.to_string());
                let (peer, why) = (peer.uri.clone(), why.to_string());
                self.emit(Event::MoveWaits { guest, intent, peer, why });
                Ok(None)
            }
        }
    }

    /// The pending half of a move in a host's document, as it is now.
    fn half_of(&self, host: &HostId, intent: &Intent) -> Result<Option<Intent>, EngineError> {
        let state = self.store.load(host)?;
        let mut pending = state.intents.into_iter().filter(|i| i.status == IntentStatus::Pending);
        Ok(pending.find(|half| half.id == intent.id))
    }

    /// One half waits and the other does not: the order in which they are written says which of the
    /// two ends that is, and nobody needs the other host.
    fn end_alone(&self, host: &HostId, half: &Intent) -> Result<Recovery, EngineError> {
        let arrived = matches!(half.kind, IntentKind::MoveIn { .. });
        let status = match arrived {
            true => IntentStatus::Done,
            false => IntentStatus::RolledBack { because: DIED.to_owned() },
        };
        self.update_state(host, |state| {
            crate::reconcile::set_status(state, half, status.clone());
            Ok(())
        })?;
        Ok(if arrived { Recovery::Finished } else { Recovery::Reverted })
    }

    fn is_over(&self, host: &HostId) -> bool {
        self.hypervisor.host_id().is_ok_and(|id| &id == host)
    }

    fn settle_over(&self, peer: &Peer, leaves: bool, route: &Move) -> Result<Settled, EngineError> {
        let hypervisor = (self.open_peer)(&peer.uri)?;
        let other = self.beside(&*hypervisor);
        if !other.is_over(&peer.host) {
            let text = format!("{} leads to another host than {} today", peer.uri, peer.host);
            return Err(PortError::Failed(text).into());
        }
        self.settle_with(&other, leaves, route)
    }

    fn settle_with(
        &self,
        other: &Engine<'_>,
        leaves: bool,
        route: &Move,
    ) -> Result<Settled, EngineError> {
        match leaves {
            true => self.settle(other, route, DIED),
            false => other.settle(self, route, DIED),
        }
    }
}

/// `from` is the host of the first half.
fn route(from: &HostId, out: &Intent, coming: &Intent) -> Option<Move> {
    let IntentKind::MoveOut { to, keep_source } = &out.kind else { return None };
    let IntentKind::MoveIn { from: source, plan, frozen } = &coming.kind else { return None };
    (&source.host == from).then(|| Move {
        id: out.id.clone(),
        guest: out.guest.clone(),
        name: out.guest_name.clone(),
        from: source.clone(),
        to: to.clone(),
        keep_source: *keep_source,
        plan: plan.clone(),
        frozen: frozen.clone(),
    })
}
