//! `--hosts DIR`: a file for each host, who has what of it, and where it stands.
//!
//! A host is anything that `--host` reads: a capture, a tree, hwloc XML. Its name is the file's up
//! to the first dot. `NAME.ledger.json` beside it has its claims, `hosts.toml` its rack.

use crate::config::{Config, GlobalArgs};
use crate::failure::{NO_ACCESS, USAGE, coded};
use crate::input_file;
use anyhow::{Context, Result};
use numawise_documents::parse_ledger;
use numawise_model::{
    Claim, CpuSet, Host, HostId, Ledger, Mode, NodeSet, Owner, PageSize, Pcpu, Pnode, Purpose,
    SmtPolicy,
};
use numawise_planner::fit::{Cells, GivenCell, Layout, Parting, Stock, Wanted};
use numawise_planner::fleet::{Fleet, Held, Resident, Staying, Stays};
use numawise_planner::pages_left;
use numawise_sysfs::ReadOptions;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LABELS: &str = "hosts.toml";
const LEDGER_END: &str = ".ledger.json";

pub struct FleetSource {
    pub fleet: Fleet,
    pub residents: Vec<Resident>,
    /// Of each resident.
    pub names: Vec<String>,
    /// Guests of which it cannot be told what they need elsewhere.
    pub staying: Vec<Staying>,
}

impl FleetSource {
    /// Hosts with guests that may be moved.
    pub fn movable(&self) -> BTreeSet<usize> {
        self.residents.iter().map(|resident| resident.host).collect()
    }
}

/// What `hosts.toml` says of a host, by its name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    rack: Option<String>,
}

pub fn read(global: &GlobalArgs, dir: &Path) -> Result<FleetSource> {
    let config = Config::load(global)?;
    let files = files(dir)?;
    let labels = labels(&dir.join(LABELS))?;
    if let Some(unknown) = labels.keys().find(|name| !files.contains_key(*name)) {
        let known = files.keys().cloned().collect::<Vec<_>>().join(", ");
        let text = format!(
            "{}: there is no host '{unknown}' in the folder; there are: {known}",
            dir.join(LABELS).display()
        );
        return Err(coded(USAGE, text));
    }
    let mut source = FleetSource {
        fleet: Fleet::new(),
        residents: Vec::new(),
        names: Vec::new(),
        staying: Vec::new(),
    };
    let mut makes: Vec<(Rc<Layout>, Rc<Stock>)> = Vec::new();
    for ((name, _), host) in files.iter().zip(hosts(&files)) {
        let host = host?;
        let ledger = ledger(&dir.join(format!("{name}{LEDGER_END}")))?;
        let pools = config.pools(&host.topology);
        let mut free = host.topology.allowed.cpus.intersection(&host.topology.online);
        free = free.difference(&pools.reserved);
        if let Some(dedicated) = &pools.dedicated {
            free = free.intersection(dedicated);
        }
        let rack = labels.get(name).and_then(|labels| labels.rack.as_deref());
        add(&mut source, &mut makes, Entry { name, rack, host: &host, ledger: &ledger, free });
    }
    Ok(source)
}

/// Unpacking takes the most time by far, so it is done on all CPUs. In the order of the files.
fn hosts(files: &BTreeMap<String, PathBuf>) -> Vec<Result<Host>> {
    let files: Vec<&PathBuf> = files.values().collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut read = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { return read };
            read.push((index, host(file)));
        }
    };
    let mut all: Vec<(usize, Result<Host>)> = std::thread::scope(|scope| {
        let running: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = running.into_iter().flat_map(|one| match one.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        own.into_iter().chain(others).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, host)| host).collect()
}

fn host(file: &Path) -> Result<Host> {
    let opened = numawise_sysfs::open(file)?;
    Ok(numawise_sysfs::read_host(&opened, &ReadOptions { strict: false })?)
}

struct Entry<'a> {
    name: &'a str,
    rack: Option<&'a str>,
    host: &'a Host,
    ledger: &'a Ledger,
    free: CpuSet,
}

fn add(source: &mut FleetSource, makes: &mut Vec<(Rc<Layout>, Rc<Stock>)>, entry: Entry) {
    let layout = Layout::of(&entry.host.topology);
    let (guests, stays) = guests(entry.ledger, &layout, entry.host);
    let mut movable = CpuSet::new();
    guests.iter().for_each(|guest| movable.extend(&guest.held.cpus));
    // What is held in any other way stays where it is.
    let fixed = entry.ledger.claimed_cpus().difference(&movable);
    let mut whole = Stock::new(&layout, &entry.free.difference(&fixed));
    for size in sizes(entry.host) {
        let mut pages = available(entry.host, entry.ledger, &layout, size);
        for (held_size, pool, held) in guests.iter().flat_map(|guest| &guest.held.pages) {
            if let (true, Some(Some(pages))) = (*held_size == size, pages.get_mut(*pool)) {
                *pages += held;
            }
        }
        whole.set_pages(size, pages);
    }
    let known = makes.iter().find(|(l, w)| **l == layout && **w == whole).cloned();
    let (layout, whole) = known.unwrap_or_else(|| {
        makes.push((Rc::new(layout), Rc::new(whole)));
        makes[makes.len() - 1].clone()
    });
    let host = source.fleet.add_host(HostId(entry.name.to_owned()), entry.rack, &layout, &whole);
    let staying = |(name, why)| Staying { host, name, why };
    source.staying.extend(stays.into_iter().map(staying));
    for guest in guests {
        source.fleet.take(host, &guest.held);
        source.names.push(guest.name);
        source.residents.push(Resident {
            host,
            wanted: guest.wanted,
            held: guest.held,
            may_repin: true,
            may_migrate: true,
        });
    }
}

/// A guest with CPUs of its own, all its memory in pages of one size.
struct Guest {
    name: String,
    wanted: Wanted,
    held: Held,
}

/// Those that a plan can move, and the others with why not: none is left out.
fn guests(ledger: &Ledger, layout: &Layout, host: &Host) -> (Vec<Guest>, Vec<(String, Stays)>) {
    let mut by_uuid: BTreeMap<&str, (&str, Vec<&Claim>)> = BTreeMap::new();
    for claim in &ledger.claims {
        if let Owner::Guest { uuid, name } = &claim.owner {
            by_uuid.entry(&uuid.0).or_insert((name, Vec::new())).1.push(claim);
        }
    }
    let (mut guests, mut stays) = (Vec::new(), Vec::new());
    for (name, claims) in by_uuid.values() {
        match guest(name, claims, ledger, layout, host) {
            Ok(guest) => guests.push(guest),
            Err(why) => stays.push(((*name).to_owned(), why)),
        }
    }
    (guests, stays)
}

fn guest(
    name: &str,
    claims: &[&Claim],
    ledger: &Ledger,
    layout: &Layout,
    host: &Host,
) -> Result<Guest, Stays> {
    let of_vcpus = || claims.iter().filter(|claim| claim.purpose == Purpose::Vcpus);
    let mut cpus = CpuSet::new();
    let mut all = CpuSet::new();
    of_vcpus().for_each(|claim| cpus.extend(&claim.cpus));
    claims.iter().for_each(|claim| all.extend(&claim.cpus));
    let unknown: CpuSet = all.iter().filter(|cpu| layout.spot_of(*cpu).is_none()).collect();
    if !unknown.is_empty() {
        return Err(Stays::UnknownCpus { cpus: unknown });
    }
    if cpus.is_empty() {
        return Err(Stays::NoCpus);
    }
    let shared = shared(&cpus, claims, ledger);
    if !shared.is_empty() {
        return Err(Stays::SharesCpus { cpus: shared });
    }
    let emulator: CpuSet = {
        let own =
            |claim: &&&Claim| claim.mode == Mode::Exclusive && claim.purpose == Purpose::Helpers;
        let mut helpers = CpuSet::new();
        claims.iter().filter(own).for_each(|claim| helpers.extend(&claim.cpus));
        helpers.difference(&cpus)
    };
    let mut pages: BTreeMap<(PageSize, usize), u64> = BTreeMap::new();
    let mut nodes = NodeSet::new();
    for (node, sizes) in claims.iter().flat_map(|claim| &claim.pages) {
        let area = layout.areas.iter().find(|area| area.memory_nodes.contains(*node));
        match area {
            Some(area) => {
                for (size, count) in sizes {
                    *pages.entry((*size, area.pool)).or_default() += count;
                }
            }
            None if sizes.values().all(|count| *count == 0) => {}
            None => {
                nodes.insert(*node);
            }
        }
    }
    pages.retain(|_, count| *count > 0);
    let known = |node: &Pnode| host.topology.nodes.iter().any(|known| known.id == *node);
    if !nodes.is_empty() {
        let unknown: NodeSet = nodes.iter().filter(|node| !known(node)).collect();
        // A node that is there, and that no CPU's memory is on: memory of its own kind.
        return Err(match unknown.is_empty() {
            true => Stays::MemoryOnly { nodes },
            false => Stays::UnknownNodes { nodes: unknown },
        });
    }
    let sizes: BTreeSet<PageSize> = pages.keys().map(|(size, _)| *size).collect();
    let size = match sizes.into_iter().collect::<Vec<_>>()[..] {
        [size] => size,
        [] => return Err(Stays::NoMemory),
        _ => return Err(Stays::SeveralPageSizes),
    };
    let cells = cells(&cpus, &pages, layout);
    let wanted = Wanted {
        vcpus: cpus.len() as u32,
        pages: pages.values().sum(),
        page_size: size,
        smt: SmtPolicy::Prefer,
        l3: numawise_model::L3Policy::Compact,
        cells,
        emulator_cpus: emulator.len() as u32,
        devices: Vec::new(),
    };
    let cpus = cpus.union(&emulator);
    let pages = pages.into_iter().map(|((size, pool), count)| (size, pool, count)).collect();
    Ok(Guest { name: name.to_owned(), wanted, held: Held { cpus, pages } })
}

/// Of a guest's CPUs those that it does not have alone.
fn shared(cpus: &CpuSet, own: &[&Claim], ledger: &Ledger) -> CpuSet {
    let mut shared = CpuSet::new();
    let holders = ledger
        .claims
        .iter()
        .filter(|claim| matches!(claim.owner, Owner::Guest { .. } | Owner::Process { .. }));
    for claim in holders {
        let is_own = own.iter().any(|own| own.id == claim.id);
        let alone = claim.mode == Mode::Exclusive || claim.purpose != Purpose::Vcpus;
        if !is_own || !alone {
            shared.extend(&claim.cpus.intersection(cpus));
        }
    }
    shared
}

/// As it is cut today: what it has been shown must hold wherever it goes.
fn cells(cpus: &CpuSet, pages: &BTreeMap<(PageSize, usize), u64>, layout: &Layout) -> Cells {
    let mut cells = Vec::new();
    let mut pools = BTreeSet::new();
    for (index, area) in layout.areas.iter().enumerate() {
        let cores = layout.segments_of(index).iter().flat_map(|s| layout.cores_of(s));
        let threads = cores.flat_map(|core| &layout.threads[core.threads.clone()]);
        let own = threads.filter(|thread| cpus.contains(Pcpu(**thread))).count() as u32;
        if own > 0 {
            let of_pool = pages.iter().filter(|((_, pool), _)| *pool == area.pool);
            let pages = of_pool.map(|(_, pages)| pages).sum();
            cells.push(GivenCell { vcpus: own, pages });
            pools.insert(area.pool);
        }
    }
    let all: u64 = pages.values().sum();
    let told: u64 = cells.iter().map(|cell| cell.pages).sum();
    let each_has_its_own = pools.len() == cells.len() && told == all;
    match cells.len() {
        1 => Cells::Count(1, Parting::EvenFirst),
        _ if each_has_its_own => Cells::Given(cells),
        count => Cells::Count(count as u32, Parting::EvenFirst),
    }
}

/// Sizes that the host counts anywhere; base pages always.
fn sizes(host: &Host) -> BTreeSet<PageSize> {
    let base = host.topology.page_sizes.first().copied().unwrap_or(PageSize::BASE_4K);
    let huge = host.levels.nodes.values().flat_map(|levels| levels.hugepages.keys().copied());
    huge.chain([base]).collect()
}

/// Pages that each pool can promise beside all claims; not known where a node of it is not.
fn available(host: &Host, ledger: &Ledger, layout: &Layout, size: PageSize) -> Vec<Option<u64>> {
    let of = |node: Pnode| pages_left(host, ledger, &BTreeMap::new(), node, size).available();
    let pool = |pool: usize| {
        let area = layout.areas.iter().find(|area| area.pool == pool)?;
        area.memory_nodes.iter().map(of).sum::<Option<u64>>()
    };
    (0..layout.pools()).map(pool).collect()
}

/// Host files by name.
fn files(dir: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let failed = |error: std::io::Error| {
        let denied = error.kind() == ErrorKind::PermissionDenied;
        let text =
            format!("{}: {error}; a folder with a file for each host is wanted", dir.display());
        coded(if denied { NO_ACCESS } else { USAGE }, text)
    };
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut ledgers = BTreeSet::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == LABELS || name.starts_with('.') {
            continue;
        }
        if let Some(of) = name.strip_suffix(LEDGER_END) {
            ledgers.insert(of.to_owned());
            continue;
        }
        let stem = name.split('.').next().unwrap_or(&name).to_owned();
        if let Some(other) = files.insert(stem.clone(), path.clone()) {
            let text = format!(
                "{} and {} are both host '{stem}'; rename one of them",
                other.display(),
                path.display()
            );
            return Err(coded(USAGE, text));
        }
    }
    let nobody = ledgers.iter().find(|name| !files.contains_key(name.as_str()));
    if let (Some(name), false) = (nobody, files.is_empty()) {
        let known = files.keys().cloned().collect::<Vec<_>>().join(", ");
        let text = format!(
            "{}: there is no host '{name}' in the folder; there are: {known}",
            dir.join(format!("{name}{LEDGER_END}")).display()
        );
        return Err(coded(USAGE, text));
    }
    if files.is_empty() {
        let text = format!(
            "{} has no host in it; numawise host capture NAME.tar.xz on each host makes one",
            dir.display()
        );
        return Err(coded(USAGE, text));
    }
    Ok(files)
}

fn labels(path: &Path) -> Result<BTreeMap<String, Labels>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = input_file::read(path)?;
    toml::from_str(&text).map_err(|error| {
        let text = format!("{}: {error}\nWanted: [NAME] with rack = \"...\".", path.display());
        coded(USAGE, text)
    })
}

fn ledger(path: &Path) -> Result<Ledger> {
    if !path.exists() {
        return Ok(Ledger::default());
    }
    let text = input_file::read(path)?;
    let ledger = parse_ledger(&text).map_err(|error| coded(USAGE, error.to_string()));
    ledger.with_context(|| path.display().to_string())
}
