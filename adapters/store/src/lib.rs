//! What numawise remembers of this machine, in one SQLite file: each host's ledger, intents and
//! guests as one document under compare-and-set, the journal of steps, the plans, the tuning of each
//! host, an hour of usage samples, and experiments with their raw runs.
//!
//! Plans and the journal hold whole domain definitions, secrets included: the file, its companions
//! (`-wal`, `-shm`) and the locks are for their owner alone.
//!
//! Everything that was answered with `Ok` is on the disk: SQLite's write-ahead log is flushed at
//! each commit (`synchronous=FULL`). Commits of several processes are put in order by immediate
//! transactions; who finds another revision than the one that was read writes nothing.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod host_lock;
mod results;
mod schema;

use crate::error::{Access, document_error};
use numawise_engine::intent::{HostState, IntentId, Step};
use numawise_engine::ports::{Cancel, CommitOutcome, HostLock, PortError, Store};
use numawise_engine::state_document::{
    host_state_from_json, host_state_to_json, step_from_json, step_to_json, usage_from_json,
    usage_to_json,
};
use numawise_engine::usage::UsageSample;
use numawise_model::{HostId, Plan, PlanId, TuningPlan, TuningRecord};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long usage samples are kept.
pub const USAGE_KEPT_SEC: i64 = 3600;

const FILE_NAME: &str = "numawise.db";

/// The store of one machine, in its state directory.
pub struct SqliteStore {
    dir: PathBuf,
    path: PathBuf,
    connection: Mutex<Connection>,
    /// The document that was read or written last: a command looks at it a dozen times, and a host
    /// of many guests has a long one. A revision is never given twice.
    latest: Mutex<Option<(HostId, HostState)>>,
}

impl SqliteStore {
    /// Opens the store, or makes it; an older one is brought up to date, a newer one refused.
    pub fn open(state_dir: &Path) -> Result<Self, PortError> {
        let path = state_dir.join(FILE_NAME);
        let connection = schema::open(state_dir, &path)?;
        let (connection, latest) = (Mutex::new(connection), Mutex::default());
        Ok(Self { dir: state_dir.to_owned(), path, connection, latest })
    }

    /// A panic while it was held has rolled its transaction back: the connection is sound.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> Access<'_> {
        Access { action: "write", path: &self.path }
    }

    fn reading(&self) -> Access<'_> {
        Access { action: "read", path: &self.path }
    }

    fn known(&self, host: &HostId, revision: u64) -> Option<HostState> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, state) = latest.as_ref()?;
        (of == host && state.revision == revision).then(|| state.clone())
    }

    fn remember(&self, host: &HostId, state: &HostState) {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = Some((host.clone(), state.clone()));
    }
}

impl Store for SqliteStore {
    fn load(&self, host: &HostId) -> Result<HostState, PortError> {
        let connection = self.connection();
        let revision: Option<i64> = connection
            .prepare_cached("SELECT revision FROM hosts WHERE host = ?1")
            .and_then(|mut query| query.query_row([&host.0], |row| row.get(0)).optional())
            .map_err(|error| self.reading().failed(&error))?;
        let Some(revision) = revision else { return Ok(HostState::default()) };
        let revision = self.unsigned(revision)?;
        if let Some(known) = self.known(host, revision) {
            return Ok(known);
        }
        let row: Option<(i64, String)> = connection
            .prepare_cached("SELECT revision, document FROM hosts WHERE host = ?1")
            .and_then(|mut query| {
                query.query_row([&host.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(|error| self.reading().failed(&error))?;
        let Some((revision, document)) = row else { return Ok(HostState::default()) };
        let mut state = host_state_from_json(&document)
            .map_err(|error| document_error(&self.path, &format!("host {host}"), &error))?;
        state.revision = self.unsigned(revision)?;
        self.remember(host, &state);
        Ok(state)
    }

    fn commit(
        &self,
        host: &HostId,
        expected: u64,
        state: &HostState,
    ) -> Result<CommitOutcome, PortError> {
        let failed = |error| self.writing().failed(&error);
        let mut connection = self.connection();
        let transaction = immediate(&mut connection).map_err(failed)?;
        let found: Option<i64> = transaction
            .query_row("SELECT revision FROM hosts WHERE host = ?1", [&host.0], |row| row.get(0))
            .optional()
            .map_err(failed)?;
        // A host that is not there has revision 0.
        let found = found.map_or(Ok(0), |revision| self.unsigned(revision))?;
        if found != expected {
            return Ok(CommitOutcome::Conflict { found });
        }
        let revision = found + 1;
        let state = HostState { revision, ..state.clone() };
        let document = host_state_to_json(&state);
        transaction
            .execute(
                "INSERT INTO hosts (host, revision, document) VALUES (?1, ?2, ?3)
                 ON CONFLICT (host) DO UPDATE SET revision = ?2, document = ?3",
                params![host.0, signed(revision)?, document],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.remember(host, &state);
        Ok(CommitOutcome::Committed { revision })
    }

    fn lock_host(
        &self,
        host: &HostId,
        on_wait: &mut dyn FnMut(),
        cancel: &Cancel,
    ) -> Result<Box<dyn HostLock>, PortError> {
        Ok(Box::new(host_lock::lock(&self.dir, "host", &host.0, on_wait, cancel)?))
    }

    fn append_step(&self, intent: &IntentId, step: &Step) -> Result<(), PortError> {
        self.connection()
            .execute(
                "INSERT INTO steps (intent, document) VALUES (?1, ?2)",
                params![intent.0, step_to_json(step)],
            )
            .map_err(|error| self.writing().failed(&error))?;
        Ok(())
    }

    fn steps(&self, intent: &IntentId) -> Result<Vec<Step>, PortError> {
        let sql = "SELECT document FROM steps WHERE intent = ?1 ORDER BY id";
        self.documents(sql, &intent.0)?
            .iter()
            .map(|document| {
                step_from_json(document).map_err(|error| {
                    document_error(&self.path, &format!("journal of intent {intent}"), &error)
                })
            })
            .collect()
    }

    /// A plan is immutable: the same id with another content is refused.
    fn save_plan(&self, plan: &Plan) -> Result<(), PortError> {
        self.save_once("plans", &plan.id, &numawise_documents::plan_to_json(plan))
    }

    fn plan(&self, id: &PlanId) -> Result<Option<Plan>, PortError> {
        let documents = self.documents("SELECT document FROM plans WHERE id = ?1", &id.0)?;
        let Some(document) = documents.first() else { return Ok(None) };
        numawise_documents::parse_plan(document)
            .map(Some)
            .map_err(|error| document_error(&self.path, &format!("plan {id}"), &error))
    }

    fn usage_samples(&self, host: &HostId) -> Result<Vec<UsageSample>, PortError> {
        let sql = "SELECT document FROM usage_samples WHERE host = ?1 ORDER BY at_unix_sec, id";
        self.documents(sql, &host.0)?
            .iter()
            .map(|document| {
                usage_from_json(document).map_err(|error| {
                    document_error(&self.path, &format!("usage of host {host}"), &error)
                })
            })
            .collect()
    }

    /// Samples of more than an hour ahead go too: they are from before the clock was set back, and
    /// would pass for the newest.
    fn add_usage_sample(&self, host: &HostId, sample: &UsageSample) -> Result<(), PortError> {
        let failed = |error| self.writing().failed(&error);
        let at = sample.at_unix_sec;
        let mut connection = self.connection();
        let transaction = immediate(&mut connection).map_err(failed)?;
        transaction
            .execute(
                "INSERT INTO usage_samples (host, at_unix_sec, document) VALUES (?1, ?2, ?3)",
                params![host.0, at, usage_to_json(sample)],
            )
            .map_err(failed)?;
        transaction
            .execute(
                "DELETE FROM usage_samples
                 WHERE host = ?1 AND at_unix_sec NOT BETWEEN ?2 AND ?3",
                params![
                    host.0,
                    at.saturating_sub(USAGE_KEPT_SEC),
                    at.saturating_add(USAGE_KEPT_SEC)
                ],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    fn tuning(&self, host: &HostId) -> Result<TuningRecord, PortError> {
        let documents = self.documents("SELECT document FROM tunings WHERE host = ?1", &host.0)?;
        let Some(document) = documents.first() else { return Ok(TuningRecord::default()) };
        numawise_documents::parse_tuning_record(document)
            .map_err(|error| document_error(&self.path, &format!("tuning of host {host}"), &error))
    }

    fn save_tuning(&self, host: &HostId, record: &TuningRecord) -> Result<(), PortError> {
        let document = numawise_documents::tuning_record_to_json(record);
        let sql = "INSERT INTO tunings (host, document) VALUES (?1, ?2)
                   ON CONFLICT (host) DO UPDATE SET document = ?2";
        let connection = self.connection();
        let saved = match record.is_empty() {
            true => connection.execute("DELETE FROM tunings WHERE host = ?1", [&host.0]),
            false => connection.execute(sql, params![host.0, document]),
        };
        saved.map(|_| ()).map_err(|error| self.writing().failed(&error))
    }

    fn save_tuning_plan(&self, plan: &TuningPlan) -> Result<(), PortError> {
        let document = numawise_documents::tuning_plan_to_json(plan);
        self.save_once("tuning_plans", &plan.id, &document)
    }

    fn tuning_plan(&self, id: &PlanId) -> Result<Option<TuningPlan>, PortError> {
        let documents = self.documents("SELECT document FROM tuning_plans WHERE id = ?1", &id.0)?;
        let Some(document) = documents.first() else { return Ok(None) };
        numawise_documents::parse_tuning_plan(document)
            .map(Some)
            .map_err(|error| document_error(&self.path, &format!("tuning plan {id}"), &error))
    }
}

impl SqliteStore {
    /// Into a table of documents by id, where the same id with another content is refused.
    fn save_once(&self, table: &str, id: &PlanId, document: &str) -> Result<(), PortError> {
        let failed = |error| self.writing().failed(&error);
        let mut connection = self.connection();
        let transaction = immediate(&mut connection).map_err(failed)?;
        let find = format!("SELECT document FROM {table} WHERE id = ?1");
        let stored: Option<String> =
            transaction.query_row(&find, [&id.0], |row| row.get(0)).optional().map_err(failed)?;
        match stored {
            Some(stored) if stored == document => return Ok(()),
            Some(_) => {
                return Err(PortError::Failed(format!(
                    "{} has a different plan under the id {id}: plans are never changed; give the \
                     new one an id of its own",
                    self.path.display()
                )));
            }
            None => {}
        }
        let insert = format!("INSERT INTO {table} (id, document) VALUES (?1, ?2)");
        transaction.execute(&insert, params![id.0, document]).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// The one column of a query with one parameter.
    fn documents(&self, sql: &str, key: &str) -> Result<Vec<String>, PortError> {
        let connection = self.connection();
        connection
            .prepare_cached(sql)
            .and_then(|mut query| query.query_map([key], |row| row.get(0))?.collect())
            .map_err(|error| self.reading().failed(&error))
    }

    fn unsigned(&self, revision: i64) -> Result<u64, PortError> {
        u64::try_from(revision).map_err(|_| {
            PortError::Unreadable(format!(
                "{}: a host has the revision {revision}, and revisions begin at 1",
                self.path.display()
            ))
        })
    }
}

/// Takes the write lock at once: a transaction that reads first and writes later could not be put
/// in order with another of its kind.
fn immediate(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn signed(revision: u64) -> Result<i64, PortError> {
    i64::try_from(revision)
        .map_err(|_| PortError::Failed(format!("revision {revision} is past what SQLite counts")))
}

#[cfg(feature = "conformance")]
impl SqliteStore {
    /// For tests: a disk with room for so many more pages and no more.
    #[doc(hidden)]
    pub fn limited_to_pages(self, pages: u32) -> Self {
        let limit =
            self.connection()
                .pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0));
        assert!(limit.is_ok_and(|limit| limit > 0), "SQLite takes no limit");
        self
    }
}
