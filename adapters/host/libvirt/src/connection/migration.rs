//! A running guest on its way from one libvirt to another, through two connections of ours.
//!
//! libvirt calls this a managed direct migration: the client talks to both daemons, and the two
//! QEMUs to each other. The daemons need not reach one another, and need no credentials for it. If
//! the client dies, each daemon puts its half in order: the one at the destination ends the guest
//! that was to come, and the one at the source goes on with its own, or leaves it standing still
//! where it cannot know better.
//!
//! The call returns when the guest is there, so it has a thread of its own, and this one looks for
//! an interrupt and for the time.

#![expect(unsafe_code, reason = "each call hands pointers to a C library")]

use super::LibvirtHypervisor;
use super::fault::{Fault, OPERATION_INVALID};
use super::library::{Library, RawTypedParameter};
use super::link::{Domain, Link, c_text};
use numawise_engine::moves::ports::{Carrier, CarryOrder};
use numawise_engine::ports::{Cancel, PortError};
use numawise_model::{GuestUuid, MoveProgress};
use std::ffi::{CStr, c_int, c_uint};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const LIVE: c_uint = 1 << 0;
const PERSIST_DEST: c_uint = 1 << 3;
const UNDEFINE_SOURCE: c_uint = 1 << 4;
const ABORT_ON_ERROR: c_uint = 1 << 12;
const AUTO_CONVERGE: c_uint = 1 << 13;

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// How often it is said how far the guest is.
const BETWEEN_WORDS: Duration = Duration::from_secs(2);

/// From one libvirt to another.
pub struct LibvirtCarrier<'a> {
    pub from: &'a LibvirtHypervisor,
    pub to: &'a LibvirtHypervisor,
}

impl Carrier for LibvirtCarrier<'_> {
    fn carry(
        &self,
        guest: &GuestUuid,
        order: &CarryOrder,
        told: &mut dyn FnMut(MoveProgress),
        cancel: &Cancel,
    ) -> Result<(), PortError> {
        let doing = format!("moving the guest {guest} to {}", self.to.uri);
        let failed = |fault: Fault| self.from.failed(fault, &doing);
        let (source, moved) = (self.from.find(guest)?, self.from.find(guest)?);
        let there = self.to.link()?;
        let mut parameters = Parameters::of(&self.from.library, order).map_err(failed)?;
        let flags = flags(order);
        let (tell, ended) = channel();
        std::thread::spawn(move || {
            // Nobody listens any more when this process is ending.
            let _ = tell.send(moved.migrate(&there, &mut parameters, flags));
        });
        let begun = Instant::now();
        let mut said = begun;
        let mut given_up: Option<PortError> = None;
        loop {
            match ended.recv_timeout(BETWEEN_LOOKS) {
                // A guest that was there before it could be stopped is there.
                Ok(Ok(())) => return Ok(()),
                Ok(Err(fault)) => return Err(given_up.unwrap_or_else(|| failed(fault))),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failed(Fault::new(0, "the move ended without a word")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if given_up.is_none() {
                given_up = why_give_up(&doing, order, begun, cancel);
            }
            if given_up.is_some() {
                match source.abort_job() {
                    // Between its phases there is none; the next look tries again.
                    Err(fault) if fault.code != OPERATION_INVALID => {
                        given_up = Some(failed(fault));
                    }
                    _ => {}
                }
            } else if said.elapsed() >= BETWEEN_WORDS {
                said = Instant::now();
                if let Ok(Some(progress)) = source.progress() {
                    told(progress);
                }
            }
        }
    }
}

fn why_give_up(
    doing: &str,
    order: &CarryOrder,
    begun: Instant,
    cancel: &Cancel,
) -> Option<PortError> {
    if cancel.is_set() {
        return Some(PortError::Cancelled);
    }
    let timeout = order.travel.timeout.filter(|timeout| begun.elapsed() >= *timeout)?;
    Some(PortError::Failed(format!(
        "{doing}: it was not there after {} s; give it more time (--timeout SEC), more bandwidth, or \
         slow the guest down (--auto-converge)",
        timeout.as_secs()
    )))
}

fn flags(order: &CarryOrder) -> c_uint {
    let mut flags = LIVE | PERSIST_DEST | ABORT_ON_ERROR;
    if order.undefine_source {
        flags |= UNDEFINE_SOURCE;
    }
    if order.travel.auto_converge {
        flags |= AUTO_CONVERGE;
    }
    flags
}

/// An array of libvirt's typed parameters.
struct Parameters {
    library: Arc<Library>,
    raw: *mut RawTypedParameter,
    count: c_int,
    room: c_int,
}

// SAFETY: the array is ours alone, and libvirt keeps nothing of it.
unsafe impl Send for Parameters {}

impl Parameters {
    fn of(library: &Arc<Library>, order: &CarryOrder) -> Result<Self, Fault> {
        let mut all = Self { library: Arc::clone(library), raw: null_mut(), count: 0, room: 0 };
        all.add_text(c"destination_xml", &order.live_xml)?;
        all.add_text(c"persistent_xml", &order.stored_xml)?;
        if let Some(uri) = &order.travel.uri {
            all.add_text(c"migrate_uri", uri)?;
        }
        if let Some(mib) = order.travel.bandwidth_mib {
            all.add_number(c"bandwidth", mib)?;
        }
        Ok(all)
    }

    fn add_text(&mut self, name: &CStr, text: &str) -> Result<(), Fault> {
        let text = c_text(text)?;
        // SAFETY: libvirt grows the array and copies both texts.
        let result = unsafe {
            (self.library.virTypedParamsAddString)(
                &raw mut self.raw,
                &raw mut self.count,
                &raw mut self.room,
                name.as_ptr(),
                text.as_ptr(),
            )
        };
        if result < 0 { Err(self.library.last_fault()) } else { Ok(()) }
    }

    fn add_number(&mut self, name: &CStr, number: u64) -> Result<(), Fault> {
        // SAFETY: as in `add_text`.
        let result = unsafe {
            (self.library.virTypedParamsAddULLong)(
                &raw mut self.raw,
                &raw mut self.count,
                &raw mut self.room,
                name.as_ptr(),
                number,
            )
        };
        if result < 0 { Err(self.library.last_fault()) } else { Ok(()) }
    }
}

impl Drop for Parameters {
    fn drop(&mut self) {
        // SAFETY: the array and the texts in it are ours; it may be null.
        unsafe { (self.library.virTypedParamsFree)(self.raw, self.count) };
    }
}

impl Domain {
    /// Returns when the guest runs there, or does not.
    fn migrate(
        &self,
        there: &Link,
        parameters: &mut Parameters,
        flags: c_uint,
    ) -> Result<(), Fault> {
        let count = c_uint::try_from(parameters.count).map_or(0, |count| count);
        // SAFETY: domain, connection and array live for the length of the call; the domain that it
        // gives is ours to free.
        let moved = unsafe {
            (self.library.virDomainMigrate3)(
                self.raw.as_ptr(),
                there.raw.as_ptr(),
                parameters.raw,
                count,
                flags,
            )
        };
        match NonNull::new(moved) {
            Some(raw) => {
                drop(Domain { library: Arc::clone(&self.library), raw });
                Ok(())
            }
            None => Err(self.library.last_fault()),
        }
    }

    /// `None` while libvirt counts nothing.
    fn progress(&self) -> Result<Option<MoveProgress>, Fault> {
        let (mut kind, mut count) = (0, 0);
        let mut parameters: *mut RawTypedParameter = null_mut();
        let number = |parameters, count, name: &CStr| {
            let mut value = 0;
            // SAFETY: the array has `count` entries, and the number lives for the length of the call.
            let found = unsafe {
                (self.library.virTypedParamsGetULLong)(
                    parameters,
                    count,
                    name.as_ptr(),
                    &raw mut value,
                )
            };
            (found > 0).then_some(value)
        };
        // SAFETY: libvirt allocates the parameters, and they are freed after the look.
        unsafe {
            let result = (self.library.virDomainGetJobStats)(
                self.raw.as_ptr(),
                &raw mut kind,
                &raw mut parameters,
                &raw mut count,
                0,
            );
            self.done(result)?;
            let total = number(parameters, count, c"memory_total");
            let left = number(parameters, count, c"memory_remaining");
            (self.library.virTypedParamsFree)(parameters, count);
            let progress = total
                .zip(left)
                .map(|(total_bytes, left_bytes)| MoveProgress { total_bytes, left_bytes });
            Ok(progress.filter(|progress| progress.total_bytes > 0))
        }
    }
}
