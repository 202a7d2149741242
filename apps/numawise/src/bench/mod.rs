//! The experimenter's hands on this machine: scenarios are put in place by their commands, loads run as
//! generators, and what stands beside them is looked at.

mod load;
mod words;

use anyhow::Result;
use numawise_documents::experiment::{CommandDoc, ExperimentFile, WorkloadDoc};
use numawise_engine::experiment::{Bench, Cell, Progress};
use numawise_engine::ports::{Cancel, PortError};
use numawise_experiment::Observed;
use numawise_generator::run_command;
use numawise_model::Topology;
use std::collections::BTreeSet;
use std::path::PathBuf;
use words::Values;

/// Carries out an experiment's file here.
pub struct LocalBench<'a> {
    file: &'a ExperimentFile,
    /// This program, and the global options that its commands get.
    program: PathBuf,
    global: Vec<String>,
    topology: &'a Topology,
    /// Nothing is recorded yet: databases are to be filled.
    fresh: bool,
    prepared: BTreeSet<String>,
}

impl<'a> LocalBench<'a> {
    pub fn new(
        file: &'a ExperimentFile,
        global: Vec<String>,
        topology: &'a Topology,
        fresh: bool,
    ) -> Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { file, program, global, topology, fresh, prepared: BTreeSet::new() })
    }

    /// After the last run.
    pub fn clean_up(&self, cancel: &Cancel) -> Result<(), PortError> {
        for workload in &self.file.workloads {
            let values = Values { targets: &workload.targets, ..Values::default() };
            self.all(&workload.cleanup, &values, cancel)?;
        }
        Ok(())
    }

    fn all(
        &self,
        commands: &[CommandDoc],
        values: &Values<'_>,
        cancel: &Cancel,
    ) -> Result<(), PortError> {
        commands.iter().try_for_each(|command| self.output(command, values, cancel).map(drop))
    }

    fn output(
        &self,
        command: &CommandDoc,
        values: &Values<'_>,
        cancel: &Cancel,
    ) -> Result<String, PortError> {
        let words = words::of(command, values, &self.program, &self.global);
        Ok(run_command(&words, cancel)?.output)
    }

    fn prepare(&mut self, workload: &WorkloadDoc, cancel: &Cancel) -> Result<(), PortError> {
        if !self.fresh || !self.prepared.insert(workload.name.clone()) {
            return Ok(());
        }
        let values = Values { targets: &workload.targets, ..Values::default() };
        self.all(&workload.prepare, &values, cancel)
    }
}

impl Bench for LocalBench<'_> {
    fn apply(&mut self, scenario: &str, host: &str, cancel: &Cancel) -> Result<(), PortError> {
        let doc = known(self.file.scenario(scenario), scenario)?;
        let values = Values { scenario, host, ..Values::default() };
        self.all(&doc.apply, &values, cancel)?;
        self.all(&doc.check, &values, cancel)
    }

    fn leave(&mut self, scenario: &str, host: &str) -> Result<(), PortError> {
        let doc = known(self.file.scenario(scenario), scenario)?;
        let values = Values { scenario, host, ..Values::default() };
        // What was put in place is taken back also when somebody has asked for the end.
        self.all(&doc.leave, &values, &Cancel::default())
    }

    fn run(
        &mut self,
        cell: &Cell<'_>,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Observed, PortError> {
        let workload = known(self.file.workload(cell.workload()), cell.workload())?;
        self.prepare(workload, cancel)?;
        let scenario = known(self.file.scenario(cell.scenario), cell.scenario)?;
        let mut observed = match &workload.command {
            Some(command) => self.run_foreign(cell, scenario, workload, command, cancel)?,
            None => self.run_load(cell, scenario, workload, cancel, progress)?,
        };
        let values = Values { scenario: cell.scenario, host: &cell.run.host, ..Values::default() };
        let number = |command: &Option<CommandDoc>| {
            let Some(command) = command else { return Ok(None) };
            let output = self.output(command, &values, cancel)?;
            let text = output.trim();
            let wanted = |_| {
                PortError::Unreadable(format!(
                    "scenario '{}': its command printed {text:?}, and a number is wanted",
                    cell.scenario
                ))
            };
            text.parse::<f64>().map(Some).map_err(wanted)
        };
        let mechanism = &mut observed.conditions.mechanism;
        mechanism.remote_page_share = number(&scenario.remote_pages)?;
        mechanism.l3_crossings_per_sec = number(&scenario.l3_crossings)?;
        Ok(observed)
    }
}

/// The design was made from the same file.
fn known<'d, T>(found: Option<&'d T>, name: &str) -> Result<&'d T, PortError> {
    found.ok_or_else(|| PortError::NotFound(format!("the experiment's file has no '{name}'")))
}
