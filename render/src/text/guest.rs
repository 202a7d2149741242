//! A guest on its host: the nodes that it sees on the left, the nodes that it runs on on the right,
//! and lines between them. Below: the binding, helper threads, and what does not agree.

use super::frame::{Line, Port, joined, to_text, wrap};
use super::said;
use crate::captions::{cut, guest as captions};
use crate::en::labels;
use crate::links::GuestLinks;
use crate::look::{GuestView, Look};
use crate::style::Meaning;
use numawise_model::Severity;

/// The narrowest that the space between the two sides gets.
const GUTTER: usize = 9;

pub fn guest(view: &GuestView<'_>) -> String {
    let links = GuestLinks::of(view);
    let width = view.look.width.max(60);
    let title = cut(&captions::title(view), width);
    let mut lines = vec![Line::default().painted(&view.look, Meaning::Title, &title)];
    let wrapped = |text: &str, indent| wrap(text, width, indent).into_iter().map(Line::plain);
    lines.extend(wrapped(&captions::facts(view), 2));
    lines.extend(sides(view, &links, width));
    for line in captions::below(view, &links) {
        lines.extend(wrapped(&line, 4));
    }
    let mut text = to_text(lines);
    if !view.drift.is_empty() {
        let only_notes = view.drift.iter().all(|finding| finding.severity == Severity::Info);
        let title = if only_notes { labels::NOTES } else { labels::DRIFT };
        text += &format!("\n{}\n", view.look.paint(Meaning::Title, title));
        text += &said::findings(&view.drift, &Look { simulated: false, ..view.look });
    }
    text
}

/// Both columns of boxes and the gutter between them.
fn sides(view: &GuestView<'_>, links: &GuestLinks, width: usize) -> Vec<Line> {
    let crossing = links.lines.iter().filter(|(a, b)| a != b).count();
    let gutter = (GUTTER + crossing).min(width / 4);
    let left_width = (width - gutter) * 2 / 5;
    let right_width = width - gutter - left_width;
    let drifted = captions::drifted_nodes(view);
    let boxes = |(title, lines): (String, Vec<String>), width: usize, port: Port| {
        joined(&title, fit(&lines, width - 4), width, port, &view.look)
    };
    let left = links.guest.iter().enumerate().map(|(index, side)| {
        let drift = side.vnode.is_some_and(|id| drifted.contains(&id));
        let linked = links.lines.iter().any(|(from, _)| *from == index);
        let port = if linked { Port::Right } else { Port::None };
        boxes(captions::guest_box(side, drift), left_width, port)
    });
    let right =
        links.host.iter().map(|side| boxes(captions::host_box(side), right_width, Port::Left));
    let placed = Placed::of(left.collect(), right.collect());
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
