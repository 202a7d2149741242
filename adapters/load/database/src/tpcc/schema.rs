//! The nine tables of the specification, with HammerDB's names, and how they come and go.
//!
//! No foreign keys, as with HammerDB: what they would check is what the consistency conditions check.
//! Secondary indexes are made after the load.

use super::dialect::spell;
use crate::admin::{Admin, AdminError};
use crate::target::Engine;

/// What one warehouse consists of, by the specification.
pub const ITEMS: i64 = 100_000;
pub const DISTRICTS: i64 = 10;
pub const CUSTOMERS: i64 = 3_000;
/// Orders of a district after the load; the last third of them is not delivered yet.
pub const ORDERS: i64 = 3_000;
pub const FIRST_NEW_ORDER: i64 = 2_101;

pub const TABLES: &[&str] = &[
    "warehouse",
    "district",
    "customer",
    "history",
    "orders",
    "new_order",
    "order_line",
    "stock",
    "item",
];

const CREATE: &[&str] = &[
    "CREATE TABLE item (i_id INT NOT NULL, i_im_id INT NOT NULL, i_name VARCHAR(24) NOT NULL, \
     i_price {money 5,2} NOT NULL, i_data VARCHAR(50) NOT NULL, PRIMARY KEY (i_id)) {table by its key}",
    "CREATE TABLE warehouse (w_id INT NOT NULL, w_name VARCHAR(10) NOT NULL, \
     w_street_1 VARCHAR(20) NOT NULL, w_street_2 VARCHAR(20) NOT NULL, w_city VARCHAR(20) NOT NULL, \
     w_state CHAR(2) NOT NULL, w_zip CHAR(9) NOT NULL, w_tax {rate} NOT NULL, \
     w_ytd {money 12,2} NOT NULL, PRIMARY KEY (w_id)) {table by its key}",
    "CREATE TABLE district (d_id SMALLINT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10) NOT NULL, \
     d_street_1 VARCHAR(20) NOT NULL, d_street_2 VARCHAR(20) NOT NULL, d_city VARCHAR(20) NOT NULL, \
     d_state CHAR(2) NOT NULL, d_zip CHAR(9) NOT NULL, d_tax {rate} NOT NULL, \
     d_ytd {money 12,2} NOT NULL, d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id)) {table by its key}",
    "CREATE TABLE customer (c_id INT NOT NULL, c_d_id SMALLINT NOT NULL, c_w_id INT NOT NULL, \
     c_first VARCHAR(16) NOT NULL, c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, \
     c_street_1 VARCHAR(20) NOT NULL, c_street_2 VARCHAR(20) NOT NULL, c_city VARCHAR(20) NOT NULL, \
     c_state CHAR(2) NOT NULL, c_zip CHAR(9) NOT NULL, c_phone CHAR(16) NOT NULL, c_since {time} NOT NULL, \
     c_credit CHAR(2) NOT NULL, c_credit_lim {money 12,2} NOT NULL, c_discount {rate} NOT NULL, \
     c_balance {money 12,2} NOT NULL, c_ytd_payment {money 12,2} NOT NULL, c_payment_cnt INT NOT NULL, \
     c_delivery_cnt INT NOT NULL, c_data VARCHAR(500) NOT NULL, \
     PRIMARY KEY (c_w_id, c_d_id, c_id)) {table by its key}",
    "CREATE TABLE history (h_c_id INT NOT NULL, h_c_d_id SMALLINT NOT NULL, h_c_w_id INT NOT NULL, \
     h_d_id SMALLINT NOT NULL, h_w_id INT NOT NULL, h_date {time} NOT NULL, h_amount {money 6,2} NOT NULL, \
     h_data VARCHAR(24) NOT NULL) {table}",
    "CREATE TABLE orders (o_id INT NOT NULL, o_d_id SMALLINT NOT NULL, o_w_id INT NOT NULL, \
     o_c_id INT NOT NULL, o_entry_d {time} NOT NULL, o_carrier_id SMALLINT, o_ol_cnt SMALLINT NOT NULL, \
     o_all_local SMALLINT NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id)) {table by its key}",
    "CREATE TABLE new_order (no_o_id INT NOT NULL, no_d_id SMALLINT NOT NULL, no_w_id INT NOT NULL, \
     PRIMARY KEY (no_w_id, no_d_id, no_o_id)) {table by its key}",
    "CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id SMALLINT NOT NULL, ol_w_id INT NOT NULL, \
     ol_number SMALLINT NOT NULL, ol_i_id INT NOT NULL, ol_supply_w_id INT NOT NULL, \
     ol_delivery_d {time}, ol_quantity SMALLINT NOT NULL, ol_amount {money 6,2} NOT NULL, \
     ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) {table by its key}",
    "CREATE TABLE stock (s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity SMALLINT NOT NULL, \
     s_dist_01 CHAR(24) NOT NULL, s_dist_02 CHAR(24) NOT NULL, s_dist_03 CHAR(24) NOT NULL, \
     s_dist_04 CHAR(24) NOT NULL, s_dist_05 CHAR(24) NOT NULL, s_dist_06 CHAR(24) NOT NULL, \
     s_dist_07 CHAR(24) NOT NULL, s_dist_08 CHAR(24) NOT NULL, s_dist_09 CHAR(24) NOT NULL, \
     s_dist_10 CHAR(24) NOT NULL, s_ytd INT NOT NULL, s_order_cnt INT NOT NULL, s_remote_cnt INT NOT NULL, \
     s_data VARCHAR(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id)) {table by its key}",
];

const INDEXES: &[&str] = &[
    "CREATE INDEX tpcc_customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX tpcc_orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// Each procedure stands behind a line of its own that names it.
const MYSQL_PROCEDURES: &str = include_str!("procedures/mysql.sql");
const POSTGRES_PROCEDURES: &str = include_str!("procedures/postgres.sql");
const NAME_LINE: &str = "-- procedure ";

/// Those of the tables that are there.
pub fn tables_there(admin: &mut Admin) -> Result<Vec<&'static str>, AdminError> {
    let mut there = Vec::new();
    for &table in TABLES {
        let found = match admin.engine() {
            Engine::MySql => format!(
                "SELECT COUNT(*) FROM information_schema.tables \
                 WHERE table_schema = DATABASE() AND table_name = '{table}'"
            ),
            Engine::PostgreSql => {
                format!("SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('{table}')")
            }
            Engine::Sqlite => {
                format!(
                    "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = '{table}'"
                )
            }
        };
        if admin.number(&found)? == Some(1) {
            there.push(table);
        }
    }
    Ok(there)
}

pub fn create_tables(admin: &mut Admin) -> Result<(), AdminError> {
    CREATE.iter().try_for_each(|marked| {
        let sql = spell(admin.engine(), marked);
        admin.run(&sql)
    })
}

/// Indexes, the procedures where the engine has them, and statistics for its optimiser.
pub fn finish(admin: &mut Admin) -> Result<(), AdminError> {
    for index in INDEXES {
        admin.run(index)?;
    }
    create_procedures(admin)?;
    match admin.engine() {
        Engine::MySql => admin.rows(&format!("ANALYZE TABLE {}", TABLES.join(", "))).map(drop),
        Engine::PostgreSql => {
            TABLES.iter().try_for_each(|table| admin.run(&format!("VACUUM ANALYZE {table}")))
        }
        Engine::Sqlite => admin.run("ANALYZE"),
    }
}

/// Names and texts of the engine's procedures.
fn procedures(engine: Engine) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = match engine {
        Engine::MySql => MYSQL_PROCEDURES,
        Engine::PostgreSql => POSTGRES_PROCEDURES,
        Engine::Sqlite => "",
    };
    all.split(NAME_LINE).skip(1).filter_map(|part| part.split_once('\n'))
}

/// TiDB speaks the protocol and has no procedures: its runs use statements.
pub fn has_procedures(admin: &mut Admin) -> Result<bool, AdminError> {
    match admin.engine() {
        Engine::Sqlite => Ok(false),
        Engine::PostgreSql => Ok(true),
        Engine::MySql => {
            let version = admin.rows("SELECT VERSION()")?;
            let is_tidb = version.iter().flatten().flatten().any(|text| text.contains("TiDB"));
            Ok(!is_tidb)
        }
    }
}

fn create_procedures(admin: &mut Admin) -> Result<(), AdminError> {
    if !has_procedures(admin)? {
        return Ok(());
    }
    for (name, text) in procedures(admin.engine()) {
        admin.run(&format!("DROP PROCEDURE IF EXISTS {name}"))?;
        admin.run(text)?;
    }
    Ok(())
}

pub fn drop_everything(admin: &mut Admin) -> Result<(), AdminError> {
    if has_procedures(admin)? {
        for (name, _) in procedures(admin.engine()) {
            admin.run(&format!("DROP PROCEDURE IF EXISTS {name}"))?;
        }
    }
    TABLES.iter().try_for_each(|table| admin.run(&format!("DROP TABLE IF EXISTS {table}")))
}
