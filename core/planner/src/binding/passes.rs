//! The passes of a search: which CPUs and which memory it is asked with.
//!
//! Isolated CPUs alone, then all; with memory, then (where it is not bound) without. What a pass looks at
//! is the same for every size of guest, so another size is asked of the same.

use super::best::wanted;
use crate::availability::{Availability, ReservedUse};
use crate::fit::{Fit, Layout, NoFit, Stock, Wanted, fit};
use crate::memory::{self, PagesLeft};
use crate::situation::Situation;
use numawise_model::placement::{Best, EmulatorPolicy};
use numawise_model::{CpuSet, PageSize, Request, SmtPolicy};

/// A host made ready for the search.
pub struct Ready {
    pub layout: Layout,
    pub stock: Stock,
    pub wanted: Wanted,
    /// Set when only CPUs that the kernel isolates were looked at.
    pub isolated_alone: Option<CpuSet>,
}

impl Ready {
    /// No node with CPUs has memory, nor is any served by another.
    pub fn has_no_memory(&self) -> bool {
        self.layout.areas.iter().all(|area| area.memory_nodes.is_empty())
    }
}

/// Those of one request.
pub struct Passes {
    isolated: Option<Ready>,
    /// The operator's pool has isolated CPUs in it: no others are looked at.
    declared: bool,
    all: Ready,
    without_memory: Option<Ready>,
}

/// The first pass that has a place, with it; else the last.
pub fn answer(
    situation: &Situation,
    request: &Request,
    best: &Best,
) -> (Ready, Result<Fit, NoFit>) {
    Passes::new(situation, request, best).answer()
}

impl Passes {
    pub fn new(situation: &Situation, request: &Request, best: &Best) -> Self {
        let mut free = CpuSet::new();
        let availability = Availability::of(situation, ReservedUse::MayNot);
        availability.free.values().for_each(|cpus| free.extend(cpus));
        if best.emulator == EmulatorPolicy::Isolate || best.smt == SmtPolicy::Isolate {
            // What is to be the guest's alone cannot be what others share.
            free = free.difference(&situation.others.claimed_cpus());
        }
        let isolated = situation.topology.isolated.clone().unwrap_or_default();
        let isolated_free = isolated.intersection(&free);
        let ready = |free: &CpuSet, with_memory| ready(situation, request, best, free, with_memory);
        Self {
            isolated: (!isolated_free.is_empty()).then(|| Ready {
                isolated_alone: Some(isolated_free.clone()),
                ..ready(&isolated_free, true)
            }),
            declared: situation.pool().is_some_and(|pool| !pool.is_disjoint(&isolated)),
            all: ready(&free, true),
            without_memory: (!request.vnuma).then(|| ready(&free, false)),
        }
    }

    fn answer(self) -> (Ready, Result<Fit, NoFit>) {
        let ask = |ready: &Ready| fit(&ready.layout, &ready.stock, &ready.wanted);
        if let Some(ready) = self.isolated {
            let found = ask(&ready);
            if found.is_ok() || self.declared {
                return (ready, found);
            }
        }
        let found = ask(&self.all);
        match self.without_memory.filter(|_| found.is_err()) {
            Some(without) => {
                let found = ask(&without);
                (without, found)
            }
            None => (self.all, found),
        }
    }

    /// Whether the request has a place, when it differs from that of the passes in its size or in
    /// conditions that leave the same CPUs and pages free.
    pub fn fits(&self, situation: &Situation, request: &Request, best: &Best) -> bool {
        let ask = |ready: &Ready| {
            let wanted = wanted(situation, request, best, &ready.layout);
            fit(&ready.layout, &ready.stock, &wanted).is_ok()
        };
        match &self.isolated {
            Some(ready) if ask(ready) => return true,
            Some(_) if self.declared => return false,
            _ => {}
        }
        ask(&self.all) || self.without_memory.as_ref().is_some_and(ask)
    }
}

/// The host and the request as the search takes them.
fn ready(
    situation: &Situation,
    request: &Request,
    best: &Best,
    free: &CpuSet,
    with_memory: bool,
) -> Ready {
    let layout = Layout::with_memory_only(situation.topology, request.memory_only.as_ref());
    let mut stock = Stock::new(&layout, free);
    stock.set_use(&layout, &situation.inputs.host.levels.utilisation);
    if with_memory {
        stock.set_pages(request.page_size, pools(situation, &layout, request.page_size));
    }
    let wanted = wanted(situation, request, best, &layout);
    Ready { layout, stock, wanted, isolated_alone: None }
}

/// What each pool of memory can promise.
fn pools(situation: &Situation, layout: &Layout, size: PageSize) -> Vec<Option<u64>> {
    let mut pools = vec![None; layout.pools()];
    for area in &layout.areas {
        let left = |node| -> PagesLeft {
            memory::pages_left(
                situation.inputs.host,
                &situation.others,
                situation.inputs.held,
                node,
                size,
            )
        };
        let each = area.memory_nodes.iter().map(|node| left(node).available());
        pools[area.pool] = each.sum::<Option<u64>>();
    }
    pools
}
