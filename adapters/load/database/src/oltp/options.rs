//! What a workload is asked to be: sysbench's options with sysbench's defaults.

use super::keys::Distribution;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
    RandomPoints,
    RandomRanges,
}

impl Workload {
    pub const ALL: [Self; 10] = [
        Self::PointSelect,
        Self::ReadOnly,
        Self::ReadWrite,
        Self::WriteOnly,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Insert,
        Self::Delete,
        Self::RandomPoints,
        Self::RandomRanges,
    ];

    /// As sysbench calls it, without its `oltp_`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "point_select",
            Self::ReadOnly => "read_only",
            Self::ReadWrite => "read_write",
            Self::WriteOnly => "write_only",
            Self::UpdateIndex => "update_index",
            Self::UpdateNonIndex => "update_non_index",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::RandomPoints => "select_random_points",
            Self::RandomRanges => "select_random_ranges",
        }
    }

    /// Reads its name, with or without sysbench's `oltp_`, with `_` or `-`.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.replace('-', "_");
        let bare = text.strip_prefix("oltp_").unwrap_or(&text);
        Self::ALL.into_iter().find(|workload| workload.name() == bare)
    }
}

/// Whose defaults and rules a run follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// What distributions ship: `special` keys by default, no zipfian.
    V1_0,
    /// sysbench's development line: uniform keys by default, no `special`.
    #[default]
    V1_1,
}

impl Dialect {
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        }
    }

    pub const fn usual_distribution(self) -> Distribution {
        match self {
            Self::V1_0 => Distribution::SPECIAL,
            Self::V1_1 => Distribution::Uniform,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub workload: Workload,
    pub dialect: Dialect,
    pub distribution: Distribution,
    pub tables: u32,
    pub table_size: u32,
    pub range_size: u32,
    pub point_selects: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    /// Off: none of the four kinds of ranges.
    pub range_selects: bool,
    /// Off: ids come from the generator.
    pub auto_inc: bool,
    /// Each statement by itself, without BEGIN and COMMIT.
    pub skip_trx: bool,
    /// Ids in a secondary index, without a primary key.
    pub secondary: bool,
    pub create_secondary: bool,
    /// Keys in each `select_random_points`.
    pub random_points: u32,
    /// Ranges in each `select_random_ranges`, and their width.
    pub number_of_ranges: u32,
    pub delta: u32,
    pub storage_engine: String,
    /// Behind the table's definition.
    pub create_table_options: String,
}

impl Options {
    pub fn new(workload: Workload, dialect: Dialect) -> Self {
        Self {
            workload,
            dialect,
            distribution: dialect.usual_distribution(),
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            auto_inc: true,
            skip_trx: false,
            secondary: false,
            create_secondary: true,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            storage_engine: "innodb".to_owned(),
            create_table_options: String::new(),
        }
    }

    /// What can never run, before anything is connected to.
    pub fn check(&self) -> Result<(), OptionsError> {
        let wrong = |what, value: String, wanted| Err(OptionsError { what, value, wanted });
        if self.tables == 0 {
            return wrong("tables", "0".to_owned(), "at least one");
        }
        // Ids and the ends of ranges are signed 32-bit numbers.
        if self.table_size == 0 || self.table_size > 2_000_000_000 {
            return wrong("table-size", self.table_size.to_string(), "1 to 2,000,000,000 rows");
        }
        match (self.dialect, self.distribution) {
            (Dialect::V1_0, Distribution::Zipfian { .. }) => {
                return wrong(
                    "rand-type",
                    "zipfian".to_owned(),
                    "--dialect 1.1: 1.0 has no zipfian",
                );
            }
            (Dialect::V1_1, Distribution::Special { .. }) => {
                return wrong(
                    "rand-type",
                    "special".to_owned(),
                    "--dialect 1.0: 1.1 has no special",
                );
            }
            _ => {}
        }
        let inside = match self.distribution {
            Distribution::Uniform => true,
            Distribution::Gaussian { iterations } => iterations > 0,
            Distribution::Special { iterations, percent, result } => {
                iterations > 0 && (1..=100).contains(&percent) && result < 100
            }
            Distribution::Pareto { h } => h > 0.0 && h < 1.0,
            Distribution::Zipfian { exponent } => exponent >= 0.0 && exponent.is_finite(),
        };
        if !inside {
            let value = format!("{:?}", self.distribution);
            return wrong(
                "rand-type",
                value,
                "parameters in range: iterations of at least 1, \
                per cents of 1 to 99, pareto-h between 0 and 1, an exponent of at least 0",
            );
        }
        let one_table = matches!(self.workload, Workload::RandomPoints | Workload::RandomRanges);
        if one_table && self.tables != 1 {
            return wrong("tables", self.tables.to_string(), "one: this workload has no others");
        }
        let most = if self.workload == Workload::RandomPoints {
            self.random_points
        } else {
            self.number_of_ranges
        };
        if one_table && !(1..=10_000).contains(&most) {
            return wrong("random-points or number-of-ranges", most.to_string(), "1 to 10,000");
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("--{what} {value}: wanted {wanted}")]
pub struct OptionsError {
    pub what: &'static str,
    pub value: String,
    pub wanted: &'static str,
}
