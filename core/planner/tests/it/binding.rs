//! Which vCPU goes where, by each of the three rules.

use crate::scene::{GIB, Scene, check, cpus, kinds, owner, vcpus_of};
use numawise_model::{
    Claim, ClaimId, FindingKind, Host, Mode, NodeSet, Pcpu, Pnode, Predicate, Purpose, Refusal,
    Source, Vcpu,
};
use numawise_testkit::{Numbering, Shape};

fn two_by_32() -> Host {
    Shape::two_nodes(32, 256 * GIB).host()
}

/// The published case: 48 vCPUs on two nodes of 32. Node 1 first and whole, the other 16 on node 0;
/// 192 GiB by vCPU count: 192 * 32 / 48 = 128 and 192 * 16 / 48 = 64. The greatest common divisor of
/// 32 and 16 is 16, so 48 / 16 = 3 sockets.
#[test]
fn seed_48_vcpus_on_two_nodes_of_32() {
    check(
        &Scene::new(two_by_32(), 48, 192 * GIB),
        "0-31:32-63 32-47:0-15
         vnode 0: vcpus 0-31, 128 GiB on node 1, distances 10 21
         vnode 1: vcpus 32-47, 64 GiB on node 0, distances 21 10
         cpu: 3 sockets x 1 dies x 16 cores x 1 threads, L3 shown",
    );
}
