//! A kernel that gives less than was asked, or says no: what is kept, what is put back.

use numawise_engine::ports::{Cancel, HostFiles, PortError, Removal};
use numawise_engine::tuning::{Tuner, TuningError};
use numawise_model::{
    ChangeKind, CpuSet, Host, HostId, PageSize, PathState, PlanId, Pnode, TuningFinding,
    TuningRequest,
};
use numawise_store::SqliteStore;
use numawise_testkit::{Shape, sysfs_tree};
use std::cell::RefCell;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Files in memory, with a kernel's moods.
struct Moody {
    files: RefCell<BTreeMap<String, PathState>>,
    /// The most pages that node 1 has to give.
    most: u64,
    /// The path that answers EBUSY.
    busy: Option<&'static str>,
}

const POOL: &str = "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages";
const KSM: &str = "/sys/kernel/mm/ksm/merge_across_nodes";

impl Moody {
    fn new(host: &Host, most: u64, busy: Option<&'static str>) -> Self {
        let mut files: BTreeMap<String, PathState> = sysfs_tree::files(host)
            .into_iter()
            .map(|(path, text)| (format!("/{path}"), PathState::Text(text)))
            .collect();
        for (path, text) in [
            ("/sys/devices/virtual/workqueue/cpumask", "ffff\n"),
            ("/proc/sys/kernel/numa_balancing", "1\n"),
            (KSM, "1\n"),
        ] {
            files.insert(path.to_owned(), PathState::Text(text.to_owned()));
        }
        files.insert("/etc/sysctl.d".to_owned(), PathState::Folder);
        Self { files: RefCell::new(files), most, busy }
    }

    fn text(&self, path: &str) -> Option<String> {
        self.files.borrow().get(path).and_then(|state| state.text().map(str::to_owned))
    }
}

impl HostFiles for Moody {
    fn is_live(&self) -> bool {
        true
    }

    fn look(&self, path: &str) -> Result<PathState, PortError> {
        Ok(self.files.borrow().get(path).cloned().unwrap_or_default())
    }

    fn names(&self, _: &str) -> Result<Vec<String>, PortError> {
        Ok(Vec::new())
    }

    fn write(&self, path: &str, text: &str, _: ChangeKind) -> Result<(), PortError> {
        if self.busy == Some(path) {
            return Err(PortError::Failed(format!("cannot write {path}: busy")));
        }
        let text = match (path == POOL).then(|| text.trim().parse::<u64>()) {
            // As a kernel prints it, with a line end.
            Some(Ok(pages)) => format!("{}\n", pages.min(self.most)),
            _ => text.to_owned(),
        };
        self.files.borrow_mut().insert(path.to_owned(), PathState::Text(text));
        Ok(())
    }

    fn make_folder(&self, path: &str) -> Result<(), PortError> {
        self.files.borrow_mut().insert(path.to_owned(), PathState::Folder);
        Ok(())
    }

    fn remove(&self, path: &str) -> Result<Removal, PortError> {
        self.files.borrow_mut().remove(path);
        Ok(Removal::Gone)
    }

    fn reload_units(&self) -> Result<(), PortError> {
        Ok(())
    }
}

/// Runs something on a tuner over these files.
fn with<T>(files: &Moody, host: &Host, state: &TempDir, run: impl FnOnce(&Tuner<'_>) -> T) -> T {
    let store = SqliteStore::open(state.path()).expect("a store");
    run(&Tuner {
        store: &store,
        files,
        cancel: &Cancel::default(),
        host_id: &HostId("moody".to_owned()),
        host,
        emit: RefCell::new(Box::new(|_| {})),
        probe: Box::new(|| {}),
    })
}

fn host() -> Host {
    let mut shape = Shape::two_nodes(8, 16 << 30);
    shape.hugepages = [(PageSize::HUGE_2M, 0)].into();
    let mut host = shape.host();
    host.topology.page_sizes.truncate(2);
    host
}

fn request(pages: u64) -> TuningRequest {
    TuningRequest {
        hugepages: [(PageSize::HUGE_2M, [(Pnode(0), pages), (Pnode(1), pages)].into())].into(),
        guest_cpus: CpuSet::range(1, 15),
        ..TuningRequest::default()
    }
}

#[test]
fn fewer_hugepages_than_asked_are_kept_told_and_given_back() {
    let (host, state) = (host(), TempDir::new().expect("a folder"));
    let files = Moody::new(&host, 300, None);
    let before = files.files.borrow().clone();
    with(&files, &host, &state, |tuner| {
        let plan = tuner.plan(PlanId("a".to_owned()), &request(512)).expect("a plan");
        let outcome = tuner.apply(&plan).expect("applied");
        let (node, size) = (Pnode(1), PageSize::HUGE_2M);
        let short = TuningFinding::HugepagesShort { node, size, wanted: 512, got: 300 };
        assert_eq!(outcome.findings, [short]);
        assert_eq!(files.text(POOL).as_deref(), Some("300\n"));
        let boot = files.text("/etc/tmpfiles.d/numawise.conf").expect("a boot file");
        assert!(boot.contains(&format!("w {POOL} - - - - 512")), "the boot asks for all: {boot}");
        tuner.undo(false).expect("undone");
    });
    let now: Vec<_> = files.files.borrow().iter().map(trimmed).collect();
    assert_eq!(now, before.iter().map(trimmed).collect::<Vec<_>>());
}

fn trimmed((path, state): (&String, &PathState)) -> (String, Option<String>) {
    (path.clone(), state.text().map(|text| text.trim().to_owned()))
}

#[test]
fn a_value_that_the_kernel_refuses_takes_everything_back() {
    let (host, state) = (host(), TempDir::new().expect("a folder"));
    let files = Moody::new(&host, 9999, Some(KSM));
    let before = files.files.borrow().clone();
    with(&files, &host, &state, |tuner| {
        let plan = tuner.plan(PlanId("a".to_owned()), &request(512)).expect("a plan");
        assert!(plan.changes.iter().any(|change| change.path == KSM));
        let error = tuner.apply(&plan).expect_err("KSM was busy");
        assert!(matches!(&error, TuningError::RolledBack { path, .. } if path == KSM), "{error}");
        assert!(matches!(tuner.undo(false), Err(TuningError::NothingApplied)));
    });
    assert_eq!(*files.files.borrow(), before);
}

#[test]
fn a_boot_in_between_is_no_conflict() {
    let (host, state) = (host(), TempDir::new().expect("a folder"));
    let files = Moody::new(&host, 9999, None);
    let fresh = files.files.borrow().clone();
    with(&files, &host, &state, |tuner| {
        let plan = tuner.plan(PlanId("a".to_owned()), &request(512)).expect("a plan");
        tuner.apply(&plan).expect("applied");
        // The kernel's values are its own again; the disk is as it was left.
        for (path, state) in &fresh {
            if path.starts_with("/sys/") || path.starts_with("/proc/") {
                files.files.borrow_mut().insert(path.clone(), state.clone());
            }
        }
        assert!(tuner.status().expect("a status").findings.iter().any(TuningFinding::is_drift));
        tuner.undo(false).expect("undone");
    });
    assert_eq!(*files.files.borrow(), fresh);
}
