//! Mappings: real files, and each kind of line.

use crate::scene::{Scene, anonymous, memfd, scene, why};
use numawise_engine::ports::Processes;
use numawise_model::{MappingFacts, MappingPolicy, NodeSet, PageSize, Pnode};

fn nodes(list: &str) -> NodeSet {
    numawise_model::parse_list(list).expect("a list written in a test")
}

fn read(scene: &Scene, pid: u32) -> Vec<MappingFacts> {
    scene.processes.mappings(pid).expect("readable").expect("it runs")
}

/// One line of numa_maps, for a mapping of 4 MiB.
fn line(words: &str) -> MappingFacts {
    let text = format!(
        "==> proc/7/maps <==\n7f0000000000-7f0000400000 rw-p 0 00:00 0\n\
         ==> proc/7/numa_maps <==\n7f0000000000 {words}\n"
    );
    read(&scene(&text), 7).remove(0)
}

#[test]
fn guest_memory_of_qemu() {
    let bound = |mappings: Vec<MappingFacts>| -> Vec<(u64, Option<String>, u64)> {
        let is_bound = |m: &MappingFacts| m.policy == MappingPolicy::Bind(nodes("0"));
        let told = |m: MappingFacts| (m.bytes >> 20, m.file, m.pages[&Pnode(0)]);
        mappings.into_iter().filter(is_bound).map(told).collect()
    };
    let all = read(&anonymous(), 14060);
    assert_eq!(all.len(), 12);
    assert_eq!(bound(all), [(96, None, 24_576), (64, None, 16_384)]);
    let file = || Some("/memfd:memory-backend-memfd".to_owned());
    assert_eq!(bound(read(&memfd(), 14086)), [(96, file(), 24_576), (64, file(), 16_384)]);
}

#[test]
fn policies() {
    let table = [
        ("default", MappingPolicy::Default),
        ("bind:0", MappingPolicy::Bind(nodes("0"))),
        ("bind=static:0-1,3", MappingPolicy::Bind(nodes("0-1,3"))),
        ("prefer:2", MappingPolicy::Prefer(nodes("2"))),
        ("prefer (many):0-1", MappingPolicy::Prefer(nodes("0-1"))),
        ("prefer (many)=static:0-1", MappingPolicy::Prefer(nodes("0-1"))),
        ("interleave=relative:0-3", MappingPolicy::Interleave(nodes("0-3"))),
        ("local", MappingPolicy::Other("local".to_owned())),
        ("weighted interleave:0-1", MappingPolicy::Other("weighted interleave:0-1".to_owned())),
    ];
    for (text, wanted) in table {
        let seen = line(&format!("{text} anon=3 dirty=3 N0=2 N10=1 kernelpagesize_kB=4"));
        assert_eq!(seen.policy, wanted);
        assert_eq!(seen.pages, [(Pnode(0), 2), (Pnode(10), 1)].into(), "{text}");
        assert_eq!(line(text).policy, wanted, "without pages");
    }
}

#[test]
fn files_and_page_sizes() {
    let huge = line(
        "bind:1 file=/dev/hugepages/libvirt/qemu/1-db/qemu_back_mem._objects_ram-node0.x1\\040\
         (deleted) huge dirty=48 N1=48 kernelpagesize_kB=2048",
    );
    let name = "/dev/hugepages/libvirt/qemu/1-db/qemu_back_mem._objects_ram-node0.x1";
    assert_eq!(huge.file.as_deref(), Some(name));
    assert_eq!((huge.page_size, huge.bytes), (PageSize::HUGE_2M, 4 << 20));
    let odd = line("default file=/a\\040b\\075N1\\012 mapped=1 N0=1 kernelpagesize_kB=64");
    assert_eq!(odd.file.as_deref(), Some("/a b=N1\n"));
    assert_eq!((odd.page_size, odd.pages.len()), (PageSize(64 << 10), 1));
    assert_eq!(line("default file=/x(many)\\040y").file.as_deref(), Some("/x(many) y"));
    assert!(line("default").pages.is_empty());
}

#[test]
fn nonsense_is_told_with_file_line_and_value() {
    let maps = "==> proc/7/maps <==\n1000-2000 rw-p 0 00:00 0\n";
    let table = [
        ("xyz default", "line 1: 'xyz default' where an address and a policy is wanted"),
        ("1000", "line 1: '' where a memory policy is wanted"),
        ("1000 bind:", "line 1: 'bind:' where a policy with its nodes is wanted"),
        ("1000 bind:1-", "line 1: 'bind:1-' is no set of ids"),
        ("1000 default N0=many", "line 1: 'N0=many' where a number of pages is wanted"),
        ("1000 default kernelpagesize_kB=3", "'kernelpagesize_kB=3' where a page size in kB"),
    ];
    for (text, wanted) in table {
        let scene = scene(&format!("{maps}==> proc/7/numa_maps <==\n{text}\n"));
        let told = why(scene.processes.mappings(7));
        assert!(told.contains("proc/7/numa_maps") && told.contains(wanted), "{told}");
    }
    let scene = scene("==> proc/7/maps <==\n2000-1000 rw-p\n==> proc/7/numa_maps <==\n1 default\n");
    let told = why(scene.processes.mappings(7));
    assert!(told.contains("proc/7/maps, line 1: '2000-1000 rw-p' where a range"), "{told}");
}

#[test]
fn what_is_not_there() {
    assert_eq!(memfd().processes.mappings(1).expect("no error"), None, "no such process");
    let zombie = scene("==> proc/7/maps <==\n==> proc/7/numa_maps <==\n");
    assert_eq!(zombie.processes.mappings(7).expect("no error"), None, "its memory is gone");
    // Mapped after the one file was read, before the other was.
    let late = "==> proc/7/maps <==\n1000-2000 rw-p\n==> proc/7/numa_maps <==\n1000 default\n3000 default\n";
    assert_eq!(read(&scene(late), 7).len(), 1);
}
