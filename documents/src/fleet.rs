//! Requests for a fleet as they are read, and what was planned for them as it is written.

use crate::error::{VERSION, pretty};
use crate::wire::{IdDoc, ListDoc};
use numawise_model::{Pcpu, Pnode};
use serde::{Deserialize, Serialize};

pub const FLEET_PLAN_SCHEMA: &str = "numawise.fleet-plan";
pub const FLEET_MOVES_SCHEMA: &str = "numawise.fleet-moves";

/// One request, in the words of the command line. Texts are understood by who reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FleetRequestDoc {
    #[serde(default)]
    pub name: Option<String>,
    pub vcpus: u32,
    /// Like `128G`.
    pub memory: String,
    #[serde(default)]
    pub page_size: Option<String>,
    /// `compact`, `spread` or a number of L3 domains.
    #[serde(default)]
    pub l3: Option<L3WordDoc>,
    /// `prefer`, `require`, `isolate`, `avoid`.
    #[serde(default)]
    pub smt: Option<String>,
    /// `auto` (or `even-first`), `even`, `uneven`, `exact:32,16`.
    #[serde(default)]
    pub split: Option<String>,
    /// vNUMA nodes.
    #[serde(default)]
    pub vnodes: Option<u32>,
    /// `housekeeping` or `isolate`.
    #[serde(default)]
    pub emulator: Option<String>,
    /// So many guests like this.
    #[serde(default)]
    pub count: Option<u32>,
    /// Groups, by rule.
    #[serde(default)]
    pub apart: Option<String>,
    #[serde(default)]
    pub together: Option<String>,
    #[serde(default)]
    pub per_rack: Option<String>,
}

/// A number may stand as it is or in quotes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "\"compact\", \"spread\" or a number of L3 domains is wanted")]
pub enum L3WordDoc {
    Number(u32),
    Word(String),
}

/// A line that is no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    pub line: usize,
    pub reason: String,
}

/// A JSON object a line; empty lines are skipped. Each with its line.
pub fn parse_fleet_requests(text: &str) -> Result<Vec<(usize, FleetRequestDoc)>, BadLine> {
    let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
    lines
        .map(|(line, text)| {
            let mut json = serde_json::Deserializer::from_str(text);
            let request = serde_path_to_error::deserialize(&mut json).map_err(|error| {
                let (path, reason) = (error.path().to_string(), error.inner().to_string());
                let place = if path == "." { String::new() } else { format!("{path}: ") };
                BadLine { line, reason: place + &reason }
            })?;
            Ok((line, request))
        })
        .collect()
}

/// Where each request was placed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetPlanDoc {
    pub schema: &'static str,
    pub version: u32,
    /// What was placed may be had as it stands: all of it, or with `most` a part.
    pub complete: bool,
    /// The bound in steps or time was reached: there may be a better answer.
    pub cut_short: bool,
    pub placed: Vec<FleetPlaceDoc>,
    pub not_placed: Vec<FleetRefusalDoc>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetPlaceDoc {
    pub request: String,
    pub host: String,
    pub rack: Option<String>,
    pub parts: Vec<FleetPartDoc>,
    /// Siblings that nobody else may have.
    pub kept_idle: ListDoc<Pcpu>,
    /// No host is better by the preferences.
    pub best: bool,
    /// What the guest's memory takes is known of the host; else it was not checked.
    pub memory_checked: bool,
}

/// The vCPUs in one area of a host, `pcpus` in the order of the vCPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetPartDoc {
    pub nodes: ListDoc<Pnode>,
    pub pcpus: Vec<IdDoc<Pcpu>>,
    pub l3_domains: u32,
    pub memory_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetRefusalDoc {
    pub request: String,
    /// There is no place; else none was found.
    pub certain: bool,
    pub hosts: u32,
    pub hosts_against_rules: u32,
    pub hosts_short_of_cpus: u32,
    pub hosts_short_of_memory: u32,
    pub hosts_without_a_way: u32,
    /// The group rule is by rack, and the host's is not known.
    pub hosts_without_rack: u32,
    /// There is a place for this one alone: the rest of the batch has none, or the search ended.
    pub hosts_with_a_place: u32,
    /// What of the request stands against it: `l3`, `vnodes`, `smt`, `emulator`, `vcpus`, `memory`,
    /// `several`.
    pub stands: Vec<String>,
}

/// A guest that cannot be moved, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetStayDoc {
    pub guest: String,
    pub host: String,
    /// `shares-cpus`, `no-cpus`, `unknown-cpus`, `no-memory`, `several-page-sizes`,
    /// `unknown-nodes`, `memory-only`.
    pub reason: String,
}

/// Guests that move, in an order in which each target is free when its step runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetMovesDoc {
    pub schema: &'static str,
    pub version: u32,
    pub moves: Vec<FleetMoveDoc>,
    /// There is no way with fewer moves.
    pub fewest: bool,
    /// What the room is for, after the moves.
    pub place: Option<FleetPlaceDoc>,
    /// All that was asked for can be done; else there are no moves.
    pub complete: bool,
    /// The bound in steps or time was reached.
    pub cut_short: bool,
    /// Guests that would have to move and cannot be moved.
    pub stay: Vec<FleetStayDoc>,
    /// Guests for which no other place was found.
    pub not_placed: Vec<FleetRefusalDoc>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetMoveDoc {
    pub guest: String,
    /// `repin` on its host, or `migrate`.
    pub kind: String,
    pub from: String,
    pub to: String,
    pub pcpus_now: ListDoc<Pcpu>,
    pub parts: Vec<FleetPartDoc>,
}

impl FleetPlanDoc {
    pub fn new(
        placed: Vec<FleetPlaceDoc>,
        not_placed: Vec<FleetRefusalDoc>,
        cut_short: bool,
    ) -> Self {
        let complete = not_placed.is_empty();
        let schema = FLEET_PLAN_SCHEMA;
        Self { schema, version: VERSION, complete, cut_short, placed, not_placed }
    }

    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

impl FleetMovesDoc {
    pub fn new(moves: Vec<FleetMoveDoc>, fewest: bool, place: Option<FleetPlaceDoc>) -> Self {
        Self {
            schema: FLEET_MOVES_SCHEMA,
            version: VERSION,
            moves,
            fewest,
            place,
            complete: true,
            cut_short: false,
            stay: Vec::new(),
            not_placed: Vec::new(),
        }
    }

    pub fn refused(
        stay: Vec<FleetStayDoc>,
        not_placed: Vec<FleetRefusalDoc>,
        cut_short: bool,
    ) -> Self {
        let none = Self::new(Vec::new(), false, None);
        Self { complete: false, cut_short, stay, not_placed, ..none }
    }

    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

#[cfg(test)]
mod tests {
    use super::parse_fleet_requests;

    #[test]
    fn a_bad_line_is_named() {
        let text = "{\"vcpus\": 2, \"memory\": \"4G\"}\n\n{\"vcpus\": 2, \"memory\": 4}\n";
        let bad = parse_fleet_requests(text).expect_err("4 is no text");
        assert_eq!(bad.line, 3);
        assert!(bad.reason.starts_with("memory: "), "{}", bad.reason);
        let bad = parse_fleet_requests("{\"cpus\": 2}").expect_err("an unknown field");
        assert!(bad.reason.contains("cpus"), "{}", bad.reason);
    }
}
