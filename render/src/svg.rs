//! The same pictures as vector graphics: one file without scripts, fonts or links, light or dark as
//! the reader's system is, with a title and a description for those who hear it, and a tooltip on
//! every CPU.

mod block;
mod guest;
mod host;
mod sheet;

pub use guest::guest;
pub use host::host;
