//! libvirt's surroundings: what its adapter is told of this machine, which other adapters read.

use crate::host_source;
use numawise_engine::ports::{Cancel, PortError};
use numawise_libvirt::{LibraryFiles, LibvirtHypervisor, Surroundings};
use numawise_model::Host;
use numawise_process::KernelProcesses;
use numawise_sysfs::{ReadOptions, Source};

/// Connects. Nothing of this machine is read before somebody asks.
pub fn open(uri: &str, cancel: &Cancel) -> Result<LibvirtHypervisor, PortError> {
    let surroundings = Surroundings {
        local_host_id: Box::new(|| Ok(host_source::live_id()?)),
        local_host: Box::new(|| read(&Source::Live)),
        read_capabilities: Box::new({
            let name = format!("the capabilities of {uri}");
            move |text| {
                let (name, text) = (name.clone(), text.to_owned());
                read(&Source::LibvirtCapabilities { name, text })
            }
        }),
        processes: Some(Box::new(KernelProcesses::live())),
        cancel: cancel.clone(),
        libraries: LibraryFiles::default(),
    };
    LibvirtHypervisor::open(uri, surroundings)
}

fn read(source: &Source) -> Result<Host, PortError> {
    Ok(numawise_sysfs::read_host(source, &ReadOptions::default())?)
}
