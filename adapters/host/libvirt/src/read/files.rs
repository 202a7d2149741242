//! What a definition names of its host's files.

use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, children, text};
use numawise_engine::ports::GuestFiles;

/// Below `<os>`; each may be absent.
const BOOT: [&str; 4] = ["loader", "nvram", "kernel", "initrd"];

/// Disks in files and on block devices, and what the guest boots from. Pools, networks and what is
/// behind an image (its backing files) are libvirt's to find.
pub(crate) fn files(sheet: &Sheet) -> Result<GuestFiles, DomainXmlError> {
    let mut files = GuestFiles::default();
    for name in BOOT {
        let Some(node) = sheet.find(&["os", name])? else { continue };
        let path = text(node).trim().to_owned();
        if path.starts_with('/') {
            files.paths.push(path);
        }
    }
    let Some(devices) = sheet.find(&["devices"])? else { return Ok(files) };
    for disk in children(devices, "disk") {
        let Some(source) = sheet.only(disk, "source")? else { continue };
        let path = attr_value(source, "file").or_else(|| attr_value(source, "dev"));
        files.paths.extend(path.map(str::to_owned));
    }
    let emulated =
        |tpm| children(tpm, "backend").any(|b| attr_value(b, "type") == Some("emulator"));
    files.tpm = children(devices, "tpm").any(emulated);
    Ok(files)
}
