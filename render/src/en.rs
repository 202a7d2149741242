//! English. Every word that numawise says stands in this file and in those beside it in `en/`; the
//! drawing code asks for words by what they mean. A sentence names the value that was seen and the one
//! that was expected, and whoever can do something about it is told what, with the flag or command.

pub mod audits;
pub mod checks;
pub mod cpu;
pub mod databases;
pub mod events;
pub mod experiment;
pub mod experiment_runs;
pub mod findings;
pub mod fleet;
pub mod labels;
pub mod measured;
pub mod obstacles;
pub mod oltp;
pub mod placement;
pub mod predicates;
pub mod reasons;
pub mod refusals;
pub mod rules;
pub mod tpcc;
pub mod tuning;
pub mod undo;
pub mod watch;

use crate::quantity::count;
use numawise_model::{CpuSet, Id, IdSet, NodeSet, Owner, Pcpu, VcpuSet, Vnode};

/// What is said of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub sentence: String,
    /// What is free where, who holds what: one line each.
    pub facts: Vec<String>,
    /// What the reader can do, the best way first. Empty where there is nothing to do.
    pub ways: Vec<String>,
}

fn say(sentence: impl Into<String>) -> Said {
    Said { sentence: sentence.into(), ..Said::default() }
}

impl Said {
    fn fact(mut self, fact: impl Into<String>) -> Self {
        self.facts.push(fact.into());
        self
    }

    fn way(mut self, way: impl Into<String>) -> Self {
        self.ways.push(way.into());
        self
    }

    fn way_if(self, holds: bool, way: impl Into<String>) -> Self {
        if holds { self.way(way) } else { self }
    }
}

/// A way as a command can go it that may lack an option which the way names. What gives a size is in the
/// guest's definition then; other options belong to `bind`.
pub fn way_for(way: &str, has: &dyn Fn(&str) -> bool, bind_has: &dyn Fn(&str) -> bool) -> String {
    let option = |word: &str| {
        let start = word.find("--")?;
        let name = word[start..].trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        (name.len() > 2).then(|| name.to_owned())
    };
    let options: Vec<String> = way.split_whitespace().filter_map(option).collect();
    // A way that names a command says it all.
    if way.contains("numawise ") || options.iter().all(|option| has(option)) {
        return way.to_owned();
    }
    let is_size = |option: &String| option == "--vcpus" || option == "--memory";
    if options.iter().any(is_size) {
        let bare = match way.split_once(" (--") {
            Some((bare, rest)) => format!("{bare}{}", rest.split_once(')').map_or("", |(_, r)| r)),
            None => way.split(": --").next().unwrap_or(way).to_owned(),
        };
        return format!("{bare}, in the guest's definition");
    }
    match options.iter().all(|option| bind_has(option)) {
        true => format!("{way} (an option of numawise bind)"),
        false => format!("{way} (an option of numawise plan)"),
    }
}

/// `pCPU 3`, `pCPUs 0-3,8`, `no pCPU`.
fn pcpus(set: &CpuSet) -> String {
    named_set(set, "pCPU")
}

fn vcpus(set: &VcpuSet) -> String {
    named_set(set, "vCPU")
}

/// `node 1`, `nodes 0-1`.
fn nodes(set: &NodeSet) -> String {
    named_set(set, "node")
}

fn named_set<I: Id>(set: &IdSet<I>, noun: &str) -> String {
    match set.len() {
        0 => format!("no {noun}"),
        1 => format!("{noun} {set}"),
        _ => format!("{noun}s {set}"),
    }
}

/// `is` or `are`, to follow a set.
fn are<I: Id>(set: &IdSet<I>) -> &'static str {
    if set.len() == 1 { "is" } else { "are" }
}

/// The form of a verb that follows a set: `belongs` or `belong`.
fn verb<I: Id>(set: &IdSet<I>, one: &'static str, several: &'static str) -> &'static str {
    if set.len() == 1 { one } else { several }
}

/// A list, or the word for an empty one.
fn list<I: Id>(set: &IdSet<I>) -> String {
    if set.is_empty() { "none".to_owned() } else { set.to_string() }
}

fn seen_set(set: Option<&CpuSet>) -> String {
    match set {
        Some(set) => list(set),
        None => "nothing".to_owned(),
    }
}

/// Of a cgroup file, where one is known to limit.
fn limit(file: Option<&str>) -> String {
    match file {
        Some(file) => format!(" by {file}"),
        None => String::new(),
    }
}

pub fn owner(owner: &Owner) -> String {
    match owner {
        Owner::Guest { name, .. } => format!("guest {name}"),
        Owner::Process { name } => format!("process {name}"),
        Owner::Irq { device } => format!("interrupts of {device}"),
        Owner::Reserved => "the host itself (reserved)".to_owned(),
    }
}

fn owners(all: &[Owner]) -> String {
    and(&all.iter().map(owner).collect::<Vec<_>>())
}

/// `a`, `a and b`, `a, b and c`.
fn and(words: &[String]) -> String {
    match words {
        [] => "nobody".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn numbers(all: &[u32]) -> String {
    and(&all.iter().map(u32::to_string).collect::<Vec<_>>())
}

fn vnode(id: Vnode) -> String {
    format!("vNUMA node {id}")
}

fn pcpu(id: Pcpu) -> String {
    format!("pCPU {id}")
}

fn n_vcpus(n: u32) -> String {
    count(u64::from(n), "vCPU")
}

/// How many members, with the noun: `32 pCPUs`.
fn n_pcpus(set: &CpuSet) -> String {
    count(set.len() as u64, "pCPU")
}
