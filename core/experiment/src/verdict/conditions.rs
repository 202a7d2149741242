//! Doubts from what was seen beside the figures of both arms.

use super::Question;
use super::doubt::{Doubt, LimitedTier};
use super::pairs::{Pair, is_client_bound, is_unsteady, lost_a_generator};
use crate::measured::Steadiness;
use crate::stats::{mean, median};
use crate::trial::{Conditions, Mechanism, Tier};
use std::collections::{BTreeMap, BTreeSet};

/// A tier above this share of its limit is what is measured.
const TIER_LIMIT: f64 = 0.9;
/// What neighbours may take.
const STEAL_LIMIT: f64 = 0.005;
/// How far apart the shares of failed transactions may lie, and by which factor.
const ERRORS_APART: f64 = 0.001;
const ERRORS_FACTOR: f64 = 2.0;
/// A mechanism that moves by less has not moved: a share of all pages, and a share of the crossings.
const PAGES_MOVED: f64 = 0.01;
const CROSSINGS_MOVED: f64 = 0.1;

/// Settings that trade safety for speed, under the names of the servers that have them.
const DURABILITY: &[&str] = &[
    "aria_checkpoint_interval",
    "binlog_group_commit_sync_delay",
    "commit_delay",
    "fsync",
    "full_page_writes",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_redo_log_enabled",
    "journal_mode",
    "log_bin",
    "sql_log_bin",
    "sync_binlog",
    "synchronous",
    "synchronous_commit",
    "wal_level",
    "wal_sync_method",
];

/// Everything of the pairs that does not depend on a metric.
pub(super) fn doubts(question: &Question, scenario: &str, pairs: &[Pair<'_>]) -> Vec<Doubt> {
    let mut found = Vec::new();
    found.extend(confounded(question, scenario, pairs));
    // A single pair has no order that could help.
    if !question.interleaved && pairs.len() > 1 {
        found.push(Doubt::NotInterleaved);
    }
    found.extend(runs_at_fault(pairs));
    found.extend(saturated(pairs));
    found.extend(steal(pairs));
    found.extend(settings(question, pairs));
    found.extend(errors(pairs));
    found
}

/// Whether in any pair the two arms were on different hosts.
fn confounded(question: &Question, scenario: &str, pairs: &[Pair<'_>]) -> Option<Doubt> {
    let baseline = question.scenarios.get(question.baseline as usize)?;
    let differ = |pair: &Pair<'_>| match (&pair.baseline.host, &pair.other.host) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    if !pairs.iter().any(differ) {
        return None;
    }
    let hosts = |of: fn(&Pair<'_>) -> Option<String>| {
        let all: BTreeSet<String> = pairs.iter().filter_map(of).collect();
        all.into_iter().collect::<Vec<_>>()
    };
    Some(Doubt::ArmConfoundedWithHost {
        hosts: BTreeMap::from([
            (baseline.clone(), hosts(|pair| pair.baseline.host.clone())),
            (scenario.to_owned(), hosts(|pair| pair.other.host.clone())),
        ]),
    })
}

fn all<'a>(pairs: &'a [Pair<'_>]) -> impl Iterator<Item = &'a Conditions> {
    pairs.iter().flat_map(|pair| [&pair.baseline.conditions, &pair.other.conditions])
}

fn count(pairs: &[Pair<'_>], is: impl Fn(&Conditions) -> bool) -> u32 {
    u32::try_from(all(pairs).filter(|c| is(c)).count()).unwrap_or(u32::MAX)
}

fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.max_by(f64::total_cmp)
}

fn runs_at_fault(pairs: &[Pair<'_>]) -> Vec<Doubt> {
    let of = count(pairs, |_| true);
    let mut found = Vec::new();
    let bound = count(pairs, is_client_bound);
    if bound > 0 {
        let most = largest(all(pairs).filter_map(|c| c.client_use)).unwrap_or(f64::NAN);
        found.push(Doubt::ClientBound { runs: bound, of, most });
    }
    let unsteady = count(pairs, is_unsteady);
    if unsteady > 0 {
        found.push(Doubt::Unsteady { runs: unsteady, of });
    }
    let cold = count(pairs, |c| c.steadiness == Steadiness::NotWarmedUp);
    if cold > 0 {
        found.push(Doubt::NotWarmedUp { runs: cold, of });
    }
    let lost = count(pairs, lost_a_generator);
    if lost > 0 {
        let names = all(pairs).flat_map(|c| &c.lost_generators).map(|lost| lost.name.clone());
        let names: BTreeSet<String> = names.collect();
        found.push(Doubt::GeneratorLost { runs: lost, of, names: names.into_iter().collect() });
    }
    found
}

/// The median of what was seen in the runs of each side.
fn sides(pairs: &[Pair<'_>], of: impl Fn(&Conditions) -> Option<f64>) -> [Option<f64>; 2] {
    let side = |values: Vec<f64>| (!values.is_empty()).then(|| median(&values));
    [
        side(pairs.iter().filter_map(|pair| of(&pair.baseline.conditions)).collect()),
        side(pairs.iter().filter_map(|pair| of(&pair.other.conditions)).collect()),
    ]
}

fn saturated(pairs: &[Pair<'_>]) -> Vec<Doubt> {
    let tiers: BTreeSet<Tier> = all(pairs).flat_map(|c| c.tiers.keys().copied()).collect();
    let limited = |tier: Tier| {
        let [baseline, scenario] = sides(pairs, |c| c.tiers.get(&tier).copied());
        let is_limited =
            [baseline, scenario].into_iter().flatten().any(|share| share >= TIER_LIMIT);
        is_limited.then_some(Doubt::Saturated { limited: LimitedTier { tier, baseline, scenario } })
    };
    tiers.into_iter().filter_map(limited).collect()
}

fn steal(pairs: &[Pair<'_>]) -> Option<Doubt> {
    let most = largest(all(pairs).filter_map(|c| c.steal))?;
    (most > STEAL_LIMIT).then_some(Doubt::Steal { most })
}

/// Settings with more than one value in all these runs, but those that differ on purpose.
fn settings(question: &Question, pairs: &[Pair<'_>]) -> Vec<Doubt> {
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in all(pairs).flat_map(|c| &c.settings) {
        seen.entry(name).or_default().insert(value);
    }
    seen.into_iter()
        .filter(|(name, values)| values.len() > 1 && !question.may_differ.contains(*name))
        .map(|(name, values)| Doubt::SettingDiffers {
            name: name.to_owned(),
            values: values.into_iter().map(str::to_owned).collect(),
            durability: DURABILITY.contains(&name),
        })
        .collect()
}

fn errors(pairs: &[Pair<'_>]) -> Option<Doubt> {
    let share = |values: Vec<f64>| (!values.is_empty()).then(|| mean(&values));
    let baseline = share(pairs.iter().filter_map(|p| p.baseline.conditions.error_share).collect())?;
    let scenario = share(pairs.iter().filter_map(|p| p.other.conditions.error_share).collect())?;
    let (less, more) = (baseline.min(scenario), baseline.max(scenario));
    let differ = more - less > ERRORS_APART && more > ERRORS_FACTOR * less;
    differ.then_some(Doubt::ErrorsDiffer { baseline, scenario })
}

/// Whether what the scenarios are meant to change has changed. One that moved is enough: a guest that is
/// confined to a node has fewer remote pages, whatever its L3 domains do.
pub(super) fn mechanism(question: &Question, pairs: &[Pair<'_>]) -> Vec<Doubt> {
    let mut found = Vec::new();
    for mechanism in &question.mechanisms {
        let [baseline, scenario] = sides(pairs, |c| c.mechanism.of(*mechanism));
        let (Some(baseline), Some(scenario)) = (baseline, scenario) else {
            found.push(Doubt::MechanismUnseen { mechanism: *mechanism });
            continue;
        };
        if moved(*mechanism, baseline, scenario) {
            return Vec::new();
        }
        found.push(Doubt::MechanismDidNotMove { mechanism: *mechanism, baseline, scenario });
    }
    found
}

fn moved(mechanism: Mechanism, baseline: f64, scenario: f64) -> bool {
    let by = (scenario - baseline).abs();
    match mechanism {
        Mechanism::RemotePages => by >= PAGES_MOVED,
        Mechanism::L3Crossings => by > CROSSINGS_MOVED * baseline.max(scenario),
    }
}
