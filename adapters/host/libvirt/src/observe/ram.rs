//! Which mappings of QEMU are the guest's memory, and of which vNUMA node each is.
//!
//! QEMU maps each vNUMA node's memory in one piece of exactly its size; a guest without nodes has
//! one piece. Nothing in `/proc` says which piece is which, so they are told apart by, in this
//! order:
//!
//! 1. The file: `ram-node1` stands in the name of a file in hugetlbfs or in a folder. A memfd has
//!    the same name for all.
//! 2. The size together with the policy: of pieces of 64 MiB bound to node 0 and to node 1, each is
//!    the vNUMA node that libvirt was told to bind there.
//! 3. The size alone, where only one vNUMA node and one mapping have it. So memory is found whose
//!    policy was changed since.
//!
//! vNUMA nodes of one size that are bound to the same host node are told apart by address: QEMU maps
//! them in order and the kernel gives addresses downwards. A mistake there can only name the wrong
//! one of two nodes whose pages belong in the same place. What is left (equal sizes, several host
//! nodes and no policy that tells: `restrictive` leaves none) is counted together.
//!
//! Mappings of another size are QEMU's own (code, heap, stacks, translated code) and are not counted.

use numawise_model::{
    GuestConfig, MappingFacts, MappingPolicy, MemoryMode, NodeSet, PageCounts, Vnode,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub struct GuestRam {
    /// All of it.
    pub pages: PageCounts,
    /// `None` where some cannot be told apart, and for guests without nodes.
    pub by_vnode: Option<BTreeMap<Vnode, PageCounts>>,
    /// What was not found among the mappings, and why.
    pub missing: Vec<String>,
}

/// A piece of guest memory as it should be among the mappings.
#[derive(Clone, Debug)]
struct Piece {
    /// `None` for the memory of a guest without nodes.
    vnode: Option<Vnode>,
    bytes: u64,
    /// As the kernel shows it.
    policy: MappingPolicy,
    nodes: Option<NodeSet>,
}

struct Found<'m> {
    left: Vec<&'m MappingFacts>,
    told: Vec<(Piece, Vec<&'m MappingFacts>)>,
    together: Vec<&'m MappingFacts>,
    missing: Vec<String>,
}

pub fn find(config: &GuestConfig, mappings: &[MappingFacts]) -> GuestRam {
    let mut found = Found {
        left: mappings.iter().collect(),
        told: Vec::new(),
        together: Vec::new(),
        missing: Vec::new(),
    };
    let rest = found.by_name(pieces(config));
    let rest = found.by_size_and_policy(rest);
    found.by_size(rest);
    found.counted()
}

fn pieces(config: &GuestConfig) -> Vec<Piece> {
    // absent means that the definition binds no memory
    let tuned = config.numatune.clone().unwrap_or_default();
    let whole = tuned.memory_nodeset.map(|nodes| (tuned.memory_mode, nodes));
    let piece = |vnode: Option<Vnode>, bytes| {
        let own = vnode.and_then(|vnode| tuned.memnodes.get(&vnode));
        let bound = own.map(|(mode, nodes)| (Some(*mode), nodes.clone())).or(whole.clone());
        let nodes = bound.as_ref().map(|(_, nodes)| nodes.clone());
        let policy = match bound {
            None | Some((Some(MemoryMode::Restrictive), _)) => MappingPolicy::Default,
            // An element without a mode is strict.
            Some((None | Some(MemoryMode::Strict), nodes)) => MappingPolicy::Bind(nodes),
            Some((Some(MemoryMode::Preferred), nodes)) => MappingPolicy::Prefer(nodes),
            Some((Some(MemoryMode::Interleave), nodes)) => MappingPolicy::Interleave(nodes),
        };
        Piece { vnode, bytes, policy, nodes }
    };
    if config.cells.is_empty() {
        return vec![piece(None, config.memory_bytes)];
    }
    config.cells.iter().map(|cell| piece(Some(cell.id), cell.memory_bytes)).collect()
}

impl Found<'_> {
    fn by_name(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let mut rest = Vec::new();
        for piece in pieces {
            let file = |m: &MappingFacts| m.file.as_deref().is_some_and(|f| is_named(f, &piece));
            let (own, left) = self.left.iter().partition::<Vec<_>, _>(|m| file(m));
            if own.is_empty() {
                rest.push(piece);
            } else {
                self.left = left;
                self.told.push((piece, own));
            }
        }
        rest
    }

    fn by_size_and_policy(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let mut rest = Vec::new();
        for group in groups(pieces, |a, b| a.bytes == b.bytes && a.policy == b.policy) {
            let first = group[0].clone();
            let same_place = group.iter().all(|piece| piece.nodes == first.nodes);
            let fits = |m: &MappingFacts| has_size(m, first.bytes) && m.policy == first.policy;
            if same_place && self.left.iter().filter(|m| fits(m)).count() == group.len() {
                self.take_in_order(group, fits);
            } else {
                rest.extend(group);
            }
        }
        rest
    }

    fn by_size(&mut self, pieces: Vec<Piece>) {
        for group in groups(pieces, |a, b| a.bytes == b.bytes) {
            let first = group[0].clone();
            let fits = |m: &MappingFacts| has_size(m, first.bytes);
            let there = self.left.iter().filter(|m| fits(m)).count();
            let same_place = group.iter().all(|piece| piece.nodes == first.nodes);
            if there == group.len() && same_place {
                self.take_in_order(group, fits);
            } else if there == group.len() {
                let (own, left) = self.left.iter().partition::<Vec<_>, _>(|m| fits(m));
                self.left = left;
                self.together.extend(own);
            } else {
                self.missing.push(not_found(&group, there));
            }
        }
    }

    /// The highest address is the first piece's.
    fn take_in_order(&mut self, group: Vec<Piece>, fits: impl Fn(&MappingFacts) -> bool) {
        let (mut own, left) = self.left.iter().partition::<Vec<_>, _>(|m| fits(m));
        self.left = left;
        own.sort_by_key(|mapping| Reverse(mapping.start));
        self.told.extend(group.into_iter().zip(own).map(|(piece, mapping)| (piece, vec![mapping])));
    }

    fn counted(self) -> GuestRam {
        let mut pages = PageCounts::new();
        let mut by_vnode: BTreeMap<Vnode, PageCounts> = BTreeMap::new();
        for mapping in &self.together {
            count(&mut pages, mapping);
        }
        for (piece, mapping) in
            self.told.iter().flat_map(|(p, all)| all.iter().map(move |m| (p, m)))
        {
            count(&mut pages, mapping);
            if let Some(vnode) = piece.vnode {
                count(by_vnode.entry(vnode).or_default(), mapping);
            }
        }
        let by_vnode = (self.together.is_empty() && !by_vnode.is_empty()).then_some(by_vnode);
        GuestRam { pages, by_vnode, missing: self.missing }
    }
}

/// Pieces that are alike, in their order.
fn groups(pieces: Vec<Piece>, alike: impl Fn(&Piece, &Piece) -> bool) -> Vec<Vec<Piece>> {
    let mut groups: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        match groups.iter_mut().find(|group| alike(&group[0], &piece)) {
            Some(group) => group.push(piece),
            None => groups.push(vec![piece]),
        }
    }
    groups
}

/// A file of hugepages is as long as whole pages.
fn has_size(mapping: &MappingFacts, bytes: u64) -> bool {
    bytes.checked_next_multiple_of(mapping.page_size.bytes()) == Some(mapping.bytes)
}

/// `.../qemu_back_mem._objects_ram-node1.Xy12`, `.../ram-node1`; `pc.ram` without nodes.
fn is_named(file: &str, piece: &Piece) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let Some(vnode) = piece.vnode else {
        return name == "pc.ram" || name.contains("_pc.ram");
    };
    let object = format!("ram-node{vnode}");
    name.match_indices(&object).any(|(at, _)| {
        let before = name[..at].chars().next_back();
        let after = name[at + object.len()..].chars().next();
        before.is_none_or(|c| !c.is_alphanumeric()) && after.is_none_or(|c| !c.is_ascii_digit())
    })
}

fn not_found(group: &[Piece], there: usize) -> String {
    let mib = group[0].bytes.div_ceil(1 << 20);
    let names: Vec<String> = group.iter().filter_map(|p| p.vnode).map(|v| v.to_string()).collect();
    let whose = match names.as_slice() {
        [] => "the guest's memory".to_owned(),
        [one] => format!("the memory of vNUMA node {one}"),
        several => format!("the memory of vNUMA nodes {}", several.join(", ")),
    };
    format!("{whose}, {mib} MiB each, is not told from QEMU's own: {there} mappings have that size")
}

fn count(pages: &mut PageCounts, mapping: &MappingFacts) {
    for (node, count) in mapping.pages.iter().filter(|(_, count)| **count > 0) {
        *pages.entry(*node).or_default().entry(mapping.page_size).or_default() += count;
    }
}
