//! What a run in the manner of TPC-C found, in words.

use super::{Said, say};
use crate::quantity::{count, msec, seconds};
use core::time::Duration;
use numawise_experiment::{
    ConditionResult, Mix, NoServerCounters, OrdersAgreement, RandomChoice, Route,
    ServerTransactions, Steadiness, TpccRun,
};

pub const KIND_TABLE: [&str; 10] = [
    "transaction",
    "done",
    "rolled back",
    "tried again",
    "avg ms",
    "p50",
    "p95",
    "p99",
    "p99.9",
    "max",
];
pub const UNKNOWN: &str = "-";
pub const ALL_KINDS: &str = "all";
pub const NOT_TPMC: &str = "Neither is tpmC: nobody has audited this.";

pub fn title(run: &TpccRun) -> String {
    let ramp_up = match run.ramp_up.is_zero() {
        true => "no ramp-up".to_owned(),
        false => format!("{} s of ramp-up", seconds(run.ramp_up)),
    };
    format!(
        "TPC-C's tables as HammerDB drives them: {}, {}, {} s measured after {ramp_up}",
        count(run.warehouses.into(), "warehouse"),
        count(run.users.into(), "virtual user"),
        seconds(run.measured.elapsed),
    )
}

/// How it was driven: nobody should have to guess which of two customs a figure followed.
pub fn manner(run: &TpccRun) -> String {
    let choice = match run.choice {
        RandomChoice::HammerDb => "customers and items drawn evenly (HammerDB's way)",
        RandomChoice::Specification => {
            "customers and items drawn by NURand (the specification's way)"
        }
    };
    let mix = match run.mix {
        Mix::Drawn => "kinds drawn 10:10:1:1:1",
        Mix::Dealt => "kinds dealt from a deck, 10:10:1:1:1",
    };
    let route = match run.route {
        Route::Procedures => "stored procedures",
        Route::Statements => "one statement after the other",
    };
    let home = match run.all_warehouses {
        false => "each user at home in one warehouse",
        true => "any warehouse for each transaction",
    };
    let waits = if run.waits { "keying and thinking" } else { "no keying and thinking" };
    format!("{choice}; {mix}; {route}; {home}; {waits}")
}

pub fn nopm(run: &TpccRun) -> String {
    let value = run.nopm().map_or_else(|| "not available".to_owned(), |nopm| format!("{nopm:.0}"));
    let orders = run.orders;
    let why = match orders.agreement() {
        OrdersAgreement::Equal => {
            format!("d_next_o_id grew by {}, and clients saw as many committed", orders.committed)
        }
        OrdersAgreement::WithinUnknown { kept } => format!(
            "clients saw {} committed and never heard of {}; the database has {kept} of these",
            orders.committed, orders.unknown
        ),
        OrdersAgreement::Lost { orders: lost } => format!(
            "the database has lost {lost} of {} orders that it had confirmed",
            orders.committed
        ),
        OrdersAgreement::FromElsewhere { orders: others } => format!(
            "clients saw {} committed, and somebody else made {others} more",
            orders.committed
        ),
        OrdersAgreement::NotKnown => "the database did not answer at the end".to_owned(),
    };
    format!("NOPM  {value}  new orders a minute: {why}")
}

pub fn tpm(run: &TpccRun) -> String {
    let value = run.tpm().map_or_else(|| "not available".to_owned(), |tpm| format!("{tpm:.0}"));
    let why = match run.server {
        ServerTransactions::Counted { commits, rollbacks } => format!(
            "the server's transactions a minute, whoever asked for them: {commits} commits, {rollbacks} \
             rollbacks; clients know of {}",
            run.client_transactions()
        ),
        ServerTransactions::NotAvailable { why: NoServerCounters::NoServer } => {
            "SQLite has no server that counts".to_owned()
        }
        ServerTransactions::NotAvailable { why: NoServerCounters::NotTold } => {
            "the server does not tell its counters".to_owned()
        }
        ServerTransactions::NotAvailable { why: NoServerCounters::Restarted } => {
            "the server's counters began anew while it was measured".to_owned()
        }
        ServerTransactions::NotAvailable { why: NoServerCounters::Unanswered } => {
            "the server did not answer at the end".to_owned()
        }
    };
    format!("TPM   {value}  {why}")
}

pub fn client(run: &TpccRun) -> String {
    let measured = &run.measured;
    let cpus = measured.generator_cpus();
    let cpus = cpus.map_or_else(|| UNKNOWN.to_owned(), |cpus| format!("{cpus:.2}"));
    let threads = count(measured.generator.threads.into(), "thread");
    format!("The clients used {cpus} CPUs in {threads}.")
}

/// What a reader must know before believing the figures.
pub fn remarks(run: &TpccRun) -> Vec<Said> {
    let mut remarks = Vec::new();
    match run.measured.steadiness {
        Steadiness::NotSteady { after } => remarks.push(
            say(format!("the load was not steady yet after {} s of ramp-up", seconds(after)))
                .way("a longer --ramp-up, until its last half no longer moves by 5 %"),
        ),
        Steadiness::NotWarmedUp => remarks.push(
            say("there was no ramp-up: caches filled while it was measured").way("--ramp-up 2m"),
        ),
        Steadiness::Steady { .. } => {}
    }
    let counts = run.measured.counts;
    if counts.reconnects > 0 || run.unknown > 0 {
        remarks.push(say(format!(
            "connections were lost: {}, {} with an outcome that nobody heard",
            count(counts.reconnects, "reconnect"),
            count(run.unknown, "transaction"),
        )));
    }
    match run.orders.agreement() {
        OrdersAgreement::Lost { .. } => remarks.push(
            say("what the database had confirmed is gone")
                .way("innodb_flush_log_at_trx_commit, synchronous_commit: see numawise doctor"),
        ),
        OrdersAgreement::FromElsewhere { .. } => {
            remarks.push(say("NOPM counts the orders of others too"));
        }
        _ => {}
    }
    if run.users > 10 * run.warehouses {
        remarks.push(
            say(format!(
                "{} users share {}: they wait for each other's districts, not for CPUs",
                run.users,
                count(run.warehouses.into(), "warehouse")
            ))
            .way("at least one warehouse for every ten users"),
        );
    }
    remarks
}

/// Of the conditions 3.3.2.1 to 3.3.2.12, in a few words each.
pub fn condition(result: ConditionResult) -> String {
    let what = match result.condition {
        1 => "w_ytd is the sum of its districts' d_ytd",
        2 => "d_next_o_id follows the highest order",
        3 => "undelivered orders have no gaps",
        4 => "a district has as many lines as its orders say",
        5 => "an order has a carrier unless it is undelivered",
        6 => "each order has as many lines as it says",
        7 => "a line is delivered when its order has a carrier",
        8 => "w_ytd is what its history adds up to",
        9 => "d_ytd is what its history adds up to",
        10 => "c_balance is what was delivered less what was paid",
        11 => "orders less the undelivered are those delivered",
        12 => "c_balance and c_ytd_payment are what was delivered",
        _ => "(not one of the specification's)",
    };
    let verdict = match result.broken {
        0 => "holds".to_owned(),
        broken => format!("BROKEN by {}", count(broken, "row")),
    };
    format!("3.3.2.{:<2}  {what:<52}  {verdict}", result.condition)
}

pub fn consistent(broken: usize) -> String {
    match broken {
        0 => "All twelve conditions hold.".to_owned(),
        broken => format!("{} of twelve conditions are broken.", broken),
    }
}

pub fn progress(at: Duration, tps: f64, p95: Option<Duration>, p99: Option<Duration>) -> String {
    let ms = |time: Option<Duration>| time.map_or_else(|| UNKNOWN.to_owned(), msec);
    format!(
        "[{:>6.1} s] {tps:>9.1} transactions/s  p95 {} ms  p99 {} ms",
        at.as_secs_f64(),
        ms(p95),
        ms(p99)
    )
}

pub fn progress_of_errors(tried_again: u64, reconnects: u64) -> String {
    match (tried_again, reconnects) {
        (0, 0) => String::new(),
        (tried, 0) => format!("  tried again {tried}"),
        (tried, reconnects) => format!("  tried again {tried}, reconnected {reconnects}"),
    }
}

pub const RAMP_UP: &str = "  (ramp-up)";

pub fn loading(done: usize, all: usize) -> String {
    format!("loaded {} % ({done} of {all} parts)", done * 100 / all.max(1))
}

pub const INDEXES: &str = "making indexes, procedures and statistics";
