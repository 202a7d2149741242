//! The test bed: a real libvirt and QEMU, and a machine with several nodes, for tests only.
//!
//! Everything comes from one small Debian root that [`Root::prepare`] makes once and keeps in the
//! user's cache. From it run
//!
//! - [`PrivateLibvirtd`]: a libvirtd on this machine with namespaces of its own, so that no test
//!   ever meets the machine's libvirt;
//! - [`TinyGuest`]: a Linux that boots in seconds under software emulation, says on its console
//!   which nodes and CPUs it sees, and obeys the power button and the guest agent;
//! - [`EmulatedHost`]: a whole host of four unequal nodes under software emulation, with the same
//!   libvirt inside, restored from a saved state in a second or two.
//!
//! All of it wants root, x86-64 and namespaces. Where one of these is missing, or nothing was
//! prepared, `start` prints one line and gives nothing, and the test ends early. Under
//! [`REQUIRED`] it panics instead: a run that should have tested everything does not pass by
//! skipping.

mod cache;
mod emulated;
mod enclosure;
mod guest;
mod image;
mod libvirtd;
mod root;

pub use cache::Cache;
pub use emulated::{Done, EmulatedHost};
pub use guest::TinyGuest;
pub use image::Image;
pub use libvirtd::PrivateLibvirtd;
pub use root::Root;

use std::path::PathBuf;

/// The environment variable that turns "skipped" into a failure. `cargo xtask ci` sets it.
pub const REQUIRED: &str = "NUMAWISE_REQUIRE_TESTBED";

/// Why there is no test bed.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    #[error("the test bed needs {what}")]
    Lacks { what: &'static str },
    #[error("the test bed is not prepared at {}; run cargo xtask testbed prepare as root", .at.display())]
    NotPrepared { at: PathBuf },
    #[error("cannot {doing} {}", .path.display())]
    File { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{what} failed: {said}")]
    Failed { what: String, said: String },
}

/// Gives the value, or says in one line that the test is skipped and why.
///
/// # Panics
///
/// Under [`REQUIRED`], since nothing may be skipped there.
pub(crate) fn or_skip<T>(result: Result<T, Unavailable>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(why) => {
            let why = with_sources(&why);
            let required = std::env::var_os(REQUIRED).is_some_and(|value| value != "0");
            assert!(!required, "{REQUIRED} is set, and {why}");
            println!("skipped: {why}");
            None
        }
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}
