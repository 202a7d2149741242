//! sysbench's tables, for each engine.

use super::options::Options;
use crate::target::Engine;

/// Tables are counted from 1.
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

pub fn create_table(engine: Engine, table: u32, options: &Options) -> String {
    let id = match (engine, options.auto_inc) {
        (Engine::MySql, true) => "INTEGER NOT NULL AUTO_INCREMENT",
        (Engine::PostgreSql, true) => "SERIAL",
        // Only this exact type makes the rowid the key, which then counts by itself.
        (Engine::Sqlite, true) if !options.secondary => "INTEGER",
        (_, _) => "INTEGER NOT NULL",
    };
    let key = match (engine, options.secondary) {
        (_, false) => ", PRIMARY KEY (id)",
        (Engine::MySql, true) => ", KEY xid (id)",
        // Neither has keys inside a table's definition that are not unique.
        (Engine::PostgreSql | Engine::Sqlite, true) => "",
    };
    let storage = match engine {
        Engine::MySql => format!("/*! ENGINE = {} */", options.storage_engine),
        Engine::PostgreSql | Engine::Sqlite => String::new(),
    };
    let sql = format!(
        "CREATE TABLE {}(id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL{key}) {storage} {}",
        table_name(table),
        options.create_table_options
    );
    sql.trim_end().to_owned()
}

/// What is built once the rows are there.
pub fn create_index(engine: Engine, table: u32, options: &Options) -> Vec<String> {
    let name = table_name(table);
    let mut statements = Vec::new();
    if options.secondary && engine != Engine::MySql {
        statements.push(format!("CREATE INDEX xid_{table} ON {name}(id)"));
    }
    if options.create_secondary {
        statements.push(format!("CREATE INDEX k_{table} ON {name}(k)"));
    }
    statements
}

pub fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS {}", table_name(table))
}
