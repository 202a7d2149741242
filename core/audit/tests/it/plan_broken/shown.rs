//! What the guest is shown, and what is around it.

use super::{Broken, broken, cpu, frozen, rebind};
use crate::case::{GIB, claim, other, set};
use numawise_model::guest::{Balloon, MaxMemory};
use numawise_model::{Mode, Predicate};

pub const TOPOLOGY: &[Broken] = &[
    broken(
        "too few vCPUs in the topology",
        |c| c.vnuma().cpu = cpu(3, 1, 3, 2),
        "Error topology-product",
    ),
    broken(
        "a topology past 32 bits",
        |c| c.vnuma().cpu = cpu(u32::MAX, 1, 2, 2),
        "Error topology-product",
    ),
    broken(
        "a socket over two vNUMA nodes",
        |c| c.vnuma().cpu = cpu(1, 1, 12, 2),
        "Error no-crossing, Warning GuestL3Differs",
    ),
    broken(
        "dies that fit in sockets that do not",
        |c| c.vnuma().cpu = cpu(1, 3, 4, 2),
        "Error no-crossing",
    ),
    broken(
        "more sockets than allowed",
        |c| c.plan.request.max_sockets = Some(2),
        "Error max-sockets",
    ),
    broken(
        "threads that are no siblings",
        |c| {
            rebind(c, 17, "20");
        },
        "Error threads-siblings, Warning GuestL3Differs",
    ),
    broken(
        "more threads than a core has",
        |c| c.vnuma().cpu = cpu(3, 1, 2, 4),
        "Error threads-siblings",
    ),
    broken(
        "another topology than the frozen one",
        |c| {
            let mut before = frozen(c);
            before.cpu = cpu(24, 1, 1, 1);
            c.frozen = Some(before);
            c.plan.requires[3] = Predicate::FrozenTopology { digest: Some("d".to_owned()) };
        },
        "Error frozen",
    ),
    broken(
        "another memory than the frozen one",
        |c| {
            let mut before = frozen(c);
            before.cells[0].memory_bytes -= 4096;
            c.frozen = Some(before);
            c.plan.requires[3] = Predicate::FrozenTopology { digest: Some("d".to_owned()) };
        },
        "Error frozen",
    ),
];

pub const SURROUNDINGS: &[Broken] = &[
    broken(
        "an emulator without a pCPU",
        |c| c.plan.helpers.emulator = Some(set("")),
        "Error EmulatorLacksMemoryNode, Error helpers-online",
    ),
    broken(
        "an emulator on an offline pCPU",
        |c| c.plan.helpers.emulator = Some(set("7,8,40")),
        "Error helpers-online",
    ),
    broken(
        "an emulator on somebody else's pCPU",
        |c| {
            c.others.claims.push(claim(other(), "7", Mode::Exclusive));
        },
        "Error ExclusiveCpusShared",
    ),
    broken(
        "an emulator that does not reach its hugepages",
        |c| {
            c.plan.helpers.emulator = Some(set("7"));
        },
        "Error EmulatorLacksMemoryNode",
    ),
    broken(
        "an I/O thread that the guest does not have",
        |c| {
            c.plan.helpers.iothreads.insert(1, set("7"));
        },
        "Error iothreads-known",
    ),
    broken(
        "for another number of vCPUs",
        |c| {
            c.guest().vcpus_max = 32;
            c.guest().vcpus_current = 32;
        },
        "Error guest-size",
    ),
    broken("for another size of memory", |c| c.guest().memory_bytes = 32 * GIB, "Error guest-size"),
    broken(
        "a balloon",
        |c| c.guest().balloon = Balloon::Model("virtio".to_owned()),
        "Error guest-fit",
    ),
    broken(
        "a balloon that libvirt adds",
        |c| c.guest().balloon = Balloon::Implicit,
        "Error guest-fit",
    ),
    broken("vCPU hot-plug", |c| c.guest().vcpus_current = 2, "Error guest-fit"),
    broken(
        "memory hot-plug",
        |c| {
            c.guest().max_memory = Some(MaxMemory { bytes: 64 * GIB, slots: 16 });
        },
        "Error guest-fit",
    ),
    broken("automatic placement", |c| c.guest().placement_auto = true, "Error guest-fit"),
];
