//! Fills the tables: warehouses in parallel, and the parts of one warehouse too.

use super::random::{AT_LOAD, Random, last_name};
use super::rows::Rows;
use super::schema::{self, CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDERS};
use super::{Prepare, PrepareProgress, TpccError};
use crate::admin::Admin;
use crate::target::{Engine, Target};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Parts that are loaded by whoever is free: none depends on another.
#[derive(Clone, Copy, Debug)]
enum Part {
    Items { from: i64 },
    Warehouse { warehouse: i64 },
    Stock { warehouse: i64, from: i64 },
    District { warehouse: i64, district: i64 },
}

/// Items and stock come in tenths, as many as a district has rows of anything.
const TENTH: i64 = ITEMS / 10;
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

pub fn prepare(
    target: &Target,
    wanted: &Prepare,
    cancelled: &AtomicBool,
    progress: &mut dyn FnMut(PrepareProgress),
) -> Result<(), TpccError> {
    let mut admin = Admin::open(target)?;
    let there = schema::tables_there(&mut admin)?;
    if let Some(table) = there.first() {
        return Err(TpccError::AlreadyThere { target: target.to_string(), table });
    }
    schema::create_tables(&mut admin)?;
    let parts = parts(wanted.warehouses);
    // SQLite has one writer at a time.
    let threads = if target.engine == Engine::Sqlite { 1 } else { wanted.threads.max(1) };
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed = Mutex::new(None);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let ended_by = load_parts(target, wanted.seed, &parts, &next, &done, &ended);
                    if let Err(error) = ended_by {
                        ended.store(true, Ordering::Relaxed);
                        if let Ok(mut failed) = failed.lock() {
                            failed.get_or_insert(error);
                        }
                    }
                })
            })
            .collect();
        while !loaders.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::park_timeout(PROGRESS_EVERY / 10);
            if cancelled.load(Ordering::Relaxed) {
                ended.store(true, Ordering::Relaxed);
            }
            progress(PrepareProgress::Rows {
                done: done.load(Ordering::Relaxed),
                all: parts.len(),
            });
        }
    });
    if let Some(error) = failed.into_inner().ok().flatten() {
        return Err(error);
    }
    if cancelled.load(Ordering::Relaxed) {
        return Err(TpccError::Cancelled);
    }
    progress(PrepareProgress::Indexes);
    Ok(schema::finish(&mut admin)?)
}

fn parts(warehouses: i64) -> Vec<Part> {
    let tenths = || (0..10).map(|tenth| tenth * TENTH + 1);
    let mut parts: Vec<Part> = tenths().map(|from| Part::Items { from }).collect();
    for warehouse in 1..=warehouses {
        parts.push(Part::Warehouse { warehouse });
        parts.extend(tenths().map(|from| Part::Stock { warehouse, from }));
        parts.extend((1..=DISTRICTS).map(|district| Part::District { warehouse, district }));
    }
    parts
}

fn load_parts(
    target: &Target,
    seed: u64,
    parts: &[Part],
    next: &AtomicUsize,
    done: &AtomicUsize,
    ended: &AtomicBool,
) -> Result<(), TpccError> {
    let mut admin = Admin::open(target)?;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(&part) = parts.get(number) else { return Ok(()) };
        if ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        // A part's rows are the same whoever loads it.
        let mut random = Random::new(seed, number as u64);
        admin.run("BEGIN")?;
        load_part(&mut admin, &mut random, part)?;
        admin.run("COMMIT")?;
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn load_part(admin: &mut Admin, random: &mut Random, part: Part) -> Result<(), TpccError> {
    match part {
        Part::Items { from } => items(admin, random, from),
        Part::Warehouse { warehouse } => one_warehouse(admin, random, warehouse),
        Part::Stock { warehouse, from } => stock(admin, random, warehouse, from),
        Part::District { warehouse, district } => {
            customers(admin, random, warehouse, district)?;
            orders(admin, random, warehouse, district)
        }
    }
}

/// One in ten has the word in it that brand comparisons look for.
fn data(random: &mut Random) -> String {
    let mut text = String::new();
    random.letters(&mut text, 26, 50);
    if random.percent(10) {
        let at = random.between(0, text.len() as i64 - 8) as usize;
        text.replace_range(at..at + 8, "ORIGINAL");
    }
    text
}

fn items(admin: &mut Admin, random: &mut Random, from: i64) -> Result<(), TpccError> {
    let mut rows = Rows::new(admin, "item", "i_id, i_im_id, i_name, i_price, i_data");
    for item in from..from + TENTH {
        rows.int(item);
        rows.int(random.between(1, 10_000));
        rows.letters(random, 14, 24);
        rows.cents(random.between(100, 10_000));
        rows.text(&data(random));
        rows.end()?;
    }
    rows.flush()
}

fn address(rows: &mut Rows<'_>, random: &mut Random) {
    rows.letters(random, 10, 20);
    rows.letters(random, 10, 20);
    rows.letters(random, 10, 20);
    rows.letters(random, 2, 2);
    let mut zip = String::new();
    random.digits(&mut zip, 4);
    zip.push_str("11111");
    rows.text(&zip);
}

fn one_warehouse(admin: &mut Admin, random: &mut Random, warehouse: i64) -> Result<(), TpccError> {
    const COLUMNS: &str =
        "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd";
    let mut rows = Rows::new(admin, "warehouse", COLUMNS);
    rows.int(warehouse);
    rows.letters(random, 6, 10);
    address(&mut rows, random);
    rows.parts(random.between(0, 2_000));
    rows.cents(30_000_000);
    rows.end()?;
    rows.flush()?;
    const OF_DISTRICTS: &str = "d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, \
                                d_tax, d_ytd, d_next_o_id";
    let mut rows = Rows::new(admin, "district", OF_DISTRICTS);
    for district in 1..=DISTRICTS {
        rows.int(district);
        rows.int(warehouse);
        rows.letters(random, 6, 10);
        address(&mut rows, random);
        rows.parts(random.between(0, 2_000));
        rows.cents(3_000_000);
        rows.int(ORDERS + 1);
        rows.end()?;
    }
    rows.flush()
}

fn stock(
    admin: &mut Admin,
    random: &mut Random,
    warehouse: i64,
    from: i64,
) -> Result<(), TpccError> {
    const COLUMNS: &str = "s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
                           s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, \
                           s_order_cnt, s_remote_cnt, s_data";
    let mut rows = Rows::new(admin, "stock", COLUMNS);
    for item in from..from + TENTH {
        rows.int(item);
        rows.int(warehouse);
        rows.int(random.between(10, 100));
        for _ in 0..DISTRICTS {
            rows.letters(random, 24, 24);
        }
        for _ in 0..3 {
            rows.int(0);
        }
        rows.text(&data(random));
        rows.end()?;
    }
    rows.flush()
}

/// Customers, and the one payment that each has made.
fn customers(
    admin: &mut Admin,
    random: &mut Random,
    warehouse: i64,
    district: i64,
) -> Result<(), TpccError> {
    const COLUMNS: &str = "c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, \
                           c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, \
                           c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data";
    let mut rows = Rows::new(admin, "customer", COLUMNS);
    for customer in 1..=CUSTOMERS {
        for id in [customer, district, warehouse] {
            rows.int(id);
        }
        rows.letters(random, 8, 16);
        rows.text("OE");
        // Each name is there at least once, so that looking for one always finds somebody.
        let name = match customer {
            1..=1_000 => customer - 1,
            _ => random.skewed(255, 0, 999, AT_LOAD.last_name),
        };
        rows.text(&last_name(name));
        address(&mut rows, random);
        let mut phone = String::new();
        random.digits(&mut phone, 16);
        rows.text(&phone);
        rows.now();
        rows.text(if random.percent(10) { "BC" } else { "GC" });
        rows.cents(5_000_000);
        rows.parts(random.between(0, 5_000));
        rows.cents(-1_000);
        rows.cents(1_000);
        rows.int(1);
        rows.int(0);
        rows.letters(random, 300, 500);
        rows.end()?;
    }
    rows.flush()?;
    const OF_HISTORY: &str = "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data";
    let mut rows = Rows::new(admin, "history", OF_HISTORY);
    for customer in 1..=CUSTOMERS {
        for id in [customer, district, warehouse, district, warehouse] {
            rows.int(id);
        }
        rows.now();
        rows.cents(1_000);
        rows.letters(random, 12, 24);
        rows.end()?;
    }
    rows.flush()
}

/// Orders with their lines; those from [`FIRST_NEW_ORDER`] on are not delivered yet.
fn orders(
    admin: &mut Admin,
    random: &mut Random,
    warehouse: i64,
    district: i64,
) -> Result<(), TpccError> {
    const COLUMNS: &str =
        "o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local";
    let customers = random.permutation(CUSTOMERS);
    let counts: Vec<i64> = customers.iter().map(|_| random.between(5, 15)).collect();
    let mut rows = Rows::new(admin, "orders", COLUMNS);
    for ((order, customer), &count) in (1..).zip(customers).zip(&counts) {
        for id in [order, district, warehouse, customer] {
            rows.int(id);
        }
        rows.now();
        match order < FIRST_NEW_ORDER {
            true => rows.int(random.between(1, 10)),
            false => rows.null(),
        }
        rows.int(count);
        rows.int(1);
        rows.end()?;
    }
    rows.flush()?;
    let mut rows = Rows::new(admin, "new_order", "no_o_id, no_d_id, no_w_id");
    for order in FIRST_NEW_ORDER..=ORDERS {
        for id in [order, district, warehouse] {
            rows.int(id);
        }
        rows.end()?;
    }
    rows.flush()?;
    const OF_LINES: &str = "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
                            ol_delivery_d, ol_quantity, ol_amount, ol_dist_info";
    let mut rows = Rows::new(admin, "order_line", OF_LINES);
    for (order, &count) in (1..).zip(&counts) {
        let is_delivered = order < FIRST_NEW_ORDER;
        for line in 1..=count {
            for id in [order, district, warehouse, line, random.between(1, ITEMS), warehouse] {
                rows.int(id);
            }
            if is_delivered {
                rows.now()
            } else {
                rows.null()
            }
            rows.int(5);
            rows.cents(if is_delivered { 0 } else { random.between(1, 999_999) });
            rows.letters(random, 24, 24);
            rows.end()?;
        }
    }
    rows.flush()
}
