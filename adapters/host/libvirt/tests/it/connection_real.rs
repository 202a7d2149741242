//! The connection on a real libvirt with QEMU, under software emulation.

use crate::connection::{open, surroundings, uuid};
use numawise_engine::moves::ports::MovesGuests;
use numawise_engine::ports::{
    Cancel, Depth, DomainEditor, Hypervisor, PortError, ShutdownOptions, Stopped,
};
use numawise_libvirt::{DomainState, DomainXmlEditor, LibvirtHypervisor, Place};
use numawise_model::{CpuSet, GuestUuid, Obstacle, Pcpu, Pins, Vcpu};
use numawise_testkit::testbed::{PrivateLibvirtd, TinyGuest};
use std::time::{Duration, Instant};

/// Stops in its firmware, and hears no power button.
fn diskless(name: &str, uuid: &GuestUuid, more: &str, devices: &str) -> String {
    format!(
        "<domain type='qemu'>\n  <name>{name}</name>\n  <uuid>{uuid}</uuid>\n  \
         <memory unit='MiB'>64</memory>\n  <vcpu>2</vcpu>\n  <iothreads>1</iothreads>\n  \
         <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  {more}\n  <devices>\n    \
         {devices}\n    <graphics type='vnc' passwd='s3cret'/>\n    \
         <memballoon model='none'/>\n  </devices>\n</domain>\n"
    )
}

fn options(seconds: u64, force: bool) -> ShutdownOptions {
    ShutdownOptions { timeout: Duration::from_secs(seconds), force }
}

fn failed(result: Result<Stopped, PortError>) -> String {
    match result {
        Err(PortError::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_life_of_a_guest() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let hypervisor = open(&daemon.uri());
    assert_eq!(hypervisor.place(), Place::Here);
    assert_eq!(hypervisor.host_id().expect("an id").0, "this-machine");
    let id = uuid(11);
    hypervisor.define(&diskless("life", &id, "", "")).expect("defined");
    let stored = hypervisor.inactive_xml(&id).expect("read");
    assert!(stored.contains("passwd='s3cret'"), "secrets are in it");
    hypervisor.define(&stored).expect("what comes out goes in");
    assert_eq!(hypervisor.inactive_xml(&id).expect("read"), stored, "byte for byte");
    hypervisor.start(&id).expect("started");

    let mut pins = Pins { emulator: Some(CpuSet::single(Pcpu(0))), ..Pins::default() };
    pins.vcpus.insert(Vcpu(1), CpuSet::single(Pcpu(0)));
    pins.iothreads.insert(1, CpuSet::single(Pcpu(0)));
    hypervisor.pin_live(&id, &pins).expect("pinned");
    let live = hypervisor.live_xml(&id).expect("read").expect("runs");
    for pin in [
        "<vcpupin vcpu='1' cpuset='0'/>",
        "<emulatorpin cpuset='0'/>",
        "<iothreadpin iothread='1' cpuset='0'/>",
    ] {
        assert!(live.contains(pin), "{pin} in {live}");
    }
    assert_eq!(hypervisor.inactive_xml(&id).expect("read"), stored, "the definition stays");

    events_end_the_wait(&daemon, &hypervisor);
    let cancelled = Cancel::default();
    cancelled.flag().store(true, std::sync::atomic::Ordering::Relaxed);
    let stopped = hypervisor.shutdown(&id, options(60, true), &cancelled);
    assert!(matches!(stopped, Err(PortError::Cancelled)), "{stopped:?}");
    let text = failed(hypervisor.shutdown(&id, options(1, false), &Cancel::default()));
    assert!(text.contains("--shutdown-timeout") && text.contains("--force"), "{text}");
    assert_eq!(hypervisor.state(&id).expect("read"), DomainState::Running);
    let stopped = hypervisor.shutdown(&id, options(1, true), &Cancel::default());
    assert_eq!(stopped.expect("switched off"), Stopped::Forced);
    assert_eq!(hypervisor.live_xml(&id).expect("read"), None);
    assert_eq!(hypervisor.inactive_xml(&id).expect("read"), stored);
}

fn events_end_the_wait(daemon: &PrivateLibvirtd, hypervisor: &LibvirtHypervisor) {
    let cancel = Cancel::default();
    let wait = |at_most| hypervisor.wait_for_change(Duration::from_millis(at_most), &cancel);
    wait(60_000).expect("the watch begins");
    let begun = Instant::now();
    wait(300).expect("nothing happens");
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    daemon.virsh_text(&["vcpupin", "life", "1", "0-1", "--live"]);
    let begun = Instant::now();
    wait(60_000).expect("somebody moved a thread");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn what_stands_in_the_way_is_found() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let hypervisor = open(&daemon.uri());
    let id = uuid(12);
    let folder = daemon.folder();
    let disk = folder.join("busy.raw");
    let file = std::fs::File::create(&disk).expect("a disk");
    file.set_len(16 << 20).expect("its size");
    let devices = format!(
        "<disk type='file'><driver name='qemu' type='raw'/><source file='{}'/>\
         <target dev='vda' bus='virtio'/></disk>",
        disk.display()
    );
    hypervisor.define(&diskless("busy", &id, "", &devices)).expect("defined");
    assert_eq!(hypervisor.obstacles(&id).expect("read"), []);

    let snapshot = folder.join("snapshot.xml");
    let inside = hypervisor
        .inactive_xml(&id)
        .expect("read")
        .replace("</os>", "</os><cpu><topology sockets='1' dies='1' cores='2' threads='1'/></cpu>");
    let xml = format!(
        "<domainsnapshot><name>older</name><state>shutoff</state>\
         <creationTime>1700000000</creationTime>{inside}</domainsnapshot>"
    );
    std::fs::write(&snapshot, xml).expect("written");
    daemon.virsh_text(&["snapshot-create", "busy", &snapshot.to_string_lossy(), "--redefine"]);
    let found = hypervisor.snapshots(&id).expect("listed");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].name, "older");
    let config = DomainXmlEditor.read(&found[0].domain_xml).expect("a domain XML");
    assert_eq!(config.cpu_topology.map(|cpu| (cpu.sockets, cpu.cores)), Some((1, 2)));

    hypervisor.start(&id).expect("started");
    assert_eq!(hypervisor.obstacles(&id).expect("read"), []);
    let copy = folder.join("copy.raw");
    let copy = copy.to_string_lossy();
    let words = ["blockcopy", "busy", "vda", &*copy, "--transient-job", "--bandwidth", "1"];
    daemon.virsh_text(&words);
    let disk = "vda".to_owned();
    assert_eq!(hypervisor.obstacles(&id).expect("read"), [Obstacle::BlockJob { disk }]);
    daemon.virsh_text(&["blockjob", "busy", "vda", "--abort"]);
    daemon.virsh_text(&["managedsave", "busy"]);
    assert_eq!(hypervisor.obstacles(&id).expect("read"), [Obstacle::ManagedSave]);
}

#[test]
fn a_guest_that_would_only_reboot_is_not_asked_to_shut_down() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let hypervisor = open(&daemon.uri());
    let id = uuid(13);
    let restart = "<on_poweroff>restart</on_poweroff>";
    hypervisor.define(&diskless("phoenix", &id, restart, "")).expect("defined");
    hypervisor.start(&id).expect("started");
    let begun = Instant::now();
    let text = failed(hypervisor.shutdown(&id, options(300, false), &Cancel::default()));
    assert!(text.contains("on_poweroff is 'restart'"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(60), "it did not wait");
    assert_eq!(hypervisor.state(&id).expect("read"), DomainState::Running);
    let stopped = hypervisor.shutdown(&id, options(300, true), &Cancel::default());
    assert_eq!(stopped.expect("switched off"), Stopped::Forced);
}

#[test]
fn a_probe_guest_goes_with_its_connection() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let watcher = open(&daemon.uri());
    let id = uuid(14);
    let prober = open(&daemon.uri());
    prober.create_transient(&diskless("probe", &id, "", ""), true, true).expect("created");
    assert_eq!(watcher.state(&id).expect("read"), DomainState::Paused);
    let seen = watcher.guests().expect("listed");
    assert!(seen[0].running && !seen[0].persistent, "{seen:?}");
    drop(prober);
    let until = Instant::now() + Duration::from_secs(60);
    while !matches!(watcher.state(&id), Err(PortError::NotFound(_))) {
        assert!(Instant::now() < until, "it outlived its connection");
        std::thread::sleep(Duration::from_millis(100));
    }
    let versions = watcher.versions().expect("read");
    assert!(versions.hypervisor.is_some_and(|qemu| qemu.0 >= 7_000_000), "{versions:?}");
    let offer = watcher.domain_capabilities(None, Some("x86_64"), Some("q35"), Some("qemu"));
    assert!(offer.expect("read").contains("<domainCapabilities>"));
}

#[test]
fn a_daemon_that_comes_back_is_found_again() {
    let Some(mut daemon) = PrivateLibvirtd::start() else { return };
    let hypervisor = open(&daemon.uri());
    let id = uuid(15);
    hypervisor.define(&diskless("survivor", &id, "", "")).expect("defined");
    hypervisor.start(&id).expect("started");
    daemon.kill_daemon();
    let begun = Instant::now();
    let gone = hypervisor.define(&diskless("survivor", &id, "", "")).expect_err("nobody answers");
    assert!(matches!(&gone, PortError::NoAccess(_)), "{gone:?}");
    let gone = hypervisor.guests().expect_err("nobody answers");
    let PortError::NoAccess(text) = gone else { panic!("{gone:?}") };
    assert!(text.contains("systemctl status libvirtd"), "{text}");
    assert!(begun.elapsed() >= Duration::from_secs(5), "it waited for it: {:?}", begun.elapsed());
    daemon.restart_daemon();
    taken_up_again(&hypervisor, &id);
    daemon.kill_daemon();
    daemon.restart_daemon();
    let guests = hypervisor.guests().expect("a question is asked once more");
    assert!(guests.iter().any(|guest| guest.uuid == id), "{guests:?}");
    taken_up_again(&hypervisor, &id);

    let mut impatient = surroundings();
    impatient.cancel = Cancel::default();
    let cancel = impatient.cancel.flag();
    let other = LibvirtHypervisor::open(&daemon.uri(), impatient).expect("open");
    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    daemon.kill_daemon();
    let begun = Instant::now();
    let stopped = other.guests();
    assert!(matches!(stopped, Err(PortError::Cancelled)), "{stopped:?}");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    daemon.restart_daemon();
    taken_up_again(&hypervisor, &id);
    hypervisor.destroy(&id).expect("switched off");
}

/// A daemon that has just come up takes its guests up one after the other, and loses one if it is
/// killed meanwhile. Its state says "running" before that; a change has to wait for it.
fn taken_up_again(hypervisor: &LibvirtHypervisor, guest: &GuestUuid) {
    let pins = Pins { emulator: Some(CpuSet::single(Pcpu(0))), ..Pins::default() };
    let until = Instant::now() + Duration::from_secs(60);
    while let Err(error) = hypervisor.pin_live(guest, &pins) {
        assert!(Instant::now() < until, "the guest ran on, and is taken up again: {error}");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(hypervisor.state(guest).expect("read"), DomainState::Running);
}

/// A small Linux, with its agent and without: the first is asked by the agent, the second has only
/// the power button.
#[test]
fn a_guest_that_hears_is_shut_down_in_order() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let hypervisor = open(&daemon.uri());
    let guests = [("hears", uuid(16), TinyGuest::agent_xml()), ("button", uuid(17), "")];
    let console = |name: &str| daemon.folder().join(format!("{name}.log"));
    for (name, id, agent) in &guests {
        let log = TinyGuest::console_xml(&console(name).to_string_lossy());
        let xml = format!(
            "<domain type='qemu'><name>{name}</name><uuid>{id}</uuid>\
             <memory unit='MiB'>192</memory><vcpu>2</vcpu>{}<features><acpi/></features>\
             <cpu mode='custom'><model>qemu64</model>\
             <topology sockets='2' dies='1' cores='1' threads='1'/>\
             <numa><cell id='0' cpus='0' memory='96' unit='MiB'/>\
             <cell id='1' cpus='1' memory='96' unit='MiB'/></numa></cpu>\
             <devices>{log}{agent}<memballoon model='none'/></devices></domain>",
            TinyGuest::os_xml("pc")
        );
        hypervisor.define(&xml).expect("defined");
        hypervisor.start(id).expect("started");
    }
    let said = |name: &str| std::fs::read_to_string(console(name)).unwrap_or_default();
    let until = Instant::now() + Duration::from_secs(240);
    for (name, _, _) in &guests {
        while !said(name).contains(TinyGuest::READY) {
            assert!(Instant::now() < until, "{name} does not boot: {}", said(name));
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    let seen = |id| hypervisor.observe(id, Depth::Guest).expect("looked at").expect("runs");
    // The guest is up a moment before its agent is heard.
    let until = Instant::now() + Duration::from_secs(60);
    while seen(&guests[0].1).guest_cells.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
    }
    let inside = seen(&guests[0].1);
    assert!(inside.guest_cells.is_some(), "the agent was asked: {:?}", inside.unseen);
    assert_eq!(seen(&guests[1].1).guest_cells, None);
    for (name, id, agent) in &guests {
        let stopped = hypervisor.shutdown(id, options(120, false), &Cancel::default());
        assert_eq!(stopped.expect("it goes"), Stopped::Orderly, "{name}: {}", said(name));
        assert_eq!(said(name).contains(TinyGuest::BUTTON), agent.is_empty(), "{name}");
        assert_eq!(hypervisor.live_xml(id).expect("read"), None);
    }
}

#[test]
fn what_a_host_cannot_run_is_said() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let hypervisor = open(&daemon.uri());
    let cpu = hypervisor.host_cpu().expect("asked");
    let misfits = |xml: &str| hypervisor.misfits(xml, cpu.as_deref()).expect("asked");
    let id = uuid(12);
    assert_eq!(misfits(&diskless("fits", &id, "", "")), Vec::<String>::new());
    let old = diskless("old", &id, "", "").replace("'q35'", "'pc-i440fx-99.0'");
    let said = misfits(&old);
    assert!(said.len() == 1 && said[0].contains("pc-i440fx-99.0"), "{said:?}");
    let model = |name: &str| {
        format!("<cpu mode='custom' match='exact'><model fallback='forbid'>{name}</model></cpu>")
    };
    assert_eq!(misfits(&diskless("tcg", &id, &model("qemu64"), "")), Vec::<String>::new());
    // Software emulation has no AVX-512.
    let wide = misfits(&diskless("wide", &id, &model("Icelake-Server"), ""));
    assert!(wide.len() == 1 && wide[0].contains("CPU"), "{wide:?}");
}

#[test]
fn a_guest_is_undefined_and_keeps_its_autostart_till_then() {
    let Some(daemon) = PrivateLibvirtd::start() else { return };
    let hypervisor = open(&daemon.uri());
    let id = uuid(13);
    hypervisor.define(&diskless("stay", &id, "", "")).expect("defined");
    assert_eq!(hypervisor.autostarts(&id).ok(), Some(false));
    hypervisor.set_autostart(&id, true).expect("set");
    assert_eq!(hypervisor.autostarts(&id).ok(), Some(true));
    assert_eq!(hypervisor.migratable_xml(&id).expect("asked"), None, "it is off");
    hypervisor.start(&id).expect("started");
    assert_eq!(hypervisor.is_paused(&id).ok(), Some(false));
    hypervisor.abort_job(&id).expect("there is none, which is as well");
    let xml = hypervisor.migratable_xml(&id).expect("asked").expect("it runs");
    assert!(xml.contains("passwd='s3cret'"), "secrets go with it");
    hypervisor.power_off(&id).expect("off");
    hypervisor.power_off(&id).expect("off already");
    hypervisor.undefine(&id).expect("undefined");
    hypervisor.undefine(&id).expect("gone already");
    assert_eq!(hypervisor.guests().expect("listed"), []);
}
