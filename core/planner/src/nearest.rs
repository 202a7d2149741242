//! What would fit instead of a request that does not.
//!
//! Each change is made to the request, or to the ledger, by itself, and the search is asked again:
//! what is named here has been found to fit. The gentlest come first: conditions that could be let
//! go, another page size, a guest that could be elsewhere, and last a smaller guest.

use crate::binding::best;
use crate::situation::Situation;
use numawise_model::placement::{Best, DevicePolicy, EmulatorPolicy, Split, WouldFit};
use numawise_model::{Host, L3Policy, Ledger, Owner, Request, SmtPolicy};

/// Every kind of change that makes the request fit, one of each.
pub fn that_fit(situation: &Situation, request: &Request, best: &Best) -> Vec<WouldFit> {
    let fits = |request: &Request, best: &Best| best::answer(situation, request, best).1.is_ok();
    let mut found: Vec<WouldFit> = conditions(best)
        .into_iter()
        .filter(|(_, eased)| fits(request, eased))
        .map(|(change, _)| change)
        .collect();
    found.extend(page_sizes(situation, request, best));
    found.extend(without_a_guest(situation, request, best));
    // A guest that has been seen running has its size; so has one whose parts are written down.
    let sized = situation.inputs.frozen.is_some() && request.vnuma && !request.new_topology;
    if !sized && !matches!(best.split, Split::Exact(_)) {
        found.extend(less_memory(request, |request| fits(request, best)));
        found.extend(fewer_vcpus(request, |request| fits(request, best)));
    }
    found
}

/// Each condition of the request without which it could be asked again.
fn conditions(best: &Best) -> Vec<(WouldFit, Best)> {
    let mut eased = Vec::new();
    let mut ease = |is: bool, change: WouldFit, ease: &dyn Fn(&mut Best)| {
        if is {
            let mut best = best.clone();
            ease(&mut best);
            eased.push((change, best));
        }
    };
    ease(best.split == Split::Even, WouldFit::UnevenSplit, &|best| best.split = Split::EvenFirst);
    ease(best.vnodes.is_some(), WouldFit::AnyVnodes, &|best| best.vnodes = None);
    let exactly = matches!(best.l3, L3Policy::Exactly(_));
    ease(exactly, WouldFit::L3Compact, &|best| best.l3 = L3Policy::Compact);
    let near = best.devices != DevicePolicy::Preferred;
    ease(near, WouldFit::DevicesPreferred, &|best| best.devices = DevicePolicy::Preferred);
    let alone = best.emulator == EmulatorPolicy::Isolate;
    ease(alone, WouldFit::SharedEmulator, &|best| best.emulator = EmulatorPolicy::Housekeeping);
    let strict = matches!(best.smt, SmtPolicy::Require | SmtPolicy::Isolate);
    ease(strict, WouldFit::Smt(SmtPolicy::Prefer), &|best| best.smt = SmtPolicy::Prefer);
    eased
}

fn page_sizes(situation: &Situation, request: &Request, best: &Best) -> Vec<WouldFit> {
    let sizes = situation.topology.page_sizes.iter().copied();
    let others = sizes.filter(|size| *size != request.page_size);
    let whole = others.filter(|size| request.memory_bytes.is_multiple_of(size.bytes()));
    let fits = whole.filter(|size| {
        let request = Request { page_size: *size, ..request.clone() };
        best::answer(situation, &request, best).1.is_ok()
    });
    fits.map(WouldFit::PageSize).collect()
}

/// The guest with the fewest pCPUs whose leaving makes room. Its pages are free then.
fn without_a_guest(situation: &Situation, request: &Request, best: &Best) -> Option<WouldFit> {
    let mut guests: Vec<(usize, &Owner)> = Vec::new();
    for claim in &situation.others.claims {
        if !matches!(claim.owner, Owner::Guest { .. }) {
            continue;
        }
        match guests.iter_mut().find(|(_, owner)| *owner == &claim.owner) {
            Some((cpus, _)) => *cpus += claim.cpus.len(),
            None => guests.push((claim.cpus.len(), &claim.owner)),
        }
    }
    guests.sort();
    guests.into_iter().find_map(|(_, owner)| {
        let Owner::Guest { uuid, name } = owner else { return None };
        let others = situation.others.without_guest(uuid);
        let host = with_pages_back(situation.inputs.host, &situation.others, owner);
        let inputs = crate::Inputs { host: &host, ..situation.inputs.clone() };
        let gone = Situation::with_others(&inputs, request, others);
        let fits = best::answer(&gone, request, best).1.is_ok();
        fits.then(|| WouldFit::WithoutGuest { name: name.clone() })
    })
}

/// The host when the owner has given its pages back; never more than there are.
fn with_pages_back(host: &Host, ledger: &Ledger, owner: &Owner) -> Host {
    let mut host = host.clone();
    for claim in ledger.claims.iter().filter(|claim| claim.owner == *owner) {
        for (node, sizes) in &claim.pages {
            let Some(levels) = host.levels.nodes.get_mut(node) else { continue };
            for (size, pages) in sizes {
                if let Some(pool) = levels.hugepages.get_mut(size) {
                    pool.free = pool.free.saturating_add(*pages).min(pool.total);
                } else {
                    let bytes = size.bytes().saturating_mul(*pages);
                    for free in [&mut levels.memory_free_bytes, &mut levels.memory_available_bytes]
                    {
                        *free = free.map(|free| free.saturating_add(bytes));
                    }
                }
            }
        }
    }
    host
}

/// The most memory, in whole pages, with which it fits.
fn less_memory(request: &Request, fits: impl Fn(&Request) -> bool) -> Option<WouldFit> {
    let size = request.page_size.bytes();
    let with = |pages: u64| Request { memory_bytes: pages * size, ..request.clone() };
    let pages = request.memory_bytes / size;
    let (mut fitting, mut failing) = (1, pages);
    if pages < 2 || !fits(&with(fitting)) {
        return (2..pages.min(u64::from(request.vcpus) + 1))
            .rev()
            .find(|pages| fits(&with(*pages)))
            .map(|pages| WouldFit::LessMemory(pages * size));
    }
    while failing - fitting > 1 {
        let middle = fitting + (failing - fitting) / 2;
        if fits(&with(middle)) { fitting = middle } else { failing = middle }
    }
    Some(WouldFit::LessMemory(fitting * size))
}

/// The most vCPUs with which it fits, the memory as asked.
fn fewer_vcpus(request: &Request, fits: impl Fn(&Request) -> bool) -> Option<WouldFit> {
    let with = |vcpus: u32| Request { vcpus, ..request.clone() };
    (1..request.vcpus).rev().find(|vcpus| fits(&with(*vcpus))).map(WouldFit::FewerVcpus)
}
