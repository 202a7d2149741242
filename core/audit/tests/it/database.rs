//! What is said of database servers.

use numawise_audit::judge_databases;
use numawise_model::checkup::{CheckKind, Verdict};
use numawise_model::database::{
    DatabaseCheck as C, DatabaseFacts, DatabaseProduct, ServerProcess, ServerUnseen,
};
use numawise_model::topology::Node;
use numawise_model::{CpuSet, NodeSet, Pcpu, Pnode};
use std::collections::BTreeMap;

const GIB: u64 = 1 << 30;

fn nodes(ids: &[u32]) -> NodeSet {
    ids.iter().map(|id| Pnode(*id)).collect()
}

fn server(target: &str, settings: &[(&str, &str)]) -> DatabaseFacts {
    let cpus: CpuSet = (0..8).map(Pcpu).collect();
    DatabaseFacts {
        target: target.to_owned(),
        product: DatabaseProduct::MariaDb,
        version: "10.11.1".to_owned(),
        settings: settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        process: Ok(ServerProcess {
            pid: 7,
            threads: 20,
            cpus,
            nodes: nodes(&[0]),
            bytes_on: BTreeMap::from([(Pnode(0), 4 * GIB)]),
            pool_policy: None,
        }),
    }
}

/// What is not good, on a host with two nodes of 16 GiB.
fn troubles(facts: &[DatabaseFacts]) -> Vec<(Verdict, C)> {
    let node = |id: u32| Node {
        id: Pnode(id),
        cpus: (id * 8..id * 8 + 8).map(Pcpu).collect(),
        memory_total_bytes: Some(16 * GIB),
        distances: BTreeMap::new(),
    };
    judge_databases(facts, &[node(0), node(1)])
        .into_iter()
        .filter(|check| check.verdict != Verdict::Good)
        .map(|check| match check.kind {
            CheckKind::Database { check: kind, .. } => (check.verdict, kind),
            other => panic!("{other:?}"),
        })
        .collect()
}

const FINE: &[(&str, &str)] = &[
    ("innodb_numa_interleave", "OFF"),
    ("innodb_flush_method", "O_DIRECT"),
    ("innodb_flush_log_at_trx_commit", "1"),
];

fn with(more: &[(&'static str, &'static str)]) -> DatabaseFacts {
    let mut facts = server("a", FINE);
    facts.settings.extend(more.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    facts
}

#[test]
fn a_server_that_is_set_well_has_no_troubles() {
    assert_eq!(troubles(&[with(&[("innodb_buffer_pool_size", "8589934592")])]), []);
}

#[test]
fn interleaving_is_harmless_on_one_node_and_unknown_without_the_variable() {
    assert_eq!(troubles(&[with(&[("innodb_numa_interleave", "ON")])]), []);
    let mut both = with(&[("innodb_numa_interleave", "ON")]);
    let Ok(process) = &mut both.process else { panic!() };
    process.nodes = nodes(&[0, 1]);
    let wanted = C::Interleaves { nodes: Some(nodes(&[0, 1])) };
    assert_eq!(troubles(&[both]), [(Verdict::Warning, wanted)]);
    let mut far = with(&[("innodb_numa_interleave", "ON")]);
    far.process = Err(ServerUnseen::NotHere);
    let said = troubles(&[far]);
    assert!(said.contains(&(Verdict::Warning, C::Interleaves { nodes: None })), "{said:?}");
    let mut lacking = with(&[]);
    lacking.settings.remove("innodb_numa_interleave");
    let unknown = (Verdict::Untried, C::InterleaveUnknown { pool_policy: None });
    assert_eq!(troubles(&[lacking]), [unknown]);
}

#[test]
fn a_pool_that_is_larger_than_its_nodes_is_bad() {
    let said = troubles(&[with(&[("innodb_buffer_pool_size", "21474836480")])]);
    assert!(
        matches!(&said[..], [(Verdict::Bad, C::PoolTooLarge { nodes_bytes, .. })] if *nodes_bytes == 16 * GIB),
        "{said:?}"
    );
}

#[test]
fn memory_where_no_thread_may_be_is_told() {
    let mut away = with(&[]);
    let Ok(process) = &mut away.process else { panic!() };
    process.bytes_on.insert(Pnode(1), GIB);
    let wanted = C::MemoryAway { bytes: GIB, nodes: nodes(&[1]) };
    assert_eq!(troubles(&[away]), [(Verdict::Warning, wanted)]);
}

#[test]
fn pools_of_threads_page_caches_and_lost_commits_are_told() {
    for (setting, value, wanted) in [
        ("innodb_flush_method", "fsync", "ThroughPageCache"),
        ("innodb_data_file_buffering", "ON", "ThroughPageCache"),
        ("innodb_flush_log_at_trx_commit", "2", "NotDurable"),
        ("thread_pool_size", "64", "TooManyThreadGroups"),
    ] {
        let mut facts = with(&[("thread_handling", "pool-of-threads")]);
        facts.settings.insert(setting.to_owned(), value.to_owned());
        let said = troubles(&[facts]);
        assert!(said.len() == 1 && format!("{said:?}").contains(wanted), "{setting}: {said:?}");
    }
}

#[test]
fn targets_that_are_not_set_alike_are_told_also_where_one_lacks_the_setting() {
    let mut other = with(&[("innodb_flush_log_at_trx_commit", "0")]);
    other.target = "b".to_owned();
    other.settings.remove("innodb_numa_interleave");
    let said = troubles(&[with(&[]), other]);
    let differing: Vec<&str> = said
        .iter()
        .filter_map(|(_, check)| match check {
            C::Differs { setting, .. } => Some(setting.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(differing, ["innodb_flush_log_at_trx_commit", "innodb_numa_interleave"]);
}
