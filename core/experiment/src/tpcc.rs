//! What a run in the manner of TPC-C found beside its latencies: orders by the database's own count, and
//! the server's transactions.
//!
//! Two figures are usual. NOPM, new orders per minute, is the growth of the sum of `d_next_o_id`, and can be
//! compared between databases. TPM is the growth of the server's own counters of commits and rollbacks: it
//! counts whatever the server does for anybody, and differs in meaning between engines and versions. Neither
//! is tpmC, which only an audited result may be called.

use crate::measured::Measured;
use core::time::Duration;

/// In the order of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransactionKind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl TransactionKind {
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// As [`KindMeasured`](crate::KindMeasured) calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new-order",
            Self::Payment => "payment",
            Self::OrderStatus => "order-status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock-level",
        }
    }
}

/// How customers and items are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RandomChoice {
    /// Evenly, as HammerDB does; only last names are skewed.
    #[default]
    HammerDb,
    /// By NURand, as the specification wants it.
    Specification,
}

/// How a transaction reaches the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// One call for each transaction.
    Procedures,
    /// Each statement is a round trip.
    Statements,
}

/// Which kind comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// Drawn with replacement: 10 of 23 new orders, 10 payments, 1 of each other kind.
    #[default]
    Drawn,
    /// Dealt from a shuffled deck of these 23.
    Dealt,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct TpccRun {
    pub measured: Measured,
    pub warehouses: u32,
    pub users: u32,
    pub choice: RandomChoice,
    pub mix: Mix,
    pub route: Route,
    pub all_warehouses: bool,
    pub waits: bool,
    pub ramp_up: Duration,
    pub orders: Orders,
    pub server: ServerTransactions,
    /// Transactions whose outcome the client never heard, over all kinds.
    pub unknown: u64,
    /// What the server counts besides because of this load: PostgreSQL commits once more after a rollback
    /// in a procedure, and its backends are asked once to report what they did.
    pub besides: u64,
}

impl TpccRun {
    /// New orders per minute of the measured time, by the database's own count.
    pub fn nopm(&self) -> Option<f64> {
        per_minute(self.orders.growth?, self.measured.elapsed)
    }

    /// The server's commits and rollbacks per minute, whoever asked for them.
    pub fn tpm(&self) -> Option<f64> {
        match self.server {
            ServerTransactions::Counted { commits, rollbacks } => {
                per_minute(commits + rollbacks, self.measured.elapsed)
            }
            ServerTransactions::NotAvailable { .. } => None,
        }
    }

    /// Commits and rollbacks that the clients know of. What was tried again was rolled back first.
    pub fn client_transactions(&self) -> u64 {
        let counts = self.measured.counts;
        counts.transactions + counts.ignored_errors + self.besides
    }
}

fn per_minute(count: u64, elapsed: Duration) -> Option<f64> {
    (!elapsed.is_zero()).then(|| count as f64 * 60.0 / elapsed.as_secs_f64())
}

/// New orders of the measured time, counted twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orders {
    /// How far the sum of `d_next_o_id` grew; nothing when the database did not answer at the end.
    pub growth: Option<u64>,
    /// Those that clients saw committed.
    pub committed: u64,
    /// Those whose outcome no client heard: the connection was lost under them.
    pub unknown: u64,
}

/// What the two counts of orders say about each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrdersAgreement {
    Equal,
    /// The database has some of those whose outcome was unknown.
    WithinUnknown {
        kept: u64,
    },
    /// The database has lost what it had confirmed.
    Lost {
        orders: u64,
    },
    /// Somebody else ordered too.
    FromElsewhere {
        orders: u64,
    },
    NotKnown,
}

impl Orders {
    pub fn agreement(&self) -> OrdersAgreement {
        let Some(growth) = self.growth else { return OrdersAgreement::NotKnown };
        let most = self.committed + self.unknown;
        if growth < self.committed {
            OrdersAgreement::Lost { orders: self.committed - growth }
        } else if growth > most {
            OrdersAgreement::FromElsewhere { orders: growth - most }
        } else if self.unknown == 0 {
            OrdersAgreement::Equal
        } else {
            OrdersAgreement::WithinUnknown { kept: growth - self.committed }
        }
    }
}

/// The server's own counters over the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerTransactions {
    Counted { commits: u64, rollbacks: u64 },
    NotAvailable { why: NoServerCounters },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoServerCounters {
    /// A library has none.
    NoServer,
    /// It does not tell them, or not to this user.
    NotTold,
    /// They began anew in the measured time.
    Restarted,
    /// The server did not answer at the end.
    Unanswered,
}

/// A consistency condition of the specification, by its number: the last part of 3.3.2.1 to 3.3.2.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionResult {
    pub condition: u8,
    /// Rows that contradict it.
    pub broken: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(growth: Option<u64>, unknown: u64) -> OrdersAgreement {
        Orders { growth, committed: 100, unknown }.agreement()
    }

    #[test]
    fn two_counts_of_orders_agree_as_far_as_outcomes_are_known() {
        assert_eq!(agreement(Some(100), 0), OrdersAgreement::Equal);
        assert_eq!(agreement(Some(101), 2), OrdersAgreement::WithinUnknown { kept: 1 });
        assert_eq!(agreement(Some(103), 2), OrdersAgreement::FromElsewhere { orders: 1 });
        assert_eq!(agreement(Some(99), 2), OrdersAgreement::Lost { orders: 1 });
        assert_eq!(agreement(None, 0), OrdersAgreement::NotKnown);
    }

    #[test]
    fn minutes_are_measured_ones() {
        assert_eq!(per_minute(90, Duration::from_secs(90)), Some(60.0));
        assert_eq!(per_minute(90, Duration::ZERO), None);
    }
}
