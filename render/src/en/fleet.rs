//! What is said of plans for many hosts.

use super::{Said, say};
use crate::quantity::count;
use crate::text::{FleetMove, FleetPlace, FleetRefusal};

pub const PLACE_TABLE: [&str; 6] = ["request", "host", "rack", "nodes", "pCPUs", "L3 domains"];
pub const MOVE_TABLE: [&str; 8] =
    ["step", "guest", "how", "from", "pCPUs now", "to", "nodes", "pCPUs"];
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
    format!(
        "No place for {} of {}, so nothing is placed. With --most the others are placed.",
        refused,
        count((placed + refused) as u64, "request"),
    )
}

pub fn no_room(is_certain: bool) -> Said {
    match is_certain {
        true => say("the request fits on no host, not even on one without guests")
            .way("ask for fewer vCPUs, less memory or another page size"),
        false => say("no way to make room was found by moving guests")
            .way("give the search more steps with --steps, or ask for less"),
    }
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
    let sentence = match refusal.certain {
        true => format!("{} fits on none of {}", refusal.request, hosts(refusal.hosts)),
        false => {
            format!("no place for {} was found on {}", refusal.request, hosts(refusal.hosts))
        }
    };
    let mut said = say(sentence);
    let facts = [
        (refusal.against_rules, "stand against its group rules"),
        (refusal.short_of_cpus, "have too few free pCPUs for it"),
        (refusal.short_of_memory, "have too little memory on the nodes with free pCPUs"),
        (refusal.without_a_way, "have enough of both, and not together as it is asked for"),
    ];
    for (hosts_so, what) in facts.into_iter().filter(|(hosts_so, _)| *hosts_so > 0) {
        said = said.fact(format!("{}: {what}", hosts(hosts_so)));
    }
    let full = refusal.short_of_cpus + refusal.without_a_way > 0;
    said.way_if(full, "make room by moving guests: numawise fleet defrag --hosts DIR --for '...'")
        .way_if(refusal.short_of_memory > 0, "ask for less memory or another page-size")
        .way_if(refusal.against_rules == refusal.hosts, "loosen the group rule, or add hosts to it")
}

fn hosts(hosts: u32) -> String {
    count(u64::from(hosts), "host")
}
