//! What would fit instead of a request that does not.
//!
//! Each change is made to the request, or to the ledger, by itself, and the search is asked again:
//! what is named here has been found to fit. The gentlest come first: conditions that could be let
//! go, another page size, a guest that could be elsewhere, and last a smaller guest.

use crate::binding::passes;
use crate::memory::pages_left;
use crate::situation::Situation;
use numawise_model::placement::{Best, DevicePolicy, EmulatorPolicy, Split, WouldFit};
use numawise_model::{Host, L3Policy, Ledger, Owner, PageSize, Request, SmtPolicy};

/// Every kind of change that makes the request fit, one of each. `few_seats` are all that the host has,
/// where those are fewer than the vCPUs: then no other memory helps.
pub fn that_fit(
    situation: &Situation,
    request: &Request,
    best: &Best,
    few_seats: Option<u32>,
) -> Vec<WouldFit> {
    let fits = |request: &Request, best: &Best| passes::answer(situation, request, best).1.is_ok();
    let mut found: Vec<WouldFit> = conditions(best)
        .into_iter()
        .filter(|(_, eased)| fits(request, eased))
        .map(|(change, _)| change)
        .collect();
    if few_seats.is_none() {
        found.extend(page_sizes(situation, request, best));
    }
    found.extend(without_a_guest(situation, request, best));
    // A guest that has been seen running has its size; so has one whose parts are written down.
    let sized = situation.inputs.frozen.is_some() && request.vnuma && !request.new_topology;
    if !sized && !matches!(best.split, Split::Exact(_)) {
        let passes = passes::Passes::new(situation, request, best);
        let fits = |request: &Request| passes.fits(situation, request, best);
        if few_seats.is_none() && is_known(situation, request.page_size) {
            found.extend(less_memory(request, fits));
        }
        found.extend(fewer_vcpus(request, few_seats, fits));
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
    let known = whole.filter(|size| is_known(situation, *size));
    let fits = known.filter(|size| {
        let request = Request { page_size: *size, ..request.clone() };
        passes::answer(situation, &request, best).1.is_ok()
    });
    fits.map(WouldFit::PageSize).collect()
}

/// Whether every node tells its free pages of a size: what nobody can tell is no advice.
fn is_known(situation: &Situation, size: PageSize) -> bool {
    let nodes = situation.topology.nodes.iter();
    let mut serving = nodes.filter(|node| node.has_memory() && !node.is_memory_only());
    serving.all(|node| {
        let (host, held) = (situation.inputs.host, situation.inputs.held);
        pages_left(host, &situation.others, held, node.id, size).is_certain()
    })
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
        let fits = passes::answer(&gone, request, best).1.is_ok();
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
///
/// Less memory fits where more does, but for shares of very few pages (each vNUMA node has one at
/// least) and for the last page of a share: so the search halves from a number of pages that fits, and
/// then tries the next few.
fn less_memory(request: &Request, fits: impl Fn(&Request) -> bool) -> Option<WouldFit> {
    /// What rounding can make fit that the halving passed over.
    const NEXT: u64 = 8;
    let size = request.page_size.bytes();
    let asked = request.memory_bytes / size;
    let fits = |pages: u64| fits(&Request { memory_bytes: pages * size, ..request.clone() });
    let one_each = u64::from(request.vcpus);
    let mut fitting = (1..asked.min(one_each + 1)).rev().find(|pages| fits(*pages))?;
    let mut failing = asked;
    while failing - fitting > 1 {
        let middle = fitting + (failing - fitting) / 2;
        if fits(middle) { fitting = middle } else { failing = middle }
    }
    let next = (fitting + 1..asked.min(fitting + 1 + NEXT)).rev().find(|pages| fits(*pages));
    Some(WouldFit::LessMemory(next.unwrap_or(fitting) * size))
}

/// The most vCPUs with which it fits, the memory as asked.
fn fewer_vcpus(
    request: &Request,
    few_seats: Option<u32>,
    fits: impl Fn(&Request) -> bool,
) -> Option<WouldFit> {
    let with = |vcpus: u32| Request { vcpus, ..request.clone() };
    let most = (request.vcpus - 1).min(few_seats.unwrap_or(u32::MAX));
    (1..=most).rev().find(|vcpus| fits(&with(*vcpus))).map(WouldFit::FewerVcpus)
}
