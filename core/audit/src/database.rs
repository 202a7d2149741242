//! Database servers against what defeats a placement: settings, and where the kernel says that they are.

use numawise_model::checkup::{Check, CheckKind, Verdict};
use numawise_model::database::{
    DatabaseCheck as C, DatabaseFacts, DatabaseProduct, ServerProcess, ServerUnseen,
};
use numawise_model::topology::Node;
use numawise_model::{NodeSet, Pnode};

/// From here on pages of 4 KiB cost more in page tables than a pool should.
const LARGE_POOL_BYTES: u64 = 8 << 30;

/// What has to be alike on all targets of a comparison. A setting that only some have differs too.
pub const COMPARED: &[&str] = &[
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_buffer_pool_size",
    "innodb_numa_interleave",
    "innodb_log_file_size",
    "performance_schema",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "shared_buffers",
    "huge_pages",
    "max_wal_size",
    "default_transaction_isolation",
];

/// Each server alone, then all against one another. The nodes are those of this host.
pub fn judge_databases(facts: &[DatabaseFacts], nodes: &[Node]) -> Vec<Check> {
    let mut checks = Vec::new();
    for server in facts {
        let mut say = |verdict, check| {
            let kind = CheckKind::Database { target: server.target.clone(), check };
            checks.push(Check { verdict, kind });
        };
        let version = server.version.clone();
        say(Verdict::Good, C::Answers { product: server.product, version });
        place(server, nodes, &mut say);
        pool(server, nodes, &mut say);
        interleave(server, &mut say);
        threads(server, &mut say);
        writes(server, &mut say);
    }
    checks.extend(differences(facts));
    checks
}

type Say<'a> = dyn FnMut(Verdict, C) + 'a;

fn place(server: &DatabaseFacts, host: &[Node], say: &mut Say<'_>) {
    let process = match &server.process {
        Ok(process) => process,
        Err(why) => {
            let verdict = match why {
                ServerUnseen::NoServer => Verdict::Good,
                _ => Verdict::Untried,
            };
            return say(verdict, C::Unseen { why: why.clone() });
        }
    };
    let ServerProcess { pid, threads, cpus, nodes, bytes_on, .. } = process.clone();
    // A node of memory alone is nobody's home, and what lies there was meant to.
    let is_away = |node: &Pnode| {
        let of_host = host.iter().find(|it| it.id == *node);
        of_host.is_some_and(|it| !it.is_memory_only() && it.cpus.intersection(&cpus).is_empty())
    };
    let away: Vec<(Pnode, u64)> = bytes_on
        .iter()
        .filter(|(node, bytes)| is_away(node) && **bytes > 0)
        .map(|(node, bytes)| (*node, *bytes))
        .collect();
    say(Verdict::Good, C::Place { pid, threads, cpus, nodes, bytes_on });
    if !away.is_empty() {
        let bytes = away.iter().map(|(_, bytes)| bytes).sum();
        let nodes = away.iter().map(|(node, _)| *node).collect();
        say(Verdict::Warning, C::MemoryAway { bytes, nodes });
    }
}

/// The size of the pool and the setting that gives it.
fn pool_of(server: &DatabaseFacts) -> Option<(&'static str, u64)> {
    let setting = match server.product {
        DatabaseProduct::MariaDb | DatabaseProduct::MySql => "innodb_buffer_pool_size",
        DatabaseProduct::PostgreSql => "shared_buffers",
        DatabaseProduct::TiDb | DatabaseProduct::Sqlite => return None,
    };
    Some((setting, server.settings.get(setting)?.parse().ok()?))
}

fn pool(server: &DatabaseFacts, host: &[Node], say: &mut Say<'_>) {
    let Some((setting, pool_bytes)) = pool_of(server) else { return };
    if let Ok(ServerProcess { nodes, .. }) = &server.process {
        let known = nodes
            .iter()
            .map(|node| host.iter().find(|it| it.id == node).and_then(|it| it.memory_total_bytes));
        if let Some(of_nodes) = known.sum::<Option<u64>>() {
            let (setting, nodes) = (setting.to_owned(), nodes.clone());
            match pool_bytes > of_nodes {
                true => say(
                    Verdict::Bad,
                    C::PoolTooLarge { setting, pool_bytes, nodes, nodes_bytes: of_nodes },
                ),
                false => say(
                    Verdict::Good,
                    C::PoolFits { setting, pool_bytes, nodes, nodes_bytes: of_nodes },
                ),
            }
        }
    }
    let huge = ["huge_pages", "large_pages"]
        .into_iter()
        .find_map(|name| Some((name, server.settings.get(name)?)));
    if let Some((name, value)) = huge.filter(|(_, value)| is_off(value))
        && pool_bytes >= LARGE_POOL_BYTES
    {
        let (setting, value) = (name.to_owned(), value.clone());
        say(Verdict::Warning, C::SmallPages { setting, value, pool_bytes });
    }
}

fn is_off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "off" | "0" | "no" | "false")
}

fn interleave(server: &DatabaseFacts, say: &mut Say<'_>) {
    if !matches!(server.product, DatabaseProduct::MariaDb | DatabaseProduct::MySql) {
        return;
    }
    let process = server.process.as_ref().ok();
    match server.settings.get("innodb_numa_interleave") {
        None => {
            let pool_policy = process.and_then(|process| process.pool_policy.clone());
            say(Verdict::Untried, C::InterleaveUnknown { pool_policy });
        }
        Some(value) if is_off(value) => say(Verdict::Good, C::InterleavesNot),
        Some(_) => {
            // Seen from afar nobody knows how many there are.
            let nodes: Option<NodeSet> = process.map(|process| process.nodes.clone());
            let is_one = nodes.as_ref().is_some_and(|nodes| nodes.len() == 1);
            let verdict = if is_one { Verdict::Good } else { Verdict::Warning };
            say(verdict, C::Interleaves { nodes });
        }
    }
}

fn threads(server: &DatabaseFacts, say: &mut Say<'_>) {
    let setting = |name: &str| server.settings.get(name).map(String::as_str);
    if setting("thread_handling") == Some("pool-of-threads")
        && let Some(groups) = setting("thread_pool_size").and_then(|size| size.parse().ok())
        && let Ok(process) = &server.process
    {
        let cpus = process.cpus.len() as u64;
        if groups > cpus {
            say(Verdict::Warning, C::TooManyThreadGroups { groups, cpus });
        }
    }
    if setting("performance_schema").is_some_and(|value| !is_off(value)) {
        say(Verdict::Good, C::WatchesItself);
    }
}

fn writes(server: &DatabaseFacts, say: &mut Say<'_>) {
    let setting = |name: &str| server.settings.get(name).map(String::as_str);
    // MariaDB 11 has a switch of its own, and then the old name tells nothing.
    let through = match (setting("innodb_data_file_buffering"), setting("innodb_flush_method")) {
        (Some(value), _) => {
            (!is_off(value)).then(|| ("innodb_data_file_buffering", value.to_owned()))
        }
        (None, Some(value)) => {
            (!value.starts_with("O_DIRECT")).then(|| ("innodb_flush_method", value.to_owned()))
        }
        (None, None) => None,
    };
    if let Some((setting, value)) = through {
        say(Verdict::Warning, C::ThroughPageCache { setting: setting.to_owned(), value });
    }
    let durable =
        [("innodb_flush_log_at_trx_commit", "1"), ("synchronous_commit", "on"), ("fsync", "on")];
    for (name, wanted) in durable {
        let Some(value) = setting(name) else { continue };
        // What waits for a standby too is more than durable.
        if value != wanted && !matches!(value, "remote_apply" | "remote_write") {
            let (setting, value) = (name.to_owned(), value.to_owned());
            say(Verdict::Warning, C::NotDurable { setting, value });
        }
    }
}

fn differences(facts: &[DatabaseFacts]) -> Vec<Check> {
    let [first, others @ ..] = facts else { return Vec::new() };
    if others.iter().any(|other| other.product != first.product) {
        // Another product has other settings; that one is not the other is told by what they answer.
        return Vec::new();
    }
    let differs = |name: &&&str| {
        others.iter().any(|other| other.settings.get(**name) != first.settings.get(**name))
    };
    COMPARED
        .iter()
        .filter(differs)
        .map(|name| {
            let values = facts
                .iter()
                .filter_map(|it| Some((it.target.clone(), it.settings.get(*name)?.clone())))
                .collect();
            let check = C::Differs { setting: (*name).to_owned(), values };
            let kind = CheckKind::Database { target: first.target.clone(), check };
            Check { verdict: Verdict::Warning, kind }
        })
        .collect()
}
