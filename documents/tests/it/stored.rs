//! Ledgers, frozen topologies and the store's documents.

use crate::every_variant::{cells, claims, cpu_topology, cpus};
use expect_test::expect;
use numawise_documents::guest::GuestFactsDoc;
use numawise_documents::state::{CpuTicksDoc, StepDoc, StepKindDoc, UsageSampleDoc};
use numawise_documents::{
    Wire, frozen_digest, frozen_to_json, ledger_to_json, parse_frozen, parse_ledger, text_digest,
};
use numawise_model::{
    FrozenTopology, GuestFacts, Ledger, PageCounts, PageSize, Pcpu, Pnode, Sight, Unseen, Vcpu,
    Vnode,
};
use std::collections::BTreeMap;

#[test]
fn a_ledger_comes_back() {
    let ledger = Ledger { claims: claims() };
    assert_eq!(parse_ledger(&ledger_to_json(&ledger)).expect("a ledger"), ledger);
}

#[test]
fn a_frozen_topology_comes_back_from_one_line() {
    let mut frozen =
        FrozenTopology { cells: cells(), cpu: cpu_topology(), cpu_before: Some(cpu_topology()) };
    let text = frozen_to_json(&frozen);
    assert!(!text.contains('\n'));
    assert_eq!(parse_frozen(&text).expect("a frozen topology"), frozen);

    let digest = frozen_digest(&frozen);
    frozen.cpu_before = None;
    assert_eq!(parse_frozen(&frozen_to_json(&frozen)).expect("a frozen topology"), frozen);
    assert_ne!(frozen_digest(&frozen), digest);
}

/// The well-known digest of "abc" (FIPS 180-2, appendix B.1).
#[test]
fn a_digest_is_sha_256_in_hexadecimal() {
    expect!["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
        .assert_eq(&text_digest("abc"));
}

#[test]
fn what_was_seen_of_a_guest_comes_back() {
    let pages: PageCounts = BTreeMap::from([(Pnode(1), BTreeMap::from([(PageSize::BASE_4K, 17)]))]);
    let seen = GuestFacts {
        vcpu_affinity: BTreeMap::from([(Vcpu(0), cpus("32")), (Vcpu(1), cpus(""))]),
        emulator_affinity: Some(cpus("0-1")),
        iothread_affinity: BTreeMap::from([(1, cpus("0"))]),
        pages: pages.clone(),
        pages_by_vnode: Some(BTreeMap::from([(Vnode(0), pages)])),
        guest_cells: Some(cells()),
        guest_l3: None,
        vcpu_cgroup: BTreeMap::from([(Vcpu(0), cpus("32-33"))]),
        unseen: vec![Unseen { what: Sight::GuestNodes, why: "no agent".to_owned() }],
    };
    for facts in [seen, GuestFacts::default()] {
        let text = serde_json::to_string(&facts.to_doc()).expect("JSON");
        let doc: GuestFactsDoc = serde_json::from_str(&text).expect("the same document");
        assert_eq!(GuestFacts::from_doc(doc), facts);
    }
}

#[test]
fn steps_and_samples_have_their_shape() {
    expect![[r#"{"schema":"numawise.step","version":1,"step":"shut-down"}"#]]
        .assert_eq(&StepDoc::new(StepKindDoc::ShutDown).to_json());
    let rolled = StepDoc::new(StepKindDoc::RollBack { because: "it did not start".to_owned() });
    expect![[
        r#"{"schema":"numawise.step","version":1,"step":{"roll-back":{"because":"it did not start"}}}"#
    ]]
    .assert_eq(&rolled.to_json());

    let ticks = CpuTicksDoc { busy_ticks: 5, total_ticks: 7 };
    let cpus = [Pcpu(2), Pcpu(10)].map(|cpu| (cpu.to_doc(), ticks.clone()));
    let sample = UsageSampleDoc::new(1_700_000_000, -1, cpus.into());
    let text = sample.to_json();
    expect![[r#"{"schema":"numawise.usage-sample","version":1,"at_unix_sec":1700000000,"boot_unix_sec":-1,"cpus":{"2":{"busy_ticks":5,"total_ticks":7},"10":{"busy_ticks":5,"total_ticks":7}}}"#]]
        .assert_eq(&text);
    assert_eq!(UsageSampleDoc::parse(&text).expect("a sample"), sample);
}
