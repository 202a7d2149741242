//! `sys/bus/pci/devices`: what is plugged in, and near which CPUs.
//!
//! Nothing here is needed for placing vCPUs, so a value that cannot be believed is passed over with
//! a finding instead of ending the reading.

use crate::error::{ReadError, shorten};
use crate::root::{Reader, parent};
use numawise_model::{
    CpuSet, DeviceKind, Finding, FindingKind, ListError, Pcpu, Severity, parse_mask,
};
use std::collections::BTreeMap;

const DEVICES: &str = "sys/bus/pci/devices";

#[derive(Clone, Debug)]
pub struct RawDevice {
    pub address: String,
    pub class: u32,
    pub vendor: Option<u16>,
    pub device: Option<u16>,
    pub numa_node: Option<i64>,
    /// The first bridge above it that names a node.
    pub bridge_node: Option<i64>,
    pub local_cpus: Option<CpuSet>,
    pub names: Vec<String>,
}

impl RawDevice {
    pub fn numa_file(&self) -> String {
        format!("{DEVICES}/{}/numa_node", self.address)
    }
}

pub fn read(
    reader: &mut Reader<'_>,
    findings: &mut Vec<Finding>,
) -> Result<Vec<RawDevice>, ReadError> {
    let mut reading = Reading { reader, findings, bridges: BTreeMap::new() };
    let mut devices = Vec::new();
    // A machine without PCI has no such directory.
    let Some(addresses) = reading.reader.names(DEVICES)? else { return Ok(devices) };
    for address in addresses {
        if let Some(device) = reading.device(address)? {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// What a device is.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    class: u32,
    vendor: Option<u16>,
    device: Option<u16>,
}

struct Reading<'a, 'r> {
    reader: &'a mut Reader<'r>,
    findings: &'a mut Vec<Finding>,
    /// Nodes of the bridges that have been looked at, by path.
    bridges: BTreeMap<String, Option<i64>>,
}

impl Reading<'_, '_> {
    fn device(&mut self, address: String) -> Result<Option<RawDevice>, ReadError> {
        let listed = format!("{DEVICES}/{address}");
        // The entry is a link into the tree of buses; trees copied without links have it in place.
        let path = self.reader.link(&listed)?.unwrap_or(listed);
        let Some(Identity { class, vendor, device }) = self.identity(&path)? else {
            return Ok(None);
        };
        let numa_node = self.node(&path)?;
        let named = numa_node.is_some_and(|node| node >= 0);
        let bridge_node = if named { None } else { self.bridge_node(&path)? };
        let local_cpus = if named { None } else { self.local_cpus(&path)? };
        Ok(Some(RawDevice {
            names: self.names(&path, kind(class))?,
            address,
            class,
            vendor,
            device,
            numa_node,
            bridge_node,
            local_cpus,
        }))
    }

    /// One file has all three; trees that somebody has trimmed may have a file for each.
    fn identity(&mut self, path: &str) -> Result<Option<Identity>, ReadError> {
        if let Some(identity) = self.reader.text(&format!("{path}/uevent"))?.and_then(parse_uevent)
        {
            return Ok(Some(identity));
        }
        let Some(class) = self.hex(&format!("{path}/class"), 0xff_ffff)? else { return Ok(None) };
        let vendor = self.hex(&format!("{path}/vendor"), 0xffff)?.map(|id| id as u16);
        let device = self.hex(&format!("{path}/device"), 0xffff)?.map(|id| id as u16);
        Ok(Some(Identity { class, vendor, device }))
    }

    /// `0x020000`.
    fn hex(&mut self, path: &str, most: u32) -> Result<Option<u32>, ReadError> {
        let Some(text) = self.reader.text(path)? else { return Ok(None) };
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let number = u32::from_str_radix(digits, 16).ok().filter(|number| *number <= most);
        if number.is_none() {
            let value = shorten(text);
            self.not_believed(path, value, "a hexadecimal id");
        }
        Ok(number)
    }

    fn node(&mut self, path: &str) -> Result<Option<i64>, ReadError> {
        let path = format!("{path}/numa_node");
        match self.reader.number(&path) {
            Err(ReadError::BadValue { value, .. }) => {
                self.not_believed(&path, value, "a node id, or -1");
                Ok(None)
            }
            other => other,
        }
    }

    fn bridge_node(&mut self, path: &str) -> Result<Option<i64>, ReadError> {
        let mut above = parent(path).to_owned();
        while is_address(above.rsplit('/').next().unwrap_or(&above)) {
            let node = match self.bridges.get(&above) {
                Some(node) => *node,
                None => self.node(&above)?,
            };
            self.bridges.insert(above.clone(), node);
            if node.is_some_and(|node| node >= 0) {
                return Ok(node);
            }
            above = parent(&above).to_owned();
        }
        Ok(None)
    }

    fn local_cpus(&mut self, path: &str) -> Result<Option<CpuSet>, ReadError> {
        let path = format!("{path}/local_cpus");
        let Some(text) = self.reader.text(&path)? else { return Ok(None) };
        let parsed: Result<CpuSet, ListError> = parse_mask(text);
        match parsed {
            Ok(cpus) => Ok(Some(cpus)),
            Err(_) => {
                let value = shorten(text);
                self.not_believed(&path, value, "a mask of CPUs");
                Ok(None)
            }
        }
    }

    fn names(&mut self, path: &str, kind: DeviceKind) -> Result<Vec<String>, ReadError> {
        let folder = match kind {
            DeviceKind::Nic => "net",
            DeviceKind::Nvme => "nvme",
            DeviceKind::Gpu | DeviceKind::Other => return Ok(Vec::new()),
        };
        if let Some(names) = self.reader.names(&format!("{path}/{folder}"))? {
            return Ok(names);
        }
        let mut names = Vec::new();
        // A virtio NIC's interface hangs below its virtio device.
        if kind == DeviceKind::Nic
            && let Some(virtio) = self.reader.numbered::<Pcpu>(path, "virtio")?
        {
            for number in virtio.iter() {
                let folder = format!("{path}/virtio{number}/net");
                names.extend(self.reader.names(&folder)?.into_iter().flatten());
            }
        }
        Ok(names)
    }

    fn not_believed(&mut self, file: &str, value: String, wanted: &str) {
        let (file, wanted) = (file.to_owned(), wanted.to_owned());
        let kind = FindingKind::NotBelieved { file, value, wanted };
        self.findings.push(Finding::host(Severity::Warning, kind));
    }
}

/// Lines such as `PCI_CLASS=20000` and `PCI_ID=8086:1592`, in hexadecimal without a prefix. `None`
/// when one is missing or odd: the files beside it then tell, and are told of.
fn parse_uevent(text: &str) -> Option<Identity> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let class = u32::from_str_radix(value("PCI_CLASS=")?, 16).ok().filter(|c| *c <= 0xff_ffff)?;
    let (vendor, device) = value("PCI_ID=")?.split_once(':')?;
    let id = |digits| u16::from_str_radix(digits, 16).ok();
    Some(Identity { class, vendor: Some(id(vendor)?), device: Some(id(device)?) })
}

/// Of a device's `uevent`, the lines that are read.
pub fn essential_uevent(text: &str) -> String {
    let wanted = |line: &&str| line.starts_with("PCI_CLASS=") || line.starts_with("PCI_ID=");
    text.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

pub fn kind(class: u32) -> DeviceKind {
    match (class >> 16, class >> 8) {
        (0x02, _) => DeviceKind::Nic,
        (_, 0x0108) => DeviceKind::Nvme,
        // Displays, and accelerators without one.
        (0x03, _) | (_, 0x1200) => DeviceKind::Gpu,
        _ => DeviceKind::Other,
    }
}

/// `0000:41:00.0`, with a domain of four to eight digits.
fn is_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    parts.len() == 4 && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::{Identity, essential_uevent, is_address, kind, parse_uevent};
    use numawise_model::DeviceKind;

    #[test]
    fn an_event_tells_class_and_ids_or_nothing() {
        let text = "DRIVER=ice\nPCI_CLASS=20000\nPCI_ID=8086:1592\nPCI_SUBSYS_ID=8086:0002\n\
                    PCI_SLOT_NAME=0000:41:00.0\n";
        let wanted = Identity { class: 0x02_0000, vendor: Some(0x8086), device: Some(0x1592) };
        assert_eq!(parse_uevent(text), Some(wanted));
        let essential = essential_uevent(text);
        assert_eq!(essential, "PCI_CLASS=20000\nPCI_ID=8086:1592\n");
        assert_eq!(parse_uevent(&essential), parse_uevent(text));
        for odd in ["", "PCI_CLASS=20000", "PCI_CLASS=1020000\nPCI_ID=8086:1592", "PCI_CLASS=x"] {
            assert_eq!(parse_uevent(odd), None, "{odd}");
        }
    }

    #[test]
    fn classes_and_addresses() {
        let cases = [
            (0x02_0000, DeviceKind::Nic),
            (0x02_0700, DeviceKind::Nic),
            (0x01_0802, DeviceKind::Nvme),
            (0x01_0601, DeviceKind::Other),
            (0x03_0200, DeviceKind::Gpu),
            (0x12_0000, DeviceKind::Gpu),
            (0x06_0400, DeviceKind::Other),
        ];
        for (class, wanted) in cases {
            assert_eq!(kind(class), wanted, "{class:06x}");
        }
        assert!(is_address("0000:41:00.0") && is_address("10000:01:00.0"));
        assert!(!is_address("pci0000:00") && !is_address("platform"));
    }
}
