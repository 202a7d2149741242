//! libvirt's surroundings: what its adapter is told of this machine, which other adapters read.

use crate::config::Config;
use crate::host_source;
use crate::session::note_usage;
use numawise_engine::ports::{Cancel, PortError};
use numawise_libvirt::{LibraryFiles, LibvirtHypervisor, Surroundings};
use numawise_model::{Host, Pcpu, Utilisation};
use numawise_process::KernelProcesses;
use numawise_store::SqliteStore;
use numawise_sysfs::{ReadOptions, Source};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Connects. Nothing of this machine is read before somebody asks.
pub fn open(config: &Config, cancel: &Cancel) -> Result<LibvirtHypervisor, PortError> {
    let surroundings = Surroundings {
        local_host_id: Box::new(|| Ok(host_source::live_id()?)),
        local_host: Box::new(this_machine(config.state.clone())),
        read_capabilities: Box::new({
            let name = format!("the capabilities of {}", config.connect);
            move |text| {
                let (name, text) = (name.clone(), text.to_owned());
                read(&Source::LibvirtCapabilities { name, text })
            }
        }),
        processes: Some(Box::new(KernelProcesses::live())),
        cancel: cancel.clone(),
        libraries: LibraryFiles::default(),
    };
    LibvirtHypervisor::open(&config.connect, surroundings)
}

/// Its use is looked up once for each command; memory and pages afresh each time.
fn this_machine(state: PathBuf) -> impl Fn() -> Result<Host, PortError> {
    let usage = OnceCell::new();
    move || {
        let mut host = read(&Source::Live)?;
        let found: &Option<_> = usage.get_or_init(|| average_use(&state));
        host.levels.utilisation.extend(found.iter().flatten());
        Ok(host)
    }
}

/// Use breaks ties between CPUs that are alike: without it a plan is as right as with it, so
/// nothing fails for the lack of it.
fn average_use(state: &Path) -> Option<BTreeMap<Pcpu, Utilisation>> {
    let store = SqliteStore::open(state).ok()?;
    let found = note_usage(&store, &host_source::live_id().ok()?).ok()?;
    found.map(|found| found.cpus)
}

fn read(source: &Source) -> Result<Host, PortError> {
    Ok(numawise_sysfs::read_host(source, &ReadOptions::default())?)
}
