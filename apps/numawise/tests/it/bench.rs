//! A state folder with a simulated host in it, and the binary to run on it.

use numawise_engine::intent::HostState;
use numawise_engine::ports::Store;
use numawise_model::HostId;
use numawise_store::SqliteStore;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

pub struct Bench {
    folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Bench {
    /// A two-node host of 64 pCPUs with nothing on it.
    pub fn new() -> Self {
        let bench = Self::empty();
        bench.ok(&["embedded", "init", "--host", "bundled:two-socket-64", "--id", "bench"]);
        bench
    }

    /// Nothing but a folder.
    pub fn empty() -> Self {
        Self { folder: TempDir::new().expect("a folder for the test") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// The host's document, read past the command line.
    pub fn stored(&self) -> HostState {
        let store = SqliteStore::open(&self.state()).expect("the store opens");
        store.load(&HostId("bench".to_owned())).expect("the host's document is whole")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numawise"));
        command.arg("--state").arg(self.state()).args(words).current_dir(self.folder.path());
        if !words.contains(&"--connect") {
            command.args(["--connect", "embedded:"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().expect("the binary starts"))
    }

    pub fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).spawn().expect("the binary starts")
    }

    /// Runs a command that has to end with exit code 0 and gives its standard output.
    pub fn ok(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(0), "numawise {}: {ran:#?}", words.join(" "));
        ran.out
    }

    pub fn json(&self, words: &[&str]) -> serde_json::Value {
        let text = self.ok(words);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// Defines a guest fit for vNUMA, off.
    pub fn define(&self, name: &str, vcpus: u32, memory_gib: u32) {
        let file = self.path(&format!("{name}.xml"));
        std::fs::write(&file, domain(name, vcpus, memory_gib)).expect("the XML is written");
        self.ok(&["embedded", "define", &file.to_string_lossy()]);
    }

    /// Plans and gives the plan's id.
    pub fn plan(&self, guest: &str, more: &[&str]) -> String {
        let words: Vec<&str> =
            ["plan", guest, "--json"].into_iter().chain(more.iter().copied()).collect();
        self.json(&words)["id"].as_str().expect("a plan has an id").to_owned()
    }
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A small domain; the UUID is made from the name, so that no two are the same.
pub fn domain(name: &str, vcpus: u32, memory_gib: u32) -> String {
    let mut digits: String = name.bytes().map(|b| format!("{b:02x}")).collect();
    digits = format!("{digits:0>12}");
    let tail = &digits[digits.len() - 12..];
    format!(
        "<domain type='kvm'>\n  <name>{name}</name>\n  \
         <uuid>7c1e5b0a-3f64-4a5e-8f0a-{tail}</uuid>\n  \
         <memory unit='GiB'>{memory_gib}</memory>\n  <vcpu>{vcpus}</vcpu>\n  \
         <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  \
         <cpu mode='host-passthrough'/>\n  <devices>\n    <!-- nothing to balloon -->\n    \
         <memballoon model='none'/>\n  </devices>\n</domain>\n"
    )
}

/// The checkout that this test was built from.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
