//! Why a request has no place: each host under the first thing that stands against it there.

use super::Fleet;
use super::choose::could_hold;
use super::groups::Allowed;
use super::rank::seats;
use crate::fit::Wanted;

/// Hosts by what stands against a request on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WhyNot {
    pub hosts: u32,
    /// The group rules.
    pub against_rules: u32,
    /// Fewer seats than vCPUs, over all areas.
    pub short_of_cpus: u32,
    /// Seats enough, and less memory than wanted beside them.
    pub short_of_memory: u32,
    /// Enough of both, and no way to bring them together.
    pub without_a_way: u32,
}

pub fn why_not(fleet: &Fleet, wanted: &Wanted, allowed: &Allowed) -> WhyNot {
    let mut why = WhyNot { hosts: fleet.len() as u32, ..WhyNot::default() };
    for host in 0..fleet.len() {
        let free: u32 =
            fleet.stock(host).areas().iter().map(|places| seats(*places, wanted.smt)).sum();
        let counter = match () {
            () if !allowed.allows(fleet, host) => &mut why.against_rules,
            () if free < wanted.vcpus => &mut why.short_of_cpus,
            () if !could_hold(fleet, host, wanted) => &mut why.short_of_memory,
            () => &mut why.without_a_way,
        };
        *counter += 1;
    }
    why
}
