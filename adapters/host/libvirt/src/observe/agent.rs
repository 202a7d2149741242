//! What the guest itself sees of its nodes: `/sys/devices/system/node`, read through the QEMU guest
//! agent's file commands.
//!
//! Linux guests only. Many distributions let the agent open no files (RHEL and its kin block the
//! file commands); that, an old agent and a slow one are reasons not to know, told word for word.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use numawise_engine::ports::PortError;
use numawise_model::guest::GuestCell;
use numawise_model::{NodeSet, VcpuSet, Vnode, parse_list};
use serde_json::{Value, json};
use thiserror::Error;

const FOLDER: &str = "/sys/devices/system/node";
/// A node's `meminfo` has about 2 kB; `cpulist` of a guest with odd CPUs a few more.
const MOST_BYTES: usize = 64 << 10;

type Agent<'a> = &'a dyn Fn(&str) -> Result<String, PortError>;

/// Why the guest's view is not known.
#[derive(Debug, Error)]
pub enum AgentError {
    #[error("interrupted")]
    Cancelled,
    #[error("Windows does not show its nodes through the guest agent")]
    Windows,
    #[error("the guest agent does not hand out {path}: {why}")]
    Refused { path: String, why: String },
    #[error("the guest agent's answer to {command} makes no sense: {answer}")]
    Answer { command: &'static str, answer: String },
    #[error("{path} in the guest says '{value}' where {wanted} is wanted")]
    Nonsense { path: String, value: String, wanted: &'static str },
}

/// The guest's nodes, as its kernel numbers nodes and CPUs.
pub fn guest_cells(agent: Agent<'_>) -> Result<Vec<GuestCell>, AgentError> {
    let path = format!("{FOLDER}/online");
    let online = match read(agent, &path) {
        Err(AgentError::Refused { .. }) if is_windows(agent) => return Err(AgentError::Windows),
        other => other?,
    };
    let nodes: NodeSet =
        parse_list(online.trim()).map_err(|_| nonsense(&path, &online, "a list of nodes"))?;
    let ids: Vec<Vnode> = nodes.iter().map(|node| Vnode(node.0)).collect();
    ids.iter().map(|id| cell(agent, *id, &ids)).collect()
}

/// Which vCPUs share an L3, by the guest's kernel: one file for each L3, not for each vCPU. `None`
/// where it shows no third level.
pub fn guest_l3(agent: Agent<'_>, vcpus: &VcpuSet) -> Result<Option<Vec<VcpuSet>>, AgentError> {
    let mut found: Vec<VcpuSet> = Vec::new();
    for vcpu in vcpus.iter() {
        if found.iter().any(|group| group.contains(vcpu)) {
            continue;
        }
        let path = format!("/sys/devices/system/cpu/cpu{vcpu}/cache/index3/shared_cpu_list");
        let list = match read(agent, &path) {
            Err(AgentError::Refused { .. }) => return Ok(None),
            other => other?,
        };
        let group: VcpuSet =
            parse_list(list.trim()).map_err(|_| nonsense(&path, &list, "a list of CPUs"))?;
        if !group.contains(vcpu) {
            return Err(nonsense(&path, &list, "a list with the CPU itself"));
        }
        found.push(group);
    }
    Ok(Some(found))
}

fn cell(agent: Agent<'_>, id: Vnode, online: &[Vnode]) -> Result<GuestCell, AgentError> {
    let folder = format!("{FOLDER}/node{id}");
    let path = format!("{folder}/cpulist");
    let list = read(agent, &path)?;
    let vcpus: VcpuSet =
        parse_list(list.trim()).map_err(|_| nonsense(&path, &list, "a list of CPUs"))?;

    let path = format!("{folder}/distance");
    let row = read(agent, &path)?;
    let numbers: Option<Vec<u32>> = row.split_ascii_whitespace().map(|n| n.parse().ok()).collect();
    let numbers = numbers
        .filter(|numbers| numbers.len() == online.len())
        .ok_or_else(|| nonsense(&path, &row, "a distance for each node"))?;

    let path = format!("{folder}/meminfo");
    let meminfo = read(agent, &path)?;
    let kib = meminfo.lines().find_map(|line| {
        let (_, value) = line.split_once("MemTotal:")?;
        value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let memory_bytes = kib
        .and_then(|kib| kib.checked_mul(1024))
        .ok_or_else(|| nonsense(&path, &meminfo, "a line with MemTotal in kB"))?;
    let distances = online.iter().copied().zip(numbers).collect();
    Ok(GuestCell { id, vcpus, memory_bytes, distances })
}

fn nonsense(path: &str, value: &str, wanted: &'static str) -> AgentError {
    let value = value.trim().chars().take(80).collect();
    AgentError::Nonsense { path: path.to_owned(), value, wanted }
}

/// Only asked when files cannot be opened: old agents have no such command.
fn is_windows(agent: Agent<'_>) -> bool {
    let answer = ask(agent, "guest-get-osinfo", None, "");
    answer.is_ok_and(|info| info.get("id").and_then(Value::as_str) == Some("mswindows"))
}

/// A whole file of the guest. The handle is closed whatever happens: an agent has few of them, and
/// nobody else closes them.
fn read(agent: Agent<'_>, path: &str) -> Result<String, AgentError> {
    let open = json!({ "path": path, "mode": "r" });
    let handle = ask(agent, "guest-file-open", Some(open), path)?;
    let handle = handle.as_i64().ok_or_else(|| answer("guest-file-open", &handle.to_string()))?;
    let content = read_handle(agent, handle, path);
    let closed = ask(agent, "guest-file-close", Some(json!({ "handle": handle })), path);
    let content = content?;
    closed?;
    String::from_utf8(content).map_err(|_| nonsense(path, "binary data", "text"))
}

fn read_handle(agent: Agent<'_>, handle: i64, path: &str) -> Result<Vec<u8>, AgentError> {
    const COMMAND: &str = "guest-file-read";
    let mut content = Vec::new();
    loop {
        let arguments = json!({ "handle": handle, "count": 4096 });
        let part = ask(agent, COMMAND, Some(arguments), path)?;
        let text = part.get("buf-b64").and_then(Value::as_str);
        let bytes = text
            .and_then(|text| STANDARD.decode(text).ok())
            .ok_or_else(|| answer(COMMAND, &part.to_string()))?;
        let ended = bytes.is_empty() || part.get("eof").and_then(Value::as_bool) == Some(true);
        content.extend(bytes);
        if ended {
            return Ok(content);
        }
        if content.len() > MOST_BYTES {
            return Err(nonsense(path, "more than 64 KiB", "a short file"));
        }
    }
}

/// One command and what stands under `return` in its answer.
fn ask(
    agent: Agent<'_>,
    command: &'static str,
    arguments: Option<Value>,
    path: &str,
) -> Result<Value, AgentError> {
    let mut request = json!({ "execute": command });
    if let Some(arguments) = arguments {
        request["arguments"] = arguments;
    }
    let text = match agent(&request.to_string()) {
        Ok(text) => text,
        Err(PortError::Cancelled) => return Err(AgentError::Cancelled),
        Err(error) => {
            return Err(AgentError::Refused { path: path.to_owned(), why: error.to_string() });
        }
    };
    let document: Value = serde_json::from_str(&text).map_err(|_| answer(command, &text))?;
    if let Some(error) = document.get("error") {
        let why = error.get("desc").and_then(Value::as_str).map(str::to_owned);
        let why = why.unwrap_or_else(|| error.to_string());
        return Err(AgentError::Refused { path: path.to_owned(), why });
    }
    document.get("return").cloned().ok_or_else(|| answer(command, &text))
}

fn answer(command: &'static str, text: &str) -> AgentError {
    AgentError::Answer { command, answer: text.chars().take(120).collect() }
}
