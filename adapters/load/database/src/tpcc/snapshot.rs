//! The database's own figures at one moment, when all users rest.

use crate::admin::{Admin, AdminError};
use crate::target::Engine;
use numawise_experiment::{NoServerCounters, ServerTransactions};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The sum of `d_next_o_id`.
    next_orders: u64,
    /// Or why there are none.
    server: Result<Counters, NoServerCounters>,
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
        let next_orders = admin.count("SELECT SUM(d_next_o_id) FROM district")?;
        let server = match admin.engine() {
            Engine::MySql => of_mysql(admin)?.ok_or(NoServerCounters::NotTold),
            Engine::PostgreSql => of_postgres(admin)?.ok_or(NoServerCounters::NotTold),
            Engine::Sqlite => Err(NoServerCounters::NoServer),
        };
        Ok(Self { next_orders, server })
    }

    /// Nothing where there are fewer than before: somebody has made the tables anew.
    pub fn orders_since(&self, begin: &Self) -> Option<u64> {
        self.next_orders.checked_sub(begin.next_orders)
    }

    /// Seconds are those that the clock says have gone by.
    pub fn server_since(&self, begin: &Self, seconds: i64) -> ServerTransactions {
        let not_available = |why| ServerTransactions::NotAvailable { why };
        let (begin, end) = match (&begin.server, &self.server) {
            (Ok(begin), Ok(end)) => (begin, end),
            (Err(why), _) | (_, Err(why)) => return not_available(*why),
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

fn of_mysql(admin: &mut Admin) -> Result<Option<Counters>, AdminError> {
    let rows = admin.rows(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit', 'Com_rollback', 'Uptime')",
    )?;
    let value = |name: &str| {
        let row = rows.iter().find(|row| matches!(row.first(), Some(Some(n)) if n == name))?;
        row.get(1)?.as_ref()?.parse().ok()
    };
    let counters = || {
        Some(Counters {
            commits: value("Com_commit")?,
            rollbacks: value("Com_rollback")?,
            life: Life::Up { seconds: value("Uptime")? },
        })
    };
    Ok(counters())
}

fn of_postgres(admin: &mut Admin) -> Result<Option<Counters>, AdminError> {
    let rows = admin.rows(
        "SELECT xact_commit, xact_rollback, pg_postmaster_start_time()::text, \
         coalesce(stats_reset::text, '') FROM pg_stat_database WHERE datname = current_database()",
    )?;
    let text = |at: usize| rows.first()?.get(at)?.clone();
    let counters = || {
        Some(Counters {
            commits: text(0)?.parse().ok()?,
            rollbacks: text(1)?.parse().ok()?,
            life: Life::Since { started: text(2)?, reset: text(3)? },
        })
    };
    Ok(counters())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(commits: i64, life: Life) -> Snapshot {
        Snapshot { next_orders: 0, server: Ok(Counters { commits, rollbacks: 0, life }) }
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
        let none = Snapshot { next_orders: 0, server: Err(NoServerCounters::NoServer) };
        let no_server = ServerTransactions::NotAvailable { why: NoServerCounters::NoServer };
        assert_eq!(none.server_since(&none, 30), no_server);
    }
}
