//! The statements of the workloads: their SQL for each engine, and which parameters they take.

use super::options::{Options, Workload};
use super::schema::table_name;
use crate::target::Engine;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Template {
    Begin,
    Commit,
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    /// An insert whose id the server gives: always as text, as sysbench sends it.
    Append,
    /// An insert whose id was drawn: as text too.
    AppendWithId,
    RandomPoints,
    RandomRanges,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    Number,
    /// Column `c`, of [`C_LENGTH`](super::C_LENGTH).
    C,
    /// Column `pad`, of [`PAD_LENGTH`](super::PAD_LENGTH).
    Pad,
}

impl Template {
    pub const COUNT: usize = Self::RandomRanges as usize + 1;

    /// Whether it is the same for all tables.
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Begin | Self::Commit)
    }

    /// Whether it goes as text even where statements are prepared.
    pub const fn is_always_text(self) -> bool {
        matches!(self, Self::Append | Self::AppendWithId)
    }

    pub fn parameters(self, options: &Options) -> Vec<Parameter> {
        use Parameter::{C, Number, Pad};
        match self {
            Self::Begin | Self::Commit => vec![],
            Self::PointSelect | Self::IndexUpdate | Self::Delete => vec![Number],
            Self::SimpleRange | Self::SumRange | Self::OrderRange | Self::DistinctRange => {
                vec![Number, Number]
            }
            Self::NonIndexUpdate => vec![C, Number],
            Self::Insert | Self::AppendWithId => vec![Number, Number, C, Pad],
            Self::Append => vec![Number, C, Pad],
            Self::RandomPoints => vec![Number; options.random_points as usize],
            Self::RandomRanges => vec![Number; 2 * options.number_of_ranges as usize],
        }
    }

    /// The statement between its parameters: one piece more than there are parameters.
    pub fn pieces(self, engine: Engine, table: u32, options: &Options) -> Vec<String> {
        let name = table_name(table);
        let range = |what: &str, order: &str| {
            let first = format!("SELECT {what} FROM {name} WHERE id BETWEEN ");
            vec![first, " AND ".to_owned(), order.to_owned()]
        };
        let whole = |pieces: &[&str]| pieces.iter().map(|&piece| piece.to_owned()).collect();
        match self {
            // SQLite has one writer at a time. Whoever reads first and then finds another one could only
            // be run again, so the right to write is taken with the first statement.
            Self::Begin if engine == Engine::Sqlite && options.workload != Workload::ReadOnly => {
                whole(&["BEGIN IMMEDIATE"])
            }
            Self::Begin => whole(&["BEGIN"]),
            Self::Commit => whole(&["COMMIT"]),
            Self::PointSelect => whole(&[&format!("SELECT c FROM {name} WHERE id="), ""]),
            Self::SimpleRange => range("c", ""),
            Self::SumRange => range("SUM(k)", ""),
            Self::OrderRange => range("c", " ORDER BY c"),
            Self::DistinctRange => range("DISTINCT c", " ORDER BY c"),
            Self::IndexUpdate => whole(&[&format!("UPDATE {name} SET k=k+1 WHERE id="), ""]),
            Self::NonIndexUpdate => whole(&[&format!("UPDATE {name} SET c="), " WHERE id=", ""]),
            Self::Delete => whole(&[&format!("DELETE FROM {name} WHERE id="), ""]),
            Self::Insert | Self::AppendWithId => {
                whole(&[&insert(&name, "id, k, c, pad"), ", ", ", ", ", ", ")"])
            }
            // MySQL takes an id of 0 as none, and sysbench writes it so.
            Self::Append if engine == Engine::MySql => {
                whole(&[&format!("{}0, ", insert(&name, "id, k, c, pad")), ", ", ", ", ")"])
            }
            Self::Append => whole(&[&insert(&name, "k, c, pad"), ", ", ", ", ")"]),
            Self::RandomPoints => {
                let mut pieces = vec![", ".to_owned(); options.random_points as usize + 1];
                pieces[0] = format!("SELECT id, k, c, pad FROM {name} WHERE k IN (");
                pieces[options.random_points as usize] = ")".to_owned();
                pieces
            }
            Self::RandomRanges => {
                let last = 2 * options.number_of_ranges as usize;
                let mut pieces: Vec<String> = (0..=last)
                    .map(|at| if at % 2 == 1 { " AND " } else { " OR k BETWEEN " }.to_owned())
                    .collect();
                pieces[0] = format!("SELECT count(k) FROM {name} WHERE k BETWEEN ");
                pieces[last] = String::new();
                pieces
            }
        }
    }

    /// With a mark for each parameter, to be prepared.
    pub fn sql(self, engine: Engine, table: u32, options: &Options) -> String {
        let pieces = self.pieces(engine, table, options);
        let mut sql = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                match engine {
                    Engine::PostgreSql => sql.push_str(&format!("${at}")),
                    Engine::MySql | Engine::Sqlite => sql.push('?'),
                }
            }
            sql.push_str(piece);
        }
        sql
    }
}

fn insert(name: &str, columns: &str) -> String {
    format!("INSERT INTO {name} ({columns}) VALUES (")
}
