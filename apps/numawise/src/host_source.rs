//! `--host`: a live machine, a file made elsewhere, or a host that comes with numawise.

use crate::failure::{USAGE, coded};
use anyhow::Result;
use numawise_model::{Host, HostId};
use numawise_sysfs::{ReadOptions, Source};
use std::io::Write;
use std::path::Path;

/// A two-node machine of 64 pCPUs; the demo and the examples in the docs use it.
const TWO_SOCKET_64: &[u8] =
    include_bytes!("../../../fixtures/hosts/two-socket-64/two-socket-64.tar.xz");

/// Hosts that come with numawise, by the name after `bundled:`.
const BUNDLED: [(&str, &[u8]); 1] = [("two-socket-64", TWO_SOCKET_64)];

pub const HELP: &str = "Host to read: a folder or tar(.gz|.xz|.zst) of a sysfs tree, hwloc XML, \
                        libvirt capabilities XML, or bundled:two-socket-64 [default: this machine]";

/// A host with the id its ledger goes by.
pub struct NamedHost {
    pub id: HostId,
    pub host: Host,
    pub is_live: bool,
}

pub fn read(wanted: Option<&str>, strict: bool) -> Result<NamedHost> {
    let options = ReadOptions { strict };
    let Some(wanted) = wanted else {
        let host = numawise_sysfs::read_host(&Source::live(), &options)?;
        let id = numawise_sysfs::live_host_id()?;
        return Ok(NamedHost { id, host, is_live: true });
    };
    if let Some(name) = wanted.strip_prefix("bundled:") {
        let bytes = bundled(name)?;
        let mut file = tempfile::Builder::new().suffix(".tar.xz").tempfile()?;
        file.write_all(bytes)?;
        file.flush()?;
        let host = read_path(file.path(), &options)?;
        return Ok(NamedHost { id: HostId(name.to_owned()), host, is_live: false });
    }
    let host = read_path(Path::new(wanted), &options)?;
    let id = numawise_sysfs::imported_host_id(Path::new(wanted), &host.topology);
    Ok(NamedHost { id, host, is_live: false })
}

/// The bytes of a capture, for a folder that keeps one.
pub fn capture_bytes(wanted: &str) -> Result<Vec<u8>> {
    if let Some(name) = wanted.strip_prefix("bundled:") {
        return Ok(bundled(name)?.to_vec());
    }
    let source = numawise_sysfs::open(Path::new(wanted))?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("host.tar.xz");
    numawise_sysfs::capture(&source, &path)?;
    Ok(std::fs::read(path)?)
}

fn read_path(path: &Path, options: &ReadOptions) -> Result<Host> {
    let source = numawise_sysfs::open(path)?;
    Ok(numawise_sysfs::read_host(&source, options)?)
}

fn bundled(name: &str) -> Result<&'static [u8]> {
    match BUNDLED.iter().find(|(known, _)| *known == name) {
        Some((_, bytes)) => Ok(bytes),
        None => {
            let known: Vec<&str> = BUNDLED.iter().map(|(known, _)| *known).collect();
            let text = format!("no host '{name}' is bundled; there are: {}", known.join(", "));
            Err(coded(USAGE, text))
        }
    }
}
