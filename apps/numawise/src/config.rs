//! What every command takes: global flags, and `/etc/numawise/config.toml` below them.

use crate::failure::{USAGE, coded};
use crate::input_file;
use anyhow::Result;
use clap::Args;
use numawise_model::{CpuPools, CpuSet, Topology, parse_rule};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const DEFAULT_CONFIG: &str = "/etc/numawise/config.toml";
const DEFAULT_STATE: &str = "/var/lib/numawise";
const DEFAULT_CONNECT: &str = "qemu:///system";

#[derive(Args, Clone)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Hypervisor to work on: a URI of libvirt's, `embedded:` (simulated, in the state folder) or
    /// `embedded:DIR` [default: qemu:///system].
    #[arg(long, global = true, value_name = "URI")]
    pub connect: Option<String>,
    /// Folder of the store: claims, journal, plans, usage [default: /var/lib/numawise].
    #[arg(long, global = true, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Configuration file [default: /etc/numawise/config.toml, if it is there].
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print a document for programs instead of text for people.
    #[arg(long, global = true)]
    pub json: bool,
    /// Answer yes to every question.
    #[arg(long, short, global = true)]
    pub yes: bool,
}

/// The configuration file. Unknown keys are errors: a misspelt one must not be silently default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    connect: Option<String>,
    state: Option<PathBuf>,
    #[serde(default)]
    cpus: CpuSection,
    /// Connection URIs of hosts by name, for `--connect NAME` and `migrate --to NAME`.
    #[serde(default)]
    hosts: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuSection {
    /// CPUs kept for the host itself; `""` for none.
    reserved: Option<String>,
    dedicated: Option<String>,
    shared: Option<String>,
}

/// Flags over file over defaults.
#[derive(Clone, Debug)]
pub struct Config {
    pub connect: String,
    pub state: PathBuf,
    reserved: Option<CpuSet>,
    dedicated: Option<CpuSet>,
    shared: Option<CpuSet>,
    hosts: BTreeMap<String, String>,
}

impl Config {
    pub fn load(global: &GlobalArgs) -> Result<Self> {
        let file = match &global.config {
            Some(path) => read(path)?,
            None if Path::new(DEFAULT_CONFIG).exists() => read(Path::new(DEFAULT_CONFIG))?,
            None => (PathBuf::from(DEFAULT_CONFIG), ConfigFile::default()),
        };
        let (path, file) = file;
        let connect =
            global.connect.clone().or(file.connect).unwrap_or_else(|| DEFAULT_CONNECT.to_owned());
        let set = |key: &str, text: Option<&String>| cpu_set(&path, key, text);
        Ok(Self {
            connect: file.hosts.get(&connect).cloned().unwrap_or(connect),
            state: global
                .state
                .clone()
                .or(file.state)
                .unwrap_or_else(|| PathBuf::from(DEFAULT_STATE)),
            reserved: set("cpus.reserved", file.cpus.reserved.as_ref())?,
            dedicated: set("cpus.dedicated", file.cpus.dedicated.as_ref())?,
            shared: set("cpus.shared", file.cpus.shared.as_ref())?,
            hosts: file.hosts,
        })
    }

    /// The same for another hypervisor.
    pub fn connecting_to(&self, uri: String) -> Self {
        Self { connect: uri, ..self.clone() }
    }

    /// A connection URI, or the name of a host in the file.
    pub fn host_uri(&self, wanted: &str) -> Result<String> {
        if let Some(uri) = self.hosts.get(wanted) {
            return Ok(uri.clone());
        }
        if wanted.contains(':') {
            return Ok(wanted.to_owned());
        }
        let names: Vec<&str> = self.hosts.keys().map(String::as_str).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let text = format!(
            "'{wanted}' is neither a connection URI (like qemu+ssh://HOST/system) nor a host of the \
             configuration's [hosts]; there are: {known}"
        );
        Err(coded(USAGE, text))
    }

    /// Reserved CPUs are by default one core per node on hosts of 16 cores or more.
    pub fn pools(&self, topology: &Topology) -> CpuPools {
        let default = || numawise_planner::default_reserved(topology);
        CpuPools {
            reserved: self.reserved.clone().unwrap_or_else(default),
            dedicated: self.dedicated.clone(),
            shared: self.shared.clone(),
        }
    }
}

fn read(path: &Path) -> Result<(PathBuf, ConfigFile)> {
    let text = input_file::read(path)?;
    let file = toml::from_str(&text).map_err(|error| {
        let text = format!(
            "{}: {error}\nKnown keys: connect, state, [cpus] reserved, dedicated, shared, [hosts] NAME.",
            path.display()
        );
        coded(USAGE, text)
    })?;
    Ok((path.to_owned(), file))
}

fn cpu_set(path: &Path, key: &str, text: Option<&String>) -> Result<Option<CpuSet>> {
    let Some(text) = text else { return Ok(None) };
    match parse_rule(text) {
        Ok(rule) => Ok(Some(rule.set)),
        Err(error) => Err(coded(USAGE, format!("{}: {key}: {error}", path.display()))),
    }
}
