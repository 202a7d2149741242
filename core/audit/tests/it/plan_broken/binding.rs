//! Which pCPUs the vCPUs are bound to, and what is promised for them.

use super::{Broken, broken, rebind};
use crate::case::{claim, other, own, pages, set};
use numawise_model::{
    BindRule, Change, ChangedPart, CpuSet, Effect, Mode, Owner, PageSize, Pcpu, Pnode, Policy,
    Predicate, Purpose, Vcpu,
};

pub const BINDING: &[Broken] = &[
    broken(
        "a vCPU that is not bound",
        |c| {
            c.plan.binding.cpus.remove(&Vcpu(23));
        },
        "Error binding-complete, Error claims-cover, Error threads-siblings",
    ),
    broken(
        "a vCPU that is bound to nothing",
        |c| {
            c.plan.binding.cpus.insert(Vcpu(23), CpuSet::new());
        },
        "Error binding-complete, Error claims-cover, Error threads-siblings",
    ),
    broken("a vCPU that the guest does not have", |c| rebind(c, 24, "4"), "Error binding-complete"),
    broken(
        "an offline pCPU",
        |c| {
            c.host.topology.online.remove(Pcpu(3));
            c.host.topology.allowed.cpus.remove(Pcpu(3));
        },
        "Error cpus-online",
    ),
    broken(
        "a pCPU that the cgroup forbids",
        |c| c.host.topology.allowed.cpus.remove(Pcpu(3)),
        "Error cpus-allowed",
    ),
    broken(
        "a vCPU over two nodes",
        |c| rebind(c, 23, "19,15"),
        "Error one-node, Error threads-siblings, Error vnode-home, Warning GuestL3Differs",
    ),
    broken(
        "a pCPU in no node",
        |c| c.host.topology.nodes[0].cpus.remove(Pcpu(3)),
        "Error one-node, Error vnode-home",
    ),
    broken("outside the dedicated set", |c| c.pools.dedicated = Some(set("4-31")), "Error in-pool"),
    broken(
        "a choice of nodes that takes reserved pCPUs",
        |c| {
            let node = |id, vcpus| (Pnode(id), set(vcpus));
            c.plan.request.policy = Policy::OnNode(vec![node(1, "0-15"), node(0, "16-23")]);
            c.pools.reserved = set("0");
        },
        "Error in-pool",
    ),
    broken(
        "rules that were not followed",
        |c| {
            c.plan.request.policy =
                Policy::Rules(vec![BindRule { vcpus: set("0-23"), pcpus: set("0-31") }]);
        },
        "Error as-asked",
    ),
    broken(
        "nodes that were not followed",
        |c| {
            c.plan.request.policy = Policy::OnNode(vec![(Pnode(1), set("0-15"))]);
        },
        "Error as-asked",
    ),
    broken(
        "shared without being asked",
        |c| {
            c.plan.binding.mode = Mode::Shared;
            c.plan.claims[0].mode = Mode::Shared;
            c.plan.requires[0] =
                Predicate::CpusUnclaimed { cpus: c.plan.binding.pcpus(), mode: Mode::Shared };
        },
        "Error as-asked",
    ),
    broken("vNUMA without being asked", |c| c.plan.request.vnuma = false, "Error as-asked"),
    broken("no vNUMA though asked", |c| c.plan.vnuma = None, "Error as-asked"),
    broken(
        "bound though nothing was to be",
        |c| c.plan.request.policy = Policy::Unbound,
        "Error as-asked",
    ),
    broken(
        "somebody else's alone",
        |c| {
            c.others.claims.push(claim(other(), "3", Mode::Exclusive));
        },
        "Error ExclusiveCpusShared",
    ),
    broken(
        "alone, where others share",
        |c| {
            c.others.claims.push(claim(Owner::Reserved, "3", Mode::Shared));
        },
        "Error ExclusiveCpusShared",
    ),
    broken(
        "two vCPUs on a pCPU",
        |c| rebind(c, 23, "18"),
        "Error overcommit-asked, Error threads-siblings",
    ),
    broken(
        "three vCPUs on two pCPUs, by different sets",
        |c| {
            rebind(c, 21, "2,18");
            rebind(c, 22, "18");
            rebind(c, 20, "2");
        },
        "Error overcommit-asked, Error threads-siblings",
    ),
];

pub const PROMISES: &[Broken] = &[
    broken(
        "a pCPU that is not claimed",
        |c| c.plan.claims[0].cpus.remove(Pcpu(3)),
        "Error claims-cover",
    ),
    broken(
        "a pCPU that is claimed and not used",
        |c| c.plan.claims[0].cpus.insert(Pcpu(4)),
        "Error claims-cover",
    ),
    broken(
        "claimed in another mode",
        |c| c.plan.claims[0].mode = Mode::Shared,
        "Error claims-cover",
    ),
    broken("claimed for another", |c| c.plan.claims[0].owner = other(), "Error claims-cover"),
    broken(
        "helpers that take pCPUs for themselves",
        |c| {
            let mut more = claim(own(), "7", Mode::Exclusive);
            more.purpose = Purpose::Helpers;
            c.plan.claims.push(more);
        },
        "Error claims-cover",
    ),
    broken(
        "a topology that is said to change while the guest runs",
        |c| {
            let what = ChangedPart::VnumaNodes;
            c.plan.changes.push(Change { what, effect: Effect::Live });
        },
        "Error change-effect",
    ),
    broken(
        "a change that is named twice",
        |c| {
            let change = Change { what: ChangedPart::VcpuPins, effect: Effect::Live };
            c.plan.changes.extend([change, change]);
        },
        "Error change-effect",
    ),
    broken(
        "a page too few claimed",
        |c| {
            c.plan.claims[0].pages =
                pages(&[(1, PageSize::HUGE_2M, 8191), (0, PageSize::HUGE_2M, 4096)]);
        },
        "Error claims-memory",
    ),
    broken(
        "pages claimed on another node",
        |c| {
            c.plan.claims[0].pages = pages(&[(1, PageSize::HUGE_2M, 12_288)]);
        },
        "Error claims-memory",
    ),
    broken(
        "pCPUs are not tested again",
        |c| {
            c.plan.requires.remove(0);
        },
        "Error requires-cover",
    ),
    broken(
        "pages are not tested again",
        |c| {
            c.plan.requires.remove(2);
        },
        "Error requires-cover",
    ),
    broken(
        "too few pages are tested again",
        |c| {
            c.plan.requires[1] =
                Predicate::PagesAvailable { node: Pnode(1), size: PageSize::HUGE_2M, pages: 8191 };
        },
        "Error requires-cover",
    ),
    broken(
        "the frozen topology is not tested again",
        |c| {
            c.plan.requires.pop();
        },
        "Error requires-cover",
    ),
];
