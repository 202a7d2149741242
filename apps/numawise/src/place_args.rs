//! What the search for the best place is asked, with `--policy compact` and `--policy spread`.

use crate::failure::{USAGE, coded};
use anyhow::Result;
use clap::{Args, ValueEnum};
use numawise_model::placement::{Best, DevicePolicy, EmulatorPolicy, L3Policy, SmtPolicy, Split};

#[derive(Args, Clone, Debug)]
pub struct PlaceArgs {
    /// Exactly so many L3 domains, with equal shares: 1, 2, 4 to compare them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    l3: Option<u32>,
    /// How vCPUs sit on SMT siblings.
    #[arg(long, value_enum)]
    smt: Option<SmtName>,
    /// How vCPUs are divided between nodes: auto (even, uneven where that does not fit), even,
    /// uneven, or exact:32,16.
    #[arg(long, value_name = "HOW")]
    split: Option<String>,
    /// So many vNUMA nodes, each on a node of its own where that is possible.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    vnodes: Option<u32>,
    /// Where the emulator threads run.
    #[arg(long, value_enum)]
    emulator: Option<EmulatorName>,
    /// How near the guest must be to its devices and those of --near.
    #[arg(long, value_enum)]
    devices: Option<DevicesName>,
    /// A PCI device to be near to, like 0000:41:00.0 (repeat).
    #[arg(long, value_name = "ADDRESS")]
    near: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SmtName {
    /// Siblings together where there are any, else any thread.
    Prefer,
    /// Siblings together, or refused.
    Require,
    /// A core for each vCPU, and nobody on its siblings.
    Isolate,
    /// A core for each vCPU as far as there are; siblings may be others'.
    Avoid,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EmulatorName {
    /// On what is kept for the host, else on the guest's own.
    Housekeeping,
    /// On one pCPU that nobody else has.
    Isolate,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DevicesName {
    /// Near where nothing more important decides.
    Preferred,
    /// On the device's node; one whose node is not known will not do.
    Required,
    /// On the device's node, or anywhere where it is not known.
    Legacy,
    /// On a node of the device's package.
    Socket,
}

impl PlaceArgs {
    /// The first of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.l3.is_some(), "--l3"),
            (self.smt.is_some(), "--smt"),
            (self.split.is_some(), "--split"),
            (self.vnodes.is_some(), "--vnodes"),
            (self.emulator.is_some(), "--emulator"),
            (self.devices.is_some(), "--devices"),
            (!self.near.is_empty(), "--near"),
        ];
        given.into_iter().find(|(is, _)| *is).map(|(_, option)| option)
    }

    pub fn counts_l3(&self) -> bool {
        self.l3.is_some()
    }

    pub fn counts_vnodes(&self) -> bool {
        self.vnodes.is_some()
    }

    /// The number of vNUMA nodes is given, or their sizes are.
    pub fn gives_cells(&self) -> bool {
        let exact = self.split.as_ref().is_some_and(|split| split.starts_with("exact"));
        self.vnodes.is_some() || exact
    }

    pub fn best(&self, l3: L3Policy) -> Result<Best> {
        let split = self.split.as_deref().map_or(Ok(Split::EvenFirst), split)?;
        if let (Split::Exact(parts), Some(vnodes)) = (&split, self.vnodes)
            && parts.len() != vnodes as usize
        {
            let text = format!(
                "--split exact names {} vNUMA nodes, and --vnodes {vnodes}: leave out --vnodes",
                parts.len()
            );
            return Err(coded(USAGE, text));
        }
        Ok(Best {
            l3: self.l3.map_or(l3, L3Policy::Exactly),
            smt: match self.smt {
                None | Some(SmtName::Prefer) => SmtPolicy::Prefer,
                Some(SmtName::Require) => SmtPolicy::Require,
                Some(SmtName::Isolate) => SmtPolicy::Isolate,
                Some(SmtName::Avoid) => SmtPolicy::Avoid,
            },
            split,
            vnodes: self.vnodes,
            emulator: match self.emulator {
                None | Some(EmulatorName::Housekeeping) => EmulatorPolicy::Housekeeping,
                Some(EmulatorName::Isolate) => EmulatorPolicy::Isolate,
            },
            devices: match self.devices {
                None | Some(DevicesName::Preferred) => DevicePolicy::Preferred,
                Some(DevicesName::Required) => DevicePolicy::Required,
                Some(DevicesName::Legacy) => DevicePolicy::Legacy,
                Some(DevicesName::Socket) => DevicePolicy::Socket,
            },
            near: self.near.clone(),
        })
    }
}

fn split(text: &str) -> Result<Split> {
    let wrong = || {
        let wanted = "auto, even, uneven or exact:N,N,... (vCPUs of each vNUMA node) is wanted";
        coded(USAGE, format!("--split '{text}': {wanted}"))
    };
    match text {
        "auto" | "even-first" => Ok(Split::EvenFirst),
        "even" => Ok(Split::Even),
        "uneven" => Ok(Split::Uneven),
        _ => {
            let parts = text.strip_prefix("exact:").or_else(|| text.strip_prefix("exact "));
            let parts = parts.ok_or_else(wrong)?.split(',');
            let parts = parts.map(|part| part.trim().parse::<u32>());
            Ok(Split::Exact(parts.collect::<Result<_, _>>().map_err(|_| wrong())?))
        }
    }
}
