//! Pictures, tables and sentences for model values. Every function returns a `String`; nothing here
//! prints, reads a file or asks the terminal: width and colour are arguments ([`Look`]).
//!
//! Three layers, so that each can change alone:
//! - [`layout`] decides what there is to show: CPUs grouped by package, node, L3 domain and core,
//!   and who has each of them. Text and SVG share it,
//!   with `captions`, the lines that stand beside the boxes. [`links`] is the same for a guest on its host.
//! - [`text`], [`svg`] and [`diff`] draw.
//! - `en` holds every word: one function per variant of the model's enums, with no catch-all arm,
//!   so that a new variant does not compile before somebody has written its sentence. Another
//!   language is another file beside it.

pub mod binding;
mod captions;
pub mod diff;
mod en;
pub mod layout;
pub mod links;
pub mod look;
pub mod quantity;
mod style;
pub mod svg;
pub mod text;

pub use look::{GuestRow, GuestState, GuestView, HostView, Look, PlanView};
