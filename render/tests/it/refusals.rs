//! Every refusal says its values and a way out.

use crate::hosts::*;
use expect_test::expect_file;
use numawise_model::ledger::ClaimConflict;
use numawise_model::refusal::TopologyDifference;
use numawise_model::{
    ForeignOwner, GuestCpuTopology, Manager, Mode, MoveRefusal as M, Obstacle, Owner, PageSize,
    Pnode, Refusal as R, Vcpu, Vnode,
};
use numawise_render::{Look, text};

fn cpu(sockets: u32, cores: u32) -> GuestCpuTopology {
    GuestCpuTopology { sockets, dies: 1, clusters: 1, cores, threads: 1 }
}

fn cpu_refusals() -> Vec<(R, Vec<&'static str>)> {
    vec![
        (
            R::NotEnoughCpus {
                wanted: 70,
                free: vec![(Pnode(1), cpus("32-63")), (Pnode(0), cpus("1-15"))],
                held: vec![(web(), cpus("16-31"))],
                reserved: cpus("0"),
                overcommit_would_fit: true,
            },
            vec![
                "70 vCPUs",
                "47 pCPUs",
                "32-63",
                "web01",
                "--vcpus 47",
                "--overcommit",
                "--shared",
            ],
        ),
        (
            R::NodeTooSmall {
                node: Pnode(1),
                wanted: 40,
                free: cpus("32-63"),
                overcommit_would_fit: true,
            },
            vec!["40 vCPUs", "node 1", "32 free", "--on-node", "--overcommit"],
        ),
        (R::UnboundVcpus { vcpus: vcpus("3"), of: 8 }, vec!["vCPU 3 of 8 is", "--bind '3:PCPUS'"]),
        (
            R::VcpuSpansNodes { vcpu: Vcpu(5), cpus: cpus("31-32"), nodes: nodes("0-1") },
            vec!["vCPU 5", "31-32", "nodes 0-1", "--bind", "--on-node"],
        ),
        (R::VcpusOutOfRange { vcpus: vcpus("48-63"), guest_has: 48 }, vec!["48-63", "0-47"]),
        (R::VcpusNamedTwice { vcpus: vcpus("3-4") }, vec!["3-4", "--on-node"]),
        (R::CpusUnknown { cpus: cpus("900") }, vec!["pCPU 900", "host show"]),
        (R::CpusOffline { cpus: cpus("7") }, vec!["pCPU 7 is offline", "cpu7/online"]),
        (
            R::CpusNotAllowed {
                cpus: cpus("9"),
                limited_by: Some("/sys/fs/cgroup/x".to_owned()),
                allowed: cpus("0-7"),
            },
            vec!["pCPU 9", "/sys/fs/cgroup/x", "0-7"],
        ),
        (R::CpusInNoNode { cpus: cpus("8-9") }, vec!["8-9", "--bind"]),
        (
            R::CpusTaken(ClaimConflict {
                cpus: cpus("3"),
                held_by: web(),
                held_mode: Mode::Exclusive,
            }),
            vec!["pCPU 3 belongs to guest web01", "numawise unbind web01"],
        ),
        (
            R::CpusTaken(ClaimConflict {
                cpus: cpus("3"),
                held_by: Owner::Process { name: "mysqld".to_owned() },
                held_mode: Mode::Shared,
            }),
            vec!["pCPU 3", "mysqld", "--shared"],
        ),
        (
            R::CpusOutsidePool { cpus: cpus("3"), pool: cpus("8-15"), exclusive: true },
            vec!["pCPU 3", "8-15", "config.toml", "--shared"],
        ),
        (R::CpusReserved { cpus: cpus("0") }, vec!["pCPU 0", "config.toml"]),
        (R::EmptyRule { vcpus: vcpus("2") }, vec!["vCPU 2", "--bind '2:PCPUS'"]),
        (R::UnknownNode { node: Pnode(9), nodes: nodes("0-1") }, vec!["node 9", "nodes 0-1"]),
        (R::NodeWithoutCpus { node: Pnode(2) }, vec!["node 2", "--on-node"]),
        (
            R::OvercommitNotAsked { cpus: cpus("0"), vcpus: vcpus("0-3") },
            vec!["4 vCPUs", "0-3", "pCPU 0", "--overcommit"],
        ),
    ]
}

fn memory_refusals() -> Vec<(R, Vec<&'static str>)> {
    vec![
        (R::NoVcpus, vec!["--vcpus 1"]),
        (R::TooManyVcpus { wanted: 9000, most: 8192 }, vec!["9000", "--vcpus 8192"]),
        (
            R::PageSizeUnknown {
                size: PageSize(16 << 20),
                known: vec![PageSize::BASE_4K, PageSize::HUGE_2M],
            },
            vec!["16M", "4K, 2M", "--page-size"],
        ),
        (
            R::MemoryNotWholePages {
                memory_bytes: 5 * GIB + (512 << 20),
                page_size: PageSize::HUGE_1G,
                lower_bytes: 5 * GIB,
                higher_bytes: 6 * GIB,
            },
            vec!["5.5 GiB", "1G", "--memory 5GiB", "--memory 6GiB"],
        ),
        (
            R::FewerPagesThanNodes { pages: 1, page_size: PageSize::HUGE_1G, vnodes: 2 },
            vec!["1 x 1G (1 GiB)", "2 vNUMA nodes", "--page-size"],
        ),
        (
            R::NotEnoughMemory {
                node: Pnode(1),
                page_size: PageSize::HUGE_2M,
                wanted_pages: 65536,
                free_pages: 40000,
                promised_pages: 1000,
                available_pages: 39000,
            },
            vec![
                "node 1",
                "65536 x 2M (128 GiB)",
                "free now: 40000 x 2M",
                "1000 x 2M",
                "39000 x 2M",
                "by 26536",
                "hugepages-2048kB",
                "--page-size 4K",
                "--on-node",
            ],
        ),
        (
            R::MemoryNotAllowed { node: Pnode(1), allowed: nodes("0"), limited_by: None },
            vec!["node 1", "node 0", "cpuset.mems"],
        ),
        (
            R::NotMemoryOnly { asked: nodes("0-1"), usable: nodes("4-7") },
            vec!["nodes 0-1", "--memory-only 4-7", "--memory-only near"],
        ),
        (
            R::NotMemoryOnly { asked: nodes(""), usable: nodes("") },
            vec!["no node with memory and without CPUs", "leave --memory-only out"],
        ),
        (R::NoMemoryAnywhere { vnode: Vnode(0) }, vec!["vNUMA node 0"]),
    ]
}

fn guest_refusals() -> Vec<(R, Vec<&'static str>)> {
    vec![
        (
            R::VcpuHotplug { current: 8, maximum: 16 },
            vec!["<vcpu current='8'>16</vcpu>", "--fix-guest", "16 --config"],
        ),
        (R::MemoryModules { modules: 2 }, vec!["2 memory modules", "detach-device", "--no-vnuma"]),
        (R::MemoryHotplug { slots: 4 }, vec!["<maxMemory slots='4'>", "--fix-guest"]),
        (
            R::Balloon { model: "virtio".to_owned() },
            vec!["<memballoon model='virtio'>", "--fix-guest", "--no-vnuma"],
        ),
        (R::PlacementAuto, vec!["placement='auto'", "--fix-guest"]),
        (
            R::TopologyFrozen {
                differences: vec![
                    TopologyDifference::NodeCount { frozen: 2, planned: 1 },
                    TopologyDifference::Vcpus {
                        vnode: Vnode(0),
                        frozen: vcpus("0-31"),
                        planned: vcpus("0-47"),
                    },
                    TopologyDifference::Memory {
                        vnode: Vnode(0),
                        frozen_bytes: 128 * GIB,
                        planned_bytes: 192 * GIB,
                    },
                    TopologyDifference::Distances { vnode: Vnode(1) },
                    TopologyDifference::Sockets { frozen: cpu(3, 16), planned: cpu(1, 48) },
                ],
            },
            vec![
                "2 vNUMA nodes",
                "0-31",
                "0-47",
                "128 GiB",
                "192 GiB",
                "vNUMA node 1",
                "3 sockets x 16 cores",
                "1 socket x 48 cores",
                "--new-topology",
            ],
        ),
        (
            R::CellsPerNode { asked: 4, node: Pnode(0), vcpus: 2 },
            vec!["4 vNUMA nodes", "node 0", "--cells-per-node 2"],
        ),
        (R::MaxSockets { asked: 0 }, vec!["--max-sockets 0", "--max-sockets 1"]),
    ]
}

fn others() -> Vec<(R, Vec<&'static str>)> {
    let mut all: Vec<(R, Vec<&'static str>)> = Manager::ALL
        .into_iter()
        .map(|by| {
            let owner = ForeignOwner::Managed { by };
            (R::OwnedByAnother(owner), vec![by.name(), "--override-owner"])
        })
        .collect();
    let transient = R::OwnedByAnother(ForeignOwner::Transient);
    all.push((transient, vec!["transient", "virsh define", "numawise plan --xml"]));
    let block_job = Obstacle::BlockJob { disk: "vda".to_owned() };
    let job = Obstacle::Job { what: "migration".to_owned() };
    all.extend([
        (R::Blocked(Obstacle::ManagedSave), vec!["saved state", "virsh managedsave-remove"]),
        (R::Blocked(block_job), vec!["vda", "virsh blockjob"]),
        (R::Blocked(job), vec!["migration", "virsh domjobinfo"]),
    ]);
    all
}

fn moves() -> Vec<(R, Vec<&'static str>)> {
    let text = |text: &str| text.to_owned();
    let reasons = [
        (M::SameHost { machine: text("4c4c-1") }, vec!["4c4c-1", "host_uuid"]),
        (M::NameTaken { name: text("db01") }, vec!["'db01'", "virsh domrename"]),
        (M::AlreadyThere { name: text("db02") }, vec!["'db02'", "undefine"]),
        (M::IsRunning, vec!["--offline"]),
        (M::IsOff, vec!["--live"]),
        (M::IsPaused, vec!["virsh resume"]),
        (M::HostDevices { addresses: vec![text("0000:41:00.0")] }, vec!["0000:41:00.0", "detach"]),
        (M::OlderThanDefinition, vec!["start it again"]),
        (M::Snapshots { names: vec![text("before"), text("after")] }, vec!["before, after"]),
        (M::FileMissing { path: text("/srv/db.img") }, vec!["/srv/db.img", "--assume-shared"]),
        (M::TpmState, vec!["TPM", "--assume-shared"]),
        (M::NotThere { why: text("no machine 'q36'") }, vec!["no machine 'q36'"]),
        (
            M::NoNodesFor { vcpus: vec![32, 16], free: vec![(Pnode(0), 30), (Pnode(1), 1)] },
            vec!["32 + 16", "node 0: 30 pCPUs free", "node 1: 1 pCPU free"],
        ),
        (M::Unfinished { peer: text("qemu+ssh://b/system") }, vec!["qemu+ssh://b/system"]),
    ];
    reasons.into_iter().map(|(why, values)| (R::CannotMove(why), values)).collect()
}

fn all() -> Vec<(R, Vec<&'static str>)> {
    [cpu_refusals(), memory_refusals(), guest_refusals(), others(), moves()].concat()
}

#[test]
fn every_refusal_names_its_values_and_a_way_out() {
    for (refusal, values) in all() {
        let said = text::refusals(&[refusal], &Look::default());
        assert!(said.starts_with("refused: ") && said.contains("to do: "), "{said}");
        for value in values {
            assert!(said.contains(value), "'{value}' is missing in: {said}");
        }
    }
}

/// All of them as a user reads them: `refusals.txt` beside this file.
#[test]
fn refusals_read_well() {
    let refusals: Vec<R> = all().into_iter().map(|(refusal, _)| refusal).collect();
    expect_file!["refusals.txt"].assert_eq(&text::refusals(&refusals, &Look::default()));
}
