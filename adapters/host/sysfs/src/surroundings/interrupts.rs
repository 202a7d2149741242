//! `/proc/interrupts` and `/proc/irq`: which interrupts came, and where they go.
//!
//! Whether the kernel keeps an interrupt where it is (those of a disk's queues, one for each CPU; the
//! processor's own) is nowhere said outright. Kernels since 6.9 make `smp_affinity` of such a one
//! read-only. For older ones there is debugfs, for root; and the queues of NVMe disks have been such
//! since 4.8, and are told by their names.

use super::unread;
use crate::error::ReadError;
use crate::root::Reader;
use numawise_model::{Interrupt, Unread};

pub const INTERRUPTS: &str = "proc/interrupts";
const DEBUG: &str = "sys/kernel/debug/irq/irqs";

/// A line of `/proc/interrupts` that belongs to a device.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    number: u32,
    fired: u64,
    name: String,
    /// Below a GIC, numbers under 32 are each CPU's own.
    is_per_cpu: bool,
}

/// Those that came since boot; others disturb nobody. `noted` are those that the kernel keeps, where
/// a capture says so.
pub fn read(reader: &mut Reader<'_>, noted: Option<&[u32]>) -> Result<Vec<Interrupt>, Unread> {
    // A kernel without this file has never been seen: what is missing here was not captured.
    let text = reader.text(INTERRUPTS).map_err(unread)?.ok_or(Unread::NotInCapture)?.to_owned();
    let rows = parse(&text).map_err(unread)?;
    let has_debug = reader.is_live()
        && reader.unrecorded(|reader| reader.is_directory(DEBUG)).is_ok_and(|found| found);
    let mut interrupts = Vec::new();
    for row in rows.into_iter().filter(|row| row.fired > 0) {
        let folder = format!("proc/irq/{}", row.number);
        let allowed_file = format!("{folder}/smp_affinity_list");
        let allowed = reader.list(&allowed_file).map_err(unread)?;
        let effective =
            reader.list(&format!("{folder}/effective_affinity_list")).map_err(unread)?;
        let managed = match noted {
            Some(noted) => noted.contains(&row.number),
            None if !reader.is_live() => false,
            None => {
                reader.is_read_only(&allowed_file) == Some(true)
                    || (has_debug && is_managed_by_debugfs(reader, row.number))
            }
        };
        interrupts.push(Interrupt {
            number: row.number,
            fired: row.fired,
            allowed,
            effective,
            kernel_managed: managed || row.is_per_cpu || is_nvme_queue(&row.name),
            name: row.name,
        });
    }
    Ok(interrupts)
}

fn is_managed_by_debugfs(reader: &mut Reader<'_>, number: u32) -> bool {
    let path = format!("{DEBUG}/{number}");
    let managed = |text: Option<&str>| text.is_some_and(|t| t.contains("IRQD_AFFINITY_MANAGED"));
    // Only root may look there; who may not has one hint less.
    reader.unrecorded(|reader| reader.text(&path).is_ok_and(managed))
}

/// `nvme0q3`. Queue 0 takes commands, and is moved like any other.
fn is_nvme_queue(name: &str) -> bool {
    let Some((disk, queue)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('q'))
    else {
        return false;
    };
    disk.parse::<u32>().is_ok() && queue.parse::<u32>().is_ok_and(|queue| queue > 0)
}

fn parse(text: &str) -> Result<Vec<Row>, ReadError> {
    let mut lines = text.lines();
    let columns = lines.next().map_or(0, |head| head.split_ascii_whitespace().count());
    let mut rows = Vec::new();
    for line in lines {
        let Some((label, rest)) = line.trim_start().split_once(':') else { continue };
        // Words stand for the processor's own: timers, calls between CPUs.
        let Ok(number) = label.parse::<u32>() else { continue };
        let row = row(number, columns, rest);
        let row = row.ok_or_else(|| ReadError::value(INTERRUPTS, line, "a count for each CPU"))?;
        rows.extend(row);
    }
    Ok(rows)
}

/// Counts, the controller, its own number and kind of trigger, and who asked for it; `Some(None)`
/// where nobody did.
fn row(number: u32, columns: usize, rest: &str) -> Option<Option<Row>> {
    let mut words = rest.split_ascii_whitespace().peekable();
    let mut fired: u64 = 0;
    for _ in 0..columns {
        fired = fired.checked_add(words.next()?.parse().ok()?)?;
    }
    // Absent means that no controller is named, and then nobody asked for it.
    let chip = words.next().unwrap_or_default();
    let own = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let trigger = |word: &&str| matches!(*word, "Level" | "Edge");
    words.next_if(trigger);
    let is_per_cpu = chip.starts_with("GIC")
        && own.and_then(|own| own.parse::<u32>().ok()).is_some_and(|own| own < 32);
    let name = words.collect::<Vec<_>>().join(" ");
    Some((!name.is_empty()).then_some(Row { number, fired, name, is_per_cpu }))
}

/// Of the file, the head and the rows that are read.
pub fn essential_interrupts(text: &str) -> String {
    let numbered = |line: &&str| {
        line.trim_start().split_once(':').is_some_and(|(label, _)| label.parse::<u32>().is_ok())
    };
    let head = text.lines().take(1);
    head.chain(text.lines().skip(1).filter(numbered)).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{essential_interrupts, is_nvme_queue, parse};

    const TEXT: &str = "           CPU0       CPU1\n\
         \x20 0:         45          0  IO-APIC   2-edge      timer\n\
         \x20 7:          0          0  IO-APIC-edge\n\
         \x2011:       1234       5678     GICv3  27 Level     arch_timer\n\
         \x2036:          0    3767243 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
         \x2098:          3          4   PCI-MSI-edge      eth0-TxRx-0, eth1\n\
         \x2099:          1          0  IR-PCI-MSI 524288-edge      vfio-msix[2](0000:41:00.0)\n\
         NMI:          7          8   Non-maskable interrupts\nERR:          0\n";

    #[test]
    fn rows_have_a_sum_and_a_name_whoever_wrote_them() {
        let rows = parse(TEXT).expect("well formed");
        let seen: Vec<(u32, u64, &str, bool)> =
            rows.iter().map(|row| (row.number, row.fired, &*row.name, row.is_per_cpu)).collect();
        let wanted = [
            (0, 45, "timer", false),
            (11, 6912, "arch_timer", true),
            (36, 3_767_243, "virtio1-req.0", false),
            (98, 7, "eth0-TxRx-0, eth1", false),
            (99, 1, "vfio-msix[2](0000:41:00.0)", false),
        ];
        assert_eq!(seen, wanted);
        assert_eq!(parse(&essential_interrupts(TEXT)).expect("well formed"), rows);
        assert!(!essential_interrupts(TEXT).contains("NMI"));
    }

    #[test]
    fn a_row_with_a_word_for_a_count_is_named() {
        let error = parse("  CPU0 CPU1\n 5: 1 x IO-APIC 5-edge eth0\n").expect_err("nonsense");
        assert!(error.to_string().contains("5: 1 x"), "{error}");
    }

    #[test]
    fn queues_of_disks_are_known_by_name() {
        for (name, wanted) in [
            ("nvme0q1", true),
            ("nvme12q64", true),
            ("nvme0q0", false),
            ("nvmeq", false),
            ("q1", false),
        ] {
            assert_eq!(is_nvme_queue(name), wanted, "{name}");
        }
    }
}
