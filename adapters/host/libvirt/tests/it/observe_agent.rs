//! What the guest itself sees, through an agent that answers as QEMU's does.

use numawise_engine::ports::{Depth, PortError};
use numawise_libvirt::observe;
use numawise_model::guest::GuestCell;
use numawise_model::{GuestFacts, GuestUuid, Sight, Vnode};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

const NODE: &str = "/sys/devices/system/node";

/// An agent inside a guest with such files.
struct Agent {
    files: BTreeMap<String, String>,
    /// Handle to what is still to be read.
    open: RefCell<BTreeMap<i64, String>>,
    opened: RefCell<i64>,
    /// This command is answered so.
    blocked: Option<(&'static str, &'static str)>,
}

fn linux() -> Agent {
    let file = |path: &str, text: &str| (format!("{NODE}/{path}"), text.to_owned());
    let files = [
        file("online", "0-1\n"),
        file("node0/cpulist", "0-1\n"),
        file("node0/distance", "10 32\n"),
        file("node0/meminfo", "Node 0 MemTotal:         166592 kB\nNode 0 MemFree: 1 kB\n"),
        file("node1/cpulist", "2-3\n"),
        file("node1/distance", "32 10\n"),
        file("node1/meminfo", "Node 1 MemTotal:         314564 kB\nNode 1 MemFree: 1 kB\n"),
    ];
    Agent {
        files: files.into(),
        open: RefCell::default(),
        opened: RefCell::default(),
        blocked: None,
    }
}

impl Agent {
    fn answer(&self, command: &str) -> Result<String, PortError> {
        let request: Value = serde_json::from_str(command).expect("JSON");
        let name = request["execute"].as_str().expect("a command");
        let arguments = &request["arguments"];
        if let Some((blocked, why)) = self.blocked
            && blocked == name
        {
            return Err(PortError::Failed(why.to_owned()));
        }
        let handle = arguments["handle"].as_i64().unwrap_or_default();
        Ok(match name {
            "guest-file-open" => {
                let path = arguments["path"].as_str().expect("a path");
                let Some(text) = self.files.get(path) else {
                    return Err(PortError::Failed(format!("failed to open file '{path}'")));
                };
                *self.opened.borrow_mut() += 1;
                let handle = 1000 + *self.opened.borrow();
                self.open.borrow_mut().insert(handle, text.clone());
                json!({ "return": handle })
            }
            // A few bytes at a time, the end told by itself: readers must go on.
            "guest-file-read" => {
                let mut open = self.open.borrow_mut();
                let left = open.get_mut(&handle).expect("an open handle");
                let part: String = left.drain(..left.len().min(9)).collect();
                let text = base64(part.as_bytes());
                json!({ "return": { "count": part.len(), "buf-b64": text, "eof": part.is_empty() } })
            }
            "guest-file-close" => {
                self.open.borrow_mut().remove(&handle).expect("an open handle");
                json!({ "return": {} })
            }
            "guest-get-osinfo" if self.files.is_empty() => {
                json!({ "return": { "id": "mswindows" } })
            }
            other => return Err(PortError::Failed(format!("no command {other}"))),
        }
        .to_string())
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn seen(state: &str, agent: &Agent) -> GuestFacts {
    let xml = format!(
        "<domain type='kvm'><name>db</name><memory unit='MiB'>512</memory><vcpu>4</vcpu>\
         <cpu><numa><cell id='0' cpus='0-3' memory='512' unit='MiB'/></numa></cpu><devices>\
         <channel type='unix'><target type='virtio' name='com.example.0' state='connected'/></channel>\
         <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'{state}/></channel>\
         </devices></domain>"
    );
    let uuid = GuestUuid("a6f853c6-168a-42de-b1d9-6cca52af92a5".to_owned());
    let ask = |command: &str| agent.answer(command);
    let mut facts = observe(&xml, &uuid, Depth::Guest, None, &ask).expect("observed");
    facts.unseen.retain(|unseen| unseen.what == Sight::GuestNodes);
    assert!(agent.open.borrow().is_empty(), "every handle is closed");
    facts
}

/// Why the guest's view is not known.
fn why(state: &str, agent: &Agent) -> String {
    let facts = seen(state, agent);
    assert_eq!(facts.guest_cells, None);
    let [unseen] = facts.unseen.as_slice() else { panic!("{:?}", facts.unseen) };
    unseen.why.clone()
}

const CONNECTED: &str = " state='connected'";

#[test]
fn nodes_of_a_linux_guest() {
    let facts = seen(CONNECTED, &linux());
    let cell = |id, vcpus: &str, kib: u64, distances: [u32; 2]| GuestCell {
        id: Vnode(id),
        vcpus: numawise_model::parse_list(vcpus).expect("a list"),
        memory_bytes: kib << 10,
        distances: (0..).map(Vnode).zip(distances).collect(),
    };
    let wanted = vec![cell(0, "0-1", 166_592, [10, 32]), cell(1, "2-3", 314_564, [32, 10])];
    assert_eq!(facts.guest_cells, Some(wanted));
    assert_eq!(facts.unseen, []);
}

#[test]
fn reasons_not_to_know() {
    assert!(why(" state='disconnected'", &linux()).contains("no guest agent runs"));
    let blocked = |command, answer| Agent { blocked: Some((command, answer)), ..linux() };
    let old = blocked("guest-file-open", "Command guest-file-open has been disabled");
    assert!(why(CONNECTED, &old).contains("guest-file-open has been disabled"));
    // The handle is closed all the same.
    let slow = blocked("guest-file-read", "guest agent is not responding");
    assert!(why(CONNECTED, &slow).contains("is not responding"));
    let windows = Agent { files: BTreeMap::new(), ..linux() };
    assert!(why(CONNECTED, &windows).contains("Windows"));
}

#[test]
fn nonsense_of_the_guest_is_told_with_its_file() {
    let with = |path: &str, text: &str| {
        let mut agent = linux();
        agent.files.insert(format!("{NODE}/{path}"), text.to_owned());
        why(CONNECTED, &agent)
    };
    assert!(with("online", "3-1").contains("node/online in the guest says '3-1'"));
    assert!(with("node1/distance", "10").contains("a distance for each node"));
    assert!(with("node0/meminfo", "Node 0 MemTotal: x kB").contains("MemTotal in kB"));
    assert!(with("node0/cpulist", &"0,".repeat(40_000)).contains("more than 64 KiB"));
}
