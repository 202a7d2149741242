//! Domains for the test bed, waiting with a limit, and who is there.

use numawise_testkit::testbed::TinyGuest;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// One vCPU, no disk, no kernel: it stops in its firmware and never shuts down.
pub fn deaf_domain(name: &str) -> String {
    domain(name, "<os><type arch='x86_64' machine='pc'>hvm</type></os>", "")
}

/// Two vCPUs on two nodes of its own, a console in a file, and the guest agent if wanted.
pub fn tiny_domain(name: &str, console: &str, agent: bool) -> String {
    let agent = if agent { TinyGuest::agent_xml() } else { "" };
    let devices = format!("{}{agent}", TinyGuest::console_xml(console));
    domain(name, &TinyGuest::os_xml("pc"), &devices)
}

fn domain(name: &str, os: &str, devices: &str) -> String {
    format!(
        "<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>192</memory>
  <vcpu>2</vcpu>
  {os}
  <features><acpi/><apic/></features>
  <cpu mode='custom' match='exact'>
    <model fallback='allow'>qemu64</model>
    <topology sockets='2' dies='1' cores='1' threads='1'/>
    <numa>
      <cell id='0' cpus='0' memory='96' unit='MiB'/>
      <cell id='1' cpus='1' memory='96' unit='MiB'/>
    </numa>
  </cpu>
  <clock offset='utc'><timer name='hpet' present='no'/></clock>
  <on_poweroff>destroy</on_poweroff>
  <devices>
    <controller type='usb' model='none'/>
    {devices}
    <memballoon model='none'/>
  </devices>
</domain>
"
    )
}

/// Asks until it is so; whether it became so in time.
pub fn becomes(limit: Duration, mut so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + limit;
    loop {
        if so() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Processes whose command line has this text, seen from outside of all namespaces.
pub fn processes_with(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("there is a /proc").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && String::from_utf8_lossy(&command).contains(text) {
            found.push(pid);
        }
    }
    found
}

/// What virsh printed.
pub fn virsh(uri: &str, args: &[&str]) -> String {
    let output = Command::new("virsh").args(["--connect", uri]).args(args).output();
    let output = output.expect("virsh (libvirt-clients) can be started");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
