//! Reads a host: the live kernel, a directory or an archive of its `sys` and `proc`, an hwloc XML
//! file, or libvirt's `capabilities`.
//!
//! A kernel's files are read in three passes, each with a type of its own:
//!
//! 1. `facts` holds what the files say, word for word: `Option` for what this kernel does not
//!    have, an error with file and value for what is there and cannot be read.
//! 2. `derive` makes sets of them: which CPUs are online, which share a core, a package, an L3.
//!    Contradictions become findings here; where two texts disagree there is a rule, not a guess.
//! 3. `build` makes the [`numawise_model::Host`] and looks at its shape.
//!
//! The live host, a directory and an archive are read by the same code through `root::Reader`, so
//! a bug report's capture behaves as the machine it came from.
//!
//! What the kernel does beside its guests (interrupts, its own threads, switches that move memory)
//! is read by [`read_surroundings`], apart from the host: only an audit asks for it.
//!
//! A mask is read once for all the CPUs in it: when CPU 0's L3 is shared by CPUs 0-7, the other
//! seven are not asked. [`ReadOptions::strict`] asks every one and reports what differs; the
//! topology is the same.

mod archive;
mod build;
mod capture;
mod derive;
mod error;
mod facts;
mod host_id;
mod hwloc_xml;
mod libvirt_capabilities;
mod root;
mod shape;
mod source;
mod surroundings;
mod usage;
mod xml;

pub use capture::{capture, capture_bytes};
pub use error::ReadError;
pub use host_id::{imported_host_id, live_host_id};
pub use source::{Source, open};
pub use surroundings::read_surroundings;
pub use usage::{parse_stat, read_usage};

use numawise_model::Host;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Read every CPU's files and compare, instead of one CPU's for each set.
    pub strict: bool,
}

/// Reads everything there is to know of a host.
pub fn read_host(source: &Source, options: &ReadOptions) -> Result<Host, ReadError> {
    match source {
        Source::HwlocXml { name, text } => hwloc_xml::read(name, text),
        Source::LibvirtCapabilities { name, text } => libvirt_capabilities::read(name, text),
        Source::Live | Source::Directory(_) | Source::Archive { .. } => {
            let root = source.root()?;
            let mut reader = root::Reader::new(&root);
            // A running kernel prints list and map from one mask; only edited trees disagree.
            reader.compares_lists = options.strict || !source.is_live();
            let raw = facts::read(&mut reader, options)?;
            Ok(build::host(&raw, derive::derive(&raw)))
        }
    }
}
