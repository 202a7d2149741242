//! A guest on its host: the nodes that it sees on the left, the nodes that it runs on on the right,
//! and lines between them. Below: the binding, helper threads, and what does not agree.

use super::frame::{Line, boxed, cut, to_text, wrap};
use super::said;
use crate::en::{self, labels};
use crate::layout::binding_runs;
use crate::links::{GuestLinks, GuestSide, HostSide};
use crate::look::{GuestView, Look};
use crate::quantity::{bytes, bytes_or_unknown};
use crate::style::Meaning;
use numawise_model::{CpuSet, HelperPlacement, Topology, Vcpu};
use std::collections::BTreeMap;

/// The narrowest that the space between the two sides gets.
const GUTTER: usize = 9;

pub fn guest(view: &GuestView<'_>) -> String {
    let links = GuestLinks::of(view);
    let width = view.look.width.max(60);
    let mut lines = head(view, width);
    lines.extend(sides(view, &links, width));
    if !links.unused.is_empty() {
        let words = labels::unused_nodes(&links.unused);
        lines.extend(wrap(&words, width, 2).into_iter().map(Line::plain));
    }
    lines.push(Line::default());
    lines.extend(binding(&view.binding, view.vcpus, Some(&view.host.topology), width));
    lines.extend(helpers(&view.helpers, width));
    let mut text = to_text(lines);
    if !view.drift.is_empty() {
        text += &format!("\n{}\n", view.look.paint(Meaning::Title, labels::DRIFT));
        text += &said::findings_with(&view.drift, &Look { simulated: false, ..view.look });
    }
    text
}

fn head(view: &GuestView<'_>, width: usize) -> Vec<Line> {
    let mut title =
        format!("{} ({})", labels::title_guest(view.name), labels::guest_state(view.state));
    if !view.host_name.is_empty() {
        title += &format!(" on {}", labels::title_host(view.host_name));
    }
    if view.look.simulated {
        title += &format!(", {}", labels::SIMULATED);
    }
    let mut facts = labels::guest_size(view.vcpus, &bytes(view.memory_bytes));
    if !view.binding.is_empty() {
        facts += &format!(", {}", labels::mode(view.mode));
    }
    if let Some(cpu) = &view.cpu {
        facts += &format!("; {}", labels::cpu_topology(cpu));
    }
    let mut lines = vec![Line::default().painted(&view.look, Meaning::Title, &cut(&title, width))];
    lines.extend(wrap(&facts, width, 2).into_iter().map(Line::plain));
    lines
}

/// Both columns of boxes and the gutter between them.
fn sides(view: &GuestView<'_>, links: &GuestLinks, width: usize) -> Vec<Line> {
    let crossing = links.lines.iter().filter(|(a, b)| a != b).count();
    let gutter = (GUTTER + crossing).min(width / 4);
    let left_width = (width - gutter) * 2 / 5;
    let right_width = width - gutter - left_width;
    let drifted = drifted_nodes(view);
    let left_boxes: Vec<Vec<Line>> = links
        .guest
        .iter()
        .map(|side| {
            let mark = side.vnode.is_some_and(|id| drifted.contains(&id.0));
            guest_box(side, mark, left_width, &view.look)
        })
        .collect();
    let right_boxes: Vec<Vec<Line>> =
        links.host.iter().map(|side| host_box(side, right_width, &view.look)).collect();
    let placed = Placed::of(left_boxes, right_boxes);
    let mut wires = Wires::new(placed.rows, gutter);
    let lanes = gutter.saturating_sub(4).max(1);
    for (index, (from, to)) in links.lines.iter().enumerate() {
        // Neighbours get different columns, so that a line can be followed past a crossing.
        let lane = 2 + index % lanes;
        wires.connect(placed.left_port(*from), placed.right_port(*to), lane);
    }
    let mut lines =
        vec![Line::plain(labels::GUEST_SIDE).padded(left_width + gutter).and(labels::HOST_SIDE)];
    lines.extend(placed.draw(&wires, left_width, &view.look));
    lines
}

/// vNUMA nodes that a finding is about, by its vCPU or node.
fn drifted_nodes(view: &GuestView<'_>) -> Vec<u32> {
    use numawise_model::FindingKind as K;
    let of_vcpu = |vcpu: Vcpu| view.cells.iter().find(|c| c.vcpus.contains(vcpu)).map(|c| c.id.0);
    let on_node = |node| {
        let here = |cell: &&numawise_model::guest::GuestCell| {
            view.memory_nodes.get(&cell.id).is_some_and(|nodes| nodes.contains(node))
        };
        view.cells.iter().find(here).map(|cell| cell.id.0)
    };
    let of = |kind: &K| match kind {
        K::StoredPin { vcpu, .. } | K::ThreadAffinity { vcpu, .. } => of_vcpu(*vcpu),
        K::MemoryElsewhere { expected, .. } => on_node(*expected),
        // A mark is a help to the eye; every finding is told in words below the picture.
        _ => None,
    };
    view.drift.iter().filter_map(|finding| of(&finding.kind)).collect()
}

fn guest_box(side: &GuestSide, drifted: bool, width: usize, look: &Look) -> Vec<Line> {
    let inner = width - 4;
    let mut title = labels::vnode(side.vnode);
    if drifted {
        title += &format!(" ({})", labels::DRIFT);
    }
    let mut text =
        vec![labels::vcpus(&side.vcpus), labels::vnode_memory(&bytes(side.memory_bytes))];
    if !side.unbound.is_empty() {
        text.push(format!("{}: {}", labels::NOT_BOUND, side.unbound));
    }
    text.extend(side.memory_elsewhere.as_ref().map(labels::memory_from));
    boxed(&title, fit(&text, inner), width, look)
}

fn host_box(side: &HostSide, width: usize, look: &Look) -> Vec<Line> {
    let inner = width - 4;
    let mut text = vec![labels::bound_here(&side.bound, side.cpus.len())];
    if side.node.is_some() {
        text.push(labels::memory(
            &bytes_or_unknown(side.memory_total_bytes, labels::UNKNOWN),
            &bytes_or_unknown(side.memory_free_bytes, labels::UNKNOWN),
        ));
    }
    for (owner, cpus) in &side.others {
        text.push(labels::also_here(&en::owner(owner), cpus));
    }
    boxed(&labels::pnode(side.node), fit(&text, inner), width, look)
}

fn fit(text: &[String], inner: usize) -> Vec<Line> {
    text.iter().flat_map(|t| wrap(t, inner, 2)).map(Line::plain).collect()
}

/// Boxes stacked on both sides; boxes of the same place begin on the same row where they can, so
/// that the common case is straight lines.
struct Placed {
    left: Vec<(usize, Vec<Line>)>,
    right: Vec<(usize, Vec<Line>)>,
    rows: usize,
}

impl Placed {
    fn of(left: Vec<Vec<Line>>, right: Vec<Vec<Line>>) -> Self {
        let mut row = 0;
        let mut tops = Vec::new();
        for index in 0..left.len().max(right.len()) {
            tops.push(row);
            let height = |side: &[Vec<Line>]| side.get(index).map_or(0, Vec::len);
            row += height(&left).max(height(&right));
        }
        let place = |side: Vec<Vec<Line>>| tops.iter().copied().zip(side).collect();
        Self { left: place(left), right: place(right), rows: row }
    }

    fn left_port(&self, index: usize) -> usize {
        self.left.get(index).map_or(0, |(top, _)| top + 1)
    }

    fn right_port(&self, index: usize) -> usize {
        self.right.get(index).map_or(0, |(top, _)| top + 1)
    }

    fn draw(&self, wires: &Wires, left_width: usize, look: &Look) -> Vec<Line> {
        let at = |side: &[(usize, Vec<Line>)], row: usize| {
            let (top, lines) = side.iter().rev().find(|(top, _)| *top <= row)?;
            lines.get(row - top).cloned()
        };
        (0..self.rows)
            .map(|row| {
                let left = at(&self.left, row).unwrap_or_default().padded(left_width);
                let right = at(&self.right, row).unwrap_or_default();
                left.painted(look, Meaning::Note, &wires.row(row)).join(right)
            })
            .collect()
    }
}

/// The gutter as a grid: each cell knows in which directions a line leaves it.
struct Wires {
    cells: Vec<Vec<u8>>,
}

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

impl Wires {
    fn new(rows: usize, columns: usize) -> Self {
        Self { cells: vec![vec![0; columns]; rows] }
    }

    fn connect(&mut self, from: usize, to: usize, lane: usize) {
        let last = self.cells.first().map_or(0, Vec::len).saturating_sub(1);
        if from == to {
            self.across(from, 0, last);
            return;
        }
        let (top, bottom) = (from.min(to), from.max(to));
        self.across(from, 0, lane);
        self.across(to, lane, last);
        for row in top..=bottom {
            if row > top {
                self.cells[row][lane] |= UP;
            }
            if row < bottom {
                self.cells[row][lane] |= DOWN;
            }
        }
    }

    fn across(&mut self, row: usize, first: usize, last: usize) {
        let edge = self.cells[row].len() - 1;
        for column in first..=last {
            if column > first || column == 0 {
                self.cells[row][column] |= LEFT;
            }
            if column < last || column == edge {
                self.cells[row][column] |= RIGHT;
            }
        }
    }

    fn row(&self, row: usize) -> String {
        self.cells[row].iter().map(|cell| wire(*cell)).collect()
    }
}

fn wire(directions: u8) -> char {
    // Indexed by UP | DOWN | LEFT | RIGHT.
    const WIRES: [char; 16] =
        [' ', '╵', '╷', '│', '╴', '┘', '┐', '┤', '╶', '└', '┌', '├', '─', '┴', '┬', '┼'];
    WIRES[usize::from(directions & 15)]
}

/// The binding in few lines, each naming its node where that is known.
pub(super) fn binding(
    binding: &BTreeMap<Vcpu, CpuSet>,
    vcpus: u32,
    topology: Option<&Topology>,
    width: usize,
) -> Vec<Line> {
    let mut rows = Vec::new();
    for (node, part) in by_node(binding, topology) {
        for run in binding_runs(&part) {
            rows.push(labels::binding_run(&run, node.as_deref()));
        }
    }
    rows.sort_by_key(|(first, _, _)| *first);
    let bound = binding.keys().map(|v| v.0).collect::<std::collections::BTreeSet<_>>();
    let missing: numawise_model::VcpuSet =
        (0..vcpus).filter(|n| !bound.contains(n)).map(Vcpu).collect();
    let name_width = rows.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text: Vec<String> =
        rows.into_iter().map(|(_, name, onto)| format!("  {name:<name_width$}  {onto}")).collect();
    if !missing.is_empty() {
        text.push(format!("  {} {}", labels::vcpus(&missing), labels::NOT_BOUND));
    }
    let head = std::iter::once(Line::plain(labels::BINDING));
    head.chain(text.iter().flat_map(|t| wrap(t, width, 4)).map(Line::plain)).collect()
}

/// vCPUs in stretches of one node, so that no line of the table mixes nodes.
fn by_node(
    binding: &BTreeMap<Vcpu, CpuSet>,
    topology: Option<&Topology>,
) -> Vec<(Option<String>, Vec<(u32, CpuSet)>)> {
    let mut parts: Vec<(Option<String>, Vec<(u32, CpuSet)>)> = Vec::new();
    for (vcpu, cpus) in binding {
        let nodes = topology.map(|t| {
            let nodes = t.nodes_of(cpus);
            if nodes.is_empty() { labels::OF_NO_NODE.to_owned() } else { labels::nodes(&nodes) }
        });
        match parts.last_mut() {
            Some((of, part)) if *of == nodes => part.push((vcpu.0, cpus.clone())),
            _ => parts.push((nodes, vec![(vcpu.0, cpus.clone())])),
        }
    }
    parts
}

pub(super) fn helpers(helpers: &HelperPlacement, width: usize) -> Vec<Line> {
    let mut text: Vec<String> =
        helpers.emulator.iter().map(|cpus| labels::emulator(cpus)).collect();
    // I/O threads that share their CPUs are told together.
    let mut by_cpus: BTreeMap<&CpuSet, Vec<u32>> = BTreeMap::new();
    for (id, cpus) in &helpers.iothreads {
        by_cpus.entry(cpus).or_default().push(*id);
    }
    text.extend(by_cpus.into_iter().map(|(cpus, ids)| labels::iothreads(&ids, cpus)));
    text.iter().flat_map(|t| wrap(&format!("  {t}"), width, 4)).map(Line::plain).collect()
}
