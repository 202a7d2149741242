//! What is said while a plan is carried out.

use crate::en::findings::sight;
use crate::en::obstacles::{obstacle, owner as whose};
use crate::quantity::{bytes, count};
use numawise_model::event::{Event as E, Recovery};
use numawise_model::{Finding, FindingKind, Severity};

pub fn event(event: &E) -> String {
    match event {
        E::Claimed { guest, intent } => {
            format!("{guest}: intent {intent} and its claims are written")
        }
        E::ClaimRaced { attempt } => {
            format!("somebody else changed the ledger first; reading it again (attempt {attempt})")
        }
        E::WaitingForHostLock => "waiting for another numawise that works on this host".to_owned(),
        E::Defined { guest } => format!("{guest}: the new definition is stored"),
        E::NothingToDefine { guest } => {
            format!("{guest}: the definition says so already, nothing to store")
        }
        E::ShuttingDown { guest } => format!("{guest}: shutting down"),
        E::ForcedOff { guest } => {
            format!("{guest}: did not stop in time and was switched off (--force)")
        }
        E::PinnedLive { guest } => format!("{guest}: the threads of the running guest are moved"),
        E::NothingToMove { guest } => {
            format!("{guest}: is off, so there are no threads to move; it starts where it is bound")
        }
        E::OwnerOverridden { guest, owner } => {
            format!("{guest}: changed all the same (--override-owner), although {}", whose(*owner))
        }
        E::ObstacleNoticed { guest, obstacle: seen } => {
            format!("{guest}: note: {}", obstacle(seen).sentence)
        }
        E::Starting { guest } => format!("{guest}: starting"),
        E::Running { guest } => format!("{guest}: running"),
        E::TakesEffectAtNextBoot { guest } => format!(
            "{guest}: takes effect when the guest is shut down and started again (--restart does it \
             at once)"
        ),
        E::TopologyFrozen { guest } => format!(
            "{guest}: seen running with this topology; from now on it changes only with \
             --new-topology"
        ),
        E::Verified { guest, findings } => format!("{guest}: {}", verified(findings)),
        E::RollingBack { guest, because } => format!("{guest}: going back, because {because}"),
        E::LeftAsEdited { guest } => format!(
            "{guest}: its pins or nodes were changed by somebody else meanwhile; their definition \
             stays as it is"
        ),
        E::MayStillShutDown { guest } => format!(
            "{guest}: still running, and was asked to shut down: it may do so later; then start it \
             yourself"
        ),
        E::RolledBack { guest } => format!("{guest}: back in the old state"),
        E::Recovered { guest, intent, outcome } => format!(
            "{guest}: intent {intent} had been interrupted and is now {}",
            match outcome {
                Recovery::Finished => "finished: the new state is in force",
                Recovery::Reverted => "taken back: the old state is in force",
            }
        ),
        E::ClaimsReleased { guest } => format!("{guest}: its CPUs and memory are given back"),
        E::Moving { guest, to, live: true } => format!("{guest}: moving to {to}, running"),
        E::Moving { guest, to, live: false } => format!("{guest}: its definition goes to {to}"),
        E::MoveProgressed { guest, progress } => format!(
            "{guest}: {} of {} still to go",
            bytes(progress.left_bytes),
            bytes(progress.total_bytes)
        ),
        E::Arrived { guest, at } => format!("{guest}: is at {at}"),
        E::LeftSource { guest, from } => {
            format!("{guest}: gone from {from}, and its CPUs and memory there are given back")
        }
        E::MoveWaits { guest, intent, peer, why } => format!(
            "{guest}: the interrupted move {intent} waits for {peer}; until then its CPUs and memory \
             stay claimed on both hosts: {why}"
        ),
    }
}

/// Of a guest that no plan is made for.
pub fn moves_as_it_is(guest: &str) -> String {
    format!(
        "guest {guest} is bound to nothing on its host, so it goes as it is: no pins, no claims on the \
         other host"
    )
}

/// What could not be looked at is not called as planned.
fn verified(findings: &[Finding]) -> String {
    let of = |wanted| findings.iter().filter(|f| f.severity == wanted).count() as u64;
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let unseen = not_looked_at(findings);
    let said = match (errors, warnings) {
        (0, 0) if unseen.is_empty() => "verified, everything is as planned".to_owned(),
        (0, 0) => "verified, what can be seen is as planned".to_owned(),
        (0, n) => format!("verified with {}", count(n, "warning")),
        (n, 0) => format!("verified: {} from the plan", count(n, "difference")),
        (n, m) => {
            format!("verified: {} from the plan, {}", count(n, "difference"), count(m, "warning"))
        }
    };
    if unseen.is_empty() {
        said
    } else {
        format!("{said}; not looked at: {}", unseen.join(" and "))
    }
}

fn not_looked_at(findings: &[Finding]) -> Vec<&'static str> {
    let words = findings.iter().filter_map(|finding| match &finding.kind {
        FindingKind::NotVerified { what, .. } => Some(sight(*what)),
        _ => None,
    });
    words.collect()
}
