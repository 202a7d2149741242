//! Waiting until one of a worker's connections has something to say, or it is time.

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use std::io;
use std::time::Duration;

/// So many are taken from the kernel at once.
const BATCH: usize = 256;

pub enum Waiting {
    /// One connection: `poll` needs no registration.
    One,
    Many {
        epoll: OwnedFd,
        events: Vec<epoll::Event>,
    },
    /// Embedded: each statement has its answer when it returns.
    Immediate,
}

impl Waiting {
    pub fn many() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self::Many { epoll, events: Vec::with_capacity(BATCH) })
    }

    /// From now on this connection is waited for; closing it ends that.
    pub fn add(&self, descriptor: BorrowedFd<'_>, index: usize) -> io::Result<()> {
        match self {
            Self::Many { epoll, .. } => {
                let data = epoll::EventData::new_u64(index as u64);
                Ok(epoll::add(epoll, descriptor, data, epoll::EventFlags::IN)?)
            }
            Self::One | Self::Immediate => Ok(()),
        }
    }

    /// The connections that have something, at the latest after this time.
    pub fn wait(
        &mut self,
        one: Option<BorrowedFd<'_>>,
        limit: Duration,
        ready: &mut Vec<usize>,
    ) -> io::Result<()> {
        ready.clear();
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        match self {
            Self::One => {
                let count = match one {
                    Some(one) => {
                        let mut wanted = [PollFd::new(&one, PollFlags::IN)];
                        uninterrupted(poll(&mut wanted, Some(&limit)))?
                    }
                    None => uninterrupted(poll(&mut [], Some(&limit)))?,
                };
                if count > 0 {
                    ready.push(0);
                }
            }
            Self::Many { epoll, events } => {
                events.clear();
                uninterrupted(epoll::wait(&*epoll, spare_capacity(events), Some(&limit)))?;
                ready.extend(events.iter().map(|event| {
                    let data = event.data;
                    data.u64() as usize
                }));
            }
            Self::Immediate => {
                uninterrupted(poll(&mut [], Some(&limit)))?;
            }
        }
        Ok(())
    }
}

/// A signal is no event; whoever waits looks at the clock anyway.
fn uninterrupted(result: rustix::io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(rustix::io::Errno::INTR) => Ok(0),
        other => Ok(other?),
    }
}
