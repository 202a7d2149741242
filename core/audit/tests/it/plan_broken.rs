//! The good plan with one thing broken at a time; each must be found. What else the break entails
//! is listed too: a judge that finds more or less than that is wrong.

mod binding;
mod shown;
mod vnodes;

use crate::case::{Case, good, rules, set};
use binding::{BINDING, PROMISES};
use numawise_model::{FrozenTopology, GuestCpuTopology, Predicate, Vcpu};
use shown::{SURROUNDINGS, TOPOLOGY};
use vnodes::{MEMORY, VNUMA};

pub struct Broken {
    pub what: &'static str,
    pub change: fn(&mut Case),
    pub found: &'static str,
}

const fn broken(what: &'static str, change: fn(&mut Case), found: &'static str) -> Broken {
    Broken { what, change, found }
}

/// Moves a vCPU and what was promised with it, so that only the place is wrong.
fn rebind(case: &mut Case, vcpu: u32, cpus: &str) {
    case.plan.binding.cpus.insert(Vcpu(vcpu), set(cpus));
    let bound = case.plan.binding.pcpus();
    case.plan.claims[0].cpus = bound.clone();
    case.plan.requires[0] = Predicate::CpusUnclaimed { cpus: bound, mode: case.plan.binding.mode };
}

fn cpu(sockets: u32, dies: u32, cores: u32, threads: u32) -> GuestCpuTopology {
    GuestCpuTopology { sockets, dies, clusters: 1, cores, threads }
}

fn frozen(case: &mut Case) -> FrozenTopology {
    let topology = case.vnuma();
    FrozenTopology { cells: topology.cells(), cpu: topology.cpu, cpu_before: None }
}

pub const ALL: [&[Broken]; 6] = [BINDING, PROMISES, VNUMA, MEMORY, TOPOLOGY, SURROUNDINGS];

fn check(all: &[Broken]) {
    let mut wrong = Vec::new();
    for broken in all {
        let mut case = good();
        (broken.change)(&mut case);
        let found = rules(&case.judged());
        if found != broken.found {
            wrong.push(format!("{}\n  wanted {}\n  found  {found}", broken.what, broken.found));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn binding() {
    check(BINDING);
}

#[test]
fn promises() {
    check(PROMISES);
}

#[test]
fn vnuma() {
    check(VNUMA);
}

#[test]
fn memory() {
    check(MEMORY);
}

#[test]
fn topology() {
    check(TOPOLOGY);
}

#[test]
fn surroundings() {
    check(SURROUNDINGS);
}
