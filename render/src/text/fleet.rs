//! Plans for many hosts as tables, and why a request has no place.

use super::said::paragraph;
use super::tables::{drawn, plain_table};
use crate::captions::printable;
use crate::en;
use crate::look::Look;
use crate::style::Meaning;
use numawise_model::{CpuSet, NodeSet};
use std::collections::BTreeSet;

/// Where a request goes.
#[derive(Clone, Debug)]
pub struct FleetPlace {
    pub request: String,
    pub host: String,
    pub rack: Option<String>,
    pub nodes: NodeSet,
    pub pcpus: CpuSet,
    pub l3_domains: u32,
    /// Numbers of the preferences by name, the first that matters first.
    pub rank: FleetRank,
    pub is_best: bool,
    /// Whether the host says what memory it has.
    pub memory_checked: bool,
}

/// What decided between hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct FleetRank {
    pub areas: u32,
    pub distance: u64,
    pub opened_hosts: u32,
    pub opened_areas: u32,
    pub opened_domains: u64,
    pub left_on_host: u32,
}

/// Why a request has no place: hosts by what stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetRefusal {
    pub request: String,
    /// Requests like it with the same said of them, itself not counted.
    pub alike: u32,
    pub certain: bool,
    pub cut_short: bool,
    /// The others of the batch have their places; without them there would be one for it.
    pub beside_others: bool,
    pub hosts: u32,
    pub without_rack: u32,
    pub against_rules: u32,
    pub short_of_cpus: u32,
    pub short_of_memory: u32,
    pub without_a_way: u32,
    pub with_a_place: u32,
    /// On hosts as they are.
    pub stands: BTreeSet<FleetStands>,
    pub moving_may_help: bool,
    /// On hosts without guests; nothing where one of them has a place.
    pub stands_when_empty: BTreeSet<FleetStands>,
}

/// What of a request stands against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FleetStands {
    L3,
    Vnodes,
    Smt,
    Emulator,
    Vcpus,
    Memory,
    Several,
}

/// Why a guest cannot be moved by a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetStays {
    SharesCpus { cpus: CpuSet },
    NoCpus,
    UnknownCpus { cpus: CpuSet },
    NoMemory,
    SeveralPageSizes,
    UnknownNodes { nodes: NodeSet },
    MemoryOnly { nodes: NodeSet },
}

/// A guest that moves.
#[derive(Clone, Debug)]
pub struct FleetMove {
    pub guest: String,
    pub from: String,
    pub to: String,
    pub pcpus_now: CpuSet,
    pub nodes: NodeSet,
    pub pcpus: CpuSet,
}

pub fn fleet_places(places: &[FleetPlace], look: &Look) -> String {
    if places.is_empty() {
        return String::new();
    }
    let mut table = plain_table(look.width);
    let racks = places.iter().any(|place| place.rack.is_some());
    let [request, host, rack, nodes, pcpus, l3] = en::fleet::PLACE_TABLE;
    let header = [request, host].into_iter().chain(racks.then_some(rack));
    table.set_header(header.chain([nodes, pcpus, l3]));
    for place in places {
        let rack = racks.then(|| place.rack.as_deref().map_or_else(|| "-".to_owned(), printable));
        let cells = [&place.request, &place.host].map(|name| printable(name));
        let cells = cells.into_iter().chain(rack);
        table.add_row(cells.chain([
            place.nodes.to_string(),
            place.pcpus.to_string(),
            place.l3_domains.to_string(),
        ]));
    }
    drawn(table)
}

/// The reasons for each place.
pub fn fleet_reasons(places: &[FleetPlace], look: &Look) -> String {
    places.iter().map(|place| paragraph("", &en::fleet::reason(place), look)).collect()
}

pub fn fleet_refusals(refusals: &[FleetRefusal], look: &Look) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", en::labels::REFUSED));
    let said = refusals.iter().map(en::fleet::refusal);
    said.map(|said| paragraph(&format!("{head} "), &said, look)).collect()
}

pub fn fleet_moves(moves: &[FleetMove], look: &Look) -> String {
    if moves.is_empty() {
        return format!("{}\n", en::fleet::NO_MOVES);
    }
    let mut table = plain_table(look.width);
    table.set_header(en::fleet::MOVE_TABLE);
    for (step, one) in (1..).zip(moves) {
        table.add_row([
            step.to_string(),
            printable(&one.guest),
            en::fleet::kind(one).to_owned(),
            printable(&one.from),
            one.pcpus_now.to_string(),
            printable(&one.to),
            one.nodes.to_string(),
            one.pcpus.to_string(),
        ]);
    }
    drawn(table)
}

/// What the number of moves is worth.
pub fn fleet_room(moves: usize, is_fewest: bool) -> String {
    en::fleet::room(moves, is_fewest) + "\n"
}

/// The bound in steps or time was reached.
pub fn fleet_cut_short() -> &'static str {
    en::fleet::CUT_SHORT
}

/// Nothing was placed since something was refused.
pub fn fleet_all_or_nothing(placed: usize, refused: usize) -> String {
    en::fleet::all_or_nothing(placed, refused)
}

/// No way to make room was found.
pub fn fleet_no_room(
    is_certain: bool,
    cut_short: bool,
    stands: &BTreeSet<FleetStands>,
    look: &Look,
) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", en::labels::REFUSED));
    paragraph(&format!("{head} "), &en::fleet::no_room(is_certain, cut_short, stands), look)
}

/// A guest that would have to move and cannot be moved.
pub fn fleet_stays(guest: &str, host: &str, why: &FleetStays, look: &Look) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", en::labels::REFUSED));
    paragraph(&format!("{head} "), &en::fleet::stays(guest, host, why), look)
}

/// Hosts that got guests without their memory being known.
pub fn fleet_memory_unknown(hosts: &BTreeSet<String>, look: &Look) -> String {
    let head = look.paint(Meaning::Warning, &format!("{}:", en::fleet::WARNING));
    paragraph(&format!("{head} "), &en::fleet::memory_unknown(hosts), look)
}

/// More is wanted than there is, whatever is left out.
pub fn fleet_more_than_there_is(vcpus: u64, free: u64, look: &Look) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", en::labels::REFUSED));
    paragraph(&format!("{head} "), &en::fleet::more_than_there_is(vcpus, free), look)
}
