//! What is seen of a running guest: threads by their names, memory piece by piece, and the reasons
//! where nobody could look.

use numawise_engine::ports::{Depth, PortError, Processes};
use numawise_libvirt::observe;
use numawise_model::{
    CpuSet, GuestFacts, GuestUuid, MappingFacts, MappingPolicy, PageCounts, PageSize, Pnode, Sight,
    ThreadFacts, Vcpu, Vnode,
};
use std::cell::Cell;

const UUID: &str = "a6f853c6-168a-42de-b1d9-6cca52af92a5";
const PID: u32 = 14060;

/// Two guest nodes of so many MiB, with such elements between.
fn guest(mib: [u64; 2], more: &str) -> String {
    let whole = mib[0] + mib[1];
    format!(
        "<domain type='kvm'><name>db</name><uuid>{UUID}</uuid><memory unit='MiB'>{whole}</memory>\
         <vcpu>4</vcpu><cpu><numa><cell id='0' cpus='0-1' memory='{}' unit='MiB'/>\
         <cell id='1' cpus='2-3' memory='{}' unit='MiB'/></numa></cpu>{more}</domain>",
        mib[0], mib[1]
    )
}

/// Memory of guest node 0 on host node `a`, of 1 on `b`.
fn bound(mode: &str, a: u32, b: u32) -> String {
    format!(
        "<numatune><memnode cellid='0' mode='{mode}' nodeset='{a}'/>\
         <memnode cellid='1' mode='{mode}' nodeset='{b}'/></numatune>"
    )
}

#[derive(Default)]
struct Fake {
    threads: Vec<(u32, &'static str, &'static str)>,
    mappings: Vec<MappingFacts>,
    /// No such process.
    absent: bool,
    denied: bool,
    pages_were_read: Cell<bool>,
}

impl Processes for Fake {
    fn find(&self, arguments: &[&str]) -> Result<Option<u32>, PortError> {
        assert_eq!(arguments, ["-uuid", UUID]);
        Ok((!self.absent).then_some(PID))
    }

    fn threads(&self, pid: u32) -> Result<Option<Vec<ThreadFacts>>, PortError> {
        assert_eq!(pid, PID);
        let thread = |(tid, name, cpus): &(u32, &str, &str)| ThreadFacts {
            tid: *tid,
            name: (*name).to_owned(),
            cpus_allowed: set(cpus),
            nodes_allowed: None,
            cgroup_cpus: name.contains("CPU 1/").then(|| set("0-7")),
        };
        Ok(Some(self.threads.iter().map(thread).collect()))
    }

    fn mappings(&self, pid: u32) -> Result<Option<Vec<MappingFacts>>, PortError> {
        assert_eq!(pid, PID);
        self.pages_were_read.set(true);
        if self.denied {
            return Err(PortError::NoAccess("numa_maps: Permission denied".to_owned()));
        }
        Ok(Some(self.mappings.clone()))
    }
}

fn set(list: &str) -> CpuSet {
    numawise_model::parse_list(list).expect("a list written in a test")
}

/// At an address, so many MiB, with such a policy, and 100 pages of 4K on a node.
fn mapping(start: u64, mib: u64, policy: &str, on: u32) -> MappingFacts {
    let policy = match policy.split_once(':') {
        Some((_, nodes)) => MappingPolicy::Bind(numawise_model::parse_list(nodes).expect("a list")),
        None => MappingPolicy::Default,
    };
    MappingFacts {
        start,
        bytes: mib << 20,
        policy,
        file: None,
        page_size: PageSize::BASE_4K,
        pages: [(Pnode(on), 100)].into(),
    }
}

fn file(name: &str, mapping: MappingFacts) -> MappingFacts {
    MappingFacts { file: Some(name.to_owned()), ..mapping }
}

fn no_agent(_: &str) -> Result<String, PortError> {
    panic!("nobody asks the agent")
}

fn seen(xml: &str, depth: Depth, fake: &Fake) -> GuestFacts {
    observe(xml, &GuestUuid(UUID.to_owned()), depth, Some(fake), &no_agent).expect("observed")
}

/// `0: 1 has 100` for vNUMA node 0 with 100 pages on host node 1.
fn by_vnode(facts: &GuestFacts) -> Option<Vec<String>> {
    let one = |(vnode, pages): (&Vnode, &PageCounts)| {
        let each = |(node, sizes): (&Pnode, &std::collections::BTreeMap<PageSize, u64>)| {
            format!("{vnode}: {node} has {}", sizes.values().sum::<u64>())
        };
        pages.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    Some(facts.pages_by_vnode.as_ref()?.iter().map(one).collect())
}

fn pages_seen(xml: &str, mappings: Vec<MappingFacts>) -> GuestFacts {
    let fake = Fake { threads: vec![(2, "CPU 0/KVM", "0")], mappings, ..Fake::default() };
    seen(xml, Depth::Pages, &fake)
}

#[test]
fn threads_by_name() {
    let threads = vec![
        (PID, "qemu-system-x86", "0-1"),
        (2, "qemu-system-x86", "0-3"),
        (3, "CPU 0/KVM", "4"),
        (4, "CPU 1/TCG", "5-6"),
        (5, "IO iothread2", "1"),
        (6, "IO mon_iothread", "0-3"),
        (7, "CPU x/KVM", "7"),
        (8, "worker", "7"),
    ];
    let fake = Fake { threads, ..Fake::default() };
    let facts = seen(&guest([64, 96], ""), Depth::Threads, &fake);
    assert_eq!(facts.vcpu_affinity, [(Vcpu(0), set("4")), (Vcpu(1), set("5-6"))].into());
    assert_eq!(facts.vcpu_cgroup, [(Vcpu(1), set("0-7"))].into());
    assert_eq!(facts.emulator_affinity, Some(set("0-1")));
    assert_eq!(facts.iothread_affinity, [(2, set("1"))].into());
    assert_eq!(facts.unseen, []);
    assert!(!fake.pages_were_read.get(), "threads alone are cheap");
}

#[test]
fn what_cannot_be_looked_at_has_a_reason() {
    let xml = guest([64, 96], "");
    let told = |depth, fake: Option<&Fake>| -> Vec<String> {
        let processes = fake.map(|fake| fake as &dyn Processes);
        let uuid = GuestUuid(UUID.to_owned());
        let facts = observe(&xml, &uuid, depth, processes, &no_agent).expect("observed");
        facts.unseen.iter().map(|u| format!("{:?}: {}", u.what, u.why)).collect()
    };
    let afar = told(Depth::Pages, None);
    assert!(
        matches!(afar.as_slice(), [t, p] if t.starts_with("Threads: the host is reached over")
        && p.starts_with("Pages: the host is reached over")),
        "{afar:?}"
    );
    let absent = Fake { absent: true, ..Fake::default() };
    assert_eq!(told(Depth::Threads, Some(&absent)).len(), 1);
    assert_eq!(told(Depth::Pages, Some(&absent)).len(), 2);
    let turns = Fake { threads: vec![(2, "ALL CPUs/TCG", "0-3")], ..Fake::default() };
    let turns = told(Depth::Threads, Some(&turns));
    assert!(turns[0].contains("one thread runs all vCPUs"), "{turns:?}");
    let denied = Fake { threads: vec![(2, "CPU 0/KVM", "0")], denied: true, ..Fake::default() };
    let denied = told(Depth::Pages, Some(&denied));
    assert_eq!(denied, ["Pages: numa_maps: Permission denied"]);
    let nobody = Fake { threads: vec![(2, "CPU 0/KVM", "0")], ..Fake::default() };
    let nobody = told(Depth::Guest, Some(&nobody));
    assert!(nobody.iter().any(|w| w.contains("no channel for a guest agent")), "{nobody:?}");
}

#[test]
fn pieces_of_different_sizes_are_told_by_size() {
    let xml = guest([64, 96], &bound("strict", 0, 1));
    let heap = mapping(0x10, 17, "default", 3);
    let facts = pages_seen(
        &xml,
        vec![heap, mapping(0x20, 96, "bind:1", 1), mapping(0x30, 64, "bind:0", 2)],
    );
    // The pages of guest node 0 were moved to host node 2; its policy still says 0.
    assert_eq!(by_vnode(&facts).expect("told apart"), ["0: 2 has 100", "1: 1 has 100"]);
    assert!(!facts.pages.contains_key(&Pnode(3)), "QEMU's own is not the guest's");
    // A cpuset that was moved takes the policies with it: the size is left.
    let moved = vec![mapping(0x20, 96, "bind:3", 3), mapping(0x30, 64, "bind:3", 3)];
    let facts = pages_seen(&xml, moved);
    assert_eq!(by_vnode(&facts).expect("told apart"), ["0: 3 has 100", "1: 3 has 100"]);
}

#[test]
fn pieces_of_one_size_are_told_by_policy() {
    let xml = guest([64, 64], &bound("strict", 1, 0));
    let mappings = vec![
        mapping(0x20, 64, "bind:0", 0),
        mapping(0x30, 64, "bind:1", 2),
        mapping(0x40, 64, "default", 3),
    ];
    let facts = pages_seen(&xml, mappings);
    assert_eq!(by_vnode(&facts).expect("told apart"), ["0: 2 has 100", "1: 0 has 100"]);
    assert!(!facts.pages.contains_key(&Pnode(3)), "a translation buffer of the same size");
}

/// The first piece has the highest address.
#[test]
fn pieces_of_one_size_on_one_node_are_told_by_address() {
    let xml = guest([64, 64], &bound("strict", 0, 0));
    let mappings = vec![mapping(0x20, 64, "bind:0", 0), mapping(0x30, 64, "bind:0", 1)];
    let facts = pages_seen(&xml, mappings);
    assert_eq!(by_vnode(&facts).expect("told apart"), ["0: 1 has 100", "1: 0 has 100"]);
}

#[test]
fn pieces_of_one_size_without_policy_are_counted_together() {
    let xml = guest([64, 64], &bound("restrictive", 0, 1));
    let mappings = vec![mapping(0x20, 64, "default", 0), mapping(0x30, 64, "default", 1)];
    let facts = pages_seen(&xml, mappings);
    assert_eq!(facts.pages_by_vnode, None);
    let each = |node| (Pnode(node), [(PageSize::BASE_4K, 100)].into());
    assert_eq!(facts.pages, [each(0), each(1)].into());
    assert_eq!(facts.unseen, []);
}

#[test]
fn files_name_their_pieces() {
    let xml = guest([64, 64], &bound("restrictive", 0, 1));
    let huge = |start, name: &str, on| MappingFacts {
        page_size: PageSize::HUGE_2M,
        ..file(
            &format!("/dev/hugepages/libvirt/qemu/1-db/{name}"),
            mapping(start, 64, "default", on),
        )
    };
    let mappings = vec![
        huge(0x20, "qemu_back_mem._objects_ram-node0.a1Bz9x", 0),
        huge(0x30, "qemu_back_mem._objects_ram-node1.ram-no", 1),
        huge(0x40, "qemu_back_mem._objects_ram-node10.a1Bz9", 3),
    ];
    let facts = pages_seen(&xml, mappings);
    assert_eq!(by_vnode(&facts).expect("told apart"), ["0: 0 has 100", "1: 1 has 100"]);
    assert_eq!(facts.pages[&Pnode(0)], [(PageSize::HUGE_2M, 100)].into());
    assert!(!facts.pages.contains_key(&Pnode(3)), "another node's file");
}

#[test]
fn a_guest_without_nodes_has_one_piece() {
    let xml =
        "<domain type='kvm'><name>db</name><memory unit='MiB'>64</memory><vcpu>1</vcpu></domain>";
    let facts =
        pages_seen(xml, vec![mapping(0x20, 64, "default", 1), mapping(0x30, 8, "default", 0)]);
    assert_eq!(facts.pages, [(Pnode(1), [(PageSize::BASE_4K, 100)].into())].into());
    assert_eq!((facts.pages_by_vnode, facts.unseen), (None, Vec::new()));
}

#[test]
fn memory_that_is_not_among_the_mappings_is_unseen() {
    let xml = guest([64, 96], &bound("strict", 0, 1));
    let facts = pages_seen(&xml, vec![mapping(0x20, 96, "bind:1", 1)]);
    assert_eq!(by_vnode(&facts).expect("the other is"), ["1: 1 has 100"]);
    let [unseen] = facts.unseen.as_slice() else { panic!("{:?}", facts.unseen) };
    assert_eq!(unseen.what, Sight::Pages);
    assert!(unseen.why.contains("vNUMA node 0, 64 MiB each"), "{}", unseen.why);
}
