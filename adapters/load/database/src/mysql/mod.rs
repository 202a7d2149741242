//! The MySQL protocol, as far as a load needs it: MySQL, MariaDB, TiDB.
//!
//! The crates that speak it decode each row into values, allocate for each statement, and wait in `read`,
//! which on a unix socket wakes twice. A load generator throws all rows away and shares its machine with
//! the server, so here an answer is skimmed packet by packet for its end and nothing else, one system call
//! sends and one receives. Logging in, where mistakes are easy and nothing is hot, rests on `mysql_common`.

mod admin;
mod connection;
mod login;
mod reply;
mod wire;

pub use admin::MySqlAdmin;
pub use connection::MySqlSession;

/// Errors after which sysbench runs an event again: a deadlock, a changed row, a lock that took too long.
const USUAL: [u16; 3] = [1213, 1020, 1205];

/// After which errors an event is run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    All,
    These(Vec<u16>),
}

impl Default for Ignored {
    fn default() -> Self {
        Self::These(USUAL.to_vec())
    }
}

impl Ignored {
    fn has(&self, code: u16) -> bool {
        match self {
            Self::All => true,
            Self::These(codes) => codes.contains(&code),
        }
    }
}
