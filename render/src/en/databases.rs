//! What a check-up of database servers says.

use super::{Said, nodes, pcpus, say};
use crate::quantity::{bytes, count};
use numawise_model::Pnode;
use numawise_model::database::{DatabaseCheck as C, DatabaseProduct, PoolPolicy, ServerUnseen};
use std::collections::BTreeMap;

fn product(product: DatabaseProduct) -> &'static str {
    match product {
        DatabaseProduct::MariaDb => "MariaDB",
        DatabaseProduct::MySql => "MySQL",
        DatabaseProduct::TiDb => "TiDB",
        DatabaseProduct::PostgreSql => "PostgreSQL",
        DatabaseProduct::Sqlite => "SQLite",
    }
}

pub fn check(target: &str, check: &C) -> Said {
    let mut said = of(check);
    said.sentence = format!("{target}: {}", said.sentence);
    said
}

fn of(check: &C) -> Said {
    match check {
        C::Answers { product: which, version } => {
            say(format!("{} {version} answers", product(*which)))
        }
        C::DoesNotAnswer { why } => say(format!("does not answer: {why}")),
        C::Place { pid, threads, cpus, nodes: allowed, bytes_on } => say(format!(
            "process {pid} with {}: {}, memory from {}; {}",
            count(*threads, "thread"),
            pcpus(cpus),
            nodes(allowed),
            on_nodes(bytes_on),
        )),
        C::Unseen { why } => unseen(why),
        C::MemoryAway { bytes: away, nodes: on } => say(format!(
            "{} of its memory is on {}, where none of its threads may run",
            bytes(*away),
            nodes(on)
        ))
        .way("restart it where it is bound now, or move its pages: migratepages PID FROM TO"),
        C::PoolTooLarge { setting, pool_bytes, nodes: on, nodes_bytes } => say(format!(
            "{setting} is {}, and {} has {} in all: the rest comes from elsewhere, or the server is killed",
            bytes(*pool_bytes),
            nodes(on),
            bytes(*nodes_bytes)
        ))
        .way("a smaller pool, or more nodes"),
        C::PoolFits { setting, pool_bytes, nodes: on, nodes_bytes } => say(format!(
            "{setting} is {}, of {} on {}",
            bytes(*pool_bytes),
            bytes(*nodes_bytes),
            nodes(on)
        )),
        C::Interleaves { .. } | C::InterleavesNot | C::InterleaveUnknown { .. } => interleave(check),
        C::ThroughPageCache { .. }
        | C::TooManyThreadGroups { .. }
        | C::WatchesItself
        | C::SmallPages { .. }
        | C::NotDurable { .. }
        | C::Differs { .. } => setting(check),
    }
}

fn on_nodes(bytes_on: &BTreeMap<Pnode, u64>) -> String {
    let each: Vec<String> =
        bytes_on.iter().map(|(node, there)| format!("{} on node {node}", bytes(*there))).collect();
    if each.is_empty() { "no memory seen".to_owned() } else { each.join(", ") }
}

fn unseen(why: &ServerUnseen) -> Said {
    match why {
        ServerUnseen::NoServer => {
            say("a library in the program that uses it: it is where that program is")
        }
        ServerUnseen::NotHere => {
            say("it is on another machine, so its threads and pages cannot be seen from here")
                .way("run this there, over its socket")
        }
        ServerUnseen::NotFound => {
            say("which process it is cannot be found out: it may be in a container of its own")
                .way("name its unix socket: ?socket=FILE")
        }
        ServerUnseen::NoAccess { why } => {
            say(format!("its threads and pages may not be looked at: {why}"))
                .way("run this as root")
        }
    }
}

fn interleave(check: &C) -> Said {
    match check {
        C::Interleaves { nodes: Some(on) } if on.len() == 1 => say(format!(
            "innodb_numa_interleave is on, and it may use {} only: nothing is spread",
            nodes(on)
        )),
        C::Interleaves { nodes: allowed } => {
            let over =
                allowed.as_ref().map_or_else(|| "all nodes that it may use".to_owned(), nodes);
            say(format!(
                "innodb_numa_interleave is on: the buffer pool is spread over {over}; numactl --membind does not \
                 hold it, since InnoDB sets a policy of its own"
            ))
            .way("innodb_numa_interleave=OFF, or a cpuset with these nodes only")
        }
        C::InterleaveUnknown { pool_policy } => {
            let seen = match pool_policy {
                Some(PoolPolicy::Interleaved { nodes: on }) => {
                    format!("; the kernel shows its largest mapping interleaved over {}", nodes(on))
                }
                Some(PoolPolicy::Default) => {
                    "; the kernel shows its largest mapping without a policy".to_owned()
                }
                Some(PoolPolicy::Bound { nodes: on }) => {
                    format!("; the kernel shows its largest mapping bound to {}", nodes(on))
                }
                Some(PoolPolicy::Other) | None => String::new(),
            };
            say(format!(
                "it has no innodb_numa_interleave, as when it was built without libnuma; that is not the same as \
                 off{seen}"
            ))
        }
        _ => say("innodb_numa_interleave is off: each page is where it was touched first"),
    }
}

fn setting(check: &C) -> Said {
    match check {
        C::ThroughPageCache { setting, value } => say(format!(
            "{setting} is {value}: data passes through the page cache, on whichever node read it"
        ))
        .way("innodb_flush_method=O_DIRECT (MariaDB 11: innodb_data_file_buffering=OFF)"),
        C::TooManyThreadGroups { groups, cpus } => say(format!(
            "its thread pool has {groups} groups for {}: it was started before it was bound",
            count(*cpus, "CPU")
        ))
        .way(format!("thread_pool_size={cpus}, or start it where it is bound")),
        C::SmallPages { setting, value, pool_bytes } => {
            say(format!("{setting} is {value}: {} in pages of 4 KiB", bytes(*pool_bytes)))
                .way("huge pages on its nodes: numawise host tune")
        }
        C::NotDurable { setting, value } => say(format!(
            "{setting} is {value}: what was confirmed may be lost, and figures are better than those of a \
             durable server"
        )),
        C::Differs { setting, values } => {
            let values = values.iter().map(|(target, value)| format!("{value} at {target}"));
            say(format!(
                "{setting} is not the same everywhere: {}; a comparison measures this too",
                values.collect::<Vec<_>>().join(", ")
            ))
            .way("set both alike, where one lacks it too")
        }
        _ => say("performance_schema is on, which costs: all that is compared must have it so"),
    }
}
