//! sysbench's options for OLTP workloads, under sysbench's names.
//!
//! Both of its spellings are taken: `--table-size` and `--table_size`. A switch may stand alone or have a
//! value, as in `--skip_trx=on`.

use crate::failure::{USAGE, coded};
use crate::load_args::duration;
use crate::{cpu_words, host_source};
use anyhow::Result;
use clap::{ArgAction, Args, ValueEnum};
use numawise_database::oltp::{Dialect, Distribution, Options, Workload};
use numawise_database::{Ignored, Load, Rate, Spacing};
use numawise_model::CpuSet;
use std::time::Duration;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Tables")]
pub struct TableArgs {
    /// How many tables.
    #[arg(long, value_name = "N", default_value_t = 1)]
    tables: u32,
    /// Rows in each.
    #[arg(long, alias = "table_size", value_name = "N", default_value_t = 10_000)]
    table_size: u32,
    /// Ids that the server counts.
    #[arg(long, alias = "auto_inc", value_name = "ON", action = ArgAction::Set, num_args = 0..=1,
          default_value = "on", default_missing_value = "on", value_parser = on_or_off)]
    auto_inc: bool,
    /// Ids in a secondary index, and no primary key.
    #[arg(long, value_name = "ON", action = ArgAction::Set, num_args = 0..=1,
          default_value = "off", default_missing_value = "on", value_parser = on_or_off)]
    secondary: bool,
    /// An index on k.
    #[arg(long, alias = "create_secondary", value_name = "ON", action = ArgAction::Set,
          num_args = 0..=1, default_value = "on", default_missing_value = "on",
          value_parser = on_or_off)]
    create_secondary: bool,
    /// MySQL's storage engine.
    #[arg(long, alias = "mysql_storage_engine", value_name = "NAME", default_value = "innodb")]
    mysql_storage_engine: String,
    /// SQL behind each table's definition.
    #[arg(long, alias = "create_table_options", value_name = "SQL", default_value = "")]
    create_table_options: String,
    #[command(flatten)]
    keys: KeyArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Keys")]
struct KeyArgs {
    /// Whose defaults: 1.0 (as distributions ship it; three quarters of all draws go to less than
    /// one row in a hundred) or 1.1 (uniform).
    #[arg(long, value_enum, default_value = "1.1")]
    dialect: DialectName,
    /// How keys are drawn [default: special for 1.0, uniform for 1.1].
    #[arg(long, alias = "rand_type", value_enum)]
    rand_type: Option<KeysName>,
    /// Draws that gaussian and special add up.
    #[arg(long, alias = "rand_spec_iter", value_name = "N", default_value_t = 12)]
    rand_spec_iter: u32,
    /// Per cent of all keys that special makes hot.
    #[arg(long, alias = "rand_spec_pct", value_name = "N", default_value_t = 1)]
    rand_spec_pct: u32,
    /// Per cent of all draws that the hot keys get.
    #[arg(long, alias = "rand_spec_res", value_name = "N", default_value_t = 75)]
    rand_spec_res: u32,
    /// Shape of pareto.
    #[arg(long, alias = "rand_pareto_h", value_name = "H", default_value_t = 0.2)]
    rand_pareto_h: f64,
    /// Exponent of zipfian.
    #[arg(long, alias = "rand_zipfian_exp", value_name = "E", default_value_t = 0.8)]
    rand_zipfian_exp: f64,
    /// Draws everything; the same seed gives the same rows and the same events. 0 takes the time.
    #[arg(long, alias = "rand_seed", value_name = "N", default_value_t = 0)]
    rand_seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectName {
    #[value(name = "1.0")]
    V1_0,
    #[value(name = "1.1")]
    V1_1,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KeysName {
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipfian,
}

impl TableArgs {
    pub fn options(&self, workload: Workload) -> Options {
        let dialect = match self.keys.dialect {
            DialectName::V1_0 => Dialect::V1_0,
            DialectName::V1_1 => Dialect::V1_1,
        };
        let keys = &self.keys;
        let iterations = keys.rand_spec_iter;
        let distribution = match (keys.rand_type, dialect) {
            (Some(KeysName::Uniform), _) | (None, Dialect::V1_1) => Distribution::Uniform,
            (Some(KeysName::Gaussian), _) => Distribution::Gaussian { iterations },
            (Some(KeysName::Special), _) | (None, Dialect::V1_0) => Distribution::Special {
                iterations,
                percent: keys.rand_spec_pct,
                result: keys.rand_spec_res,
            },
            (Some(KeysName::Pareto), _) => Distribution::Pareto { h: keys.rand_pareto_h },
            (Some(KeysName::Zipfian), _) => {
                Distribution::Zipfian { exponent: keys.rand_zipfian_exp }
            }
        };
        Options {
            distribution,
            tables: self.tables,
            table_size: self.table_size,
            auto_inc: self.auto_inc,
            secondary: self.secondary,
            create_secondary: self.create_secondary,
            storage_engine: self.mysql_storage_engine.clone(),
            create_table_options: self.create_table_options.clone(),
            ..Options::new(workload, dialect)
        }
    }

    /// The seed, drawn from the clock where none was given.
    pub fn seed(&self) -> u64 {
        if self.keys.rand_seed != 0 {
            return self.keys.rand_seed;
        }
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(1, |since| since.as_nanos() as u64)
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Transactions")]
pub struct ShapeArgs {
    /// Rows of each range.
    #[arg(long, alias = "range_size", value_name = "N", default_value_t = 100)]
    range_size: u32,
    #[arg(long, alias = "point_selects", value_name = "N", default_value_t = 10)]
    point_selects: u32,
    #[arg(long, alias = "simple_ranges", value_name = "N", default_value_t = 1)]
    simple_ranges: u32,
    #[arg(long, alias = "sum_ranges", value_name = "N", default_value_t = 1)]
    sum_ranges: u32,
    #[arg(long, alias = "order_ranges", value_name = "N", default_value_t = 1)]
    order_ranges: u32,
    #[arg(long, alias = "distinct_ranges", value_name = "N", default_value_t = 1)]
    distinct_ranges: u32,
    #[arg(long, alias = "index_updates", value_name = "N", default_value_t = 1)]
    index_updates: u32,
    #[arg(long, alias = "non_index_updates", value_name = "N", default_value_t = 1)]
    non_index_updates: u32,
    #[arg(long, alias = "delete_inserts", value_name = "N", default_value_t = 1)]
    delete_inserts: u32,
    /// All four kinds of ranges.
    #[arg(long, alias = "range_selects", value_name = "ON", action = ArgAction::Set,
          num_args = 0..=1, default_value = "on", default_missing_value = "on",
          value_parser = on_or_off)]
    range_selects: bool,
    /// No BEGIN and COMMIT.
    #[arg(long, alias = "skip_trx", value_name = "ON", action = ArgAction::Set, num_args = 0..=1,
          default_value = "off", default_missing_value = "on", value_parser = on_or_off)]
    skip_trx: bool,
    /// Keys of each select_random_points.
    #[arg(long, alias = "random_points", value_name = "N", default_value_t = 10)]
    random_points: u32,
    /// Ranges of each select_random_ranges.
    #[arg(long, alias = "number_of_ranges", value_name = "N", default_value_t = 10)]
    number_of_ranges: u32,
    /// Their width.
    #[arg(long, value_name = "N", default_value_t = 5)]
    delta: u32,
}

impl ShapeArgs {
    pub fn apply(&self, options: Options) -> Options {
        Options {
            range_size: self.range_size,
            point_selects: self.point_selects,
            simple_ranges: self.simple_ranges,
            sum_ranges: self.sum_ranges,
            order_ranges: self.order_ranges,
            distinct_ranges: self.distinct_ranges,
            index_updates: self.index_updates,
            non_index_updates: self.non_index_updates,
            delete_inserts: self.delete_inserts,
            range_selects: self.range_selects,
            skip_trx: self.skip_trx,
            random_points: self.random_points,
            number_of_ranges: self.number_of_ranges,
            delta: self.delta,
            ..options
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Run")]
pub struct PaceArgs {
    /// Connections, each with one transaction at a time.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    threads: u32,
    /// Threads that share the connections [default: two for each CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// How long what counts lasts, like 60 or 5m; 0 for no limit.
    #[arg(long, value_name = "TIME", default_value = "10", value_parser = duration)]
    time: Duration,
    /// Transactions after which it ends; 0 for no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    events: u64,
    /// Time before that, which does not count.
    #[arg(long, alias = "warm-up", value_name = "TIME", default_value = "0", value_parser = duration)]
    warmup_time: Duration,
    /// Transactions that arrive per second, whether the server keeps up or not; 0 for a closed loop.
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    rate: f64,
    /// How arrivals lie in time.
    #[arg(long, value_enum, default_value = "poisson")]
    arrivals: SpacingName,
    /// Time between two lines on the way; 0 for none.
    #[arg(long, alias = "report_interval", value_name = "TIME", default_value = "1",
          value_parser = duration)]
    report_interval: Duration,
    /// One percentile more than p50, p95, p99 and p99.9.
    #[arg(long, value_name = "P")]
    percentile: Option<f64>,
    #[arg(long, value_name = "WHERE", help = format!("Where the generator may run: {}", cpu_words::WORDS))]
    cpus: Option<String>,
    /// Statements are prepared (auto) or sent as text (disable).
    #[arg(long, alias = "db_ps_mode", value_enum, default_value = "auto")]
    db_ps_mode: PreparedName,
    /// MySQL's errors after which a transaction is run again: numbers, or all.
    #[arg(
        long,
        alias = "mysql_ignore_errors",
        value_name = "LIST",
        default_value = "1213,1020,1205"
    )]
    mysql_ignore_errors: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SpacingName {
    Poisson,
    #[value(alias = "uniform")]
    Even,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PreparedName {
    Auto,
    Disable,
}

impl PaceArgs {
    pub fn load(&self, options: Options, seed: u64) -> Result<Load> {
        let wrong = |text: String| coded(USAGE, text);
        if !self.rate.is_finite() || self.rate < 0.0 {
            return Err(wrong(format!("--rate {}: transactions per second are wanted", self.rate)));
        }
        if self.time.is_zero() && self.events == 0 {
            return Err(wrong("--time 0 and --events 0: a run that never ends".to_owned()));
        }
        if self.rate > 0.0 && (self.time.is_zero() || self.events > 0) {
            return Err(wrong("--rate: an open loop ends by --time, not by --events".to_owned()));
        }
        if self.percentile.is_some_and(|p| !(p > 0.0 && p <= 100.0)) {
            return Err(wrong("--percentile: more than 0 and at most 100 is wanted".to_owned()));
        }
        let spacing = match self.arrivals {
            SpacingName::Poisson => Spacing::Poisson,
            SpacingName::Even => Spacing::Even,
        };
        Ok(Load {
            connections: self.threads,
            workers: self.workers,
            time: (!self.time.is_zero()).then_some(self.time),
            events: (self.events > 0).then_some(self.events),
            rate: (self.rate > 0.0).then_some(Rate { per_second: self.rate, spacing }),
            warm_up: self.warmup_time,
            interval: match self.report_interval {
                Duration::ZERO => Duration::from_secs(1),
                interval => interval,
            },
            cpus: self.cpus.as_deref().map(cpus).transpose()?,
            as_text: self.db_ps_mode == PreparedName::Disable,
            ignored: ignored(&self.mysql_ignore_errors)?,
            seed,
            ..Load::new(options)
        })
    }

    pub fn shows_intervals(&self) -> bool {
        !self.report_interval.is_zero()
    }

    pub fn percentile(&self) -> Option<f64> {
        self.percentile
    }
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("on or off is wanted".to_owned()),
    }
}

fn ignored(text: &str) -> Result<Ignored> {
    if text == "all" {
        return Ok(Ignored::All);
    }
    let codes = text.split(',').filter(|code| !code.is_empty()).map(|code| {
        let code = code.trim().parse::<u16>();
        code.map_err(|_| {
            coded(USAGE, format!("--mysql-ignore-errors {text}: numbers like 1213,1205, or all"))
        })
    });
    Ok(Ignored::These(codes.collect::<Result<_>>()?))
}

fn cpus(text: &str) -> Result<CpuSet> {
    let topology = host_source::read(None, false)?.host.topology;
    cpu_words::resolve(text, &topology)
        .map_err(|error| coded(USAGE, format!("--cpus {text}: {error}")))
}
