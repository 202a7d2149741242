//! Tables: guests, and the use of CPUs.

use super::frame::wrap;
use super::host::bar;
use super::simulated_suffix;
use crate::captions::{cut, printable};
use crate::en::labels;
use crate::layout::{HostLayout, NodeBlock, mean_use};
use crate::look::{GuestRow, Look};
use crate::quantity::percent;
use comfy_table::{ContentArrangement, Table, presets};
use numawise_model::{CpuSet, Host, Pcpu};

/// The `list` table.
pub fn guests(rows: &[GuestRow], look: &Look) -> String {
    if rows.is_empty() {
        return format!("{}{}\n", labels::NO_GUESTS, simulated_suffix(look));
    }
    let mut table = plain_table(look.width);
    // Only where there is one: most hosts have a single manager, or none.
    let owned = rows.iter().any(|row| row.owner.is_some());
    table.set_header(labels::GUEST_TABLE.into_iter().chain(owned.then_some(labels::OWNER)));
    for row in rows {
        let nodes = if row.nodes.is_empty() { "-".to_owned() } else { row.nodes.to_string() };
        let owner = owned.then(|| labels::row_owner(row.owner));
        let cells = [
            printable(&row.name),
            labels::guest_state(row.state).to_owned(),
            labels::row_binding(&row.pcpus, row.vcpus, row.mode),
            nodes,
            labels::row_vnuma(&row.vnuma),
            labels::row_drift(row.drift, row.pending_restart),
        ];
        table.add_row(cells.into_iter().chain(owner));
    }
    let mark = if look.simulated { format!("{}\n", labels::SIMULATED) } else { String::new() };
    mark + &drawn(table)
}

/// No frames: columns that grep, cut and the eye can follow.
pub(super) fn plain_table(width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width.max(60)).unwrap_or(u16::MAX));
    table
}

pub(super) fn drawn(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The use of every CPU, by package, node and L3 domain: one bar each and the mean, then the
/// busiest by number.
pub fn usage(host: &Host, window_sec: Option<i64>, look: &Look) -> String {
    const BUSIEST: usize = 8;
    let width = look.width.max(60);
    let used = &host.levels.utilisation;
    let title = labels::usage_title(window_sec) + &simulated_suffix(look);
    let mut lines = wrap(&title, width, 2);
    if used.is_empty() {
        lines.extend(wrap(labels::NO_USAGE, width, 2));
        return lines.join("\n") + "\n";
    }
    for node in HostLayout::of(&host.topology).packages.iter().flat_map(|p| &p.nodes) {
        lines.extend(node_use(host, node, width));
    }
    let mut busiest: Vec<(u16, Pcpu)> = used.iter().map(|(cpu, u)| (u.0, *cpu)).collect();
    busiest.sort_by_key(|(use_, cpu)| (std::cmp::Reverse(*use_), *cpu));
    let words: Vec<String> = busiest
        .iter()
        .take_while(|(use_, _)| *use_ > 0)
        .take(BUSIEST)
        .map(|(use_, cpu)| format!("CPU {cpu} {}", percent(numawise_model::Utilisation(*use_))))
        .collect();
    if !words.is_empty() {
        lines.extend(wrap(&labels::busiest(&words.join(", ")), width, 2));
    }
    lines.extend(wrap(labels::usage_scale(), width, 2));
    lines.join("\n") + "\n"
}

fn node_use(host: &Host, node: &NodeBlock, width: usize) -> Vec<String> {
    let mean = mean_use(host, &node.cpus).map(|u| format!("  {}", percent(u)));
    let mut lines = vec![format!("{}{}", labels::node(node.node), mean.unwrap_or_default())];
    for block in &node.l3 {
        let mean = mean_use(host, &block.cpus).map(percent).unwrap_or_default();
        let head = format!("  {}: CPUs {}", labels::l3(block.l3), block.cpus);
        lines.push(format!("{}  {mean}", cut(&head, width - 8)));
        for row in bar_rows(host, &block.cpus, width - 4) {
            lines.push(format!("    {row}"));
        }
    }
    lines
}

/// Bars in CPU order, a gap after every eighth, in rows of the width.
fn bar_rows(host: &Host, cpus: &CpuSet, width: usize) -> Vec<String> {
    let all: Vec<Pcpu> = cpus.iter().collect();
    let per_row = ((width + 1) / 9 * 8).max(8);
    let eighth = |eight: &[Pcpu]| -> String {
        let one = |cpu: &Pcpu| host.levels.utilisation.get(cpu).map_or('?', |u| bar(u.0));
        eight.iter().map(one).collect()
    };
    let row = |row: &[Pcpu]| row.chunks(8).map(eighth).collect::<Vec<_>>().join(" ");
    all.chunks(per_row).map(row).collect()
}
