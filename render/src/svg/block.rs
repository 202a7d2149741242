//! Boxes in boxes: each is as large as what it holds, and what it holds flows in rows. Measured from
//! the inside out, then drawn from the outside in.

use super::sheet::{Frame, LINE, rectangle, text, text_width, tooltip};
use svg::node::element::Group;

const PAD: f64 = 8.0;
const GAP: f64 = 6.0;

/// A box with a heading and children, or a single cell.
pub enum Block {
    Box(BoxBlock),
    Cell(Cell),
}

pub struct BoxBlock {
    pub class: &'static str,
    pub title: String,
    pub lines: Vec<String>,
    pub tip: String,
    pub children: Vec<Block>,
    /// Children in a row, at most.
    pub per_row: usize,
    /// Without heading, padding and gaps: a core around its threads.
    pub tight: bool,
}

/// One CPU.
pub struct Cell {
    pub class: String,
    pub words: String,
    pub words_class: &'static str,
    pub tip: String,
    /// A share of the cell's width, 0 to 1, drawn as a bar at its foot.
    pub level: Option<f64>,
}

pub const CELL_WIDTH: f64 = 27.0;
pub const CELL_HEIGHT: f64 = 17.0;

impl Block {
    pub fn size(&self) -> (f64, f64) {
        match self {
            Block::Cell(_) => (CELL_WIDTH, CELL_HEIGHT),
            Block::Box(block) => block.size(),
        }
    }

    pub fn draw(&self, x: f64, y: f64) -> Group {
        match self {
            Block::Cell(cell) => cell.draw(x, y),
            Block::Box(block) => block.draw(x, y),
        }
    }
}

impl BoxBlock {
    fn pad(&self) -> f64 {
        if self.tight { 1.0 } else { PAD }
    }

    fn gap(&self) -> f64 {
        if self.tight { 0.0 } else { GAP }
    }

    fn head_height(&self) -> f64 {
        let lines = self.lines.len() + usize::from(!self.title.is_empty());
        lines as f64 * LINE
    }

    fn rows(&self) -> impl Iterator<Item = (&[Block], f64, f64)> {
        self.children.chunks(self.per_row.max(1)).map(|row| {
            let sizes: Vec<(f64, f64)> = row.iter().map(Block::size).collect();
            let gaps = self.gap() * (row.len() - 1) as f64;
            let width = sizes.iter().map(|s| s.0).sum::<f64>() + gaps;
            (row, width, sizes.iter().map(|s| s.1).fold(0.0, f64::max))
        })
    }

    fn size(&self) -> (f64, f64) {
        let words = self.lines.iter().chain([&self.title]).map(|t| text_width(t));
        let width = self.rows().map(|row| row.1).chain(words).fold(0.0, f64::max);
        let rows: Vec<f64> = self.rows().map(|row| row.2).collect();
        let gaps = self.gap() * rows.len().saturating_sub(1) as f64;
        let height = rows.iter().sum::<f64>() + gaps + self.head_height();
        let between = if rows.is_empty() || self.head_height() == 0.0 { 0.0 } else { GAP };
        (width + 2.0 * self.pad(), height + between + 2.0 * self.pad())
    }

    fn draw(&self, x: f64, y: f64) -> Group {
        let (width, height) = self.size();
        let round = if self.tight { 2.0 } else { 5.0 };
        let mut group = Group::new();
        if !self.tip.is_empty() {
            group = group.add(tooltip(&self.tip));
        }
        group = group.add(rectangle(Frame { x, y, width, height }, self.class, round));
        let mut line_y = y + self.pad() + LINE - 5.0;
        if !self.title.is_empty() {
            group = group.add(text(x + self.pad(), line_y, "name", &self.title));
            line_y += LINE;
        }
        for line in &self.lines {
            group = group.add(text(x + self.pad(), line_y, "", line));
            line_y += LINE;
        }
        let head = self.head_height();
        let mut row_y = y + self.pad() + head + if head > 0.0 { GAP } else { 0.0 };
        for (row, _, row_height) in self.rows() {
            let mut child_x = x + self.pad();
            for child in row {
                group = group.add(child.draw(child_x, row_y));
                child_x += child.size().0 + self.gap();
            }
            row_y += row_height + self.gap();
        }
        group
    }
}

impl Cell {
    fn draw(&self, x: f64, y: f64) -> Group {
        let frame =
            Frame { x: x + 1.0, y: y + 1.0, width: CELL_WIDTH - 2.0, height: CELL_HEIGHT - 2.0 };
        let middle = x + CELL_WIDTH / 2.0;
        let mut group = Group::new()
            .set("class", "cpu")
            .add(tooltip(&self.tip))
            .add(rectangle(frame, &self.class, 2.0))
            .add(text(middle, y + CELL_HEIGHT - 6.0, self.words_class, &self.words));
        if let Some(level) = self.level {
            let bar = Frame {
                y: y + CELL_HEIGHT - 3.5,
                width: frame.width * level.clamp(0.0, 1.0),
                height: 2.5,
                ..frame
            };
            group = group.add(rectangle(bar, "use", 1.0));
        }
        group
    }
}
