//! `--requests FILE` and `--for TEXT`: what guests are asked for, in the words of the command line.

use crate::failure::{USAGE, coded};
use crate::{input_file, size};
use anyhow::Result;
use numawise_documents::fleet::{FleetRequestDoc, L3WordDoc, parse_fleet_requests};
use numawise_model::{L3Policy, PageSize, SmtPolicy};
use numawise_planner::fit::{Cells, GivenCell, Parting, Wanted};
use numawise_planner::fleet::{Group, GroupRule, Item};
use numawise_planner::share_pages;
use serde::Deserialize;
use std::collections::BTreeMap;
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
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for (index, (place, request)) in requests.iter().enumerate() {
        let default = format!("request-{}", index + 1);
        let usage = |why: String| coded(USAGE, format!("{place}: {why}"));
        let understood = understood(request, &default).map_err(usage)?;
        for one in &understood {
            if let Some(other) = names.insert(one.name.clone(), place.as_str()) {
                let name = &one.name;
                return Err(usage(format!(
                    "name: '{name}' is taken by {other}; give each request a name of its own"
                )));
            }
        }
        asked.extend(understood);
    }
    if let Some(why) = contradiction(&asked) {
        return Err(coded(USAGE, format!("{shown}: {why}")));
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
    let mut seen: Vec<String> = Vec::new();
    for part in parts(text) {
        let part = part.as_str();
        let Some((key, value)) = part.split_once('=') else {
            return Err(usage(format!("'{part}' is no KEY=VALUE, like vcpus=32")));
        };
        let value = value.trim();
        let number = || {
            value.parse::<u32>().map_err(|_| usage(format!("{key}: '{value}' is no whole number")))
        };
        let owned = Some(value.to_owned());
        let key = key.trim();
        if seen.iter().any(|known| known == key) {
            return Err(usage(format!("{key} is given twice; give it once")));
        }
        seen.push(key.to_owned());
        match key {
            "vcpus" => request.vcpus = number()?,
            "memory" => request.memory = value.to_owned(),
            "page-size" => request.page_size = owned,
            "l3" => request.l3 = owned.map(L3WordDoc::Word),
            "smt" => request.smt = owned,
            "split" => request.split = owned,
            "emulator" => request.emulator = owned,
            "vnodes" => request.vnodes = Some(number()?),
            other => {
                let known = "vcpus, memory, page-size, l3, smt, split, vnodes, emulator";
                return Err(usage(format!("'{other}' is not known; known are {known}")));
            }
        }
    }
    for (key, example) in [("vcpus", "vcpus=32"), ("memory", "memory=128G")] {
        if !seen.iter().any(|known| known == key) {
            return Err(usage(format!("{key} is missing; add it, like {example}")));
        }
    }
    wanted(&request).map_err(usage)
}

/// At commas, but for those inside `split=exact:32,16`.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        match parts.last_mut() {
            Some(last) if is_number && last.starts_with("split=exact") => {
                last.push(',');
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Two requests that must be on one host and on different ones, or in different racks.
fn contradiction(asked: &[Asked]) -> Option<String> {
    let mut seen: BTreeMap<(&Group, &Group), &str> = BTreeMap::new();
    for one in asked {
        let groups = &one.item.groups;
        for together in groups.iter().filter(|group| group.rule == GroupRule::Together) {
            for other in groups.iter().filter(|group| group.rule != GroupRule::Together) {
                let word = if other.rule == GroupRule::Apart { "apart" } else { "per-rack" };
                let (name, same, far) = (&one.name, &together.name, &other.name);
                let next = "leave one of the two out";
                if same == far {
                    return Some(format!(
                        "'{name}' is in together '{same}' and in {word} '{far}': the group cannot be on \
                         one host and on several; {next}"
                    ));
                }
                if let Some(first) = seen.insert((together, other), name) {
                    return Some(format!(
                        "'{first}' and '{name}' are both in together '{same}' (one host) and in {word} \
                         '{far}' (different ones): no host can be both; {next}"
                    ));
                }
            }
        }
    }
    None
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
        None | Some("even-first" | "auto") => Parting::EvenFirst,
        Some("even") => Parting::Even,
        Some("uneven") => Parting::Uneven,
        // What the sizes are is said below.
        Some(exact) if exact.starts_with("exact") => Parting::EvenFirst,
        Some(other) => {
            return Err(unknown("split", other, "auto (or even-first), even, uneven, exact:32,16"));
        }
    };
    let smt = match request.smt.as_deref() {
        None | Some("prefer") => SmtPolicy::Prefer,
        Some("require") => SmtPolicy::Require,
        Some("isolate") => SmtPolicy::Isolate,
        Some("avoid") => SmtPolicy::Avoid,
        Some(other) => return Err(unknown("smt", other, "prefer, require, isolate, avoid")),
    };
    let l3 = l3(request.l3.as_ref())?;
    let emulator_cpus = match request.emulator.as_deref() {
        None | Some("housekeeping") => 0,
        Some("isolate") => 1,
        Some(other) => return Err(unknown("emulator", other, "housekeeping, isolate")),
    };
    let pages = bytes / page_size.bytes();
    let exact = request.split.as_deref().and_then(|split| split.strip_prefix("exact"));
    let cells = match (exact, request.vnodes) {
        (Some(sizes), vnodes) => exact_cells(sizes, vnodes, request.vcpus, pages)?,
        (None, None) => Cells::Free(parting),
        (None, Some(0)) => {
            return Err("vnodes: 0 vNUMA nodes are none; 1 is the fewest".to_owned());
        }
        (None, Some(count)) => Cells::Count(count, parting),
    };
    let devices = Vec::new();
    Ok(Wanted { vcpus: request.vcpus, pages, page_size, smt, l3, cells, emulator_cpus, devices })
}

fn l3(word: Option<&L3WordDoc>) -> Result<L3Policy, String> {
    let wanted = "compact, spread, or a number of L3 domains";
    let number = |number: u32, text: &str| match number {
        0 => Err(unknown("l3", text, wanted)),
        domains => Ok(L3Policy::Exactly(domains)),
    };
    match word {
        None => Ok(L3Policy::Compact),
        Some(L3WordDoc::Number(domains)) => number(*domains, &domains.to_string()),
        Some(L3WordDoc::Word(text)) => match text.as_str() {
            "compact" => Ok(L3Policy::Compact),
            "spread" => Ok(L3Policy::Spread),
            text => number(text.parse().unwrap_or(0), text),
        },
    }
}

/// vNUMA nodes of these sizes, the memory shared out by vCPUs.
fn exact_cells(sizes: &str, vnodes: Option<u32>, vcpus: u32, pages: u64) -> Result<Cells, String> {
    let wanted = "exact:N,N,... (vCPUs of each vNUMA node) is wanted";
    let parsed = sizes.trim_start_matches([':', ' ']).split(',').map(|size| size.trim().parse());
    let sizes: Vec<u32> =
        parsed.collect::<Result<_, _>>().map_err(|_| format!("split: 'exact{sizes}': {wanted}"))?;
    let sum: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
    if sum != u64::from(vcpus) || sizes.contains(&0) {
        return Err(format!(
            "split: exact names {sum} vCPUs in {} vNUMA nodes, and vcpus is {vcpus}: they must be as \
             many, with at least one in each",
            sizes.len()
        ));
    }
    if vnodes.is_some_and(|vnodes| vnodes as usize != sizes.len()) {
        return Err(format!("split: exact names {} vNUMA nodes; leave out vnodes", sizes.len()));
    }
    let weights: Vec<u64> = sizes.iter().map(|size| u64::from(*size)).collect();
    let shares = share_pages(pages, &weights).ok_or_else(|| {
        format!("memory: {pages} pages are too few for {} vNUMA nodes", sizes.len())
    })?;
    let cell = |(vcpus, pages)| GivenCell { vcpus, pages };
    Ok(Cells::Given(sizes.into_iter().zip(shares).map(cell).collect()))
}

fn unknown(key: &str, found: &str, wanted: &str) -> String {
    format!("{key}: '{found}' is none of {wanted}")
}
