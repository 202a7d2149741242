//! The connection on libvirt's own `test` driver, which needs the library and no daemon, and where
//! there is nothing to connect to.

use numawise_engine::ports::{Cancel, Hypervisor, PortError, ShutdownOptions, Stopped};
use numawise_libvirt::{DomainState, LibraryFiles, LibvirtHypervisor, Place, Surroundings};
use numawise_model::{CpuSet, GuestUuid, Host, HostId, Node, Pcpu, Pins, Pnode, Vcpu};
use std::time::{Duration, Instant};

/// A machine that is not looked at, and a reader of capabilities that sees the cells only.
pub fn surroundings() -> Surroundings {
    Surroundings {
        local_host_id: Box::new(|| Ok(HostId("this-machine".to_owned()))),
        local_host: Box::new(|| Ok(Host::default())),
        read_capabilities: Box::new(|text| {
            let mut host = Host::default();
            for part in text.split("<cell id='").skip(1) {
                let id = part.split('\'').next().and_then(|id| id.parse().ok()).map(Pnode);
                let id = id.ok_or_else(|| PortError::Unreadable(part.to_owned()))?;
                host.topology.nodes.push(Node {
                    id,
                    cpus: CpuSet::new(),
                    memory_total_bytes: None,
                    distances: std::collections::BTreeMap::new(),
                });
            }
            Ok(host)
        }),
        processes: None,
        cancel: Cancel::default(),
        libraries: LibraryFiles::default(),
    }
}

pub fn open(uri: &str) -> LibvirtHypervisor {
    LibvirtHypervisor::open(uri, surroundings()).expect("libvirt answers")
}

pub fn uuid(tail: u32) -> GuestUuid {
    GuestUuid(format!("c0000000-0000-4000-8000-{tail:012}"))
}

fn refused(uri: &str, surroundings: Surroundings) -> String {
    match LibvirtHypervisor::open(uri, surroundings) {
        Err(PortError::NoAccess(text)) => text,
        Err(other) => panic!("{uri}: {other:?}"),
        Ok(_) => panic!("{uri} was opened"),
    }
}

fn domain(name: &str, uuid: &GuestUuid) -> String {
    format!(
        "<domain type='test'>\n  <name>{name}</name>\n  <uuid>{uuid}</uuid>\n  \
         <memory unit='KiB'>8192</memory>\n  <vcpu>2</vcpu>\n  <os><type>hvm</type></os>\n\
         </domain>"
    )
}

#[test]
fn without_the_library_the_package_is_named() {
    let mut around = surroundings();
    around.libraries.libvirt = "/nonexistent/libvirt.so.0".into();
    let text = refused("test:///default", around);
    assert!(text.contains("/nonexistent/libvirt.so.0") && text.contains("libvirt0"), "{text}");
}

/// Any library that is not libvirt lacks its functions, as a very old one lacks some.
#[test]
fn a_library_without_a_function_is_told_with_its_name() {
    let mut around = surroundings();
    around.libraries.libvirt = "libc.so.6".into();
    let text = refused("test:///default", around);
    assert!(text.contains("libc.so.6 is too old") && text.contains("vir"), "{text}");
}

#[test]
fn an_address_where_nobody_is_says_what_to_look_at() {
    let text = refused("qemu:///system?socket=/nonexistent/libvirt-sock", surroundings());
    assert!(text.contains("/nonexistent/libvirt-sock"), "{text}");
    assert!(text.contains("systemctl status libvirtd"), "{text}");
    let text = refused("nonsense:///x", surroundings());
    assert!(text.contains("'nonsense:///x'") && text.contains("--connect"), "{text}");
}

/// A thread of root's puts its rights down first; for anybody else the socket's mode is enough.
#[test]
fn a_socket_that_may_not_be_used_names_the_group() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("libvirt-sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let locked = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(&socket, locked).expect("its mode is set");
    let uri = format!("qemu:///system?socket={}", socket.display());
    let asked = std::thread::spawn(move || {
        if rustix::process::geteuid().is_root() {
            let nobody = rustix::thread::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).expect("rights put down");
        }
        refused(&uri, surroundings())
    });
    let text = asked.join().expect("refused as it should be");
    assert!(text.contains("Permission denied") && text.contains("group libvirt"), "{text}");
}

#[test]
fn a_guest_is_listed_defined_started_and_stopped() {
    let hypervisor = open("test:///default");
    assert_eq!(hypervisor.place(), Place::Nowhere);
    assert!(hypervisor.is_simulated());
    let id = uuid(1);
    hypervisor.define(&domain("connection-life", &id)).expect("defined");
    let summary = |hypervisor: &LibvirtHypervisor| {
        let guests = hypervisor.guests().expect("listed");
        assert!(guests.is_sorted_by_key(|guest| guest.name.clone()), "{guests:?}");
        guests.into_iter().find(|guest| guest.uuid == id).expect("it is there")
    };
    let seen = summary(&hypervisor);
    assert_eq!(
        (seen.name.as_str(), seen.running, seen.persistent),
        ("connection-life", false, true)
    );
    assert_eq!(hypervisor.live_xml(&id).expect("read"), None);
    assert!(
        hypervisor.observe(&id, numawise_engine::ports::Depth::Threads).expect("read").is_none()
    );
    hypervisor.start(&id).expect("started");
    assert!(summary(&hypervisor).running);
    assert!(hypervisor.live_xml(&id).expect("read").expect("runs").contains("connection-life"));
    let again = hypervisor.start(&id).expect_err("it runs");
    assert!(matches!(again, PortError::Failed(_)), "{again:?}");
    let options = ShutdownOptions { timeout: Duration::from_secs(20), force: false };
    let stopped = hypervisor.shutdown(&id, options, &Cancel::default()).expect("stopped");
    assert_eq!(stopped, Stopped::Orderly);
    assert!(!summary(&hypervisor).running);
    assert_eq!(
        hypervisor.shutdown(&id, options, &Cancel::default()).expect("it is off already"),
        Stopped::Orderly
    );
}

#[test]
fn a_definition_comes_back_and_a_bad_one_is_refused_in_libvirts_words() {
    let hypervisor = open("test:///default");
    let id = uuid(2);
    hypervisor.define(&domain("connection-xml", &id)).expect("defined");
    let xml = hypervisor.inactive_xml(&id).expect("read");
    let more = xml.replace("<vcpu placement='static'>2<", "<vcpu placement='static'>4<");
    assert_ne!(xml, more);
    hypervisor.define(&more).expect("defined again");
    assert_eq!(hypervisor.inactive_xml(&id).expect("read"), more);
    let error = hypervisor.define("<domain type='test'><name>x</name>").expect_err("torn");
    assert!(matches!(error, PortError::Failed(_)), "{error:?}");
    let error = hypervisor.inactive_xml(&uuid(999)).expect_err("nobody");
    assert!(matches!(&error, PortError::NotFound(text) if text.contains("000999")), "{error:?}");
}

/// The `test` driver pins nothing in a running guest: what a change that fails looks like.
#[test]
fn a_refused_change_names_thread_guest_and_libvirts_reason() {
    let hypervisor = open("test:///default");
    let id = uuid(3);
    hypervisor.define(&domain("connection-pins", &id)).expect("defined");
    hypervisor.start(&id).expect("started");
    let mut pins = Pins::default();
    pins.vcpus.insert(Vcpu(1), CpuSet::single(Pcpu(3)));
    let error = hypervisor.pin_live(&id, &pins).expect_err("it cannot");
    let PortError::Failed(text) = error else { panic!("{error:?}") };
    for part in ["vCPU 1", &id.0, "test:///default", "unsupported flags"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_transient_guest_is_told_from_others_and_gone_when_destroyed() {
    let hypervisor = open("test:///default");
    let id = uuid(4);
    let xml = domain("connection-transient", &id);
    assert_eq!(hypervisor.create_transient(&xml, false, false).expect("created"), id);
    assert_eq!(hypervisor.state(&id).expect("read"), DomainState::Running);
    let guests = hypervisor.guests().expect("listed");
    let seen = guests.iter().find(|guest| guest.uuid == id).expect("it is there");
    assert!(seen.running && !seen.persistent, "{seen:?}");
    assert_eq!(hypervisor.obstacles(&id).expect("read"), []);
    hypervisor.destroy(&id).expect("destroyed");
    let error = hypervisor.state(&id).expect_err("gone");
    assert!(matches!(error, PortError::NotFound(_)), "{error:?}");
}

#[test]
fn a_host_that_is_not_this_machine_is_read_through_libvirt() {
    let hypervisor = open("test:///default");
    let id = hypervisor.host_id().expect("an id");
    assert_eq!(id, open("test:///default").host_id().expect("an id"), "the same each time");
    assert_ne!(id.0, "this-machine");
    let host = hypervisor.host().expect("read");
    assert!(!host.topology.nodes.is_empty());
    let free = host.levels.nodes.values().map(|node| node.memory_free_bytes);
    assert!(free.clone().all(|bytes| bytes.is_some_and(|bytes| bytes > 0)), "{:?}", host.levels);
    let versions = hypervisor.versions().expect("read");
    assert_eq!(versions.library, versions.daemon, "the driver is in the library");
    assert!(versions.library.to_string().split('.').count() == 3, "{versions:?}");
}

#[test]
fn a_change_ends_the_wait_and_so_does_an_interrupt() {
    let hypervisor = open("test:///default");
    let cancel = Cancel::default();
    let wait = |at_most: u64| hypervisor.wait_for_change(Duration::from_secs(at_most), &cancel);
    let begun = Instant::now();
    wait(60).expect("the watch begins, and what was before it is unknown");
    hypervisor.define(&domain("connection-event", &uuid(5))).expect("defined");
    wait(60).expect("a definition is a change");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    cancel.flag().store(true, std::sync::atomic::Ordering::Relaxed);
    let begun = Instant::now();
    assert!(matches!(wait(60), Err(PortError::Cancelled)));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
