//! Memory sizes with libvirt's units.
//!
//! `K` and `KiB` are powers of 1024, `KB` of 1000; a missing unit is KiB. Sizes are kept in bytes,
//! rounded up to whole KiB as libvirt does when it reads them.

use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, text, whole_number};
use roxmltree::Node;

const UNITS: &str = "b, KB, KiB, MB, MiB, GB, GiB, TB, TiB, PB, PiB, EB or EiB";

/// Bytes in one of that unit.
pub(crate) fn unit_bytes(unit: Option<&str>) -> Option<u64> {
    let unit = unit.unwrap_or("KiB").to_ascii_lowercase();
    if matches!(unit.as_str(), "b" | "byte" | "bytes") {
        return Some(1);
    }
    let power = match unit.chars().next()? {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        'e' => 6,
        _ => return None,
    };
    match &unit[1..] {
        "" | "ib" => 1024u64.checked_pow(power),
        "b" => 1000u64.checked_pow(power),
        _ => None,
    }
}

/// `count` units in bytes, rounded up to whole KiB; `None` past 64 bits.
pub(crate) fn in_bytes(count: u64, unit: u64) -> Option<u64> {
    count.checked_mul(unit)?.div_ceil(1024).checked_mul(1024)
}

/// The size that stands as the text of an element, with its unit in an attribute.
pub(crate) fn of_element(sheet: &Sheet, node: Node) -> Result<u64, DomainXmlError> {
    let unit = unit_of(sheet, node)?;
    let value = text(node);
    whole_number(&value).and_then(|count| in_bytes(count, unit)).ok_or_else(|| {
        sheet.invalid(node, value.trim(), "a whole number that fits 64 bits in bytes")
    })
}

/// The size in an attribute, with its unit in `unit`.
pub(crate) fn of_attr(sheet: &Sheet, node: Node, name: &str) -> Result<u64, DomainXmlError> {
    let unit = unit_of(sheet, node)?;
    let value = attr_value(node, name);
    value.and_then(whole_number).and_then(|count| in_bytes(count, unit)).ok_or_else(|| {
        sheet.invalid_attr(node, name, value, "a whole number that fits 64 bits in bytes")
    })
}

fn unit_of(sheet: &Sheet, node: Node) -> Result<u64, DomainXmlError> {
    let unit = attr_value(node, "unit");
    unit_bytes(unit).ok_or_else(|| sheet.invalid_attr(node, "unit", unit, UNITS))
}

#[cfg(test)]
mod tests {
    use super::{in_bytes, unit_bytes};

    #[test]
    fn units_are_those_of_libvirt() {
        let cases: &[(Option<&str>, Option<u64>)] = &[
            (None, Some(1024)),
            (Some("b"), Some(1)),
            (Some("bytes"), Some(1)),
            (Some("k"), Some(1024)),
            (Some("KB"), Some(1000)),
            (Some("KiB"), Some(1024)),
            (Some("MB"), Some(1_000_000)),
            (Some("mib"), Some(1 << 20)),
            (Some("G"), Some(1 << 30)),
            (Some("TiB"), Some(1 << 40)),
            (Some("EiB"), Some(1 << 60)),
            (Some("KBit"), None),
            (Some("pages"), None),
            (Some(""), None),
            (Some("é"), None),
        ];
        for (unit, wanted) in cases {
            assert_eq!(unit_bytes(*unit), *wanted, "{unit:?}");
        }
    }

    #[test]
    fn sizes_round_up_to_whole_kib_and_do_not_wrap() {
        assert_eq!(in_bytes(1000, 1000), Some(977 * 1024));
        assert_eq!(in_bytes(1, 1), Some(1024));
        assert_eq!(in_bytes(16, 1 << 60), None);
        assert_eq!(in_bytes(u64::MAX, 1), None);
    }
}
