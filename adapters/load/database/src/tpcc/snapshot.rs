//! The database's own figures at one moment, when all users rest.

use crate::admin::{Admin, AdminError};
use crate::target::Engine;
use numawise_experiment::{NoServerCounters, ServerTransactions};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The sum of `d_next_o_id`.
    next_orders: i64,
    server: Option<Counters>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Counters {
    commits: i64,
    rollbacks: i64,
    life: Life,
}

/// What tells one life of the server from the next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Life {
    /// Seconds that it has been up: they fall when it has started again, or do not grow with the clock.
    Up { seconds: i64 },
    /// When it started, and when its statistics were last thrown away.
    Since { started: String, reset: String },
}

impl Snapshot {
    pub fn take(admin: &mut Admin) -> Result<Self, AdminError> {
        let next_orders = admin.number("SELECT SUM(d_next_o_id) FROM district")?.unwrap_or(0);
        let server = match admin.engine() {
            Engine::MySql => Some(of_mysql(admin)?),
            Engine::PostgreSql => Some(of_postgres(admin)?),
            Engine::Sqlite => None,
        };
        Ok(Self { next_orders, server })
    }

    pub fn orders_since(&self, begin: &Self) -> u64 {
        u64::try_from(self.next_orders - begin.next_orders).unwrap_or(0)
    }

    /// Seconds are those that the clock says have gone by.
    pub fn server_since(&self, begin: &Self, seconds: i64) -> ServerTransactions {
        let not_available = |why| ServerTransactions::NotAvailable { why };
        let (Some(begin), Some(end)) = (&begin.server, &self.server) else {
            return not_available(NoServerCounters::NoServer);
        };
        if !end.life.goes_on_from(&begin.life, seconds) {
            return not_available(NoServerCounters::Restarted);
        }
        let grown = |from: i64, to: i64| u64::try_from(to - from).ok();
        match (grown(begin.commits, end.commits), grown(begin.rollbacks, end.rollbacks)) {
            (Some(commits), Some(rollbacks)) => ServerTransactions::Counted { commits, rollbacks },
            // FLUSH STATUS and its like.
            _ => not_available(NoServerCounters::Restarted),
        }
    }
}

impl Life {
    fn goes_on_from(&self, begin: &Self, seconds: i64) -> bool {
        match (begin, self) {
            // Whole seconds never grow by less than whole seconds went by; one is for clocks being slewed.
            (Self::Up { seconds: from }, Self::Up { seconds: to }) => *to >= from + seconds - 1,
            (begin, end) => begin == end,
        }
    }
}

fn of_mysql(admin: &mut Admin) -> Result<Counters, AdminError> {
    let rows = admin.rows(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit', 'Com_rollback', 'Uptime')",
    )?;
    let value = |name: &str| {
        let row = rows.iter().find(|row| matches!(row.first(), Some(Some(n)) if n == name));
        row.and_then(|row| row.get(1)?.as_ref()?.parse().ok()).unwrap_or(0)
    };
    Ok(Counters {
        commits: value("Com_commit"),
        rollbacks: value("Com_rollback"),
        life: Life::Up { seconds: value("Uptime") },
    })
}

fn of_postgres(admin: &mut Admin) -> Result<Counters, AdminError> {
    let rows = admin.rows(
        "SELECT xact_commit, xact_rollback, pg_postmaster_start_time()::text, \
         coalesce(stats_reset::text, '') FROM pg_stat_database WHERE datname = current_database()",
    )?;
    let row = rows.into_iter().next().unwrap_or_default();
    let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    Ok(Counters {
        commits: text(0).parse().unwrap_or(0),
        rollbacks: text(1).parse().unwrap_or(0),
        life: Life::Since { started: text(2), reset: text(3) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(commits: i64, life: Life) -> Snapshot {
        Snapshot { next_orders: 0, server: Some(Counters { commits, rollbacks: 0, life }) }
    }

    fn up(commits: i64, seconds: i64) -> Snapshot {
        snapshot(commits, Life::Up { seconds })
    }

    const RESTARTED: ServerTransactions =
        ServerTransactions::NotAvailable { why: NoServerCounters::Restarted };

    #[test]
    fn a_server_that_started_again_has_no_counters_even_when_they_have_grown() {
        let counted = ServerTransactions::Counted { commits: 50, rollbacks: 0 };
        assert_eq!(up(60, 39).server_since(&up(10, 10), 30), counted);
        assert_eq!(up(60, 25).server_since(&up(10, 10), 30), RESTARTED);
        assert_eq!(up(5, 40).server_since(&up(10, 10), 30), RESTARTED);
        let since = |at: &str| Life::Since { started: at.to_owned(), reset: String::new() };
        let (begin, end) = (snapshot(1, since("a")), snapshot(9, since("b")));
        assert_eq!(end.server_since(&begin, 30), RESTARTED);
        let none = Snapshot { next_orders: 0, server: None };
        let no_server = ServerTransactions::NotAvailable { why: NoServerCounters::NoServer };
        assert_eq!(none.server_since(&none, 30), no_server);
    }
}
