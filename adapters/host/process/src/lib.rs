//! Processes as the kernel tells of them: where each thread may run, and which node each page is on.
//!
//! Everything is read from `/proc`, a file at a time, by parsers of a few lines each. What they
//! read has three results: it is not there (the process or thread has ended, this kernel has no
//! such file), it cannot be read (an error with the path; [`PortError::NoAccess`] where other
//! rights would help), or it makes no sense (an error with path, line and value).
//!
//! Processes end while they are looked at. A thread that ends between the listing and the reading
//! is left out, and a process that ends is `None`; neither is an error.

mod cgroup;
mod error;
mod files;
mod mappings;
mod octal;
mod threads;

pub use error::ProcessError;

use files::Files;
use numawise_engine::ports::{PortError, Processes};
use numawise_model::{MappingFacts, ThreadFacts};
use std::path::PathBuf;

/// The processes below a `/proc`.
#[derive(Clone, Debug)]
pub struct KernelProcesses {
    files: Files,
}

impl KernelProcesses {
    /// Those of the machine that this runs on.
    pub fn live() -> Self {
        Self::below(PathBuf::from("/proc"), PathBuf::from("/"))
    }

    /// `proc` is a folder like `/proc`; paths of cgroup mounts that its `self/mountinfo` gives are
    /// taken to be below `root`.
    pub fn below(proc: PathBuf, root: PathBuf) -> Self {
        Self { files: Files { proc, root } }
    }
}

impl KernelProcesses {
    /// The processes that this one has started and that still run.
    pub fn children(&self, pid: u32) -> Result<Vec<u32>, PortError> {
        let text = self.files.text(&format!("{pid}/task/{pid}/children"))?;
        // absent means that the process is gone, or a kernel without CONFIG_PROC_CHILDREN
        let text = text.unwrap_or_default();
        Ok(text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    }
}

impl Processes for KernelProcesses {
    /// The lowest of those whose command line has the arguments one after the other. Only command
    /// lines are read. Where some may not be read (`hidepid`) and no other matches, that is said.
    fn find(&self, arguments: &[&str]) -> Result<Option<u32>, PortError> {
        let mut denied = None;
        // absent means that there is no /proc, and so no process in it
        for pid in self.files.numbers("")?.unwrap_or_default() {
            match self.files.bytes(&format!("{pid}/cmdline")) {
                Ok(Some(line)) if has_arguments(&line, arguments) => return Ok(Some(pid)),
                Ok(_) => {}
                Err(error) if error.is_no_access() => denied = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        denied.map_or(Ok(None), |error| Err(error.into()))
    }

    fn threads(&self, pid: u32) -> Result<Option<Vec<ThreadFacts>>, PortError> {
        Ok(threads::read(&self.files, pid)?)
    }

    fn mappings(&self, pid: u32) -> Result<Option<Vec<MappingFacts>>, PortError> {
        Ok(mappings::read(&self.files, pid)?)
    }
}

fn has_arguments(command_line: &[u8], wanted: &[&str]) -> bool {
    let arguments: Vec<&[u8]> = command_line.split(|byte| *byte == 0).collect();
    !wanted.is_empty()
        && arguments.windows(wanted.len()).any(|window| {
            window.iter().zip(wanted).all(|(argument, wanted)| *argument == wanted.as_bytes())
        })
}
