//! What kind of machine it is: its processor, who runs below its kernel, how big its pages are.
//!
//! For each file that could tell more than numawise wants to know (serial numbers, host names,
//! mounts of file servers), the part that is read is cut out by a function beside its reader; a
//! capture holds that part only.

use super::nodes::{Meminfo, parse_meminfo};
use crate::error::ReadError;
use crate::root::Reader;

pub const CPUINFO: &str = "proc/cpuinfo";
pub const CMDLINE: &str = "proc/cmdline";
pub const MEMINFO: &str = "proc/meminfo";
pub const DMI_VENDOR: &str = "sys/class/dmi/id/sys_vendor";
const HYPERVISOR_TYPE: &str = "sys/hypervisor/type";
/// What `hwloc-gather-topology` notes of the machine.
pub const HWLOC_NOTES: &str = "proc/hwloc-nofile-info";
/// What a capture notes that no file of `sys` or `proc` holds.
pub const NOTES: &str = "numawise/machine";

/// The first processor's paragraph has one to two kilobytes; a whole file of 768 CPUs has a million.
const CPUINFO_HEAD_BYTES: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct MachineFacts {
    pub model_name: Option<String>,
    pub architecture: Option<String>,
    /// x86 tells its guests by a flag.
    pub hypervisor_flag: bool,
    pub hypervisor_type: Option<String>,
    pub dmi_vendor: Option<String>,
    /// `numa=fake=4`: nodes that mean nothing.
    pub fake_numa: Option<String>,
    pub page_bytes: Option<u64>,
    pub meminfo: Option<Meminfo>,
}

pub fn read(reader: &mut Reader<'_>) -> Result<MachineFacts, ReadError> {
    let mut facts = MachineFacts::default();
    if let Some(text) = reader.head(CPUINFO, CPUINFO_HEAD_BYTES)? {
        read_cpuinfo(text, &mut facts);
    }
    facts.hypervisor_type = reader.text(HYPERVISOR_TYPE)?.map(str::to_owned);
    facts.dmi_vendor = reader.text(DMI_VENDOR)?.map(str::to_owned);
    if let Some(text) = reader.text(CMDLINE)? {
        facts.fake_numa = essential_cmdline(text).map(str::to_owned);
    }
    if let Some(text) = reader.text(MEMINFO)? {
        facts.meminfo = Some(parse_meminfo(MEMINFO, text)?);
    }
    for notes in [HWLOC_NOTES, NOTES] {
        if let Some(text) = reader.text(notes)? {
            read_notes(notes, text, &mut facts)?;
        }
    }
    if reader.is_live() {
        let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
        facts.architecture = Some(machine);
        facts.page_bytes = Some(rustix::param::page_size() as u64);
    }
    Ok(facts)
}

/// The lines of the first paragraph that are read, as `key: value`.
fn first_paragraph(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim(), value.trim()))
}

fn read_cpuinfo(text: &str, facts: &mut MachineFacts) {
    for (key, value) in first_paragraph(text) {
        match key {
            // x86, s390; POWER says `cpu`.
            "model name" | "cpu" if facts.model_name.is_none() && !value.is_empty() => {
                facts.model_name = Some(value.to_owned());
            }
            "flags" => {
                facts.hypervisor_flag |= has_word(value, "hypervisor");
                // Long mode. Only x86 has a line of this name with this word.
                if has_word(value, "lm") {
                    facts.architecture = Some("x86_64".to_owned());
                }
            }
            "CPU architecture" if value == "8" => facts.architecture = Some("aarch64".to_owned()),
            _ => {}
        }
    }
}

/// Of `cpuinfo`, the lines that [`read_cpuinfo`] looks at.
pub fn essential_cpuinfo(text: &str) -> String {
    let mut kept = String::new();
    for (key, value) in first_paragraph(text) {
        let line = match key {
            "model name" | "cpu" | "CPU architecture" => format!("{key}\t: {value}\n"),
            "flags" => {
                let words: Vec<&str> =
                    ["lm", "hypervisor"].into_iter().filter(|word| has_word(value, word)).collect();
                format!("flags\t: {}\n", words.join(" "))
            }
            _ => continue,
        };
        kept.push_str(&line);
    }
    kept
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_ascii_whitespace().any(|other| other == word)
}

/// Of the kernel's command line, the one argument that matters: `numa=fake=...`.
pub fn essential_cmdline(text: &str) -> Option<&str> {
    text.split_ascii_whitespace().find(|word| word.starts_with("numa=fake="))
}

/// Of the host's meminfo, the lines that are read.
pub fn essential_meminfo(text: &str) -> String {
    let wanted = |line: &&str| {
        line.starts_with("MemTotal:")
            || line.starts_with("MemFree:")
            || line.starts_with("Hugepagesize:")
    };
    text.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

fn read_notes(path: &str, text: &str, facts: &mut MachineFacts) -> Result<(), ReadError> {
    for (key, value) in text.lines().filter_map(|line| line.split_once(": ")) {
        match key {
            "Architecture" => facts.architecture = Some(value.trim().to_owned()),
            "PageSize" => match value.trim().parse::<u64>() {
                Ok(bytes) if bytes.is_power_of_two() => facts.page_bytes = Some(bytes),
                _ => return Err(ReadError::value(path, value, "a page size in bytes")),
            },
            "HypervisorVendor" => facts.dmi_vendor = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    Ok(())
}

/// What a capture notes beside the files, so that it reads back the same elsewhere. The vendor is
/// there only when it names a hypervisor: else it would say who built the machine.
pub fn notes(facts: &MachineFacts, hypervisor_vendor: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(architecture) = &facts.architecture {
        text.push_str(&format!("Architecture: {architecture}\n"));
    }
    if let Some(bytes) = facts.page_bytes {
        text.push_str(&format!("PageSize: {bytes}\n"));
    }
    if let Some(vendor) = hypervisor_vendor {
        text.push_str(&format!("HypervisorVendor: {vendor}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{MachineFacts, essential_cpuinfo, read_cpuinfo};

    #[test]
    fn the_essential_lines_read_the_same_and_hold_no_serial() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC 7763\nSerial\t\t: 00000000deadbeef\n\
                    flags\t\t: fpu lm hypervisor svm\n\nprocessor\t: 1\nmodel name\t: other\n";
        let essential = essential_cpuinfo(text);
        assert_eq!(essential, "model name\t: AMD EPYC 7763\nflags\t: lm hypervisor\n");
        for text in [text, &essential] {
            let mut facts = MachineFacts::default();
            read_cpuinfo(text, &mut facts);
            assert_eq!(facts.model_name.as_deref(), Some("AMD EPYC 7763"));
            assert_eq!(facts.architecture.as_deref(), Some("x86_64"));
            assert!(facts.hypervisor_flag);
        }
    }
}
