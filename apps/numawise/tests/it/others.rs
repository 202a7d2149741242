//! The engine over a hypervisor that counts its calls and lets others be at work on a guest: what no
//! simulated host has by itself.

use crate::bench::domain;
use numawise_embedded::{EmbeddedHypervisor, Operation};
use numawise_engine::apply::ApplyOptions;
use numawise_engine::error::EngineError;
use numawise_engine::intent::{IntentId, Manner, Step};
use numawise_engine::loop_parts::Engine;
use numawise_engine::moves::ports::MovesGuests;
use numawise_engine::planning::FreshIds;
use numawise_engine::ports::{
    Cancel, Clock, Depth, GuestSnapshot, GuestSummary, Hypervisor, PortError, ShutdownOptions,
    Stopped, Store,
};
use numawise_libvirt::DomainXmlEditor;
use numawise_model::{
    BindRule, ClaimId, CpuPools, CpuSet, Event, ForeignOwner, GuestFacts, GuestUuid, Host, HostId,
    MemoryMode, Obstacle, PageSize, Pins, Plan, PlanId, Policy, Refusal, Request, VcpuSet,
};
use numawise_store::SqliteStore;
use numawise_sysfs::ReadOptions;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::TempDir;

/// A simulated hypervisor that is watched, and on which others may be at work.
struct Watched {
    inner: EmbeddedHypervisor,
    calls: RefCell<BTreeMap<&'static str, u32>>,
    obstacles: RefCell<Vec<Obstacle>>,
    snapshots: RefCell<Vec<GuestSnapshot>>,
    transient: Cell<bool>,
}

impl Watched {
    fn count(&self, call: &'static str) -> &EmbeddedHypervisor {
        *self.calls.borrow_mut().entry(call).or_default() += 1;
        &self.inner
    }
}

impl Hypervisor for Watched {
    fn uri(&self) -> String {
        self.inner.uri()
    }
    fn is_simulated(&self) -> bool {
        true
    }
    fn host_id(&self) -> Result<HostId, PortError> {
        self.inner.host_id()
    }
    fn host(&self) -> Result<Host, PortError> {
        self.count("host").host()
    }
    fn guests(&self) -> Result<Vec<GuestSummary>, PortError> {
        let mut guests = self.count("guests").guests()?;
        guests.iter_mut().for_each(|guest| guest.persistent = !self.transient.get());
        Ok(guests)
    }
    fn inactive_xml(&self, guest: &GuestUuid) -> Result<String, PortError> {
        self.count("inactive_xml").inactive_xml(guest)
    }
    fn live_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        self.count("live_xml").live_xml(guest)
    }
    fn define(&self, xml: &str) -> Result<(), PortError> {
        self.count("define").define(xml)
    }
    fn start(&self, guest: &GuestUuid) -> Result<(), PortError> {
        self.count("start").start(guest)
    }
    fn shutdown(
        &self,
        guest: &GuestUuid,
        options: ShutdownOptions,
        cancel: &Cancel,
    ) -> Result<Stopped, PortError> {
        self.count("shutdown").shutdown(guest, options, cancel)
    }
    fn pin_live(&self, guest: &GuestUuid, pins: &Pins) -> Result<(), PortError> {
        self.count("pin_live").pin_live(guest, pins)
    }
    fn obstacles(&self, _: &GuestUuid) -> Result<Vec<Obstacle>, PortError> {
        Ok(self.obstacles.borrow().clone())
    }
    fn snapshots(&self, guest: &GuestUuid) -> Result<Vec<GuestSnapshot>, PortError> {
        self.count("snapshots").snapshots(guest)?;
        Ok(self.snapshots.borrow().clone())
    }
    fn observe(&self, guest: &GuestUuid, depth: Depth) -> Result<Option<GuestFacts>, PortError> {
        self.count("observe").observe(guest, depth)
    }
    fn wait_for_change(&self, at_most: Duration, cancel: &Cancel) -> Result<(), PortError> {
        self.inner.wait_for_change(at_most, cancel)
    }
}

/// Nothing here moves.
impl MovesGuests for Watched {
    fn machine(&self) -> Result<String, PortError> {
        self.inner.machine()
    }
    fn migratable_xml(&self, guest: &GuestUuid) -> Result<Option<String>, PortError> {
        self.inner.migratable_xml(guest)
    }
    fn is_paused(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        self.inner.is_paused(guest)
    }
    fn resume(&self, guest: &GuestUuid) -> Result<(), PortError> {
        self.inner.resume(guest)
    }
    fn power_off(&self, guest: &GuestUuid) -> Result<(), PortError> {
        self.inner.power_off(guest)
    }
    fn undefine(&self, guest: &GuestUuid) -> Result<(), PortError> {
        MovesGuests::undefine(&self.inner, guest)
    }
    fn abort_job(&self, guest: &GuestUuid) -> Result<(), PortError> {
        self.inner.abort_job(guest)
    }
    fn autostarts(&self, guest: &GuestUuid) -> Result<bool, PortError> {
        self.inner.autostarts(guest)
    }
    fn set_autostart(&self, guest: &GuestUuid, on: bool) -> Result<(), PortError> {
        self.inner.set_autostart(guest, on)
    }
    fn has_file(&self, path: &str) -> Result<Option<bool>, PortError> {
        self.inner.has_file(path)
    }
    fn host_cpu(&self) -> Result<Option<String>, PortError> {
        self.inner.host_cpu()
    }
    fn misfits(&self, xml: &str, cpu: Option<&str>) -> Result<Vec<String>, PortError> {
        self.inner.misfits(xml, cpu)
    }
}

struct NoTime;

impl Clock for NoTime {
    fn now_unix_sec(&self) -> i64 {
        1_800_000_000
    }
}

struct World {
    _folder: TempDir,
    hypervisor: Watched,
    store: SqliteStore,
    cancel: Cancel,
    events: RefCell<Vec<Event>>,
}

impl World {
    /// A host of two nodes with guests of 4 vCPUs and 1 GiB that are off.
    fn with(guests: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder for the test");
        let file = crate::bench::repository().join("fixtures/hosts/two-socket-64.tar.xz");
        let source = numawise_sysfs::open(&file).expect("the fixture is there");
        let host = numawise_sysfs::read_host(&source, &ReadOptions::default());
        let host = host.expect("the fixture is read");
        let id = HostId("here".to_owned());
        let embedded = EmbeddedHypervisor::open(&folder.path().join("host"), host, id);
        let embedded = embedded.expect("the simulated host opens");
        for guest in guests {
            embedded.define_new(&domain(guest, 4, 1)).expect("the guest is defined");
        }
        Self {
            hypervisor: Watched {
                inner: embedded,
                calls: RefCell::default(),
                obstacles: RefCell::default(),
                snapshots: RefCell::default(),
                transient: Cell::new(false),
            },
            store: SqliteStore::open(folder.path()).expect("the store opens"),
            cancel: Cancel::default(),
            events: RefCell::default(),
            _folder: folder,
        }
    }

    fn engine(&self) -> Engine<'_> {
        Engine {
            hypervisor: &self.hypervisor,
            store: &self.store,
            editor: &DomainXmlEditor,
            clock: &NoTime,
            cancel: &self.cancel,
            shutdown: ShutdownOptions { timeout: Duration::from_secs(1), force: false },
            settle: Duration::ZERO,
            emit: RefCell::new(Box::new(|event| self.events.borrow_mut().push(event))),
            probe: Box::new(|_| {}),
            open_peer: Box::new(|uri| Err(PortError::NotFound(uri.to_owned()))),
        }
    }

    /// vCPUs 0-3 one to one on the pCPUs from `first`.
    fn plan(&self, guest: &str, first: u32, vnuma: bool) -> Plan {
        let id = format!("{guest}-{first}-{vnuma}");
        let claims = [format!("{id}-v"), format!("{id}-h")].map(ClaimId);
        let ids = FreshIds { plan: PlanId(id), claims };
        let rule = |n: u32| BindRule {
            vcpus: VcpuSet::range(n, n),
            pcpus: CpuSet::range(first + n, first + n),
        };
        let policy = Policy::Rules((0..4).map(rule).collect());
        let planned = self.engine().plan_guest(guest, &CpuPools::default(), ids, false, |c, _| {
            Ok(Request {
                vcpus: c.vcpus_max,
                memory_bytes: c.memory_bytes,
                page_size: PageSize::BASE_4K,
                policy,
                shared: false,
                overcommit: false,
                vnuma,
                cells_per_node: 1,
                max_sockets: None,
                memory_mode: MemoryMode::Strict,
                new_topology: true,
                fix_guest: false,
                memory_only: None,
                guest_cache: None,
            })
        });
        planned.expect("a plan").plan
    }

    fn apply(&self, plan: &Plan, manner: Manner) -> Result<(), EngineError> {
        let intent = IntentId(format!("i-{}", plan.id));
        let pools = CpuPools::default();
        let options = ApplyOptions { intent, manner, ignore_stopped: false, pools };
        self.engine().apply(plan, &options).map(|_| ())
    }

    fn start(&self, guest: &str) -> GuestUuid {
        let uuid = self.uuid(guest);
        self.hypervisor.inner.start(&uuid).expect("it starts");
        uuid
    }

    fn uuid(&self, guest: &str) -> GuestUuid {
        let guests = self.hypervisor.inner.guests().expect("guests");
        guests.into_iter().find(|g| g.name == guest).expect("defined").uuid
    }

    fn calls(&self, call: &str) -> u32 {
        self.hypervisor.calls.borrow().get(call).copied().unwrap_or(0)
    }

    fn refused(&self, plan: &Plan, manner: Manner) -> Vec<Refusal> {
        let before = self.store.load(&HostId("here".to_owned())).expect("state");
        let defined = self.calls("define");
        let error = self.apply(plan, manner).expect_err("it is refused");
        assert_eq!(self.calls("define"), defined, "nothing is written");
        let after = self.store.load(&HostId("here".to_owned())).expect("state");
        assert_eq!(after, before, "nothing is claimed");
        match error {
            EngineError::Refused(refusals) => refusals,
            other => panic!("{other:?}"),
        }
    }
}

const RESTART: Manner = Manner { restart: true, live: false, override_owner: false };
const LIVE: Manner = Manner { restart: false, live: true, override_owner: false };

#[test]
fn a_list_reads_each_guest_once() {
    let world = World::with(&["a", "b", "c"]);
    for (guest, first) in [("a", 1), ("b", 5)] {
        world.apply(&world.plan(guest, first, true), Manner::default()).expect("applied");
    }
    world.start("a");
    // Seen running for the first time, its topology freezes; from then on nothing is new.
    world.engine().situation(false).expect("read");
    world.hypervisor.calls.borrow_mut().clear();
    let engine = world.engine();
    engine.recover().expect("nothing to recover");
    let situation = engine.situation(false).expect("read");
    for guest in &situation.guests.known {
        engine.look_at(&guest.summary, &situation, Depth::Threads).expect("looked at");
    }
    let counted = ["guests", "inactive_xml", "live_xml", "observe", "host"].map(|c| world.calls(c));
    assert_eq!(counted, [1, 3, 1, 1, 1], "one list, a definition each, what runs once");
}

#[test]
fn a_saved_state_stands_against_every_change() {
    let world = World::with(&["db"]);
    let plan = world.plan("db", 1, false);
    *world.hypervisor.obstacles.borrow_mut() = vec![Obstacle::ManagedSave];
    let saved = [Refusal::Blocked(Obstacle::ManagedSave)];
    for manner in [Manner::default(), RESTART, LIVE] {
        assert_eq!(world.refused(&plan, manner), saved);
    }
    world.hypervisor.obstacles.borrow_mut().clear();
    world.apply(&plan, Manner::default()).expect("applied");
    *world.hypervisor.obstacles.borrow_mut() = vec![Obstacle::ManagedSave];
    let undo = world.engine().undo("db", &IntentId("u".to_owned()), Manner::default());
    assert!(matches!(undo, Err(EngineError::Refused(_))), "{undo:?}");
    assert!(
        world.engine().preview_undo("db", Manner::default()).is_err(),
        "a dry run tells it too"
    );
}

#[test]
fn a_block_job_stands_against_a_restart_only() {
    let world = World::with(&["db"]);
    let plan = world.plan("db", 1, false);
    let job = Obstacle::BlockJob { disk: "vda".to_owned() };
    *world.hypervisor.obstacles.borrow_mut() = vec![job.clone()];
    assert_eq!(world.refused(&plan, RESTART), [Refusal::Blocked(job.clone())]);
    world.apply(&plan, Manner::default()).expect("applied");
    let noticed = Event::ObstacleNoticed { guest: "db".to_owned(), obstacle: job };
    assert!(world.events.borrow().contains(&noticed));
    let migration = Obstacle::Job { what: "migration".to_owned() };
    *world.hypervisor.obstacles.borrow_mut() = vec![migration.clone()];
    let second = world.plan("db", 9, false);
    assert_eq!(world.refused(&second, Manner::default()), [Refusal::Blocked(migration)]);
}

#[test]
fn snapshots_are_read_where_the_topology_changes_and_only_there() {
    let world = World::with(&["db"]);
    let snapshot = GuestSnapshot { name: "old".to_owned(), domain_xml: domain("db", 4, 1) };
    *world.hypervisor.snapshots.borrow_mut() = vec![snapshot];
    world.apply(&world.plan("db", 1, false), Manner::default()).expect("applied");
    assert_eq!(world.calls("snapshots"), 0);
    world.apply(&world.plan("db", 1, true), Manner::default()).expect("applied");
    let obstacle = Obstacle::SnapshotOfOtherTopology { name: "old".to_owned() };
    let noticed = Event::ObstacleNoticed { guest: "db".to_owned(), obstacle };
    assert!(world.events.borrow().contains(&noticed), "{:?}", world.events.borrow());
}

/// Nobody can override what has no definition to write into.
#[test]
fn a_transient_guest_is_left_alone() {
    let world = World::with(&["db"]);
    world.hypervisor.transient.set(true);
    let plan = world.plan("db", 1, false);
    let refused = [Refusal::OwnedByAnother(ForeignOwner::Transient)];
    let overriding = Manner { override_owner: true, ..Manner::default() };
    for manner in [Manner::default(), overriding] {
        assert_eq!(world.refused(&plan, manner), refused);
    }
}

/// Pins that fail halfway: threads, definition and claims are as before.
#[test]
fn threads_that_cannot_be_moved_go_back() {
    let world = World::with(&["db"]);
    world.apply(&world.plan("db", 1, false), Manner::default()).expect("applied");
    let uuid = world.start("db");
    let threads = || world.hypervisor.inner.observe(&uuid, Depth::Threads).expect("seen");
    let (before, xml) = (threads(), world.hypervisor.inner.inactive_xml(&uuid).expect("xml"));
    let plan = world.plan("db", 33, false);
    world.hypervisor.inner.fail_next(Operation::Pin).expect("planted");
    let error = world.apply(&plan, LIVE).expect_err("it fails");
    assert!(matches!(error, EngineError::RolledBack { .. }), "{error:?}");
    assert_eq!(threads(), before);
    assert_eq!(world.hypervisor.inner.inactive_xml(&uuid).expect("xml"), xml);
    let state = world.store.load(&HostId("here".to_owned())).expect("state");
    assert!(CpuSet::range(1, 4).is_subset(&state.ledger.exclusive_cpus()));
    assert!(state.ledger.exclusive_cpus().is_disjoint(&CpuSet::range(33, 36)));
    let steps = world.store.steps(&IntentId(format!("i-{}", plan.id))).expect("steps");
    let at = |wanted: fn(&Step) -> bool| steps.iter().position(wanted).expect("journaled");
    let backup = at(|s| matches!(s, Step::Backup { .. }));
    let pins = at(|s| matches!(s, Step::LivePins { .. }));
    assert!(backup < pins && pins < at(|s| matches!(s, Step::Defined)));
}
