//! Why a figure is doubtful, and what to do about it.

use super::{changed, mechanism, share, tier};
use crate::en::{Said, and, say};
use crate::quantity::count;
use numawise_experiment::{Doubt, LimitedTier, Mechanism};
use std::collections::BTreeMap;

/// For a line that says why there is no verdict.
pub fn in_short(doubt: &Doubt) -> String {
    let text = match doubt {
        Doubt::OneRunPerArm => "one run per arm",
        Doubt::TooFewPairs { .. } => "too few pairs",
        Doubt::ArmConfoundedWithHost { .. } => "arm confounded with host",
        Doubt::NotInterleaved => "order of runs not known",
        Doubt::ClientBound { .. } => "bound by the client",
        Doubt::Unsteady { .. } => "runs not steady",
        Doubt::NotWarmedUp { .. } => "no warm-up",
        Doubt::GeneratorLost { .. } => "generators lost",
        Doubt::NoNoiseFloor => "no control run",
        Doubt::EqualArmsDiffer { .. } => "equal arms differ",
        Doubt::BelowNoiseFloor { .. } => "below the noise floor",
        Doubt::MechanismDidNotMove { .. } => "a difference without its mechanism",
        Doubt::MechanismUnseen { .. } => "mechanism not looked at",
        Doubt::Saturated { limited } => return format!("{} at its limit", tier(limited.tier)),
        Doubt::Outliers { .. } => "outliers",
        Doubt::Drift { .. } => "drift",
        Doubt::EffectDrifts { .. } => "the effect drifts",
        Doubt::Autocorrelated { .. } => "pairs hang together",
        Doubt::Steal { .. } => "CPU time stolen",
        Doubt::SettingDiffers { name, .. } => return format!("{name} differs"),
        Doubt::ErrorsDiffer { .. } => "errors differ",
    };
    text.to_owned()
}

pub fn doubt(doubt: &Doubt) -> Said {
    match doubt {
        Doubt::OneRunPerArm => {
            say("each arm was run once, so nobody knows how far such runs lie apart")
                .way("run each arm at least ten times, in turn")
        }
        Doubt::TooFewPairs { pairs, wanted } => say(format!(
            "there are {}, and fewer than {wanted} cannot be told from chance",
            count((*pairs).into(), "pair")
        ))
        .way("measure more blocks"),
        Doubt::ArmConfoundedWithHost { hosts } => confounded(hosts),
        Doubt::NotInterleaved => {
            say("nobody knows in which order the runs were made: what the machine did meanwhile may be the difference")
                .way("let an experiment order the runs")
        }
        Doubt::ClientBound { runs, of, most } => client_bound(*runs, *of, *most),
        Doubt::Unsteady { runs, of } => {
            say(format!("{} not steady when measuring began", were(*runs, *of)))
                .way("give the warm-up more time")
        }
        Doubt::NotWarmedUp { runs, of } => say(format!(
            "no warm-up is known of {}: their first seconds may be in the figures",
            of_runs(*runs, *of)
        )),
        Doubt::GeneratorLost { runs, of, names } => say(format!(
            "{} lost generators ({}), and what is left is no complete run",
            of_runs(*runs, *of),
            and(names)
        ))
        .way("run these blocks again"),
        Doubt::NoNoiseFloor => {
            say("no second run of the baseline counts, so nobody knows how much equal arms differ")
                .way("leave the control in the design, and mend what left its runs out")
        }
        Doubt::EqualArmsDiffer { change, surely } => say(format!(
            "the baseline differs from itself by {}{}",
            changed(*change),
            if *surely { "" } else { ", perhaps by chance" }
        ))
        .way("look for what else changes between the runs of a block"),
        Doubt::BelowNoiseFloor { floor } => {
            say(format!("equal arms differ by {floor:.2} %, and this is no more than that"))
        }
        Doubt::MechanismDidNotMove { mechanism, baseline, scenario } => {
            without_mechanism(*mechanism, *baseline, *scenario)
        }
        Doubt::MechanismUnseen { mechanism: unseen } => say(format!(
            "nobody looked at {}, so it is not known whether the placement made the difference",
            mechanism(*unseen)
        )),
        Doubt::Saturated { limited } => saturated(limited),
        Doubt::Outliers { blocks } => outliers(blocks),
        Doubt::Drift { change } => say(format!(
            "the baseline changed by {} from the first block to the last; mirrored blocks even that out",
            changed(*change)
        )),
        Doubt::EffectDrifts { change } => effect_drifts(*change),
        Doubt::Autocorrelated { correlation, widened_by } => say(format!(
            "each pair resembles the one before it (correlation {correlation:.2}); the interval was made {widened_by:.2} times as wide for it"
        )),
        Doubt::Steal { most } => steal(*most),
        Doubt::SettingDiffers { name, values, durability } => setting(name, values, *durability),
        Doubt::ErrorsDiffer { baseline, scenario } => errors(*baseline, *scenario),
    }
}

fn confounded(hosts: &BTreeMap<String, Vec<String>>) -> Said {
    let one = |(arm, hosts): (&String, &Vec<String>)| format!("{arm} on {}", and(hosts));
    let all: Vec<String> = hosts.iter().map(one).collect();
    say(format!(
        "the arms ran on different hosts ({}): the host explains the difference as well as the arm does",
        all.join("; ")
    ))
    .way("run each arm on each host")
}

fn client_bound(runs: u32, of: u32, most: f64) -> Said {
    say(format!(
        "in {} the generator used up to {} of its CPUs, so it may have measured itself",
        of_runs(runs, of),
        share(most)
    ))
    .way("give the generator more CPUs, or a host of its own")
}

fn outliers(blocks: &[u32]) -> Said {
    let numbers: Vec<String> = blocks.iter().map(u32::to_string).collect();
    let (noun, verb) = if blocks.len() == 1 { ("block", "lies") } else { ("blocks", "lie") };
    say(format!("{noun} {} {verb} far from the others; nothing was left out for it", and(&numbers)))
}

fn effect_drifts(change: f64) -> Said {
    say(format!(
        "the effect itself changed by {} from the first block to the last: it is no constant",
        changed(change)
    ))
    .way("look at what grows or fills while the experiment runs")
}

fn steal(most: f64) -> Said {
    say(format!("up to {} of the server's CPU time went to other guests", share(most)))
        .way("measure when the neighbours are idle, or pin them away")
}

fn setting(name: &str, values: &[String], durability: bool) -> Said {
    let said = say(format!("{name} is not the same in all runs: {}", and(values)));
    if durability {
        said.fact("it trades safety for speed, so the figures are not of the same work")
            .way("set it alike")
    } else {
        said.way("set it alike, or name it in the design's may_differ")
    }
}

fn errors(baseline: f64, scenario: f64) -> Said {
    say(format!(
        "{} of the baseline's transactions failed or were tried again, and {} of the scenario's: they did not do the same work",
        share(baseline),
        share(scenario)
    ))
}

fn were(runs: u32, of: u32) -> String {
    if runs == 1 { format!("1 of {of} runs was") } else { format!("{runs} of {of} runs were") }
}

fn of_runs(runs: u32, of: u32) -> String {
    format!("{runs} of {of} runs")
}

fn without_mechanism(of: Mechanism, baseline: f64, scenario: f64) -> Said {
    let value = |value: f64| match of {
        Mechanism::RemotePages => share(value),
        Mechanism::L3Crossings => format!("{value:.0} a second"),
    };
    say(format!(
        "{} did not change ({} and {}): something else made the difference",
        mechanism(of),
        value(baseline),
        value(scenario)
    ))
    .way("see with numawise verify whether the placement was in force")
}

fn saturated(limited: &LimitedTier) -> Said {
    let side =
        |name: &str, used: Option<f64>| used.map(|used| format!("{} in {name}", share(used)));
    let sides: Vec<String> = side("the baseline", limited.baseline)
        .into_iter()
        .chain(side("the scenario", limited.scenario))
        .collect();
    say(format!(
        "{} was at its limit ({}): the difference is measured against that, not against the placement alone",
        tier(limited.tier),
        and(&sides)
    ))
}
