//! Memory: each line of `numa_maps` with its length from `maps`.
//!
//! `numa_maps` has a line for each mapping: address, policy, then words in no fixed order. Its page
//! counts are in pages of `kernelpagesize_kB` (transparent huge pages count as the base pages that
//! they are made of). The kernel walks the page tables to write it, which takes seconds for a guest
//! of a terabyte; `maps` costs next to nothing.

use crate::error::ProcessError;
use crate::files::Files;
use crate::octal::unescape;
use numawise_model::{MappingFacts, MappingPolicy, NodeSet, PageSize, Pnode, parse_list};
use std::collections::BTreeMap;

pub fn read(files: &Files, pid: u32) -> Result<Option<Vec<MappingFacts>>, ProcessError> {
    let (maps_name, numa_name) = (format!("{pid}/maps"), format!("{pid}/numa_maps"));
    let Some(numa_maps) = files.text(&numa_name)? else { return Ok(None) };
    let Some(maps) = files.text(&maps_name)? else { return Ok(None) };
    let lengths = lengths(&files.shown(&maps_name), &maps)?;
    let shown = files.shown(&numa_name);
    let mut mappings = Vec::new();
    for (index, line) in numa_maps.lines().enumerate() {
        // What came or went between the two files is not there for long; guest memory stays.
        mappings.extend(mapping(&shown, index + 1, line, &lengths)?);
    }
    // A zombie's files are empty: its memory is gone.
    Ok((!mappings.is_empty()).then_some(mappings))
}

/// `7fa901c00000-7fa907c00000 rw-p 00000000 00:00 0`: start and length in bytes.
fn lengths(path: &str, maps: &str) -> Result<BTreeMap<u64, u64>, ProcessError> {
    const WANTED: &str = "a range of addresses";
    let mut lengths = BTreeMap::new();
    for (index, line) in maps.lines().enumerate() {
        let bad = || ProcessError::line(path, index + 1, line, WANTED);
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let (start, end) = range.ok_or_else(bad)?;
        let (start, end) = (hexadecimal(start), hexadecimal(end));
        let (start, end) = start.zip(end).ok_or_else(bad)?;
        lengths.insert(start, end.checked_sub(start).ok_or_else(bad)?);
    }
    Ok(lengths)
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn mapping(
    path: &str,
    line_number: usize,
    line: &str,
    lengths: &BTreeMap<u64, u64>,
) -> Result<Option<MappingFacts>, ProcessError> {
    let bad = |value: &str, wanted| ProcessError::line(path, line_number, value, wanted);
    let (start, rest) = line.split_once(' ').unwrap_or((line, ""));
    let start = hexadecimal(start).ok_or_else(|| bad(line, "an address and a policy"))?;
    let (policy, words) = split_policy(rest);
    let policy = parse_policy(path, line_number, policy)?;
    let mut facts = MappingFacts {
        start,
        bytes: 0,
        policy,
        file: None,
        // Nothing is counted in it where the kernel does not say the size: there are no pages.
        page_size: PageSize::BASE_4K,
        pages: BTreeMap::new(),
    };
    for word in words.split_ascii_whitespace() {
        let Some((key, value)) = word.split_once('=') else { continue };
        let number = || value.parse::<u64>().ok();
        if key == "file" {
            let name = unescape(value);
            facts.file = Some(name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned());
        } else if key == "kernelpagesize_kB" {
            let kib = number().filter(|kib| kib.is_power_of_two());
            let bytes = kib.and_then(|kib| kib.checked_mul(1024));
            facts.page_size = PageSize(bytes.ok_or_else(|| bad(word, "a page size in kB"))?);
        } else if let Some(node) = key.strip_prefix('N').and_then(|id| id.parse::<u32>().ok()) {
            let pages = number().ok_or_else(|| bad(word, "a number of pages"))?;
            facts.pages.insert(Pnode(node), pages);
        }
    }
    let Some(bytes) = lengths.get(&start) else { return Ok(None) };
    facts.bytes = *bytes;
    Ok(Some(facts))
}

/// The policy and the words after it. A policy is one word, but for two that have a blank in them.
fn split_policy(rest: &str) -> (&str, &str) {
    let blanks = ["prefer (many)", "weighted interleave"];
    let from = blanks.iter().find(|mode| rest.starts_with(**mode)).map_or(0, |mode| mode.len());
    let end = rest[from..].find(' ').map_or(rest.len(), |at| from + at);
    rest.split_at(end)
}

/// `default`, `bind:0`, `prefer=static:1`, `interleave:0-1`, `local`. Flags between `=` and `:` say
/// what happens when a cpuset changes; here they do not matter.
fn parse_policy(path: &str, line: usize, text: &str) -> Result<MappingPolicy, ProcessError> {
    let (mode, nodes) = text.split_once(':').unwrap_or((text, ""));
    let (mode, _flags) = mode.split_once('=').unwrap_or((mode, ""));
    let set = || -> Result<NodeSet, ProcessError> {
        let nodes: NodeSet =
            parse_list(nodes).map_err(|error| ProcessError::set(path, line, text, error))?;
        if nodes.is_empty() {
            return Err(ProcessError::line(path, line, text, "a policy with its nodes"));
        }
        Ok(nodes)
    };
    match mode {
        "" => Err(ProcessError::line(path, line, text, "a memory policy")),
        "default" => Ok(MappingPolicy::Default),
        "bind" => Ok(MappingPolicy::Bind(set()?)),
        "prefer" | "prefer (many)" => Ok(MappingPolicy::Prefer(set()?)),
        "interleave" => Ok(MappingPolicy::Interleave(set()?)),
        // `local`, `weighted interleave`, and what newer kernels bring.
        _ => Ok(MappingPolicy::Other(text.to_owned())),
    }
}
