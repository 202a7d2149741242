//! Tables for the workloads: filled in parallel, looked at, and dropped.
//!
//! sysbench fills a table with one thread. Here tables are cut into ranges of ids, and each loader has a
//! stretch of them. Each range has a random stream of its own, so a seed gives the same rows whoever loads
//! them. Secondary indexes are built once a table's rows are there.

use crate::error::LoadError;
use crate::mysql::MySqlAdmin;
use crate::oltp::{Options, Rows, create_index, create_table, drop_table, table_name};
use crate::postgres::PostgresAdmin;
use crate::sqlite::SqliteAdmin;
use crate::target::{Engine, Target};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// So many rows are one range.
const RANGE: u32 = 25_000;

/// How tables are filled.
#[derive(Clone, Debug)]
pub struct Filling {
    pub options: Options,
    /// Connections that load at once.
    pub loaders: u32,
    pub seed: u64,
    /// Rows go in statements even where the server would take them in bulk.
    pub as_statements: bool,
}

/// What has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Created { table: u32 },
    Rows { count: u64 },
    Indexed { table: u32 },
}

/// What a table holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCheck {
    pub table: u32,
    /// Nothing where there is no such table.
    pub rows: Option<u64>,
    pub lowest: Option<i64>,
    pub highest: Option<i64>,
    /// Rows whose texts have not the length of sysbench's.
    pub misshapen: u64,
    /// Whether the secondary index is there.
    pub is_indexed: bool,
}

/// Rows as texts, NULL as nothing.
pub type TextRows = Vec<Vec<Option<String>>>;

/// A connection for tables and rows in bulk. It waits for its answers.
pub trait Admin: Sized {
    fn connect(target: &Target) -> Result<Self, LoadError>;
    fn query(&mut self, sql: &str) -> Result<TextRows, LoadError>;
    /// Fills a range; `is_alone` says that nobody else fills its table.
    fn fill(&mut self, range: Range, filling: &Filling, is_alone: bool) -> Result<(), LoadError>;
    /// After all rows of a table.
    fn settle(&mut self, table: u32, options: &Options) -> Result<(), LoadError>;
    /// SQL that gives a row for each table, and one for each index, with this name.
    fn known(kind: Known, name: &str) -> String;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Table,
    /// Of a table with this number.
    Index(u32),
}

/// Makes and fills the tables. One that is there already is an error of the server's.
pub fn prepare(
    target: &Target,
    filling: &Filling,
    cancel: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(), LoadError> {
    filling.options.check()?;
    match target.engine {
        Engine::MySql => prepare_by::<MySqlAdmin>(target, filling, cancel, progress),
        Engine::PostgreSql => prepare_by::<PostgresAdmin>(target, filling, cancel, progress),
        Engine::Sqlite => {
            // One writer at a time is all that there can be.
            let filling = Filling { loaders: 1, ..filling.clone() };
            prepare_by::<SqliteAdmin>(target, &filling, cancel, progress)
        }
    }
}

/// Looks at each table of a workload.
pub fn check(target: &Target, options: &Options) -> Result<Vec<TableCheck>, LoadError> {
    match target.engine {
        Engine::MySql => check_by::<MySqlAdmin>(target, options),
        Engine::PostgreSql => check_by::<PostgresAdmin>(target, options),
        Engine::Sqlite => check_by::<SqliteAdmin>(target, options),
    }
}

/// Drops the tables; those that are not there are none to drop.
pub fn cleanup(target: &Target, options: &Options) -> Result<(), LoadError> {
    fn drop_all<A: Admin>(target: &Target, options: &Options) -> Result<(), LoadError> {
        let mut admin = A::connect(target)?;
        (1..=options.tables).try_for_each(|table| admin.query(&drop_table(table)).map(drop))
    }
    match target.engine {
        Engine::MySql => drop_all::<MySqlAdmin>(target, options),
        Engine::PostgreSql => drop_all::<PostgresAdmin>(target, options),
        Engine::Sqlite => drop_all::<SqliteAdmin>(target, options),
    }
}

/// A range of a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub table: u32,
    pub first: u32,
    pub last: u32,
}

impl Range {
    /// Its rows, the same for the same seed.
    pub fn rows(self, filling: &Filling) -> Rows {
        let stream = u64::from(self.table) << 32 | u64::from(self.first);
        Rows::new(&filling.options, filling.seed, stream)
    }

    pub fn count(self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// Cuts all rows of all tables into one stretch for each loader, so that two meet on few pages.
fn stretches(options: &Options, loaders: u32) -> Vec<Vec<Range>> {
    let size = options.table_size;
    let per_table = u64::from(size.div_ceil(RANGE));
    let all = per_table * u64::from(options.tables);
    let loaders = u64::from(loaders).clamp(1, all);
    let cut = |loader: u64| loader * all / loaders;
    let range = |at: u64| {
        let (table, part) = (at / per_table, at % per_table);
        let first = part as u32 * RANGE + 1;
        Range { table: table as u32 + 1, first, last: size.min(first + RANGE - 1) }
    };
    (0..loaders).map(|loader| (cut(loader)..cut(loader + 1)).map(range).collect()).collect()
}

/// What loaders have in common.
struct Loading<'a> {
    target: &'a Target,
    filling: &'a Filling,
    cancel: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
    stretches: Vec<Vec<Range>>,
    /// Ranges that each table still lacks: who brings the last one builds its index.
    missing: Vec<AtomicU32>,
    failure: Mutex<Option<LoadError>>,
}

fn prepare_by<A: Admin>(
    target: &Target,
    filling: &Filling,
    cancel: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(), LoadError> {
    let options = &filling.options;
    let mut admin = A::connect(target)?;
    for table in 1..=options.tables {
        admin.query(&create_table(target.engine, table, options))?;
        progress(Progress::Created { table });
    }
    drop(admin);
    let missing = (0..options.tables).map(|_| AtomicU32::new(options.table_size.div_ceil(RANGE)));
    let loading = Loading {
        target,
        filling,
        cancel,
        progress,
        stretches: stretches(options, filling.loaders),
        missing: missing.collect(),
        failure: Mutex::new(None),
    };
    thread::scope(|scope| {
        for stretch in &loading.stretches {
            let loading = &loading;
            scope.spawn(move || {
                if let Err(error) = loading.load::<A>(stretch) {
                    loading.failure().get_or_insert(error);
                }
            });
        }
    });
    let failure = loading.failure().take();
    failure.map_or(Ok(()), Err)
}

impl Loading<'_> {
    fn failure(&self) -> std::sync::MutexGuard<'_, Option<LoadError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load<A: Admin>(&self, stretch: &[Range]) -> Result<(), LoadError> {
        let mut admin = A::connect(self.target)?;
        for range in stretch {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(LoadError::Cancelled);
            }
            if self.failure().is_some() {
                return Ok(());
            }
            admin.fill(*range, self.filling, self.is_alone(range.table))?;
            (self.progress)(Progress::Rows { count: range.count() });
            let missing = &self.missing[range.table as usize - 1];
            if missing.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.finish(&mut admin, range.table)?;
            }
        }
        Ok(())
    }

    /// Whether one loader alone has all of a table.
    fn is_alone(&self, table: u32) -> bool {
        let has = |stretch: &&Vec<Range>| stretch.iter().any(|range| range.table == table);
        self.stretches.iter().filter(has).count() == 1
    }

    fn finish<A: Admin>(&self, admin: &mut A, table: u32) -> Result<(), LoadError> {
        let options = &self.filling.options;
        admin.settle(table, options)?;
        for statement in create_index(self.target.engine, table, options) {
            admin.query(&statement)?;
        }
        (self.progress)(Progress::Indexed { table });
        Ok(())
    }
}

fn check_by<A: Admin>(target: &Target, options: &Options) -> Result<Vec<TableCheck>, LoadError> {
    let mut admin = A::connect(target)?;
    (1..=options.tables).map(|table| check_table(&mut admin, table)).collect()
}

fn check_table<A: Admin>(admin: &mut A, table: u32) -> Result<TableCheck, LoadError> {
    let name = table_name(table);
    let (rows, lowest, highest) = (None, None, None);
    let absent = TableCheck { table, rows, lowest, highest, misshapen: 0, is_indexed: false };
    if admin.query(&A::known(Known::Table, &name))?.is_empty() {
        return Ok(absent);
    }
    let rows = admin.query(&format!(
        "SELECT COUNT(*), MIN(id), MAX(id), \
         COALESCE(SUM(CASE WHEN LENGTH(c) = 119 AND LENGTH(pad) = 59 THEN 0 ELSE 1 END), 0) \
         FROM {name}"
    ))?;
    let index = admin.query(&A::known(Known::Index(table), &name))?;
    let field = |at: usize| rows.first().and_then(|row| row.get(at)?.as_deref());
    Ok(TableCheck {
        rows: field(0).and_then(|count| count.parse().ok()),
        lowest: field(1).and_then(|id| id.parse().ok()),
        highest: field(2).and_then(|id| id.parse().ok()),
        misshapen: field(3).and_then(|count| count.parse().ok()).unwrap_or(0),
        is_indexed: !index.is_empty(),
        ..absent
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oltp::{Dialect, Workload};

    #[test]
    fn stretches_hold_each_row_once_whoever_many_load() {
        for (tables, size, loaders) in [(1, 10, 3), (1, 100_000, 3), (3, 60_001, 2), (4, 25_000, 9)]
        {
            let mut options = Options::new(Workload::ReadWrite, Dialect::V1_1);
            (options.tables, options.table_size) = (tables, size);
            let all: Vec<Range> = stretches(&options, loaders).concat();
            let mut expected = Vec::new();
            for table in 1..=tables {
                let of_table = all.iter().filter(|range| range.table == table);
                let mut next = 1;
                for range in of_table {
                    assert_eq!(range.first, next);
                    next = range.last + 1;
                }
                expected.push(next - 1);
            }
            assert_eq!(expected, vec![size; tables as usize]);
        }
    }
}
