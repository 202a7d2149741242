//! The fixtures, edits that fit them, and a comparison that shares no code with the editor.

use numawise_engine::ports::DomainEditor;
use numawise_libvirt::DomainXmlEditor;
use numawise_model::{
    CpuSet, GuestConfig, GuestCpuTopology, GuestEdit, MemoryMode, NodeSet, PageSize, Pcpu, PinEdit,
    Pnode, Vcpu, VcpuSet, VirtualTopology, Vnode, VnumaEdit, VnumaNode,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub const EDITOR: DomainXmlEditor = DomainXmlEditor;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/domains")
}

/// Every fixture as (file name, text).
pub fn all() -> Vec<(String, String)> {
    let mut fixtures = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("fixtures/domains is there") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            fixtures.push((name, std::fs::read_to_string(&path).expect("UTF-8")));
        }
    }
    fixtures.sort();
    assert!(fixtures.len() >= 20, "only {} fixtures in {:?}", fixtures.len(), folder());
    fixtures
}

pub fn fixture(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn read(xml: &str) -> GuestConfig {
    EDITOR.read(xml).unwrap_or_else(|error| panic!("{error}\n{xml}"))
}

pub fn apply(xml: &str, edit: &GuestEdit, note: Option<&str>) -> String {
    EDITOR.apply(xml, edit, note).unwrap_or_else(|error| panic!("{error}\n{xml}"))
}

pub fn keep() -> GuestEdit {
    GuestEdit { pins: PinEdit::Keep, vnuma: VnumaEdit::Keep, fixes: Vec::new() }
}

/// Each vCPU on one pCPU, counted down from the top so that no fixture has it already.
pub fn pins(vcpus: u32) -> PinEdit {
    let cpus = |vcpu| CpuSet::single(Pcpu(1000 - vcpu));
    PinEdit::Set {
        vcpus: (0..vcpus).map(|vcpu| (Vcpu(vcpu), cpus(vcpu))).collect(),
        emulator: Some(CpuSet::range(1001 - vcpus, 1000)),
        iothreads: BTreeMap::new(),
    }
}

/// As many cells as the guest can have up to `nodes`, on host nodes counted down from 3.
pub fn topology(guest: &GuestConfig, nodes: u32) -> VirtualTopology {
    let vcpus = guest.vcpus_max;
    let nodes = nodes.min(vcpus);
    let kib = guest.memory_bytes / 1024;
    let share = |n: u32| n * vcpus / nodes;
    let memory = |n: u32| kib * u64::from(n) / u64::from(nodes);
    let node = |n: u32| VnumaNode {
        id: Vnode(n),
        vcpus: VcpuSet::range(share(n), share(n + 1) - 1),
        memory_bytes: (memory(n + 1) - memory(n)) * 1024,
        host_nodes: NodeSet::single(Pnode(3 - n)),
        memory_nodes: NodeSet::single(Pnode(3 - n)),
        distances: (0..nodes).map(|m| (Vnode(m), if m == n { 10 } else { 21 })).collect(),
    };
    VirtualTopology {
        nodes: (0..nodes).map(node).collect(),
        cpu: GuestCpuTopology { sockets: vcpus, dies: 1, clusters: 1, cores: 1, threads: 1 },
        emulate_l3: true,
        l3_level: None,
    }
}

pub fn vnuma(guest: &GuestConfig, nodes: u32, mode: MemoryMode, page_size: PageSize) -> VnumaEdit {
    VnumaEdit::Set { topology: topology(guest, nodes), mode, page_size }
}

/// Pins and vNUMA: everything an ordinary plan writes.
pub fn whole_edit(guest: &GuestConfig) -> GuestEdit {
    GuestEdit {
        pins: pins(guest.vcpus_max),
        vnuma: vnuma(guest, 2, MemoryMode::Strict, PageSize::HUGE_2M),
        fixes: Vec::new(),
    }
}

/// What is left of a definition when everything numawise owns is taken out: element by element, with
/// attributes in order, text, comments and processing instructions. Containers that are left empty
/// are the same as none.
pub fn foreign_part(xml: &str) -> Vec<String> {
    let tree = roxmltree::Document::parse(xml).expect("well-formed");
    let mut tokens = Vec::new();
    for child in tree.root().children() {
        push_tokens(child, "", &mut tokens);
    }
    tokens
}

const OWNED: [&str; 15] = [
    "/domain/maxMemory",
    "/domain/currentMemory",
    "/domain/vcpus",
    "/domain/cputune/vcpupin",
    "/domain/cputune/emulatorpin",
    "/domain/cputune/iothreadpin",
    "/domain/numatune/memory",
    "/domain/numatune/memnode",
    "/domain/cpu/topology",
    "/domain/cpu/cache",
    "/domain/cpu/numa",
    "/domain/memoryBacking/hugepages",
    "/domain/devices/memballoon",
    "/domain/metadata/{https://numawise.dev/xmlns/1}topology",
    "/domain/vcpu/@",
];

const CONTAINERS: [&str; 6] = [
    "/domain/cputune",
    "/domain/numatune",
    "/domain/cpu",
    "/domain/memoryBacking",
    "/domain/metadata",
    "/domain/devices",
];

fn push_tokens(node: roxmltree::Node, parent: &str, tokens: &mut Vec<String>) {
    if let Some(text) = node.text().filter(|_| node.is_text() || node.is_comment()) {
        let text = text.trim();
        if !text.is_empty() {
            tokens.push(format!("{parent} {:?} {text}", node.node_type()));
        }
        return;
    }
    if let Some(pi) = node.pi() {
        tokens.push(format!("{parent} <?{} {:?}?>", pi.target, pi.value));
        return;
    }
    let path = match node.tag_name().namespace() {
        Some(namespace) => format!("{parent}/{{{namespace}}}{}", node.tag_name().name()),
        None => format!("{parent}/{}", node.tag_name().name()),
    };
    if OWNED.contains(&path.as_str()) {
        return;
    }
    let attributes: Vec<String> = node
        .attributes()
        .filter(|a| !(path == "/domain/vcpu" && ["placement", "current"].contains(&a.name())))
        .map(|a| format!("{:?}{}={:?}", a.namespace(), a.name(), a.value()))
        .collect();
    let place = tokens.len();
    tokens.push(format!("{path} {}", attributes.join(" ")));
    for child in node.children() {
        push_tokens(child, &path, tokens);
    }
    if tokens.len() == place + 1 && attributes.is_empty() && CONTAINERS.contains(&path.as_str()) {
        tokens.pop();
    }
}
