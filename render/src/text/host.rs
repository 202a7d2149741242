//! The picture of a host: package, node, L3 domain, core, with who has which CPU and what is free.
//!
//! An L3 domain is one line, its CPUs drawn as one mark each and its threads side by side, so that
//! 384 CPUs are 24 lines. Where domains are many and small (or there are none), a node's CPUs are
//! drawn in one block of marks instead.

use super::frame::{Line, boxed, to_text, wrap};
use crate::captions::{cut, fit_list, host as captions};
use crate::en::labels;
use crate::layout::{HostLayout, L3Block, Mark, Marks, NodeBlock, PackageBlock, Share, mean_use};
use crate::look::{HostView, Look};
use crate::quantity::percent;
use crate::style::Meaning;
use numawise_model::{CpuSet, Host, Pcpu};
use std::collections::BTreeSet;

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
        lines.extend(self.memory_only());
        lines.extend(self.legend());
        let t = &self.host.topology;
        lines.extend(captions::distances(t, self.width).iter().flat_map(|line| self.wrapped(line)));
        lines.extend(captions::remarks(t).iter().flat_map(|line| self.wrapped(line)));
        to_text(lines)
    }

    /// One box for all of them: machines with HBM have as many as they have nodes with CPUs.
    fn memory_only(&self) -> Vec<Line> {
        if self.layout.memory_only.is_empty() {
            return Vec::new();
        }
        let nodes = self.layout.memory_only.iter().flat_map(|id| {
            let facts = captions::node_facts(self.host, *id).join("; ");
            wrap(&format!("{}: {facts}", labels::node(Some(*id))), self.width - 4, 2)
        });
        let body = nodes.map(Line::plain).collect();
        boxed(labels::memory_only(), body, self.width, &self.look)
    }

    fn head(&self) -> Vec<Line> {
        let title = cut(&captions::title(self.view), self.width);
        let mut lines = vec![Line::default().painted(&self.look, Meaning::Title, &title)];
        for line in captions::head(&self.host.topology) {
            lines.extend(self.wrapped(&line));
        }
        lines
    }

    fn wrapped(&self, text: &str) -> Vec<Line> {
        wrap(text, self.width, 2).into_iter().map(Line::plain).collect()
    }

    fn package(&self, package: &PackageBlock) -> Vec<Line> {
        let inner = self.width - 4;
        let nodes = package.nodes.iter().flat_map(|node| self.node(node, inner)).collect();
        let cpus = labels::share(&package.cpus, Share::Whole);
        let title = format!("{}: {cpus}", labels::package(package.package));
        boxed(&title, nodes, self.width, &self.look)
    }

    fn node(&self, block: &NodeBlock, width: usize) -> Vec<Line> {
        let inner = width - 4;
        let mut title =
            format!("{}: {}", labels::node(block.node), labels::share(&block.cpus, block.share));
        let room = inner.saturating_sub(title.chars().count() + 3);
        let cpus = block.cpus.to_string();
        let mut body: Vec<Line> = Vec::new();
        if cpus.len() <= room {
            title += &format!(", {cpus}");
        } else {
            body.extend(wrap(&cpus, inner, 0).into_iter().map(Line::plain));
        }
        if let (Some(id), true) = (block.node, block.first) {
            body.extend(self.node_facts(id, inner));
        }
        if !self.l3_lines || block.l3.iter().all(|l3| l3.l3.is_none()) {
            body.extend(self.marks_of_node(block, inner));
        } else {
            let columns = L3Columns::of(&self.layout, inner);
            body.extend(block.l3.iter().flat_map(|l3| self.l3(l3, &columns)));
        }
        boxed(&title, body, width, &self.look)
    }

    fn node_facts(&self, id: numawise_model::Pnode, width: usize) -> Vec<Line> {
        let facts = captions::node_facts(self.host, id);
        facts.iter().flat_map(|line| wrap(line, width, 2)).map(Line::plain).collect()
    }

    fn l3(&self, block: &L3Block, columns: &L3Columns) -> Vec<Line> {
        let rows = core_rows(&block.cores, columns.marks);
        let name = captions::l3_name(block);
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
        let used = self.marks.used().into_iter();
        let words: Vec<String> = used
            .map(|mark| format!("{} {}", symbol(mark), captions::mark_words(&self.marks, mark)))
            .collect();
        let mut text = vec![format!("{}: {}", labels::LEGEND, words.join("; "))];
        if self.host.topology.smt_width() > 1 {
            text.push(format!("  {}", labels::MARKS_BY_CORE));
        }
        if !self.host.levels.utilisation.is_empty() {
            text.extend(self.view.usage_window_sec.map(labels::usage_window));
        }
        if self.bars {
            text.push(labels::usage_scale().to_owned());
        }
        text.iter().flat_map(|line| self.wrapped(line)).collect()
    }
}

/// The columns of the L3 lines, equal in the whole picture.
struct L3Columns {
    name: usize,
    list: usize,
    marks: usize,
}

impl L3Columns {
    fn of(layout: &HostLayout, inner: usize) -> Self {
        // "  use 100 %", with its gap.
        const USE: usize = 13;
        let widest = |f: &dyn Fn(&L3Block) -> usize| layout.l3_blocks().map(f).max().unwrap_or(0);
        let name = widest(&|l3| captions::l3_name(l3).chars().count());
        let marks = widest(&|l3| row_columns(&l3.cores));
        let list = widest(&|l3| l3.cpus.to_string().len());
        let room = inner.saturating_sub(name + 4 + USE);
        let list = list.min(room.saturating_sub(marks).max(room / 3));
        Self { name, list, marks: room.saturating_sub(list).max(8) }
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
