//! 512 vCPUs are no reason to wait.

use crate::corpus::{EDITOR, apply, read, topology};
use numawise_engine::ports::DomainEditor;
use numawise_model::{CpuSet, GuestEdit, MemoryMode, PageSize, PinEdit, Vcpu, VnumaEdit};
use std::time::{Duration, Instant};

/// Far above what it takes (see the printed times with `--nocapture`), so that a busy machine does
/// not fail it, and far below what a step per pin would take.
const LIMIT: Duration = Duration::from_millis(300);

#[test]
fn a_guest_with_512_vcpus_is_edited_at_once() {
    let xml = "<domain type='kvm'>\n  <name>big</name>\n  <memory unit='GiB'>512</memory>\n  \
               <vcpu>512</vcpu>\n  <cpu mode='host-passthrough'/>\n</domain>\n";
    let guest = read(xml);
    let edit = |shift: u32| {
        let vcpus = (0..512).map(|v| (Vcpu(v), CpuSet::range(v + shift, v + shift + 3)));
        GuestEdit {
            pins: PinEdit::Set { vcpus: vcpus.collect(), emulator: None, iothreads: [].into() },
            vnuma: VnumaEdit::Set {
                topology: topology(&guest, 4),
                mode: MemoryMode::Strict,
                page_size: PageSize::HUGE_1G,
            },
            fixes: Vec::new(),
        }
    };
    let timed = |what: &str, work: &dyn Fn() -> String| {
        let start = Instant::now();
        let text = work();
        let took = start.elapsed();
        println!("{what}: {:.1} ms", took.as_secs_f64() * 1e3);
        assert!(took < LIMIT, "{what} took {took:?}");
        text
    };
    let first = timed("write", &|| apply(xml, &edit(0), Some("note")));
    let second = timed("change", &|| apply(&first, &edit(512), Some("note")));
    timed("no change", &|| apply(&second, &edit(512), Some("note")));
    timed("revert", &|| {
        EDITOR.revert(&format!("{second} "), &first, &second).expect("no conflict")
    });
    timed("digest", &|| EDITOR.stable_part(&second).expect("readable"));
    timed("mask", &|| EDITOR.mask_secrets(&second));
}
