//! A guest on its host: what it sees on the left, what it runs on on the right, lines between.

use super::block::{Block, BoxBlock};
use super::sheet::{self, LINE, MARGIN, text, text_width};
use crate::captions::{cut, guest as captions};
use crate::en::labels;
use crate::links::GuestLinks;
use crate::look::GuestView;

use svg::node::element::Group;

const BETWEEN: f64 = 140.0;

pub fn guest(view: &GuestView<'_>) -> String {
    let links = GuestLinks::of(view);
    let title = captions::title(view);
    let facts = captions::facts(view);
    let drifted = captions::drifted_nodes(view);
    let left: Vec<Block> = links
        .guest
        .iter()
        .map(|side| {
            let drift = side.vnode.is_some_and(|id| drifted.contains(&id));
            let (title, lines) = captions::guest_box(side, drift);
            boxed(if drift { "drift" } else { "node" }, title, lines)
        })
        .collect();
    let right: Vec<Block> = links
        .host
        .iter()
        .map(|side| {
            let (title, lines) = captions::host_box(side);
            boxed("package", title, lines.iter().map(|l| cut(l, 70)).collect())
        })
        .collect();
    let widest = |side: &[Block]| side.iter().map(|b| b.size().0).fold(0.0, f64::max);
    let right_x = MARGIN + widest(&left).max(text_width(labels::GUEST_SIDE)) + BETWEEN;
    let mut content = Group::new()
        .add(text(MARGIN, MARGIN + LINE, "head", &title))
        .add(text(MARGIN, MARGIN + 2.0 * LINE + 4.0, "", &facts))
        .add(text(MARGIN, MARGIN + 3.0 * LINE + 10.0, "dim", labels::GUEST_SIDE))
        .add(text(right_x, MARGIN + 3.0 * LINE + 10.0, "dim", labels::HOST_SIDE));
    let tops = tops(&left, &right, MARGIN + 3.0 * LINE + 20.0);
    let middle =
        |side: &[Block], at: usize| tops[at] + side.get(at).map_or(0.0, |b| b.size().1) / 2.0;
    for (from, to) in &links.lines {
        let start = (MARGIN + left.get(*from).map_or(0.0, |b| b.size().0), middle(&left, *from));
        content = content.add(sheet::link(start, (right_x, middle(&right, *to))));
    }
    for (x, side) in [(MARGIN, &left), (right_x, &right)] {
        for (block, top) in side.iter().zip(&tops) {
            content = content.add(block.draw(x, *top));
        }
    }
    let mut y = tops.last().copied().unwrap_or(MARGIN) + 6.0;
    let mut width =
        (right_x + widest(&right)).max(text_width(&title) * 1.4).max(text_width(&facts));
    for line in captions::below(view, &links) {
        content = content.add(sheet::aligned(MARGIN, y, &line));
        width = width.max(text_width(&line));
        y += LINE;
    }
    sheet::page(width + 2.0 * MARGIN, y + MARGIN - LINE + 6.0, &title, &facts, content)
}

/// Where each row of boxes begins, and last where all of them end.
fn tops(left: &[Block], right: &[Block], first: f64) -> Vec<f64> {
    let mut tops = vec![first];
    let mut y = first;
    for index in 0..left.len().max(right.len()) {
        let height = |side: &[Block]| side.get(index).map_or(0.0, |b| b.size().1);
        y += height(left).max(height(right)) + 14.0;
        tops.push(y);
    }
    tops
}

fn boxed(class: &'static str, title: String, lines: Vec<String>) -> Block {
    Block::Box(BoxBlock {
        class,
        title,
        lines,
        tip: String::new(),
        children: Vec::new(),
        per_row: 1,
        tight: false,
    })
}
