//! What a kernel's files say, and nothing concluded from it.

pub mod cgroup;
pub mod cpus;
pub mod machine;
pub mod nodes;
pub mod pci;

use crate::ReadOptions;
use crate::error::ReadError;
use crate::root::Reader;
use numawise_model::Finding;

#[derive(Clone, Debug)]
pub struct RawHost {
    pub machine: machine::MachineFacts,
    pub cpus: cpus::CpuFacts,
    pub masks: cpus::MaskFacts,
    pub nodes: nodes::NodeFacts,
    pub cgroup: cgroup::CgroupFacts,
    pub devices: Vec<pci::RawDevice>,
    /// Values that were there, could not be believed, and are not needed.
    pub findings: Vec<Finding>,
}

pub fn read(reader: &mut Reader<'_>, options: &ReadOptions) -> Result<RawHost, ReadError> {
    let mut findings = Vec::new();
    let cpus = cpus::read(reader)?;
    Ok(RawHost {
        machine: machine::read(reader)?,
        masks: cpus::read_masks(reader, &cpus, options.strict)?,
        cpus,
        nodes: nodes::read(reader)?,
        cgroup: cgroup::read(reader)?,
        devices: pci::read(reader, &mut findings)?,
        findings,
    })
}

/// `32768K`, `24M`: how the kernel prints the size of a cache.
fn size_bytes(path: &str, text: &str) -> Result<u64, ReadError> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => Some(0),
        "K" | "kB" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(shift);
    bytes
        .and_then(|(number, shift)| number.checked_mul(1 << shift))
        .ok_or_else(|| ReadError::value(path, text, "a size such as 32768K"))
}

#[cfg(test)]
mod tests {
    use super::size_bytes;

    #[test]
    fn sizes_have_units_or_are_errors() {
        assert_eq!(size_bytes("size", "32768K").ok(), Some(32 << 20));
        assert_eq!(size_bytes("size", "24M").ok(), Some(24 << 20));
        assert_eq!(size_bytes("size", "2048kB").ok(), Some(2 << 20));
        for bad in ["", "K", "12Q", "-1K", "99999999999999999999K", "18446744073709551615G"] {
            assert!(size_bytes("size", bad).is_err(), "{bad}");
        }
    }
}
