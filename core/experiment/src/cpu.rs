//! What a load on CPUs found beside its latencies: which thread ran where, and how fast its CPU was.
//!
//! A CPU of a busy package runs slower than one of an idle package. So a difference between two sets of CPUs
//! may be one of frequency, and not of caches or memory; without the frequency beside it nobody can tell.

use crate::measured::Measured;
use numawise_model::Pcpu;

#[derive(Clone, Debug, PartialEq)]
pub struct CpuRun {
    pub measured: Measured,
    /// Primes are looked for up to here, in each event.
    pub max_prime: u64,
    pub threads: Vec<CpuThread>,
    pub source: FrequencySource,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CpuThread {
    /// The CPU that it was pinned to; nothing where it ran wherever the kernel put it.
    pub pinned: Option<Pcpu>,
    pub events: u64,
    /// Of the CPU that it was on at each sample; nothing where none could be read.
    pub frequency: Option<Frequency>,
}

/// What was sampled while a thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    pub lowest_khz: u64,
    pub mean_khz: u64,
    pub highest_khz: u64,
    pub samples: u32,
}

impl Frequency {
    /// Nothing where there is nothing to summarise.
    pub fn of(samples_khz: &[u64]) -> Option<Self> {
        let (lowest_khz, highest_khz) = (samples_khz.iter().min()?, samples_khz.iter().max()?);
        let sum: u64 = samples_khz.iter().sum();
        let samples = u32::try_from(samples_khz.len()).ok()?;
        Some(Self {
            lowest_khz: *lowest_khz,
            mean_khz: sum / u64::from(samples),
            highest_khz: *highest_khz,
            samples,
        })
    }
}

/// Where frequencies come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencySource {
    /// `scaling_cur_freq` of the kernel's cpufreq.
    CpuFreq,
    /// `cpu MHz` of `/proc/cpuinfo`, on a CPU that counts its cycles (`aperfmperf`).
    CpuInfo,
    NotAvailable {
        why: NoFrequency,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFrequency {
    /// A guest is usually not told; `/proc/cpuinfo` then shows what the CPU is sold for.
    NominalOnly,
    NothingTold,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequency_is_of_its_samples() {
        let wanted =
            Frequency { lowest_khz: 1_000, mean_khz: 2_000, highest_khz: 3_000, samples: 3 };
        assert_eq!(Frequency::of(&[2_000, 1_000, 3_000]), Some(wanted));
        assert_eq!(Frequency::of(&[]), None);
    }
}
