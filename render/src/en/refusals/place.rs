//! Refusals of the search for the best place: what each node lacks, and what would fit.

use crate::en::placement::{lacking, smt};
use crate::en::{Said, n_pcpus, n_vcpus, numbers, owner, say};
use crate::quantity::{bytes, pages};
use numawise_model::placement::{NodeLack, WouldFit};
use numawise_model::{CpuSet, Owner, PageSize};

pub struct Nowhere<'a> {
    pub vcpus: u32,
    pub pages: u64,
    pub size: PageSize,
    pub nodes: &'a [NodeLack],
    pub held: &'a [(Owner, CpuSet)],
    pub gave_up: bool,
    pub would_fit: &'a [WouldFit],
}

impl Nowhere<'_> {
    pub fn said(&self) -> Said {
        let asked = format!("{} and {}", n_vcpus(self.vcpus), pages(self.pages, self.size));
        let mut said = match self.gave_up {
            false => say(format!("no place on this host for {asked}")),
            true => say(format!("no place was found for {asked}; the search was cut short")),
        };
        for lack in self.nodes {
            said = said.fact(format!("node {}: {}", lack.node, lacking(lack, Some(self.size))));
        }
        for (who, cpus) in self.held {
            said = said.fact(format!("held by {}: {} ({cpus})", owner(who), n_pcpus(cpus)));
        }
        if self.would_fit.is_empty() {
            return said.fact(
                "no single change would do: not fewer vCPUs, less memory, another page size, an \
                 uneven split, or one guest less"
                    .to_owned(),
            );
        }
        for change in self.would_fit {
            said = said.way(way(change));
        }
        said
    }
}

fn way(change: &WouldFit) -> String {
    match change {
        WouldFit::FewerVcpus(most) => format!("ask for fewer vCPUs: {most} fit (--vcpus {most})"),
        WouldFit::LessMemory(most) => {
            format!("ask for less memory: {} fit (--memory {})", bytes(*most), exact(*most))
        }
        WouldFit::PageSize(size) => format!("use pages of another size: --page-size {size}"),
        WouldFit::UnevenSplit => "let the nodes have unequal parts: --split auto".to_owned(),
        WouldFit::AnyVnodes => "leave the number of vNUMA nodes open: without --vnodes".to_owned(),
        WouldFit::WithoutGuest { name } => {
            format!("move one guest away, or give its pCPUs back: numawise unbind {name}")
        }
        WouldFit::Smt(policy) => format!("ask less of SMT: --smt {}", smt(*policy)),
        WouldFit::DevicesPreferred => "let devices be farther away: --devices preferred".to_owned(),
        WouldFit::L3Compact => "leave the number of L3 domains open: without --l3".to_owned(),
        WouldFit::SharedEmulator => {
            "let the emulator share pCPUs: --emulator housekeeping".to_owned()
        }
    }
}

/// As `--memory` takes it, to the byte.
fn exact(n: u64) -> String {
    match n {
        n if n.is_multiple_of(1 << 30) => format!("{}GiB", n >> 30),
        n if n.is_multiple_of(1 << 20) => format!("{}MiB", n >> 20),
        n => format!("{}KiB", n >> 10),
    }
}

pub fn split(parts: &[u32], vcpus: u32) -> Said {
    let sum: u64 = parts.iter().map(|part| u64::from(*part)).sum();
    let said = match parts.contains(&0) {
        true => say("a vNUMA node of no vCPUs was asked for".to_owned()),
        false => say(format!("{} vCPUs are {sum}, and the guest has {vcpus}", numbers(parts))),
    };
    said.way("name a number for each vNUMA node that add up: --split exact:32,16")
}

pub fn device(address: &str) -> Said {
    say(format!("this host has no PCI device {address}"))
        .way("see its devices: numawise host show --devices")
}
