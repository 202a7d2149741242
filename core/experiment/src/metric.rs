//! What can be compared: each metric with its unit and which way is better.

use crate::measured::Measured;

/// A figure that one run yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Transactions per second.
    Tps,
    /// Statements per second.
    Qps,
    /// New orders per minute, from the growth of the districts' next order ids.
    Nopm,
    /// Commits and rollbacks per minute, as the server counts them.
    Tpm,
    /// Of a load that has no transactions: the prime loop.
    EventsPerSec,
    /// Latencies are in milliseconds.
    LatencyMean,
    LatencyP50,
    LatencyP95,
    LatencyP99,
    LatencyP999,
    LatencyMax,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

/// One in a thousand of fewer latencies than these is a handful of them, and says nothing.
const LEAST_FOR_P999: u64 = 10_000;

impl Metric {
    pub const ALL: [Self; 11] = [
        Self::Tps,
        Self::Qps,
        Self::Nopm,
        Self::Tpm,
        Self::EventsPerSec,
        Self::LatencyMean,
        Self::LatencyP50,
        Self::LatencyP95,
        Self::LatencyP99,
        Self::LatencyP999,
        Self::LatencyMax,
    ];

    pub fn better(self) -> Better {
        if self.is_latency() { Better::Lower } else { Better::Higher }
    }

    pub fn is_latency(self) -> bool {
        self.quantile().is_some() || matches!(self, Self::LatencyMean | Self::LatencyMax)
    }

    /// What a run says of it, where the run alone can: the server's own counters are not in a run, and
    /// neither is a figure of too few latencies.
    pub fn of(self, run: &Measured) -> Option<f64> {
        let msec = |latency: core::time::Duration| latency.as_secs_f64() * 1e3;
        let latencies = &run.latencies;
        if let Some(quantile) = self.quantile() {
            let enough = self != Self::LatencyP999 || latencies.count() >= LEAST_FOR_P999;
            return latencies.quantile(quantile).filter(|_| enough).map(msec);
        }
        let counts = &run.counts;
        match self {
            Self::Tps | Self::EventsPerSec => per_sec(counts.transactions, run),
            Self::Qps => per_sec(counts.reads + counts.writes + counts.others, run),
            Self::LatencyMean => latencies.mean().map(msec),
            Self::LatencyMax => latencies.max().map(msec),
            _ => None,
        }
    }

    fn quantile(self) -> Option<f64> {
        match self {
            Self::LatencyP50 => Some(0.5),
            Self::LatencyP95 => Some(0.95),
            Self::LatencyP99 => Some(0.99),
            Self::LatencyP999 => Some(0.999),
            _ => None,
        }
    }
}

fn per_sec(count: u64, run: &Measured) -> Option<f64> {
    let seconds = run.elapsed.as_secs_f64();
    (seconds > 0.0).then(|| count as f64 / seconds)
}
