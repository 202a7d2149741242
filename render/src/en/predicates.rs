//! What a plan needed and no longer finds.

use super::{Said, pcpus, say};
use crate::quantity::pages;
use numawise_model::{Mode, Predicate};

pub fn predicate(predicate: &Predicate) -> Said {
    match predicate {
        Predicate::CpusUnclaimed { cpus, mode } => {
            let how = match mode {
                Mode::Exclusive => "held alone",
                Mode::Shared => "shared",
            };
            say(format!(
                "{} can no longer be {how}: somebody else has claimed {} since",
                pcpus(cpus),
                if cpus.len() == 1 { "it" } else { "some of them" }
            ))
        }
        Predicate::PagesAvailable { node, size, pages: wanted } => say(format!(
            "node {node} no longer has {} that are free and not promised to others",
            pages(*wanted, *size)
        )),
        Predicate::FrozenTopology { .. } => {
            say("the guest's frozen topology is another one than when the plan was made")
        }
    }
}
