//! What the simulated kernel knows of a running guest, and the file that it is kept in.
//!
//! The file is this crate's own affair (nobody else reads it), so its serde types are private and
//! separate from the value.

use numawise_model::{CpuSet, PageCounts, PageSize, Pcpu, Pnode, Vcpu, Vnode, parse_list};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version that is written; a newer one is refused.
const VERSION: u32 = 1;

/// Affinities of the threads and the place of every page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub vcpus: BTreeMap<Vcpu, CpuSet>,
    pub emulator: CpuSet,
    pub iothreads: BTreeMap<u32, CpuSet>,
    /// A guest without NUMA is one node, 0.
    pub pages: BTreeMap<Vnode, PageCounts>,
}

impl Running {
    /// Pages over all vNUMA nodes.
    pub fn total_pages(&self) -> PageCounts {
        let mut sum = PageCounts::new();
        for (node, sizes) in self.pages.values().flatten() {
            for (size, pages) in sizes {
                *sum.entry(*node).or_default().entry(*size).or_default() += pages;
            }
        }
        sum
    }

    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let lists = |sets: &BTreeMap<u32, CpuSet>| {
            sets.iter().map(|(id, cpus)| (*id, cpus.to_string())).collect()
        };
        let vcpus = self.vcpus.iter().map(|(vcpu, cpus)| (vcpu.0, cpus.clone())).collect();
        let pages = self.pages.iter().map(|(vnode, pages)| (vnode.0, file_pages(pages)));
        serde_json::to_string_pretty(&RunningFile {
            version: VERSION,
            vcpu_affinity: lists(&vcpus),
            emulator_affinity: self.emulator.to_string(),
            iothread_affinity: lists(&self.iothreads),
            pages_by_vnode: pages.collect(),
        })
    }

    pub fn from_json(text: &str) -> Result<Self, String> {
        let file: RunningFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.version > VERSION {
            return Err(format!(
                "version {} was written by a newer numawise; this one reads up to {VERSION}",
                file.version
            ));
        }
        let vcpus = sets(&file.vcpu_affinity)?;
        Ok(Self {
            vcpus: vcpus.into_iter().map(|(id, cpus)| (Vcpu(id), cpus)).collect(),
            emulator: set(&file.emulator_affinity)?,
            iothreads: sets(&file.iothread_affinity)?,
            pages: file
                .pages_by_vnode
                .into_iter()
                .map(|(vnode, pages)| (Vnode(vnode), model_pages(pages)))
                .collect(),
        })
    }
}

/// By pNUMA node, then by page size in bytes.
type FilePages = BTreeMap<u32, BTreeMap<u64, u64>>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunningFile {
    version: u32,
    vcpu_affinity: BTreeMap<u32, String>,
    emulator_affinity: String,
    iothread_affinity: BTreeMap<u32, String>,
    pages_by_vnode: BTreeMap<u32, FilePages>,
}

fn set(text: &str) -> Result<CpuSet, String> {
    parse_list::<Pcpu>(text).map_err(|error| error.to_string())
}

fn sets(texts: &BTreeMap<u32, String>) -> Result<BTreeMap<u32, CpuSet>, String> {
    texts.iter().map(|(id, text)| Ok((*id, set(text)?))).collect()
}

fn file_pages(pages: &PageCounts) -> FilePages {
    let sizes = |sizes: &BTreeMap<PageSize, u64>| sizes.iter().map(|(s, n)| (s.0, *n)).collect();
    pages.iter().map(|(node, by_size)| (node.0, sizes(by_size))).collect()
}

fn model_pages(pages: FilePages) -> PageCounts {
    let sizes = |sizes: BTreeMap<u64, u64>| sizes.into_iter().map(|(s, n)| (PageSize(s), n));
    pages.into_iter().map(|(node, by_size)| (Pnode(node), sizes(by_size).collect())).collect()
}
