//! The same loop on a real libvirt with real guests, in software emulation: a daemon of the tests'
//! own, in a mount namespace and root of its own. Where that cannot be had each test says that it is
//! skipped.

mod audited;
mod booted;
mod crashes;
mod definitions;
mod faults;
mod foreign;
mod main_loop;
mod migrate;

use crate::bench::Ran;
use numawise_testkit::testbed::PrivateLibvirtd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A private libvirtd and a state folder for numawise.
pub struct OnLibvirt {
    pub daemon: PrivateLibvirtd,
    folder: TempDir,
}

impl OnLibvirt {
    pub fn start() -> Option<Self> {
        let daemon = PrivateLibvirtd::start()?;
        Some(Self { daemon, folder: TempDir::new().expect("a folder for the test") })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numawise"));
        command.args(["--connect", &self.daemon.uri(), "--state"]).arg(self.path("state"));
        command.args(words).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().expect("the binary starts"))
    }

    pub fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).spawn().expect("the binary starts")
    }

    /// Runs a command that has to end with this exit code.
    pub fn ends(&self, code: i32, words: &[&str]) -> Ran {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(code), "numawise {}: {ran:#?}", words.join(" "));
        ran
    }

    pub fn ok(&self, words: &[&str]) -> String {
        self.ends(0, words).out
    }

    pub fn json(&self, words: &[&str]) -> serde_json::Value {
        let text = self.ok(words);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// Runs virsh, which has to succeed, and gives its standard output.
    pub fn virsh(&self, words: &[&str]) -> String {
        let ran = Ran::of(self.daemon.virsh(words));
        assert_eq!(ran.code, Some(0), "virsh {}: {ran:#?}", words.join(" "));
        ran.out
    }

    pub fn define(&self, xml: &str) {
        let file = self.path("define.xml");
        std::fs::write(&file, xml).expect("the XML is written");
        self.virsh(&["define", &file.to_string_lossy()]);
    }

    /// As libvirt has it, secrets and all.
    pub fn stored_xml(&self, guest: &str) -> String {
        self.virsh(&["dumpxml", "--inactive", "--security-info", guest])
    }

    pub fn is_running(&self, guest: &str) -> bool {
        self.virsh(&["domstate", guest]).trim() == "running"
    }

    pub fn plan(&self, guest: &str, more: &[&str]) -> String {
        let words: Vec<&str> =
            ["plan", guest, "--json"].into_iter().chain(more.iter().copied()).collect();
        self.json(&words)["id"].as_str().expect("a plan has an id").to_owned()
    }
}

/// A guest without a disk: its firmware runs, no system does, so it never shuts down by itself.
pub fn diskless(name: &str, vcpus: u32, more: &str) -> String {
    format!(
        "<domain type='qemu'>\n  <name>{name}</name>\n  <memory unit='MiB'>64</memory>\n  \
         <vcpu>{vcpus}</vcpu>\n  <os><type arch='x86_64' machine='pc'>hvm</type></os>\n  \
         <features><acpi/><apic/></features>\n  \
         <cpu mode='custom' match='exact'><model fallback='allow'>qemu64</model></cpu>\n  \
         <on_poweroff>destroy</on_poweroff>\n{more}  <devices>\n    \
         <controller type='usb' model='none'/>\n    \
         <graphics type='vnc' autoport='yes' passwd='sea&amp;fish'/>\n    \
         <memballoon model='none'/>\n  </devices>\n</domain>\n"
    )
}

/// What a bind that restarts a diskless guest needs.
pub const PULL_THE_PLUG: [&str; 4] = ["--restart", "--shutdown-timeout", "1", "--force"];
