//! `--requests FILE` and `--for TEXT`: what guests are asked for, in the words of the command line.

use crate::failure::{USAGE, coded};
use crate::{input_file, size};
use anyhow::Result;
use numawise_documents::fleet::{FleetRequestDoc, parse_fleet_requests};
use numawise_model::{L3Policy, PageSize, SmtPolicy};
use numawise_planner::fit::{Cells, Parting, Wanted};
use numawise_planner::fleet::{Group, GroupRule, Item};
use serde::Deserialize;
use std::path::Path;

/// The most guests that one line may ask for.
const MOST: u32 = 100_000;

/// A guest that is asked for.
pub struct Asked {
    pub name: String,
    pub item: Item,
}

/// `[[request]]` tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlFile {
    request: Vec<FleetRequestDoc>,
}

/// JSON lines, or TOML in a file that ends in `.toml`.
pub fn read(path: &Path) -> Result<Vec<Asked>> {
    let text = input_file::read(path)?;
    let shown = path.display();
    let next = "See numawise fleet plan --help for what a request may say.";
    let requests: Vec<(String, FleetRequestDoc)> =
        if path.extension().is_some_and(|end| end == "toml") {
            let file: TomlFile = toml::from_str(&text)
                .map_err(|error| coded(USAGE, format!("{shown}: {error}\n{next}")))?;
            let numbered = (1..).zip(file.request);
            numbered.map(|(n, request)| (format!("{shown}, request {n}"), request)).collect()
        } else {
            let lines = parse_fleet_requests(&text).map_err(|bad| {
                coded(USAGE, format!("{shown}, line {}: {}\n{next}", bad.line, bad.reason))
            })?;
            lines.into_iter().map(|(n, request)| (format!("{shown}, line {n}"), request)).collect()
        };
    let mut asked = Vec::new();
    for (index, (place, request)) in requests.iter().enumerate() {
        let default = format!("request-{}", index + 1);
        asked.extend(
            understood(request, &default).map_err(|why| coded(USAGE, format!("{place}: {why}")))?,
        );
    }
    if asked.is_empty() {
        return Err(coded(USAGE, format!("{shown} has no request in it. {next}")));
    }
    Ok(asked)
}

/// `vcpus=32,memory=128G,l3=compact`.
pub fn parse(text: &str) -> Result<Wanted> {
    let usage = |why: String| coded(USAGE, format!("--for '{text}': {why}"));
    let mut request = FleetRequestDoc::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((key, value)) = part.split_once('=') else {
            return Err(usage(format!("'{part}' is no KEY=VALUE, like vcpus=32")));
        };
        let value = value.trim();
        let number = || {
            value.parse::<u32>().map_err(|_| usage(format!("{key}: '{value}' is no whole number")))
        };
        let owned = Some(value.to_owned());
        match key.trim() {
            "vcpus" => request.vcpus = number()?,
            "memory" => request.memory = value.to_owned(),
            "page-size" => request.page_size = owned,
            "l3" => request.l3 = owned,
            "smt" => request.smt = owned,
            "split" => request.split = owned,
            "vnodes" => request.vnodes = Some(number()?),
            other => {
                let known = "vcpus, memory, page-size, l3, smt, split, vnodes";
                return Err(usage(format!("'{other}' is not known; known are {known}")));
            }
        }
    }
    wanted(&request).map_err(usage)
}

fn understood(request: &FleetRequestDoc, default: &str) -> Result<Vec<Asked>, String> {
    let wanted = wanted(request)?;
    let name = request.name.as_deref().unwrap_or(default);
    let group = |rule: GroupRule, name: &Option<String>| {
        name.as_ref().map(|name| Group { rule, name: name.clone() })
    };
    let groups: Vec<Group> = [
        group(GroupRule::Apart, &request.apart),
        group(GroupRule::Together, &request.together),
        group(GroupRule::PerRack, &request.per_rack),
    ]
    .into_iter()
    .flatten()
    .collect();
    let count = request.count.unwrap_or(1);
    if count == 0 || count > MOST {
        return Err(format!("count: {count} is not between 1 and {MOST}"));
    }
    let named = |number: u32| if count == 1 { name.to_owned() } else { format!("{name}-{number}") };
    let item = Item { wanted, groups };
    Ok((1..=count).map(|number| Asked { name: named(number), item: item.clone() }).collect())
}

fn wanted(request: &FleetRequestDoc) -> Result<Wanted, String> {
    if !(1..=8192).contains(&request.vcpus) {
        return Err(format!("vcpus: {} is not between 1 and 8192", request.vcpus));
    }
    let bytes = size::bytes(&request.memory).map_err(|why| format!("memory: {why}"))?;
    let page_size = match &request.page_size {
        Some(text) => size::page_size(text).map_err(|why| format!("page-size: {why}"))?,
        None => PageSize::BASE_4K,
    };
    if bytes % page_size.bytes() != 0 {
        let memory = &request.memory;
        return Err(format!("memory: {memory} is no whole number of pages of {page_size}"));
    }
    let parting = match request.split.as_deref() {
        None | Some("even-first") => Parting::EvenFirst,
        Some("even") => Parting::Even,
        Some("uneven") => Parting::Uneven,
        Some(other) => return Err(unknown("split", other, "even-first, even, uneven")),
    };
    let smt = match request.smt.as_deref() {
        None | Some("prefer") => SmtPolicy::Prefer,
        Some("require") => SmtPolicy::Require,
        Some("isolate") => SmtPolicy::Isolate,
        Some("avoid") => SmtPolicy::Avoid,
        Some(other) => return Err(unknown("smt", other, "prefer, require, isolate, avoid")),
    };
    let l3 = match request.l3.as_deref() {
        None | Some("compact") => L3Policy::Compact,
        Some("spread") => L3Policy::Spread,
        Some(text) => match text.parse::<u32>() {
            Ok(domains) if domains > 0 => L3Policy::Exactly(domains),
            _ => return Err(unknown("l3", text, "compact, spread, or a number of L3 domains")),
        },
    };
    let cells = match request.vnodes {
        None => Cells::Free(parting),
        Some(0) => return Err("vnodes: 0 vNUMA nodes are none; 1 is the fewest".to_owned()),
        Some(count) => Cells::Count(count, parting),
    };
    let pages = bytes / page_size.bytes();
    let devices = Vec::new();
    Ok(Wanted { vcpus: request.vcpus, pages, page_size, smt, l3, cells, emulator_cpus: 0, devices })
}

fn unknown(key: &str, found: &str, wanted: &str) -> String {
    format!("{key}: '{found}' is none of {wanted}")
}
