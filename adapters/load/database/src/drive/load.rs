//! What a run is asked for.

use super::arrivals::Rate;
use crate::mysql::Ignored;
use crate::oltp::Options;
use numawise_model::CpuSet;
use std::time::Duration;

/// Where it cannot be found out how many CPUs there are.
const UNKNOWN_CPUS: u32 = 4;

/// How a workload is put on a database.
#[derive(Clone, Debug)]
pub struct Load {
    pub options: Options,
    /// Connections; sysbench calls them threads.
    pub connections: u32,
    /// Threads that share them; nothing for two for each CPU that they may run on. Measured beside one thread
    /// for each connection, that takes about two thirds of the CPU time at 16 connections and at 256.
    pub workers: Option<u32>,
    /// How long what counts lasts.
    pub time: Option<Duration>,
    /// Ends after so many events.
    pub events: Option<u64>,
    /// An open loop.
    pub rate: Option<Rate>,
    /// Before that nothing counts.
    pub warm_up: Duration,
    pub interval: Duration,
    /// Where the workers may run.
    pub cpus: Option<CpuSet>,
    /// Nothing is prepared: statements go as text.
    pub as_text: bool,
    pub ignored: Ignored,
    pub seed: u64,
}

impl Load {
    /// With sysbench's defaults: one connection for ten seconds.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            connections: 1,
            workers: None,
            time: Some(Duration::from_secs(10)),
            events: None,
            rate: None,
            warm_up: Duration::ZERO,
            interval: Duration::from_secs(1),
            cpus: None,
            as_text: false,
            ignored: Ignored::default(),
            seed: 0,
        }
    }

    pub fn workers(&self) -> u32 {
        let cpus = || match &self.cpus {
            Some(cpus) => u32::try_from(cpus.len()).unwrap_or(UNKNOWN_CPUS),
            None => std::thread::available_parallelism()
                .map_or(UNKNOWN_CPUS, |count| u32::try_from(count.get()).unwrap_or(UNKNOWN_CPUS)),
        };
        self.workers.unwrap_or_else(|| 2 * cpus()).clamp(1, self.connections.max(1))
    }
}
