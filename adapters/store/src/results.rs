//! Experiments and their raw runs. A run has one place in its experiment, and the table holds it once.

use crate::error::document_error;
use crate::{SqliteStore, host_lock, immediate};
use numawise_documents::experiment::{ExperimentRecord, parse_run, run_to_json};
use numawise_engine::experiment::Results;
use numawise_engine::ports::{Cancel, HostLock, PortError};
use numawise_experiment::Run;
use rusqlite::{OptionalExtension, params};

impl Results for SqliteStore {
    /// Never waits: who holds it is at work for hours.
    fn lock_experiment(&self, name: &str, cancel: &Cancel) -> Result<Box<dyn HostLock>, PortError> {
        let given_up = Cancel::default();
        let lock = host_lock::lock(
            &self.dir,
            "experiment",
            name,
            &mut || given_up.flag().store(true, std::sync::atomic::Ordering::Relaxed),
            &given_up,
        );
        match lock {
            Ok(lock) => Ok(Box::new(lock)),
            Err(PortError::Cancelled) if !cancel.is_set() => Err(PortError::Failed(format!(
                "experiment '{name}' is being carried out by another process; wait for its end, or \
                 look at it with numawise experiment show {name}"
            ))),
            Err(error) => Err(error),
        }
    }

    fn experiment(&self, name: &str) -> Result<Option<ExperimentRecord>, PortError> {
        let documents = self.documents("SELECT document FROM experiments WHERE name = ?1", name)?;
        let Some(document) = documents.first() else { return Ok(None) };
        ExperimentRecord::parse(document)
            .map(Some)
            .map_err(|error| document_error(&self.path, &format!("experiment {name}"), &error))
    }

    fn experiments(&self) -> Result<Vec<(String, i64)>, PortError> {
        self.connection()
            .prepare_cached("SELECT name, began_unix_sec FROM experiments ORDER BY 2, 1")
            .and_then(|mut query| {
                query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|error| self.reading().failed(&error))
    }

    fn begin(&self, experiment: &ExperimentRecord) -> Result<(), PortError> {
        let (name, began) = (&experiment.file.name, experiment.began_unix_sec);
        self.connection()
            .execute(
                "INSERT INTO experiments (name, began_unix_sec, document) VALUES (?1, ?2, ?3)",
                params![name, began, experiment.to_json()],
            )
            .map(drop)
            .map_err(|error| self.writing().failed(&error))
    }

    fn extend(&self, experiment: &ExperimentRecord) -> Result<(), PortError> {
        let name = &experiment.file.name;
        let found = self.experiment(name)?;
        let Some(mut begun) = found else {
            return Err(PortError::NotFound(format!("no experiment '{name}' to extend")));
        };
        // Where and when it was begun stays.
        begun.file = experiment.file.clone();
        self.connection()
            .execute(
                "UPDATE experiments SET document = ?2 WHERE name = ?1",
                params![name, begun.to_json()],
            )
            .map(drop)
            .map_err(|error| self.writing().failed(&error))
    }

    fn run_ids(&self, experiment: &str) -> Result<Vec<String>, PortError> {
        self.documents("SELECT id FROM runs WHERE experiment = ?1 ORDER BY number", experiment)
    }

    fn runs(&self, experiment: &str) -> Result<Vec<Run>, PortError> {
        let sql = "SELECT document FROM runs WHERE experiment = ?1 ORDER BY number";
        self.documents(sql, experiment)?
            .iter()
            .map(|document| {
                parse_run(document).map_err(|error| {
                    document_error(&self.path, &format!("a run of {experiment}"), &error)
                })
            })
            .collect()
    }

    fn record(&self, experiment: &str, run: &Run) -> Result<(), PortError> {
        let id = run.planned.id.to_string();
        let failed = |error| self.writing().failed(&error);
        let mut connection = self.connection();
        let transaction = immediate(&mut connection).map_err(failed)?;
        let there: Option<i64> = transaction
            .query_row(
                "SELECT number FROM runs WHERE experiment = ?1 AND id = ?2",
                [experiment, &id],
                |row| row.get(0),
            )
            .optional()
            .map_err(failed)?;
        if there.is_some() {
            return Err(PortError::Failed(format!(
                "{}: run {id} of experiment '{experiment}' is recorded already, and stays as it is",
                self.path.display()
            )));
        }
        transaction
            .execute(
                "INSERT INTO runs (experiment, id, document) VALUES (?1, ?2, ?3)",
                params![experiment, id, run_to_json(run)],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    fn forget(&self, experiment: &str) -> Result<(), PortError> {
        let failed = |error| self.writing().failed(&error);
        let mut connection = self.connection();
        let transaction = immediate(&mut connection).map_err(failed)?;
        transaction
            .execute("DELETE FROM runs WHERE experiment = ?1", [experiment])
            .map_err(failed)?;
        let gone = transaction
            .execute("DELETE FROM experiments WHERE name = ?1", [experiment])
            .map_err(failed)?;
        if gone == 0 {
            return Err(PortError::NotFound(format!("no experiment '{experiment}'")));
        }
        transaction.commit().map_err(failed)
    }
}
