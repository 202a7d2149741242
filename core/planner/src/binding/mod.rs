//! vCPUs to pCPUs, by one of four ways.
//!
//! [`best`] looks for the best place; [`smart`] is the published rule, [`manual`] the same inside
//! nodes that the user names, [`rules`] the user's own text. Whichever way a binding came about, [`overcommit`] tells whether every vCPU
//! can have a pCPU of its own, and [`remarks`] says what is worth knowing of it.
//!
//! Every vCPU must be bound. That each vCPU stays within one pNUMA node is asked for by vNUMA alone:
//! with vNUMA off a rule may let a vCPU roam over several nodes.

pub mod best;
pub mod manual;
pub mod overcommit;
pub mod passes;
pub mod remarks;
pub mod rules;
pub mod smart;

use crate::Notes;
use crate::situation::Situation;
use numawise_model::{Binding, CpuSet, Policy, Request, Vcpu};
use std::collections::BTreeMap;

/// vCPUs and the pCPUs each may run on.
pub type Pins = BTreeMap<Vcpu, CpuSet>;

/// A binding, and what was found with it.
pub struct Bound {
    pub binding: Binding,
    /// From the search for the best place: it decides more than the binding.
    pub place: Option<best::Place>,
}

/// Binds every vCPU, or notes every reason why it cannot.
pub fn bind(situation: &Situation, request: &Request, notes: &mut Notes) -> Option<Bound> {
    let (cpus, place) = match &request.policy {
        Policy::Smart => (smart::bind(situation, request, notes)?, None),
        Policy::OnNode(wanted) => (manual::bind(situation, request, wanted, notes)?, None),
        Policy::Rules(rules) => (rules::bind(situation, request, rules, notes)?, None),
        Policy::Best(wanted) => {
            let (cpus, place) = best::bind(situation, request, wanted, notes)?;
            (cpus, Some(place))
        }
        Policy::Unbound => return None,
    };
    let binding = Binding { cpus, mode: situation.mode };
    remarks::remark(situation, &binding, &request.policy, notes);
    Some(Bound { binding, place })
}
