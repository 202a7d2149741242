//! What is said of plans for many hosts.

use super::{Said, nodes, pcpus, say};
use crate::quantity::count;
use crate::text::{
    FleetMove, FleetPlace, FleetRefusal, FleetStands as Stands, FleetStays as Stays,
};
use std::collections::BTreeSet;

pub const PLACE_TABLE: [&str; 6] = ["request", "host", "rack", "nodes", "pCPUs", "L3 domains"];
pub const MOVE_TABLE: [&str; 8] =
    ["step", "guest", "how", "from", "pCPUs now", "to", "nodes", "pCPUs"];
pub const WARNING: &str = "warning";
pub const NO_MOVES: &str = "Nothing has to move.";
pub const CUT_SHORT: &str = "The search was cut short: this is the best that was found by then. \
                             More time or steps (--deadline, --steps) may find a better answer.";

pub fn kind(one: &FleetMove) -> &'static str {
    if one.from == one.to { "repin" } else { "migrate" }
}

pub fn room(moves: usize, is_fewest: bool) -> String {
    let moves = count(moves as u64, "move");
    match is_fewest {
        true => format!("{moves}: there is no way with fewer."),
        false => format!("{moves}: the best that was found; fewer may be possible."),
    }
}

pub fn all_or_nothing(placed: usize, refused: usize) -> String {
    let all = count((placed + refused) as u64, "request");
    let others = if placed > 0 { " With --most the others are placed." } else { "" };
    format!("No place for {refused} of {all}, so nothing is placed.{others}")
}

pub fn no_room(is_certain: bool, cut_short: bool, stands: &BTreeSet<Stands>) -> Said {
    let said = match (is_certain, cut_short) {
        (true, _) => say("the request fits on no host, not even on one without guests"),
        (false, true) => say("no way to make room was found before the search was cut short")
            .way("give the search more steps or time (--steps, --deadline)"),
        (false, false) => say("no way to make room was found by moving guests")
            .way("ask for less, or give the search more steps with --steps"),
    };
    give_up(said, stands)
}

/// What a request could do without.
fn give_up(said: Said, stands: &BTreeSet<Stands>) -> Said {
    stands.iter().fold(said, |said, stands| match stands {
        Stands::L3 => said
            .fact("what it says of l3 stands against it: without that there would be a place")
            .way("leave out l3, or name another number of L3 domains"),
        Stands::Vnodes => said
            .fact("how it is to be cut into vNUMA nodes stands against it: without that there would be a place")
            .way("leave out vnodes and split, or name another number"),
        Stands::Smt => said
            .fact("what it says of smt stands against it: without that there would be a place")
            .way("leave out smt"),
        Stands::Emulator => said
            .fact("the pCPU for its emulator alone is missing")
            .way("ask for emulator=housekeeping, or one vCPU fewer"),
        Stands::Vcpus => said
            .fact("no host has so many pCPUs to give")
            .way("ask for fewer vCPUs"),
        Stands::Memory => said
            .fact("no host has so much memory in pages of this size")
            .way("ask for less memory or another page-size"),
        Stands::Several => said
            .fact("no one thing of it stands against it alone: vCPUs, memory and how they are to lie do not come together")
            .way("ask for fewer vCPUs, less memory, or leave out l3, smt and vnodes"),
    })
}

pub fn stays(guest: &str, host: &str, why: &Stays) -> Said {
    let said = say(format!("{guest} on {host} cannot be moved by a plan"));
    let own = "give it pCPUs of its own: numawise bind on its host, then take a new ledger";
    let ledger =
        "put the ledger right: it has to say of which host's nodes and pCPUs the guest has what";
    match why {
        Stays::SharesCpus { cpus } => said
            .fact(format!(
                "it shares {} with others: what it needs elsewhere cannot be told",
                pcpus(cpus)
            ))
            .way(own),
        Stays::NoCpus => said.fact("its ledger names no pCPUs of its own").way(own),
        Stays::UnknownCpus { cpus } => said
            .fact(format!("its ledger names {}, which the host does not have", pcpus(cpus)))
            .way(ledger),
        Stays::NoMemory => said.fact("its ledger says nothing of its memory").way(ledger),
        Stays::SeveralPageSizes => said
            .fact("its memory is in pages of several sizes, and a place is looked for with one")
            .way("move it by hand: numawise migrate"),
        Stays::MemoryOnly { nodes: of } => said
            .fact(format!(
                "it has memory of {}, which have no CPUs: a place is looked for without such nodes",
                nodes(of)
            ))
            .way("move it by hand: numawise migrate"),
        Stays::UnknownNodes { nodes: of } => said
            .fact(format!("its ledger has memory of {}, which the host does not have", nodes(of)))
            .way(ledger),
    }
}

pub fn memory_unknown(hosts: &BTreeSet<String>) -> Said {
    let names = hosts.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    say(format!("how much memory there is was not known, and so not checked: {names}"))
        .way("capture the host itself: numawise host capture")
}

pub fn more_than_there_is(vcpus: u64, free: u64) -> Said {
    say(format!("the requests want {vcpus} pCPUs in all, and {free} are free"))
}

pub fn reason(place: &FleetPlace) -> Said {
    let rank = &place.rank;
    let mut said = say(format!(
        "{} on {}: {}, {}",
        place.request,
        place.host,
        count(u64::from(rank.areas), "node"),
        count(u64::from(place.l3_domains), "L3 domain"),
    ));
    if rank.distance > 0 {
        said = said.fact(format!("distance over all pairs of vCPUs: {}", rank.distance));
    }
    let mut opened = Vec::new();
    if rank.opened_hosts > 0 {
        opened.push("a host that had no guest".to_owned());
    }
    if rank.opened_areas > 0 {
        opened.push(count(u64::from(rank.opened_areas), "node"));
    }
    if rank.opened_domains > 0 {
        opened.push(count(rank.opened_domains, "L3 domain"));
    }
    if !opened.is_empty() {
        said = said.fact(format!("opens what nobody had: {}", opened.join(", ")));
    }
    said = said.fact(format!("{} left free on the host", count(rank.left_on_host.into(), "pCPU")));
    match place.is_best {
        true => said.fact("no host is better by the preferences"),
        false => said.fact("the best of the hosts that were asked"),
    }
}

pub fn refusal(refusal: &FleetRefusal) -> Said {
    let why = refusal;
    let who = match refusal.alike {
        0 => refusal.request.clone(),
        more => format!("{} and {} like it", refusal.request, count(u64::from(more), "request")),
    };
    let on = hosts(why.hosts);
    let sentence = match (refusal.certain, refusal.cut_short) {
        (_, true) => {
            format!("no place for {who} was found on {on} before the search was cut short")
        }
        (true, _) => format!("{who}: fits on none of {on}"),
        (false, _) if refusal.beside_others => {
            format!("no place for {who} was found on {on} beside the other requests")
        }
        (false, _) => format!("no place for {who} was found on {on}"),
    };
    let mut said = say(sentence);
    let facts = [
        (
            why.without_rack,
            "stand in no rack that is known (hosts.toml says which), as per-rack wants",
        ),
        (why.against_rules, "stand against its group rules"),
        (why.short_of_cpus, "have too few free pCPUs for it"),
        (why.short_of_memory, "have too little memory on the nodes with free pCPUs"),
        (why.without_a_way, "have enough of both, and not together as it is asked for"),
        (why.with_a_place, "have a place for it alone, and not with what must be there too"),
    ];
    for (index, (hosts_so, what)) in facts.into_iter().enumerate() {
        let what = match (index, refusal.cut_short) {
            (5, true) => "have a place for it that was not reached",
            _ => what,
        };
        if hosts_so > 0 {
            said = said.fact(format!("{}: {what}", hosts(hosts_so)));
        }
    }
    let stands =
        if why.stands_when_empty.is_empty() { &why.stands } else { &why.stands_when_empty };
    let mut stands = stands.clone();
    if why.moving_may_help || why.against_rules + why.without_rack == why.hosts {
        stands.remove(&Stands::Several);
        stands.remove(&Stands::Vcpus);
        stands.remove(&Stands::Memory);
    }
    give_up(said, &stands)
        .way_if(
            why.moving_may_help,
            "make room by moving guests: numawise fleet defrag --hosts DIR --for '...'",
        )
        .way_if(
            why.short_of_memory > 0 && !stands.contains(&Stands::Memory),
            "ask for less memory or another page-size",
        )
        .way_if(why.without_rack > 0, "say in hosts.toml in which rack each host stands")
        .way_if(
            why.against_rules > 0 && why.against_rules + why.without_rack == why.hosts,
            "loosen the group rule, or add hosts to it",
        )
        .way_if(refusal.cut_short, "give the search more steps or time (--steps, --deadline)")
}

fn hosts(hosts: u32) -> String {
    count(u64::from(hosts), "host")
}
