//! Why a guest cannot go to the host that was named, and what would let it.

use crate::en::{Said, say};
use crate::quantity::count;
use numawise_model::MoveRefusal as R;

pub fn cannot(why: &R) -> Said {
    match why {
        R::SameHost { machine } => {
            say(format!("both connections lead to one host (by its own word: {machine})"))
                .way("name another host: --to URI")
                .way(
                    "where firmware gives several hosts one UUID, give each its own: host_uuid in \
                     libvirtd.conf (virtqemud.conf)",
                )
        }
        R::NameTaken { name } => say(format!("another guest is called '{name}' there"))
            .way("rename one of the two while it is off: virsh domrename OLD NEW"),
        R::AlreadyThere { name } => {
            say(format!("a guest with the same UUID is there already, called '{name}'"))
                .way("if it is an old copy: undefine it there")
        }
        R::IsRunning => say("the guest runs, and --offline was given")
            .way("move it running: leave out --offline")
            .way("or shut it down first"),
        R::IsOff => say("the guest is off, and --live was given")
            .way("move its definition: leave out --live"),
        R::IsPaused => say("the guest is paused: nobody could tell later by whom")
            .way("resume it: virsh resume GUEST"),
        R::HostDevices { addresses } => {
            let devices = addresses.join(", ");
            say(format!("devices of this host are passed through to the guest: {devices}"))
                .way("detach them: virsh detach-device GUEST FILE --live --config")
        }
        R::OlderThanDefinition => say(
            "the running guest sees another topology than its definition has; it cannot wake up with \
             the new one",
        )
        .way("shut it down and start it again first, so that both agree"),
        R::Snapshots { names } => {
            say(format!("the guest has snapshots, which would stay behind: {}", names.join(", ")))
                .way("delete them: virsh snapshot-delete GUEST NAME")
        }
        R::FileMissing { path } => {
            say(format!("{path} is not there on the other host, and the guest needs it"))
                .way("put it on storage that both hosts have, or copy it there")
                .way("when it will be there by the time the guest starts: --assume-shared")
        }
        R::TpmState => say("the state of the guest's emulated TPM lies in files of this host")
            .way("move the guest while it runs: its TPM then goes with it")
            .way("or copy the state by hand and go on: --assume-shared"),
        R::NotThere { why } => say(format!("the other host cannot run the guest: {why}"))
            .way("choose a host with the same kind of CPU and hypervisor")
            .way("or give the guest a CPU model and a machine type that both have"),
        R::NoNodesFor { vcpus, free } => {
            let parts: Vec<String> = vcpus.iter().map(u32::to_string).collect();
            let said = say(format!(
                "the guest goes on seeing the nodes that it has, and there are no nodes there for {} \
                 of its vCPUs, each on one",
                parts.join(" + ")
            ));
            free.iter()
                .fold(said, |said, (node, cpus)| {
                    said.fact(format!("node {node}: {} free", count(u64::from(*cpus), "pCPU")))
                })
                .way("make room there: numawise list shows who has what")
                .way("or choose another host")
        }
        R::Unfinished { peer } => say(format!(
            "an interrupted move of the guest waits for its other end, {peer}"
        ))
        .way("make that reachable; any numawise command then ends the move"),
    }
}
