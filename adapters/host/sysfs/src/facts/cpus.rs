//! `sys/devices/system/cpu`: which CPUs there are, and the masks of those that share something.

use super::size_bytes;
use crate::error::ReadError;
use crate::root::Reader;
use numawise_model::{CpuSet, Pcpu, parse_list};

pub const CPU: &str = "sys/devices/system/cpu";

#[derive(Clone, Debug, Default)]
pub struct CpuFacts {
    /// `cpu/online`.
    pub listed_online: Option<CpuSet>,
    pub possible: Option<CpuSet>,
    pub present: Option<CpuSet>,
    pub isolated: Option<CpuSet>,
    pub nohz_full: Option<CpuSet>,
    /// The CPUs that have a directory.
    pub directories: CpuSet,
    /// Those that have a `topology` directory; looked at only when `cpu/online` is absent.
    pub with_topology: CpuSet,
    /// Those whose own `online` file says 0; looked at only when `cpu/online` is absent.
    pub switched_off: CpuSet,
}

impl CpuFacts {
    /// Old kernels and trimmed trees have no list of online CPUs; a CPU that is offline loses its
    /// `topology` directory. Trees without any `topology` still tell by each CPU's `online`.
    pub fn online(&self) -> CpuSet {
        match &self.listed_online {
            Some(online) => online.clone(),
            None if self.with_topology.is_empty() => {
                self.directories.difference(&self.switched_off)
            }
            None => self.with_topology.clone(),
        }
    }

    /// CPUs that are there and switched off. Kernels count as `possible` what might be plugged in
    /// one day; that is not there.
    pub fn offline(&self) -> CpuSet {
        self.present.as_ref().unwrap_or(&self.directories).difference(&self.online())
    }
}

/// One CPU's word on who shares something with it.
#[derive(Clone, Debug)]
pub struct MaskFact {
    pub cpu: Pcpu,
    pub file: String,
    pub mask: CpuSet,
    /// The `_list` file, where it was read and differs.
    pub differing_list: Option<CpuSet>,
}

#[derive(Clone, Debug)]
pub struct PackageFact {
    /// `None`: this kernel gives an id and no mask.
    pub mask: Option<MaskFact>,
    pub cpu: Pcpu,
    pub id: Option<i64>,
}

#[derive(Clone, Debug)]
pub struct CacheFact {
    pub mask: MaskFact,
    pub size_bytes: Option<u64>,
    pub kernel_id: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct MaskFacts {
    pub cores: Vec<MaskFact>,
    pub packages: Vec<PackageFact>,
    pub l3: Vec<CacheFact>,
}

pub fn read(reader: &mut Reader<'_>) -> Result<CpuFacts, ReadError> {
    let mut facts = CpuFacts {
        listed_online: reader.list(&format!("{CPU}/online"))?,
        possible: reader.list(&format!("{CPU}/possible"))?,
        present: reader.list(&format!("{CPU}/present"))?,
        isolated: optional_list(reader, &format!("{CPU}/isolated"))?,
        nohz_full: optional_list(reader, &format!("{CPU}/nohz_full"))?,
        // Absent means that no CPU has a directory; below, `online` must then name them.
        directories: reader.numbered(CPU, "cpu")?.unwrap_or_default(),
        ..CpuFacts::default()
    };
    if facts.listed_online.is_none() {
        for cpu in facts.directories.iter() {
            if reader.is_directory(&format!("{CPU}/cpu{cpu}/topology"))? {
                facts.with_topology.insert(cpu);
            }
            if reader.number(&format!("{CPU}/cpu{cpu}/online"))? == Some(0) {
                facts.switched_off.insert(cpu);
            }
        }
    }
    if facts.online().is_empty() {
        return Err(ReadError::value(format!("{CPU}/online"), "", "at least one CPU"));
    }
    Ok(facts)
}

/// Kernels print `(null)` for a set that was never given.
fn optional_list(reader: &mut Reader<'_>, path: &str) -> Result<Option<CpuSet>, ReadError> {
    match reader.text(path)? {
        None => Ok(None),
        Some("(null)") => Ok(Some(CpuSet::new())),
        Some(text) => match parse_list(text) {
            Ok(set) => Ok(Some(set)),
            Err(source) => Err(ReadError::BadSet { file: path.to_owned(), source }),
        },
    }
}

/// Reads each mask once for all the CPUs in it, or every CPU's when strict.
pub fn read_masks(
    reader: &mut Reader<'_>,
    cpus: &CpuFacts,
    strict: bool,
) -> Result<MaskFacts, ReadError> {
    let mut facts = MaskFacts::default();
    let mut in_core = CpuSet::new();
    let mut in_package = CpuSet::new();
    let mut in_l3 = CpuSet::new();
    let mut l3_index = None;
    // A CPU without a directory has nothing to say; `online` may name such CPUs.
    for cpu in cpus.online().intersection(&cpus.directories).iter() {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        if (strict || !in_core.contains(cpu))
            && let Some(fact) = read_core(reader, &topology, cpu, strict)?
        {
            cover(&mut in_core, &fact);
            facts.cores.push(fact);
        }
        if strict || !in_package.contains(cpu) {
            let fact = read_package(reader, &topology, cpu)?;
            if let Some(mask) = &fact.mask {
                cover(&mut in_package, mask);
            }
            facts.packages.push(fact);
        }
        if (strict || !in_l3.contains(cpu))
            && let Some(fact) = read_l3(reader, cpu, &mut l3_index)?
        {
            cover(&mut in_l3, &fact.mask);
            facts.l3.push(fact);
        }
    }
    Ok(facts)
}

/// A mask that leaves out its own CPU is not believed for the others either.
fn cover(covered: &mut CpuSet, fact: &MaskFact) {
    covered.insert(fact.cpu);
    if fact.mask.contains(fact.cpu) {
        covered.extend(&fact.mask);
    }
}

fn read_core(
    reader: &mut Reader<'_>,
    topology: &str,
    cpu: Pcpu,
    with_list: bool,
) -> Result<Option<MaskFact>, ReadError> {
    // The first name came with Linux 5.3; the second has been there since 2.6.16.
    for name in ["core_cpus", "thread_siblings"] {
        let fact = read_mask(reader, &format!("{topology}/{name}"), None, cpu, with_list)?;
        if fact.is_some() {
            return Ok(fact);
        }
    }
    Ok(None)
}

fn read_package(
    reader: &mut Reader<'_>,
    topology: &str,
    cpu: Pcpu,
) -> Result<PackageFact, ReadError> {
    let id = reader.number(&format!("{topology}/physical_package_id"))?;
    for name in ["package_cpus", "core_siblings"] {
        let mask = read_mask(reader, &format!("{topology}/{name}"), None, cpu, true)?;
        if mask.is_some() {
            return Ok(PackageFact { mask, cpu, id });
        }
    }
    Ok(PackageFact { mask: None, cpu, id })
}

/// The unified cache of level 3, in whatever index directory it is: `index3` is mostly, not always,
/// the third level. The index where it was found last is tried first.
fn read_l3(
    reader: &mut Reader<'_>,
    cpu: Pcpu,
    known_index: &mut Option<Pcpu>,
) -> Result<Option<CacheFact>, ReadError> {
    let cache = format!("{CPU}/cpu{cpu}/cache");
    if let Some(index) = *known_index
        && is_l3(reader, &format!("{cache}/index{index}"))?
    {
        return read_cache(reader, &format!("{cache}/index{index}"), cpu);
    }
    // Hypervisors hide the caches of their guests.
    let Some(indices) = reader.numbered::<Pcpu>(&cache, "index")? else { return Ok(None) };
    for index in indices.iter().filter(|index| Some(*index) != *known_index) {
        if is_l3(reader, &format!("{cache}/index{index}"))? {
            *known_index = Some(index);
            return read_cache(reader, &format!("{cache}/index{index}"), cpu);
        }
    }
    Ok(None)
}

fn is_l3(reader: &mut Reader<'_>, index: &str) -> Result<bool, ReadError> {
    if reader.number(&format!("{index}/level"))? != Some(3) {
        return Ok(false);
    }
    let kind = format!("{index}/type");
    match reader.text(&kind)? {
        // Kernels without the file describe unified caches only at this level.
        None | Some("Unified") => Ok(true),
        Some("Data" | "Instruction") => Ok(false),
        Some(other) => Err(ReadError::value(&kind, other, "Unified, Data or Instruction")),
    }
}

fn read_cache(
    reader: &mut Reader<'_>,
    index: &str,
    cpu: Pcpu,
) -> Result<Option<CacheFact>, ReadError> {
    let map = format!("{index}/shared_cpu_map");
    let list = format!("{index}/shared_cpu_list");
    let Some(mask) = read_mask(reader, &map, Some(&list), cpu, true)? else { return Ok(None) };
    let size_file = format!("{index}/size");
    let size_bytes = match reader.text(&size_file)? {
        Some(text) => Some(size_bytes(&size_file, text)?),
        None => None,
    };
    let id_file = format!("{index}/id");
    let kernel_id =
        match reader.number(&id_file)? {
            None => None,
            Some(id) => Some(u32::try_from(id).map_err(|_| {
                ReadError::value(&id_file, &id.to_string(), "a cache id of 32 bits")
            })?),
        };
    Ok(Some(CacheFact { mask, size_bytes, kernel_id }))
}

/// A mask and, when wanted, the list beside it. The map is preferred: edited trees often have stale
/// lists. A tree with nothing but lists is read by them.
fn read_mask(
    reader: &mut Reader<'_>,
    map: &str,
    list: Option<&str>,
    cpu: Pcpu,
    with_list: bool,
) -> Result<Option<MaskFact>, ReadError> {
    let mask: Option<CpuSet> = reader.mask(map)?;
    let list = list.map_or_else(|| format!("{map}_list"), str::to_owned);
    let with_list = with_list && reader.compares_lists;
    let listed = if with_list || mask.is_none() { reader.list(&list)? } else { None };
    Ok(match (mask, listed) {
        (Some(mask), listed) => {
            let differing_list = listed.filter(|listed| *listed != mask);
            Some(MaskFact { cpu, file: map.to_owned(), mask, differing_list })
        }
        (None, Some(mask)) => Some(MaskFact { cpu, file: list, mask, differing_list: None }),
        (None, None) => None,
    })
}
