//! A host: packages, nodes, L3 domains, cores and threads as boxes, coloured by who has them.

use super::block::{Block, BoxBlock, Cell};
use super::sheet::{
    self, Frame, LINE, MARGIN, OWNER_COLOURS, aligned, rectangle, text, text_width,
};
use crate::captions::{cut, fit_list, host as captions};
use crate::en::{self, labels};
use crate::layout::{HostLayout, L3Block, Mark, Marks, NodeBlock, PackageBlock, Share, mean_use};
use crate::look::HostView;
use crate::quantity::percent;

use numawise_model::{CpuSet, Host, Id, IdSet, Pcpu};
use svg::node::element::Group;

/// Cores beside each other in an L3 domain, and L3 domains beside each other in a node.
const CORES_PER_ROW: usize = 8;
const L3_PER_ROW: usize = 3;

pub fn host(host: &Host, view: &HostView<'_>) -> String {
    let sheet = HostSheet { host, marks: Marks::of(&host.topology, view.ledger, view.reserved) };
    let layout = HostLayout::of(&host.topology);
    let mut blocks: Vec<Block> = layout.packages.iter().map(|p| sheet.package(p)).collect();
    blocks.extend(layout.memory_only.iter().map(|id| {
        let mut lines = vec![labels::memory_only().to_owned()];
        lines.extend(captions::node_facts(host, *id));
        boxed("node", labels::node(Some(*id)), lines, Vec::new(), 1)
    }));
    let title = captions::title(view);
    let head = captions::head(&host.topology);
    let mut content = Group::new().add(text(MARGIN, MARGIN + LINE, "head", &title));
    let mut y = MARGIN + 2.0 * LINE + 4.0;
    let mut width = text_width(&title) * 1.4;
    for line in &head {
        content = content.add(text(MARGIN, y, "", line));
        width = width.max(text_width(line));
        y += LINE;
    }
    for block in &blocks {
        content = content.add(block.draw(MARGIN, y));
        let size = block.size();
        width = width.max(size.0);
        y += size.1 + 10.0;
    }
    let foot = sheet.foot(view, y + 4.0);
    let page = (width.max(foot.width) + 2.0 * MARGIN, foot.bottom + MARGIN);
    sheet::page(page.0, page.1, &title, &head.join(". "), content.add(foot.drawn))
}

struct HostSheet<'a> {
    host: &'a Host,
    marks: Marks,
}

/// What stands below the boxes, and how far it reaches.
struct Foot {
    drawn: Group,
    width: f64,
    bottom: f64,
}

impl HostSheet<'_> {
    fn package(&self, package: &PackageBlock) -> Block {
        let title = format!(
            "{}: {}",
            labels::package(package.package),
            labels::share(&package.cpus, Share::Whole)
        );
        let nodes: Vec<Block> = package.nodes.iter().map(|node| self.node(node)).collect();
        // Two wide nodes fill a screen; narrow ones stand four in a row.
        let widest = nodes.iter().map(|n| n.size().0).fold(0.0, f64::max);
        let per_row = if widest > 800.0 {
            1
        } else if widest > 380.0 {
            2
        } else {
            4
        };
        boxed("package", title, Vec::new(), nodes, per_row)
    }

    fn node(&self, block: &NodeBlock) -> Block {
        let share = labels::share(&block.cpus, block.share);
        let title = format!("{}: {share}, {}", labels::node(block.node), short(&block.cpus));
        let mut lines = match (block.node, block.first) {
            (Some(id), true) => captions::node_facts(self.host, id),
            _ => Vec::new(),
        };
        lines.extend(mean_use(self.host, &block.cpus).map(|u| labels::mean_use(&percent(u))));
        let lines = lines.iter().map(|line| cut(line, 90)).collect();
        let l3 = block.l3.iter().map(|l3| self.l3(l3)).collect();
        boxed("node", title, lines, l3, L3_PER_ROW)
    }

    fn l3(&self, block: &L3Block) -> Block {
        let cores = block.cores.iter().map(|core| self.core(core)).collect();
        let mut lines = vec![short(&block.cpus)];
        lines.extend(mean_use(self.host, &block.cpus).map(|u| labels::mean_use(&percent(u))));
        let line = lines.join("  ");
        boxed("l3", captions::l3_name(block), vec![line], cores, CORES_PER_ROW)
    }

    fn core(&self, core: &CpuSet) -> Block {
        Block::Box(BoxBlock {
            class: "core",
            title: String::new(),
            lines: Vec::new(),
            tip: String::new(),
            children: core.iter().map(|cpu| Block::Cell(self.cell(cpu))).collect(),
            per_row: 1,
            tight: true,
        })
    }

    fn cell(&self, cpu: Pcpu) -> Cell {
        let mark = self.marks.of_cpu(cpu);
        let owner = match mark {
            Mark::Exclusive(i) | Mark::Shared(i) => Some(en::owner(&self.marks.owners[i])),
            _ => None,
        };
        let use_ = self.host.levels.utilisation.get(&cpu);
        let node = self.host.topology.node_of(cpu);
        Cell {
            class: class(mark),
            words: cpu.to_string(),
            words_class: words_class(mark),
            tip: labels::cpu_tip(cpu, node, owner.as_deref(), mark, use_.map(|u| percent(*u))),
            level: use_.map(|u| f64::from(u.0) / 1000.0),
        }
    }

    fn foot(&self, view: &HostView<'_>, top: f64) -> Foot {
        let mut foot = Foot { drawn: Group::new(), width: 0.0, bottom: top };
        for mark in self.marks.used() {
            let words = captions::mark_words(&self.marks, mark);
            let y = foot.bottom;
            let frame = Frame { x: MARGIN, y, width: 20.0, height: 13.0 };
            foot.drawn = foot.drawn.add(rectangle(frame, &class(mark), 2.0));
            foot.line(28.0, &words);
        }
        let sampled = !self.host.levels.utilisation.is_empty();
        if let (true, Some(window)) = (sampled, view.usage_window_sec) {
            let frame = Frame { x: MARGIN, y: foot.bottom + 6.0, width: 20.0, height: 2.5 };
            foot.drawn = foot.drawn.add(rectangle(frame, "use", 1.0));
            foot.line(28.0, &labels::usage_window(window));
        }
        foot.bottom += 6.0;
        let matrix = captions::distances(&self.host.topology, 160);
        for line in matrix.iter().chain(&captions::remarks(&self.host.topology)) {
            foot.line(0.0, &cut(line, 200));
        }
        foot
    }
}

impl Foot {
    fn line(&mut self, indent: f64, words: &str) {
        let drawn = std::mem::take(&mut self.drawn);
        let line = aligned(MARGIN + indent, self.bottom + 11.0, words);
        self.drawn = drawn.add(line);
        self.width = self.width.max(indent + text_width(words));
        self.bottom += LINE;
    }
}

fn boxed(
    class: &'static str,
    title: String,
    lines: Vec<String>,
    children: Vec<Block>,
    per_row: usize,
) -> Block {
    Block::Box(BoxBlock {
        class,
        title,
        lines,
        tip: String::new(),
        children,
        per_row,
        tight: false,
    })
}

/// Lists that would widen the box are cut; every CPU's number is in its cell.
fn short<I: Id>(set: &IdSet<I>) -> String {
    fit_list(set, 40)
}

fn class(mark: Mark) -> String {
    match mark {
        Mark::Free => "free".to_owned(),
        Mark::Exclusive(owner) => format!("o{}", owner % OWNER_COLOURS),
        Mark::Shared(owner) => format!("o{} shared", owner % OWNER_COLOURS),
        Mark::SharedBySeveral => "several".to_owned(),
        Mark::Reserved => "reserved".to_owned(),
        Mark::Isolated => "isolated".to_owned(),
        Mark::NotAllowed => "denied".to_owned(),
    }
}

/// The numbers' own class: white on dark colours, black on light ones, else as the page has it.
fn words_class(mark: Mark) -> &'static str {
    match mark {
        Mark::Exclusive(owner) if matches!(owner % OWNER_COLOURS, 4 | 5) => "ink",
        Mark::Exclusive(_) | Mark::SharedBySeveral | Mark::Reserved => "on",
        Mark::Free | Mark::Shared(_) | Mark::Isolated | Mark::NotAllowed => "",
    }
}
