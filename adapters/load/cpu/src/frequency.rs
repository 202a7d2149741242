//! How fast CPUs run at this moment, as far as the kernel tells.

use numawise_experiment::{FrequencySource, NoFrequency};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of one machine.
#[derive(Clone, Debug)]
pub struct Frequencies {
    root: PathBuf,
    source: FrequencySource,
}

impl Frequencies {
    pub fn live() -> Self {
        Self::below(Path::new("/"))
    }

    /// `root` is the folder that has `proc` and `sys`.
    pub fn below(root: &Path) -> Self {
        let has_cpufreq =
            root.join("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").exists();
        let source = match (has_cpufreq, fs::read_to_string(root.join("proc/cpuinfo"))) {
            (true, _) => FrequencySource::CpuFreq,
            (false, Err(_)) => FrequencySource::NotAvailable { why: NoFrequency::NothingTold },
            (false, Ok(text)) => of_cpuinfo(&text),
        };
        Self { root: root.to_owned(), source }
    }

    pub fn source(&self) -> FrequencySource {
        self.source
    }

    /// Of each of these CPUs; nothing where it is not told.
    pub fn khz(&self, cpus: &[usize]) -> Vec<Option<u64>> {
        match self.source {
            FrequencySource::NotAvailable { .. } => vec![None; cpus.len()],
            FrequencySource::CpuFreq => cpus.iter().map(|&cpu| self.of_cpufreq(cpu)).collect(),
            FrequencySource::CpuInfo => {
                let text = fs::read_to_string(self.root.join("proc/cpuinfo"));
                let all = text.map_or_else(|_| Vec::new(), |text| parse(&text));
                let of = |cpu| all.iter().find(|(number, _)| *number == cpu).map(|(_, khz)| *khz);
                cpus.iter().map(|&cpu| of(cpu)).collect()
            }
        }
    }

    fn of_cpufreq(&self, cpu: usize) -> Option<u64> {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
        fs::read_to_string(self.root.join(file)).ok()?.trim().parse().ok()
    }
}

/// Without counters of cycles, `cpu MHz` is a constant that nobody measured.
fn of_cpuinfo(text: &str) -> FrequencySource {
    let counts_cycles = text
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split_whitespace().any(|flag| flag == "aperfmperf"));
    match (counts_cycles, parse(text).is_empty()) {
        (true, false) => FrequencySource::CpuInfo,
        (false, false) => FrequencySource::NotAvailable { why: NoFrequency::NominalOnly },
        (_, true) => FrequencySource::NotAvailable { why: NoFrequency::NothingTold },
    }
}

/// CPUs with their frequencies in kHz.
fn parse(text: &str) -> Vec<(usize, u64)> {
    let mut cpu = None;
    let mut all = Vec::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        match key.trim() {
            "processor" => cpu = value.trim().parse().ok(),
            "cpu MHz" => {
                if let (Some(cpu), Ok(mhz)) = (cpu, value.trim().parse::<f64>()) {
                    all.push((cpu, (mhz * 1_000.0).round() as u64));
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Frequencies) {
        let root = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let frequencies = Frequencies::below(root.path());
        (root, frequencies)
    }

    const TWO: &str = "processor\t: 0\ncpu MHz\t\t: 2450.000\nflags\t\t: fpu aperfmperf\n\n\
                       processor\t: 1\ncpu MHz\t\t: 3400.125\nflags\t\t: fpu aperfmperf\n";

    #[test]
    fn cpufreq_is_asked_first_and_each_cpu_alone() {
        let (_root, frequencies) = machine(&[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000\n"),
            ("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "3700000\n"),
            ("proc/cpuinfo", TWO),
        ]);
        assert_eq!(frequencies.source(), FrequencySource::CpuFreq);
        assert_eq!(frequencies.khz(&[3, 0, 9]), [Some(3_700_000), Some(1_500_000), None]);
    }

    #[test]
    fn cpuinfo_is_believed_only_when_cycles_are_counted() {
        let (_root, frequencies) = machine(&[("proc/cpuinfo", TWO)]);
        assert_eq!(frequencies.source(), FrequencySource::CpuInfo);
        assert_eq!(frequencies.khz(&[1, 2]), [Some(3_400_125), None]);
        let (_root, guest) = machine(&[("proc/cpuinfo", &TWO.replace(" aperfmperf", ""))]);
        let nominal = FrequencySource::NotAvailable { why: NoFrequency::NominalOnly };
        assert_eq!((guest.source(), guest.khz(&[0])), (nominal, vec![None]));
    }
}
