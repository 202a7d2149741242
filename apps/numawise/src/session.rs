//! One command's hold on the world: hypervisor, store, editor, and the engine over them.

use crate::config::{Config, GlobalArgs};
use crate::failure::{NO_ACCESS, USAGE, coded};
use crate::{libvirt_host, output};
use anyhow::{Context, Result};
use numawise_embedded::EmbeddedHypervisor;
use numawise_engine::intent::Manner;
use numawise_engine::loop_parts::{CrashPoint, Engine};
use numawise_engine::planning::FreshIds;
use numawise_engine::ports::{Cancel, Clock, Hypervisor, PortError, ShutdownOptions, Store};
use numawise_engine::usage::{UsageAverage, UsageSample, average};
use numawise_libvirt::{DomainXmlEditor, LibvirtHypervisor};
use numawise_model::{ClaimId, CpuPools, Event, HostId, PlanId};
use numawise_store::SqliteStore;
use std::cell::RefCell;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub struct Session {
    pub config: Config,
    pub hypervisor: Connection,
    pub store: SqliteStore,
    editor: DomainXmlEditor,
    clock: SystemClock,
    cancel: Cancel,
    quiet: bool,
}

/// The hypervisor behind `--connect`.
pub enum Connection {
    Embedded(Box<EmbeddedHypervisor>),
    Libvirt(Box<LibvirtHypervisor>),
}

impl Deref for Connection {
    type Target = dyn Hypervisor;

    fn deref(&self) -> &(dyn Hypervisor + 'static) {
        match self {
            Self::Embedded(hypervisor) => &**hypervisor,
            Self::Libvirt(hypervisor) => &**hypervisor,
        }
    }
}

struct SystemClock;

impl Clock for SystemClock {
    fn now_unix_sec(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.ok().and_then(|since| i64::try_from(since.as_secs()).ok()).map_or(0, |now| now)
    }
}

/// How long a guest may take to shut down, and where a test wants the process to die.
#[derive(clap::Args, Clone, Debug)]
pub struct CarryOutArgs {
    /// Shut the guest down and start it again, so that the new definition takes effect now.
    #[arg(long)]
    pub restart: bool,
    /// Move the threads of the running guest to their new pCPUs at once, without a restart.
    #[arg(long, conflicts_with = "restart")]
    pub live: bool,
    /// Change the guest although another manager (OpenStack, oVirt, ...) owns it; the journal keeps
    /// that it was so.
    #[arg(long)]
    pub override_owner: bool,
    /// Seconds the guest may take to shut down.
    #[arg(long, value_name = "SEC", default_value_t = 300)]
    pub shutdown_timeout: u64,
    /// With --restart: switch the guest off when it has not shut down in time, as if its plug were
    /// pulled. Without this it is left running, and the old definition is put back.
    #[arg(long)]
    pub force: bool,
    /// Guests that are off give up what they hold.
    #[arg(long)]
    pub ignore_stopped: bool,
    /// Kill this process at a named step: for tests of recovery.
    #[arg(long, hide = true, value_name = "STEP", value_parser = crash_point)]
    pub crash_at: Option<CrashPoint>,
}

impl CarryOutArgs {
    pub fn manner(&self) -> Manner {
        Manner { restart: self.restart, live: self.live, override_owner: self.override_owner }
    }
}

pub fn crash_point(name: &str) -> Result<CrashPoint, String> {
    let all = || CrashPoint::ALL.iter().chain(&CrashPoint::OF_A_MOVE);
    let found = all().find(|(known, _)| *known == name);
    found.map(|(_, point)| *point).ok_or_else(|| {
        let names: Vec<&str> = all().map(|(known, _)| *known).collect();
        format!("no step '{name}'; there are: {}", names.join(", "))
    })
}

impl Session {
    /// Opens the store and the hypervisor, brings to an end what a killed process left behind, and
    /// notes how busy the CPUs are.
    pub fn open(global: &GlobalArgs) -> Result<Self> {
        let session = Self::open_as_is(global)?;
        session.engine(None).recover()?;
        Ok(session)
    }

    /// Without recovery: for making the embedded host itself.
    pub fn open_as_is(global: &GlobalArgs) -> Result<Self> {
        let config = Config::load(global)?;
        let cancel = cancelled_by_signals()?;
        let hypervisor = connect(&config, &cancel)?;
        let store = SqliteStore::open(&config.state)?;
        let (editor, clock) = (DomainXmlEditor, SystemClock);
        Ok(Self { config, hypervisor, store, editor, clock, cancel, quiet: global.json })
    }

    pub fn engine(&self, carry_out: Option<&CarryOutArgs>) -> Engine<'_> {
        let crash_at = carry_out.and_then(|args| args.crash_at);
        let timeout = carry_out.map_or(300, |args| args.shutdown_timeout);
        let force = carry_out.is_some_and(|args| args.force);
        let simulated = self.hypervisor.is_simulated();
        let quiet = self.quiet;
        Engine {
            hypervisor: &*self.hypervisor,
            store: &self.store,
            editor: &self.editor,
            clock: &self.clock,
            cancel: &self.cancel,
            settle: if simulated { Duration::ZERO } else { SETTLE },
            shutdown: ShutdownOptions { timeout: Duration::from_secs(timeout), force },
            emit: RefCell::new(Box::new(move |event| tell(&event, simulated, quiet))),
            probe: Box::new(move |point| {
                if crash_at == Some(point) {
                    die();
                }
            }),
            open_peer: Box::new(|uri| self.open_peer(uri)),
        }
    }

    /// An engine for a move: it may be told where to die.
    pub fn mover(&self, crash_at: Option<CrashPoint>) -> Engine<'_> {
        let probe = Box::new(move |point| {
            if crash_at == Some(point) {
                die();
            }
        });
        Engine { probe, ..self.engine(None) }
    }

    /// Another hypervisor than the one that this command works on.
    pub fn connect_to(&self, uri: &str) -> Result<Connection> {
        connect(&self.config.connecting_to(uri.to_owned()), &self.cancel)
    }

    fn open_peer(&self, uri: &str) -> Result<Box<dyn Hypervisor>, PortError> {
        match self.connect_to(uri) {
            Ok(Connection::Embedded(hypervisor)) => Ok(hypervisor),
            Ok(Connection::Libvirt(hypervisor)) => Ok(hypervisor),
            Err(error) => Err(PortError::NoAccess(format!("{error:#}"))),
        }
    }

    /// How the CPUs of the hypervisor's host are divided.
    pub fn pools(&self) -> Result<CpuPools> {
        Ok(self.config.pools(&self.hypervisor.host()?.topology))
    }

    pub fn editor(&self) -> &DomainXmlEditor {
        &self.editor
    }
}

/// Progress goes to standard error, so that a document on standard output stays one. What an
/// interrupted command left behind is always told.
fn tell(event: &Event, simulated: bool, quiet: bool) {
    if quiet && !matches!(event, Event::Recovered { .. }) {
        return;
    }
    let look = output::look(simulated);
    output::remark(&numawise_render::text::event(event, &look));
}

/// As `kill -9` would: nothing is cleaned up.
pub fn die() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

pub fn fresh_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

pub fn fresh_ids() -> FreshIds {
    FreshIds { plan: PlanId(fresh_id()), claims: [ClaimId(fresh_id()), ClaimId(fresh_id())] }
}

/// A guest that was asked to shut down and has heard it is off in this time.
const SETTLE: Duration = Duration::from_secs(10);

/// Set by an interrupt, by whoever asks this process to end, and by a terminal that goes away.
pub fn cancelled_by_signals() -> Result<Cancel> {
    let cancel = Cancel::default();
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, cancel.flag())
            .context("installing the handler for an interrupt")?;
    }
    Ok(cancel)
}

pub fn connect(config: &Config, cancel: &Cancel) -> Result<Connection> {
    if config.connect.starts_with(EMBEDDED) {
        return Ok(Connection::Embedded(Box::new(open_embedded(&embedded_folder(config))?)));
    }
    Ok(Connection::Libvirt(Box::new(libvirt_host::open(config, cancel)?)))
}

/// The simulated host in a folder.
pub fn open_embedded(folder: &Path) -> Result<EmbeddedHypervisor> {
    let Some(file) = host_file(folder)? else {
        let text = format!(
            "there is no embedded hypervisor in {}\nMake one: numawise embedded init --host \
             bundled:two-socket-64 (or --host FILE, a capture of your own machine)",
            folder.display()
        );
        return Err(coded(NO_ACCESS, text));
    };
    let id = std::fs::read_to_string(folder.join("host-id"))
        .with_context(|| format!("{}/host-id", folder.display()))?;
    let host = crate::host_source::read(Some(&file.to_string_lossy()), false)?.host;
    let id = id.trim();
    if id.is_empty() {
        let text = format!("{}/host-id is empty; it should hold the host's id", folder.display());
        return Err(coded(USAGE, text));
    }
    Ok(EmbeddedHypervisor::open(folder, host, HostId(id.to_owned()))?)
}

/// What the simulated host is read from: a capture, or the XML that it was made from.
pub const HOST_FILES: [&str; 2] = ["host.tar.xz", "host.xml"];

/// `None` where there is none; a folder that may not be looked into is an error.
pub fn host_file(folder: &Path) -> Result<Option<PathBuf>> {
    for path in HOST_FILES.iter().map(|name| folder.join(name)) {
        match path.try_exists() {
            Ok(true) => return Ok(Some(path)),
            Ok(false) => {}
            Err(error) => return Err(coded(NO_ACCESS, format!("{}: {error}", path.display()))),
        }
    }
    Ok(None)
}

/// Every other URI is libvirt's to read.
const EMBEDDED: &str = "embedded:";

/// The folder behind `embedded:` or `embedded:DIR`; the state folder's own where the hypervisor is
/// another one.
pub fn embedded_folder(config: &Config) -> PathBuf {
    match config.connect.strip_prefix(EMBEDDED) {
        Some("") | None => config.state.join("embedded"),
        Some(folder) => Path::new(folder).to_owned(),
    }
}

/// The live kernel's counters now.
pub fn read_counters() -> Result<UsageSample> {
    Ok(numawise_sysfs::read_usage(Path::new("/"), SystemClock.now_unix_sec())?)
}

/// Takes a sample of the live kernel's counters, keeps it, and averages over the last 15 minutes.
/// A store that cannot be written (no right to) costs the memory, not the command.
pub fn note_usage(store: &dyn Store, host: &HostId) -> Result<Option<UsageAverage>> {
    let now = read_counters()?;
    let earlier = store.usage_samples(host)?;
    let found = average(&earlier, &now);
    store.add_usage_sample(host, &now)?;
    Ok(found)
}
