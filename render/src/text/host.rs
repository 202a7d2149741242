//! The picture of a host: package, node, L3 domain, core, with who has which CPU and what is free.
//!
//! An L3 domain is one line, its CPUs drawn as one mark each and its threads side by side, so that
//! 384 CPUs are 24 lines. Where domains are many and small (or there are none), a node's CPUs are
//! drawn in one block of marks instead.

use super::frame::{Line, boxed, cut, fit_list, to_text, wrap};
use crate::en::{self, labels};
use crate::layout::{HostLayout, L3Block, Mark, Marks, NodeBlock, PackageBlock, mean_use};
use crate::look::{HostView, Look};
use crate::quantity::{bytes, bytes_or_unknown, pages, percent};
use crate::style::Meaning;
use numawise_model::{CpuSet, Host, Locality, PciDevice, Pcpu, Pnode, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// More L3 domains than this in a host, and a node's are summed up.
const MOST_L3_LINES: usize = 64;
/// Up to so many CPUs each has a bar of its use under its mark.
const MOST_USE_BARS: usize = 128;

pub fn host(host: &Host, view: &HostView<'_>) -> String {
    Picture::new(host, view).draw()
}

struct Picture<'a> {
    host: &'a Host,
    view: &'a HostView<'a>,
    look: Look,
    layout: HostLayout,
    marks: Marks,
    width: usize,
    l3_lines: bool,
    bars: bool,
}

impl<'a> Picture<'a> {
    fn new(host: &'a Host, view: &'a HostView<'a>) -> Self {
        let layout = HostLayout::of(&host.topology);
        let l3_lines = layout.l3_blocks().count() <= MOST_L3_LINES;
        let sampled = !host.levels.utilisation.is_empty();
        Self {
            host,
            view,
            look: view.look,
            marks: Marks::of(&host.topology, view.ledger, view.reserved),
            layout,
            width: view.look.width.max(60),
            l3_lines,
            bars: sampled && host.topology.online.len() <= MOST_USE_BARS,
        }
    }

    fn draw(&self) -> String {
        let mut lines = self.head();
        for package in &self.layout.packages {
            lines.extend(self.package(package));
        }
        for id in &self.layout.memory_only {
            let mut body = vec![Line::plain(labels::memory_only())];
            body.extend(self.node_facts(*id, self.width - 4));
            lines.extend(boxed(&labels::node(Some(*id)), body, self.width, &self.look));
        }
        lines.extend(self.legend());
        lines.extend(self.distances());
        lines.extend(self.remarks());
        to_text(lines)
    }

    fn head(&self) -> Vec<Line> {
        let t = &self.host.topology;
        let mut title = labels::title_host(self.view.name);
        if self.look.simulated {
            title += &format!(" ({})", labels::SIMULATED);
        }
        let widths: BTreeSet<usize> = t.cores.iter().map(|c| c.cpus.len()).collect();
        let widths: Vec<usize> = widths.into_iter().collect();
        let counts = labels::counts(
            t.online.len(),
            t.cores.len(),
            t.l3_domains.len(),
            t.nodes.len(),
            t.packages.len(),
        );
        let model = [t.model_name.as_deref(), t.architecture.as_deref()];
        let model: Vec<&str> = model.into_iter().flatten().collect();
        let mut lines =
            vec![Line::default().painted(&self.look, Meaning::Title, &cut(&title, self.width))];
        if !model.is_empty() {
            lines.extend(self.wrapped(&model.join(", ")));
        }
        lines.extend(self.wrapped(&format!("{counts}; {}", labels::smt(&widths))));
        let memory = format!(
            "{} {}",
            labels::MEMORY,
            bytes_or_unknown(t.memory_total_bytes, labels::UNKNOWN)
        );
        lines.push(Line::plain(memory));
        lines
    }

    fn wrapped(&self, text: &str) -> Vec<Line> {
        wrap(text, self.width, 2).into_iter().map(Line::plain).collect()
    }

    fn package(&self, package: &PackageBlock) -> Vec<Line> {
        let inner = self.width - 4;
        let nodes = package.nodes.iter().flat_map(|node| self.node(node, inner)).collect();
        let cpus = labels::share(&package.cpus, crate::layout::Share::Whole);
        let title = format!("{}: {cpus}", labels::package(package.package));
        boxed(&title, nodes, self.width, &self.look)
    }

    fn node(&self, block: &NodeBlock, width: usize) -> Vec<Line> {
        let inner = width - 4;
        let mut title =
            format!("{}: {} ", labels::node(block.node), labels::share(&block.cpus, block.share));
        let room = inner.saturating_sub(title.chars().count() + 2);
        let cpus = block.cpus.to_string();
        let mut body: Vec<Line> = Vec::new();
        if cpus.len() <= room {
            title += &cpus;
        } else {
            body.extend(wrap(&cpus, inner, 0).into_iter().map(Line::plain));
        }
        if let (Some(id), true) = (block.node, block.first) {
            body.extend(self.node_facts(id, inner));
        }
        if !self.l3_lines || block.l3.iter().all(|l3| l3.l3.is_none()) {
            body.extend(self.marks_of_node(block, inner));
        } else {
            let columns = L3Columns::of(block, inner);
            body.extend(block.l3.iter().flat_map(|l3| self.l3(l3, &columns, inner)));
        }
        boxed(title.trim_end(), body, width, &self.look)
    }

    /// Memory, hugepages and devices of a node.
    fn node_facts(&self, id: Pnode, width: usize) -> Vec<Line> {
        let levels = self.host.levels.nodes.get(&id);
        let total = self.host.topology.node(id).and_then(|n| n.memory_total_bytes);
        let free = levels.and_then(|l| l.memory_free_bytes);
        let mut text = vec![labels::memory(
            &bytes_or_unknown(total, labels::UNKNOWN),
            &bytes_or_unknown(free, labels::UNKNOWN),
        )];
        for (size, pool) in levels.map(|l| &l.hugepages).into_iter().flatten() {
            let mut words = labels::hugepages(size, pool.free, &pages(pool.total, *size));
            if let Some(reserved) = pool.reserved {
                words += &format!(", {}", labels::reserved_pages(reserved));
            }
            text.push(words);
        }
        let near = |device: &&PciDevice| device.locality == Locality::Node(id);
        let devices: Vec<&PciDevice> = self.host.topology.devices.iter().filter(near).collect();
        text.extend(device_words(&devices).map(|words| format!("{}: {words}", labels::DEVICES)));
        text.iter().flat_map(|line| wrap(line, width, 2)).map(Line::plain).collect()
    }

    fn l3(&self, block: &L3Block, columns: &L3Columns, inner: usize) -> Vec<Line> {
        let rows = core_rows(&block.cores, columns.marks);
        let name = L3Columns::name(block);
        let list = fit_list(&block.cpus, columns.list);
        let mean = mean_use(self.host, &block.cpus);
        let mut lines = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let head = if index == 0 { format!("{name:<0$}", columns.name) } else { String::new() };
            let list = if index == 0 { list.as_str() } else { "" };
            let mut line = Line::plain(head).padded(columns.name + 2).and(list);
            line = line.padded(columns.name + columns.list + 4).join(self.mark_row(row));
            if let (0, Some(mean)) = (index, mean) {
                line = line.and(format!("  {}", labels::mean_use(&percent(mean))));
            }
            lines.push(line);
            if self.bars {
                let indent = " ".repeat(columns.name + columns.list + 4);
                lines.push(Line::plain(indent).join(self.bar_row(row)));
            }
        }
        debug_assert!(lines.iter().all(|line| line.columns() <= inner));
        lines
    }

    fn marks_of_node(&self, block: &NodeBlock, inner: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let described: Vec<&L3Block> = block.l3.iter().filter(|l3| l3.l3.is_some()).collect();
        if !described.is_empty() {
            let sizes: BTreeSet<usize> = described.iter().map(|l3| l3.cpus.len()).collect();
            let sizes: Vec<usize> = sizes.into_iter().collect();
            lines.push(Line::plain(cut(&labels::l3_summary(described.len(), &sizes), inner)));
        }
        if described.len() < block.l3.len() {
            lines.push(Line::plain(labels::l3(None)));
        }
        if let Some(mean) = mean_use(self.host, &block.cpus) {
            lines.push(Line::plain(labels::mean_use(&percent(mean))));
        }
        let cores: Vec<CpuSet> = block.l3.iter().flat_map(|l3| l3.cores.clone()).collect();
        for row in core_rows(&cores, inner) {
            lines.push(self.mark_row(&row));
            if self.bars {
                lines.push(self.bar_row(&row));
            }
        }
        lines
    }

    fn mark_row(&self, cores: &[CpuSet]) -> Line {
        self.row(cores, |cpu| {
            let mark = self.marks.of_cpu(cpu);
            (symbol(mark), mark_meaning(mark))
        })
    }

    fn bar_row(&self, cores: &[CpuSet]) -> Line {
        self.row(cores, |cpu| match self.host.levels.utilisation.get(&cpu) {
            Some(use_) => (bar(use_.0), Meaning::Busy),
            None => ('?', Meaning::Dim),
        })
    }

    fn row(&self, cores: &[CpuSet], draw: impl Fn(Pcpu) -> (char, Meaning)) -> Line {
        let mut line = Line::default();
        for (index, core) in cores.iter().enumerate() {
            if index > 0 && gap_before(cores, index) {
                line = line.and(" ");
            }
            for cpu in core.iter() {
                let (symbol, meaning) = draw(cpu);
                line = line.painted(&self.look, meaning, &symbol.to_string());
            }
        }
        line
    }

    fn legend(&self) -> Vec<Line> {
        let words: Vec<String> = self
            .marks
            .used()
            .into_iter()
            .map(|mark| match mark {
                Mark::Exclusive(owner) | Mark::Shared(owner) => {
                    let name = en::owner(&self.marks.owners[owner].0);
                    let words = labels::owner_mark(&name, mark, &self.marks.cpus(mark));
                    format!("{} {words}", symbol(mark))
                }
                other => format!("{} {}", symbol(other), labels::mark(other)),
            })
            .collect();
        let mut lines = self.wrapped(&format!("{}: {}", labels::LEGEND, words.join("; ")));
        if let Some(window) =
            self.view.usage_window_sec.filter(|_| !self.host.levels.utilisation.is_empty())
        {
            lines.extend(self.wrapped(&labels::usage_window(window)));
        }
        if self.bars {
            lines.extend(self.wrapped(labels::usage_scale()));
        }
        lines
    }

    fn distances(&self) -> Vec<Line> {
        let nodes = &self.host.topology.nodes;
        if nodes.len() < 2 || nodes.iter().all(|node| node.distances.is_empty()) {
            return Vec::new();
        }
        let ids: Vec<Pnode> = nodes.iter().map(|node| node.id).collect();
        let numbers = ids
            .iter()
            .map(|id| id.0)
            .chain(nodes.iter().flat_map(|n| n.distances.values().copied()));
        let cell = numbers.map(|n| n.to_string().len()).max().unwrap_or(1) + 2;
        if labels::DISTANCES.len() + cell * ids.len() > self.width {
            return self.distance_groups();
        }
        let head: String = ids.iter().map(|id| format!("{id:>cell$}")).collect();
        let mut lines = vec![Line::plain(format!("{}{head}", labels::DISTANCES))];
        for node in nodes {
            let row: String = ids
                .iter()
                .map(|to| node.distances.get(to).map_or_else(|| "?".to_owned(), u32::to_string))
                .map(|text| format!("{text:>cell$}"))
                .collect();
            lines.push(Line::plain(format!("{:>1$}{row}", node.id, labels::DISTANCES.len())));
        }
        lines
    }

    /// For hosts whose matrix is wider than the terminal.
    fn distance_groups(&self) -> Vec<Line> {
        let mut pairs: BTreeMap<u32, usize> = BTreeMap::new();
        let mut home = BTreeSet::new();
        for node in &self.host.topology.nodes {
            for (to, distance) in &node.distances {
                if *to == node.id {
                    home.insert(*distance);
                } else {
                    *pairs.entry(*distance).or_default() += 1;
                }
            }
        }
        let home = home.into_iter().map(|d| labels::distance_group(d, labels::distance_home()));
        let others =
            pairs.into_iter().map(|(d, n)| labels::distance_group(d, &labels::distance_pairs(n)));
        let words: Vec<String> = home.chain(others).collect();
        self.wrapped(&format!("{}: {}", labels::DISTANCES, words.join(", ")))
    }

    fn remarks(&self) -> Vec<Line> {
        let t: &Topology = &self.host.topology;
        let some = |set: &CpuSet| !set.is_empty();
        let mut text = Vec::new();
        if some(&t.offline) {
            text.push(labels::offline(&t.offline));
        }
        text.extend(t.isolated.as_ref().filter(|s| some(s)).map(labels::isolated));
        text.extend(t.nohz_full.as_ref().filter(|s| some(s)).map(labels::nohz_full));
        let denied = t.online.difference(&t.allowed.cpus);
        if some(&denied) {
            text.push(labels::not_allowed(&denied, t.allowed.limited_by.as_deref()));
        }
        text.extend(self.devices_elsewhere());
        text.extend(t.hypervisor.as_ref().map(|h| labels::hypervisor(h.vendor.as_deref())));
        text.iter().flat_map(|line| self.wrapped(line)).collect()
    }

    /// Devices that are in no node's box.
    fn devices_elsewhere(&self) -> Vec<String> {
        let mut by_cpus: BTreeMap<&CpuSet, Vec<&PciDevice>> = BTreeMap::new();
        let mut unknown = Vec::new();
        for device in &self.host.topology.devices {
            match &device.locality {
                Locality::Node(id) if self.host.topology.node(*id).is_some() => {}
                Locality::NearCpus(cpus) => by_cpus.entry(cpus).or_default().push(device),
                Locality::Node(_) | Locality::Unknown => unknown.push(device),
            }
        }
        let near = by_cpus.iter().filter_map(|(cpus, devices)| {
            Some(format!(
                "{} {}: {}",
                labels::DEVICES,
                labels::devices_near(cpus),
                device_words(devices)?
            ))
        });
        let unknown = device_words(&unknown)
            .map(|words| format!("{} {}: {words}", labels::DEVICES, labels::devices_unknown()));
        near.chain(unknown).collect()
    }
}

/// Network cards, disks and GPUs by name; of the rest only how many.
fn device_words(devices: &[&PciDevice]) -> Option<String> {
    use numawise_model::DeviceKind;
    const MOST: usize = 12;
    let (other, named): (Vec<&PciDevice>, Vec<&PciDevice>) =
        devices.iter().partition(|d| d.kind == DeviceKind::Other);
    let mut words: Vec<String> = named.iter().take(MOST).map(|d| device_word(d)).collect();
    let rest = other.len() + named.len().saturating_sub(MOST);
    if rest > 0 {
        words.push(labels::other_devices(rest));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

fn device_word(device: &PciDevice) -> String {
    let kind = labels::device_kind(device.kind);
    match device.names.as_slice() {
        [] => format!("{kind} {}", device.address),
        names => format!("{} ({kind} {})", names.join("/"), device.address),
    }
}

/// The columns of a node's L3 lines, equal for all of them.
struct L3Columns {
    name: usize,
    list: usize,
    marks: usize,
}

impl L3Columns {
    fn of(block: &NodeBlock, inner: usize) -> Self {
        // "  use 100 %", with its gap.
        const USE: usize = 13;
        let widest = |f: &dyn Fn(&L3Block) -> usize| block.l3.iter().map(f).max().unwrap_or(0);
        let name = widest(&|l3| Self::name(l3).chars().count());
        let marks = widest(&|l3| row_columns(&l3.cores));
        let list = widest(&|l3| l3.cpus.to_string().len());
        let room = inner.saturating_sub(name + 4 + USE);
        let list = list.min(room.saturating_sub(marks).max(room / 3));
        Self { name, list, marks: room.saturating_sub(list).max(8) }
    }

    fn name(block: &L3Block) -> String {
        let mut name = labels::l3(block.l3);
        if let Some(size) = block.size_bytes {
            name += &format!(" {}", bytes(size));
        }
        if let crate::layout::Share::PartOf(_) = block.share {
            name += &format!(" ({})", labels::share(&block.cpus, block.share));
        }
        name
    }
}

/// Threads of a core stand together with a gap between cores; cores of one thread have a gap after
/// every eighth.
fn gap_before(cores: &[CpuSet], index: usize) -> bool {
    cores.iter().any(|core| core.len() > 1) || index.is_multiple_of(8)
}

fn row_columns(cores: &[CpuSet]) -> usize {
    let gaps = (1..cores.len()).filter(|index| gap_before(cores, *index)).count();
    cores.iter().map(CpuSet::len).sum::<usize>() + gaps
}

/// Cores in rows of at most so many columns, always whole eights where eight fit.
fn core_rows(cores: &[CpuSet], columns: usize) -> Vec<Vec<CpuSet>> {
    let fits = (1..=cores.len()).take_while(|n| row_columns(&cores[..*n]) <= columns).last();
    let fits = fits.unwrap_or(1);
    let fits = if fits < cores.len() && fits > 8 { fits / 8 * 8 } else { fits };
    cores.chunks(fits.max(1)).map(<[CpuSet]>::to_vec).collect()
}

fn symbol(mark: Mark) -> char {
    let letter = |owner: usize, first: u8| match u8::try_from(owner) {
        Ok(n) if n < 26 => char::from(first + n),
        _ => '*',
    };
    match mark {
        Mark::Free => '·',
        Mark::Exclusive(owner) => letter(owner, b'A'),
        Mark::Shared(owner) => letter(owner, b'a'),
        Mark::SharedBySeveral => '+',
        Mark::Reserved => '#',
        Mark::Isolated => '~',
        Mark::NotAllowed => '-',
    }
}

fn mark_meaning(mark: Mark) -> Meaning {
    match mark {
        Mark::Free | Mark::NotAllowed => Meaning::Free,
        Mark::Exclusive(owner) | Mark::Shared(owner) => Meaning::Owner(owner),
        Mark::SharedBySeveral => Meaning::Busy,
        Mark::Reserved | Mark::Isolated => Meaning::Note,
    }
}

/// Eight heights over a thousandth scale.
pub(super) fn bar(thousandths: u16) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    BARS[usize::from(thousandths / 125).min(BARS.len() - 1)]
}
