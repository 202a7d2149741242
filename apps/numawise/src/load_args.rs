//! Arguments that loads share: which database, and how long.

use numawise_database::Target;
use std::time::Duration;

/// A database, said in one text.
pub fn target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: numawise_database::TargetError| error.to_string())
}

/// `90`, `90s`, `2m`, `500ms`, `1h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wanted = "a whole number of ms, s, m or h is wanted, like 90s or 5m";
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| format!("'{text}': {wanted}"))?;
    let seconds = |factor: u64| Duration::from_secs(number.saturating_mul(factor));
    match unit.trim() {
        "ms" => Ok(Duration::from_millis(number)),
        "" | "s" => Ok(seconds(1)),
        "m" | "min" => Ok(seconds(60)),
        "h" => Ok(seconds(3_600)),
        _ => Err(format!("'{text}': {wanted}")),
    }
}

/// Zero would mean no measurement at all.
pub fn some_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("'{text}' is no time at all")),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert!(duration("5 days").is_err() && some_duration("0s").is_err());
    }
}
