//! `--host`: a live machine, a file made elsewhere, or a host that comes with numawise.

use crate::failure::{USAGE, coded};
use anyhow::Result;
use numawise_documents::topology_digest;
use numawise_model::{Host, HostId};
use numawise_sysfs::{ReadError, ReadOptions, Source};
use std::path::Path;

/// A two-node machine of 64 pCPUs; the demo and the examples in the docs use it.
const TWO_SOCKET_64: &[u8] = include_bytes!("../../../fixtures/hosts/two-socket-64.tar.xz");

/// Hosts that come with numawise, by the name after `bundled:`.
const BUNDLED: [(&str, &[u8]); 1] = [("two-socket-64", TWO_SOCKET_64)];

/// A machine without a machine id (some containers) still needs a name for its ledger.
const UNNAMED_HOST: &str = "this-host";

pub const HELP: &str = "Host to read: a folder or tar(.gz|.xz|.zst) of a sysfs tree, hwloc XML, \
                        libvirt capabilities XML, or bundled:two-socket-64 [default: this machine]";

/// A host with the id its ledger goes by.
pub struct NamedHost {
    pub id: HostId,
    pub host: Host,
    pub is_live: bool,
}

pub fn read(wanted: Option<&str>, strict: bool) -> Result<NamedHost> {
    let source = open(wanted)?;
    let host = numawise_sysfs::read_host(&source, &ReadOptions { strict })?;
    let id = match wanted {
        None => live_id()?,
        Some(name) => match name.strip_prefix("bundled:") {
            Some(bundled) => HostId(bundled.to_owned()),
            None => {
                let digest = topology_digest(&host.topology);
                numawise_sysfs::imported_host_id(Path::new(name), &digest, None)
            }
        },
    };
    Ok(NamedHost { id, host, is_live: wanted.is_none() })
}

/// This machine's.
pub fn live_id() -> Result<HostId, ReadError> {
    let id = numawise_sysfs::live_host_id(Path::new("/"), None)?;
    Ok(id.unwrap_or_else(|| HostId(UNNAMED_HOST.to_owned())))
}

pub fn open(wanted: Option<&str>) -> Result<Source> {
    let Some(wanted) = wanted else { return Ok(Source::Live) };
    let Some(name) = wanted.strip_prefix("bundled:") else {
        return Ok(numawise_sysfs::open(Path::new(wanted))?);
    };
    match BUNDLED.iter().find(|(known, _)| *known == name) {
        Some((_, bytes)) => Ok(Source::from_archive_bytes(wanted, bytes)?),
        None => {
            let known: Vec<&str> = BUNDLED.iter().map(|(known, _)| *known).collect();
            let text = format!("no host '{name}' is bundled; there are: {}", known.join(", "));
            Err(coded(USAGE, text))
        }
    }
}
