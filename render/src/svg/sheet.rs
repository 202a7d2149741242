//! The page: its size, style sheet, title, and the few shapes that are drawn on it.

use crate::captions::printable_lines;
use svg::Document;
use svg::node::Text as TextNode;
use svg::node::element::{Description, Group, Path, Rectangle, Style, Text, Title};

/// A column of the 12-pixel monospaced text, rounded up so that text fits whatever the font is.
pub const COLUMN: f64 = 7.3;
pub const LINE: f64 = 17.0;
pub const MARGIN: f64 = 16.0;

/// Owners have colours of their own up to here; then they begin again.
pub const OWNER_COLOURS: usize = 8;

/// Colours that people with the common colour-vision deficiencies can tell apart (after Okabe and
/// Ito), dark enough for white numbers or light enough for black ones.
const STYLE: &str = "
.page { fill: #ffffff; }
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2328; }
.head { font-size: 16px; font-weight: bold; }
.name { font-weight: bold; }
.cpu text { font-size: 9px; text-anchor: middle; }
.package { fill: #f3f4f6; stroke: #6b7280; }
.node { fill: #e3ecf7; stroke: #4673a8; }
.l3 { fill: #ffffff; stroke: #9ca3af; }
.core { fill: none; stroke: #c3c8cf; }
.drift { fill: #fde8e6; stroke: #c0362c; stroke-width: 2; }
.link { fill: none; stroke: #4673a8; stroke-width: 3; stroke-opacity: 0.75; }
.free { fill: #f3f4f6; stroke: #c3c8cf; }
.reserved { fill: #4b5563; }
.isolated { fill: #f3f4f6; stroke: #4b5563; stroke-dasharray: 2 2; }
.denied { fill: #d1d5db; }
.several { fill: #b08800; }
.o0 { fill: #0072b2; } .o1 { fill: #d55e00; } .o2 { fill: #007f5f; } .o3 { fill: #a14d86; }
.o4 { fill: #56b4e9; } .o5 { fill: #e69f00; } .o6 { fill: #7a5c3e; } .o7 { fill: #6a51a3; }
.shared { fill-opacity: 0.45; }
text.on { fill: #ffffff; }
text.ink { fill: #1f2328; }
text.dim { fill: #6b7280; }
.use { fill: #c0362c; }
@media (prefers-color-scheme: dark) {
.page { fill: #14171c; }
text { fill: #e6e8eb; }
.package { fill: #1d2128; stroke: #7d8590; }
.node { fill: #1b2a3d; stroke: #6ea1dd; }
.l3 { fill: #14171c; stroke: #59616c; }
.core { stroke: #444c56; }
.drift { fill: #3d1f1d; stroke: #f0776c; }
.link { stroke: #6ea1dd; }
.free { fill: #1d2128; stroke: #444c56; }
.reserved { fill: #6b7280; }
.isolated { fill: #1d2128; stroke: #9aa3af; }
.denied { fill: #3b424c; }
.use { fill: #ff8a80; }
text.dim { fill: #9aa3af; }
text.ink { fill: #1f2328; }
}
";

/// Something on the page, with where it is.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

pub fn rectangle(frame: Frame, class: &str, round: f64) -> Rectangle {
    Rectangle::new()
        .set("x", number(frame.x))
        .set("y", number(frame.y))
        .set("width", number(frame.width))
        .set("height", number(frame.height))
        .set("rx", number(round))
        .set("class", class)
}

/// One line of text; its y is the base line.
pub fn text(x: f64, y: f64, class: &str, words: &str) -> Text {
    let text = Text::new(clean(words)).set("x", number(x)).set("y", number(y));
    if class.is_empty() { text } else { text.set("class", class) }
}

/// A line of a table. XML folds blanks into one, so these are blanks that stay; those at the
/// beginning some readers drop even so, and they become a distance.
pub fn aligned(x: f64, y: f64, words: &str) -> Text {
    const BLANK: f64 = 7.2;
    let rest = words.trim_start_matches(' ');
    let indent = (words.len() - rest.len()) as f64 * BLANK;
    text(x + indent, y, "", &rest.replace(' ', "\u{a0}"))
}

pub fn tooltip(words: &str) -> Title {
    Title::new(clean(words))
}

/// A curve from the right edge of one box to the left edge of another.
pub fn link(from: (f64, f64), to: (f64, f64)) -> Path {
    let middle = (from.0 + to.0) / 2.0;
    let points = [from.0, from.1, middle, from.1, middle, to.1, to.0, to.1];
    let p: Vec<String> = points.iter().map(|n| number(*n)).collect();
    let path = format!("M{},{} C{},{} {},{} {},{}", p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
    Path::new().set("d", path).set("class", "link")
}

/// The whole file.
pub fn page(width: f64, height: f64, title: &str, description: &str, content: Group) -> String {
    let frame = Frame { x: 0.0, y: 0.0, width, height };
    let document = Document::new()
        .set("viewBox", format!("0 0 {} {}", number(width), number(height)))
        .set("width", number(width))
        .set("height", number(height))
        .set("role", "img")
        .set("aria-labelledby", "title description")
        .add(Title::new(clean(title)).set("id", "title"))
        .add(Description::new().set("id", "description").add(TextNode::new(clean(description))))
        .add(Style::new(STYLE))
        .add(rectangle(frame, "page", 0.0))
        .add(content);
    format!("{document}\n")
}

/// Characters that XML cannot hold at all are shown as a replacement; the crate escapes the rest.
fn clean(words: &str) -> String {
    let bad = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}');
    let words = printable_lines(words);
    words.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect()
}

/// At most one decimal, so that files stay small and equal on every machine.
fn number(n: f64) -> String {
    let rounded = (n * 10.0).round() / 10.0;
    format!("{rounded}")
}

/// How wide a text is at most.
pub fn text_width(words: &str) -> f64 {
    words.chars().count() as f64 * COLUMN
}
