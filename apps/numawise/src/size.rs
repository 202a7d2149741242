//! Memory and page sizes as people write them: `192GiB`, `80G`, `2M`, `512MB`.
//!
//! The suffixes mean what they mean in a domain XML: `K`, `KiB`, `M`, `MiB`, ... are powers of
//! 1,024, `KB`, `MB`, ... powers of 1,000. Crates that parse sizes read `G` as 10^9, which would give
//! a guest 7 % less than libvirt gives for the same text; hence these lines.

use numawise_model::PageSize;

pub fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| at);
    let (digits, unit) = text.split_at(split);
    let wanted = "a whole number with a unit is wanted, like 192GiB, 80G or 4096MiB";
    if unit.starts_with('.') {
        return Err(format!("'{text}' is no whole number: {wanted}"));
    }
    let number: u64 = digits.parse().map_err(|_| format!("'{text}': {wanted}"))?;
    let factor = factor(unit.trim()).ok_or_else(|| {
        let unit = if unit.is_empty() { "no unit" } else { unit };
        format!("'{text}' has {unit}: {wanted}")
    })?;
    match number.checked_mul(factor) {
        Some(0) => Err(format!("'{text}' is nothing: {wanted}")),
        Some(bytes) => Ok(bytes),
        None => Err(format!("'{text}' is more than any machine has")),
    }
}

pub fn page_size(text: &str) -> Result<PageSize, String> {
    let bytes = bytes(text)?;
    if bytes.is_power_of_two() && bytes >= 4096 {
        Ok(PageSize(bytes))
    } else {
        Err(format!("'{text}' is no page size; 4K, 2M and 1G are"))
    }
}

fn factor(unit: &str) -> Option<u64> {
    const LETTERS: &str = "KMGTP";
    let upper = unit.to_ascii_uppercase();
    if matches!(upper.as_str(), "B" | "BYTES") {
        return Some(1);
    }
    let letter = upper.chars().next()?;
    let power = u32::try_from(LETTERS.find(letter)?).ok()? + 1;
    match &upper[1..] {
        "" | "IB" => Some(1024u64.pow(power)),
        "B" => Some(1000u64.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, page_size};
    use numawise_model::PageSize;

    #[test]
    fn suffixes_mean_what_libvirt_means() {
        for (text, wanted) in [
            ("192GiB", 192 << 30),
            ("80G", 80 << 30),
            ("80 GiB", 80 << 30),
            ("1k", 1024),
            ("5MB", 5_000_000),
            ("4096B", 4096),
        ] {
            assert_eq!(bytes(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_text_in_it() {
        for text in
            ["", "G", "192", "1.5G", "-3G", "0G", "1Q", "99999999999999999999G", "99999999P"]
        {
            let error = bytes(text).expect_err(text);
            assert!(error.contains(text.trim()), "{error}");
        }
    }

    #[test]
    fn page_sizes_are_powers_of_two() {
        assert_eq!(page_size("2M"), Ok(PageSize::HUGE_2M));
        assert!(page_size("3M").is_err());
        assert!(page_size("1K").is_err());
    }
}
