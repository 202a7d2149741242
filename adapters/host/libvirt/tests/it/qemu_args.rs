//! The pair of QEMU arguments that is numawise's: written, read, taken back; other arguments stay.

use crate::connection::{open, uuid};
use crate::corpus::{EDITOR, all, apply, read, whole_edit};
use numawise_engine::moves::ports::MovesGuests;
use numawise_engine::ports::{Depth, DomainEditor, Hypervisor};
use numawise_libvirt::DomainXmlEditor;
use numawise_model::guest::{CacheLevel, SmpCache, SmpCacheAbility};
use numawise_model::{
    GuestCpuTopology, GuestEdit, NodeSet, PinEdit, Pnode, VcpuSet, VirtualTopology, Vnode,
    VnumaEdit, VnumaNode,
};
use numawise_testkit::testbed::{PrivateLibvirtd, TinyGuest};
use std::time::{Duration, Instant};

fn with_level(xml: &str, level: Option<CacheLevel>) -> GuestEdit {
    let mut edit = whole_edit(&read(xml));
    if let VnumaEdit::Set { topology, .. } = &mut edit.vnuma {
        topology.l3_level = level;
    }
    edit
}

const OWN: &str = "<domain type='kvm' xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'>\n  \
                   <name>a</name>\n  <memory unit='MiB'>64</memory>\n  <vcpu>2</vcpu>\n  \
                   <q:commandline>\n    <q:arg value='-set'/>\n    \
                   <q:arg value='device.x.y=z'/>\n  </q:commandline>\n</domain>\n";

#[test]
fn arguments_of_others_stay_and_ours_go_back() {
    let mut texts = all();
    texts.push(("own".to_owned(), OWN.to_owned()));
    let mut written = 0;
    for (name, before) in texts {
        let edit = with_level(&before, Some(CacheLevel::Socket));
        let Ok(after) = EDITOR.apply(&before, &edit, None) else { continue };
        written += 1;
        assert_eq!(read(&after).smp_cache, Some(SmpCache::L3(CacheLevel::Socket)), "{name}");
        for argument in ["device.x.y=z", "swordfish-json", "node,nodeid=0,cpus=0-11"] {
            assert_eq!(before.contains(argument), after.contains(argument), "{name}");
        }
        assert_eq!(apply(&after, &edit, None), after, "{name}: nothing is written twice");
        // Another level changes one word; none takes the pair out.
        let other = apply(&after, &with_level(&after, Some(CacheLevel::Core)), None);
        assert_eq!(other, after.replace("topology=socket", "topology=core"), "{name}");
        let none = apply(&after, &with_level(&after, None), None);
        assert_eq!(none, apply(&before, &with_level(&before, None), None), "{name}");

        // Undo, byte for byte and element by element.
        assert_eq!(EDITOR.revert(&after, &before, &after).expect("undone"), before, "{name}");
        let touched = |xml: &str| xml.replacen("<name>", "<!-- seen --><name>", 1);
        let back = EDITOR.revert(&touched(&after), &before, &after).expect("undone");
        let stable = |xml: &str| EDITOR.stable_part(xml).expect("readable");
        assert_eq!(stable(&back), stable(&before), "{name}\n{back}");
        // And undoing that puts the pair back.
        let again = EDITOR.revert(&touched(&before), &after, &before).expect("undone");
        assert_eq!(stable(&again), stable(&after), "{name}\n{again}");
    }
    assert!(written >= 20, "{written}");
    let after = apply(OWN, &with_level(OWN, Some(CacheLevel::Core)), None);
    assert!(after.contains("<q:arg value='-machine'/>"), "its owner's prefix: {after}");
}

#[test]
fn what_others_say_of_smp_cache_is_theirs() {
    let own = OWN.replace("device.x.y=z", "smp-cache.0.cache=l2,smp-cache.0.topology=die");
    let text = "smp-cache.0.cache=l2,smp-cache.0.topology=die".to_owned();
    assert_eq!(read(&own).smp_cache, Some(SmpCache::Others(text)));
    let refused = EDITOR.apply(&own, &with_level(&own, Some(CacheLevel::Core)), None);
    let why = refused.expect_err("two would be mixed").to_string();
    assert!(why.contains("smp-cache.0.cache=l2"), "{why}");
    let without = apply(&own, &with_level(&own, None), None);
    assert!(without.contains("smp-cache.0.cache=l2"), "{without}");
}

/// `model` is an Intel CPU: under software emulation an AMD one has no leaf to say it in.
fn tiny(name: &str, model: &str, log: &str) -> String {
    format!(
        "<domain type='qemu'><name>{name}</name><uuid>{}</uuid><memory unit='MiB'>192</memory>\
         <vcpu>4</vcpu>{}<features><acpi/><apic/></features><cpu mode='custom' match='exact' \
         check='none'><model fallback='forbid'>{model}</model></cpu><devices>{}{}\
         <memballoon model='none'/></devices></domain>",
        uuid(71),
        TinyGuest::os_xml("q35"),
        TinyGuest::console_xml(log),
        TinyGuest::agent_xml(),
    )
}

fn one_node(cpu: GuestCpuTopology, l3_level: Option<CacheLevel>) -> VirtualTopology {
    let node = VnumaNode {
        id: Vnode(0),
        vcpus: VcpuSet::range(0, 3),
        memory_bytes: 192 << 20,
        host_nodes: NodeSet::single(Pnode(0)),
        memory_nodes: NodeSet::single(Pnode(0)),
        distances: [(Vnode(0), 10)].into(),
    };
    VirtualTopology { nodes: vec![node], cpu, emulate_l3: true, l3_level }
}

/// What the guest's kernel shows, by its agent.
fn seen(daemon: &PrivateLibvirtd, topology: VirtualTopology) -> Vec<VcpuSet> {
    let hypervisor = open(&daemon.uri());
    let log = daemon.folder().join("cache.log");
    let _ = std::fs::remove_file(&log);
    let vnuma = VnumaEdit::Set {
        topology,
        mode: numawise_model::MemoryMode::Strict,
        page_size: numawise_model::PageSize::BASE_4K,
    };
    let edit = GuestEdit { pins: PinEdit::Keep, vnuma, fixes: Vec::new() };
    let xml = apply(&tiny("cache", "Skylake-Server", &log.to_string_lossy()), &edit, None);
    hypervisor.define(&xml).expect("defined");
    let stored = hypervisor.inactive_xml(&uuid(71)).expect("read");
    let level = |xml: &str| DomainXmlEditor.read(xml).expect("read").smp_cache;
    assert_eq!(level(&stored), level(&xml), "as libvirt writes it: {stored}");
    hypervisor.start(&uuid(71)).expect("started");
    let until = Instant::now() + Duration::from_secs(240);
    let l3 = loop {
        let facts = hypervisor.observe(&uuid(71), Depth::Guest).expect("looked at").expect("runs");
        if let Some(l3) = facts.guest_l3 {
            break l3;
        }
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        assert!(Instant::now() < until, "{:?}: {said}", facts.unseen);
        std::thread::sleep(Duration::from_millis(500));
    };
    hypervisor.power_off(&uuid(71)).expect("off");
    l3
}

/// QEMU 7.2 does not know the property.
#[test]
fn an_old_qemu_is_tried_and_does_not_take_it() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let ability = open(&daemon.uri()).smp_cache(&tiny("old", "qemu64", "/dev/null"));
    let Ok(SmpCacheAbility::No { why }) = ability else { panic!("{ability:?}") };
    assert!(why.contains("smp-cache"), "{why}");
    assert_eq!(daemon.virsh_text(&["list", "--all", "--name"]).trim(), "", "nothing is left");
}

/// QEMU 10: tried, written, and seen by the guest's kernel. Without a level its L3 is the socket's.
#[test]
fn a_newer_qemu_shows_the_l3_that_was_written() {
    let Some(daemon) = PrivateLibvirtd::start_newer() else { return };
    let ability = open(&daemon.uri()).smp_cache(&tiny("new", "qemu64", "/dev/null"));
    assert_eq!(ability.expect("tried"), SmpCacheAbility::Yes);
    let remote = open(&daemon.remote_uri()).smp_cache(&tiny("new", "qemu64", "/dev/null"));
    assert_eq!(remote.expect("tried from afar"), SmpCacheAbility::Yes);
    assert_eq!(daemon.virsh_text(&["list", "--all", "--name"]).trim(), "", "nothing is left");
    let cpu = GuestCpuTopology { sockets: 1, dies: 1, clusters: 1, cores: 4, threads: 1 };
    let each: Vec<VcpuSet> = (0..4).map(|vcpu| VcpuSet::range(vcpu, vcpu)).collect();
    assert_eq!(seen(&daemon, one_node(cpu, Some(CacheLevel::Core))), each);
    assert_eq!(seen(&daemon, one_node(cpu, None)), [VcpuSet::range(0, 3)]);
}
