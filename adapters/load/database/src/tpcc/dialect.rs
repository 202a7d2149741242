//! One text for three engines: what differs in a statement is marked in it.
//!
//! Money is DECIMAL on servers and whole cents in SQLite, which has no exact decimals and would fail the
//! sums of the consistency conditions by rounding. Programs exchange whole cents with all three, and
//! taxes and discounts as parts in ten thousand.
//!
//! | mark | MySQL | PostgreSQL | SQLite |
//! | --- | --- | --- | --- |
//! | `?` | `?` | `$1`, `$2`, .. | `?` |
//! | `?cents` | `? / 100` | `($1::bigint / 100.0)` | `?` |
//! | `?int` | `?` | `$1::int` | `?` |
//! | `{cents COLUMN}` | `CAST(COLUMN * 100 AS SIGNED)` | `(COLUMN * 100)::bigint` | `COLUMN` |
//! | `{parts COLUMN}` | the same by 10,000 | | `COLUMN` |
//! | `{count EXPRESSION}` | `CAST(EXPRESSION AS SIGNED)` | `EXPRESSION::bigint` | `EXPRESSION` |
//! | `{money P}`, `{rate}`, `{time}` | types of columns | | `INTEGER` |
//! | `{now}` | `NOW()` | `LOCALTIMESTAMP` | `unixepoch()` |
//! | `{lock}` | `FOR UPDATE` | `FOR UPDATE` | nothing: one writer at a time |
//! | `{table}` | what follows a table's columns | | |

use crate::target::Engine;
use std::fmt::Write as _;

/// A marked text as this engine reads it.
pub fn spell(engine: Engine, marked: &str) -> String {
    let mut text = String::with_capacity(marked.len() + 32);
    let mut places = 0;
    let mut rest = marked;
    while let Some(at) = rest.find(['?', '{']) {
        text.push_str(&rest[..at]);
        let (mark, after) = match rest[at..].strip_prefix('?') {
            Some(after) => {
                places += 1;
                let kinds = [("cents", Place::Cents), ("int", Place::Int)];
                let kind = kinds
                    .into_iter()
                    .find_map(|(name, kind)| after.strip_prefix(name).map(|after| (kind, after)));
                let (kind, after) = kind.unwrap_or((Place::Plain, after));
                (place(engine, places, kind), after)
            }
            None => {
                let inside = &rest[at + 1..];
                let (inside, after) = inside.split_once('}').unwrap_or((inside, ""));
                (word(engine, inside), after)
            }
        };
        text.push_str(&mark);
        rest = after;
    }
    text.push_str(rest);
    text
}

#[derive(Clone, Copy)]
enum Place {
    Plain,
    Cents,
    Int,
}

fn place(engine: Engine, number: usize, kind: Place) -> String {
    let mut text = String::new();
    let _ = match (engine, kind) {
        (Engine::PostgreSql, Place::Cents) => write!(text, "(${number}::bigint / 100.0)"),
        (Engine::PostgreSql, Place::Int) => write!(text, "${number}::int"),
        (Engine::PostgreSql, Place::Plain) => write!(text, "${number}"),
        (Engine::MySql, Place::Cents) => write!(text, "? / 100"),
        (Engine::MySql | Engine::Sqlite, _) => write!(text, "?"),
    };
    text
}

fn word(engine: Engine, mark: &str) -> String {
    use Engine::{MySql, PostgreSql, Sqlite};
    let (name, argument) = mark.split_once(' ').unwrap_or((mark, ""));
    match (name, engine) {
        ("cents" | "parts" | "count", Sqlite) => argument.to_owned(),
        ("cents", MySql) => format!("CAST({argument} * 100 AS SIGNED)"),
        ("cents", PostgreSql) => format!("({argument} * 100)::bigint"),
        ("parts", MySql) => format!("CAST({argument} * 10000 AS SIGNED)"),
        ("parts", PostgreSql) => format!("({argument} * 10000)::bigint"),
        ("count", MySql) => format!("CAST({argument} AS SIGNED)"),
        ("count", PostgreSql) => format!("{argument}::bigint"),
        ("money" | "rate" | "time", Sqlite) => "INTEGER".to_owned(),
        ("money", MySql | PostgreSql) => format!("DECIMAL({argument})"),
        ("rate", MySql | PostgreSql) => "DECIMAL(4,4)".to_owned(),
        ("time", MySql) => "DATETIME".to_owned(),
        ("time", PostgreSql) => "TIMESTAMP".to_owned(),
        ("now", MySql) => "NOW()".to_owned(),
        ("now", PostgreSql) => "LOCALTIMESTAMP".to_owned(),
        ("now", Sqlite) => "unixepoch()".to_owned(),
        ("lock", MySql | PostgreSql) => "FOR UPDATE".to_owned(),
        ("table", MySql) => "ENGINE=InnoDB CHARACTER SET latin1".to_owned(),
        ("table", Sqlite) if argument == "by its key" => "WITHOUT ROWID".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_spelt_as_the_engine_reads_it() {
        let marked = "UPDATE t SET a = a + ?cents, b = {now} WHERE c = ? {lock}";
        for (engine, wanted) in [
            (Engine::MySql, "UPDATE t SET a = a + ? / 100, b = NOW() WHERE c = ? FOR UPDATE"),
            (
                Engine::PostgreSql,
                "UPDATE t SET a = a + ($1::bigint / 100.0), b = LOCALTIMESTAMP WHERE c = $2 FOR UPDATE",
            ),
            (Engine::Sqlite, "UPDATE t SET a = a + ?, b = unixepoch() WHERE c = ? "),
        ] {
            assert_eq!(spell(engine, marked), wanted);
        }
        assert_eq!(spell(Engine::MySql, "{cents SUM(x)}"), "CAST(SUM(x) * 100 AS SIGNED)");
        assert_eq!(spell(Engine::Sqlite, "x {money 12,2}"), "x INTEGER");
    }
}
