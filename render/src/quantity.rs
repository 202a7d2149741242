//! Numbers with their units. Bytes print exactly where they are whole in a unit, and with one
//! decimal where they are not, so that `128 GiB` always means 128 GiB to the byte.

use core::time::Duration;
use numawise_model::{PageSize, Utilisation};

const UNITS: [(u64, &str); 4] =
    [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// `128 GiB`, `1.5 GiB`, `512 KiB`, `17 bytes`. Sizes below 10 TiB stay in GiB: that is how memory
/// is bought and asked for.
pub fn bytes(n: u64) -> String {
    for (unit, name) in UNITS {
        let enough = if name == "TiB" { 10 * unit } else { unit };
        if n >= enough {
            return in_unit(n, unit, name);
        }
    }
    format!("{n} bytes")
}

fn in_unit(n: u64, unit: u64, name: &str) -> String {
    if n.is_multiple_of(unit) {
        return format!("{} {name}", n / unit);
    }
    // Rounded half up in integers; u128 because ten times a u64 need not fit.
    let tenths = (u128::from(n) * 10 + u128::from(unit) / 2) / u128::from(unit);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// An amount that may not be known. Unknown is said, never printed as 0.
pub fn bytes_or_unknown(n: Option<u64>, unknown: &str) -> String {
    n.map_or_else(|| unknown.to_owned(), bytes)
}

/// `512 x 2M (1 GiB)`, `none`.
pub fn pages(count: u64, size: PageSize) -> String {
    if count == 0 {
        return "none".to_owned();
    }
    match count.checked_mul(size.bytes()) {
        Some(total) => format!("{count} x {size} ({})", bytes(total)),
        None => format!("{count} x {size}"),
    }
}

/// `7 %`; below 10 % with one decimal unless that is 0.
pub fn percent(use_: Utilisation) -> String {
    match use_.0 {
        n if n >= 100 || n % 10 == 0 => format!("{} %", (u32::from(n) + 5) / 10),
        n => format!("{}.{} %", n / 10, n % 10),
    }
}

/// A count with its noun: `1 CPU`, `3 CPUs`.
pub fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Milliseconds to two places, as benchmarks print them: `46.07`.
pub fn msec(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1e3)
}

/// Seconds to one place.
pub fn seconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64())
}

/// A rate to two places: `1843.27`.
pub fn per_second(rate: f64) -> String {
    format!("{rate:.2}")
}
