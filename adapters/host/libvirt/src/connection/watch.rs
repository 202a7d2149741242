//! Being told of changes: libvirt's domain events.
//!
//! Events come over a connection of their own, opened on the first wait: libvirt delivers them to
//! connections that were opened after its event loop was registered, and a command that waits for
//! nothing pays nothing. libvirt has one event loop for a process, so one thread here runs it, from
//! the first wait on.

#![expect(unsafe_code, reason = "C calls back into this file")]

use super::LibvirtHypervisor;
use super::fault::Fault;
use super::library::{EventCallback, Library, RawConnect, RawDomain};
use super::link::Link;
use numawise_engine::ports::{Cancel, PortError};
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Cancelling is looked for this often.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Of any guest, from its registration on.
pub(super) struct Watch {
    link: Link,
    callbacks: Vec<c_int>,
    bell: Arc<Bell>,
    /// Rings that were answered.
    answered: u64,
}

/// Counts events; whoever waits is woken.
#[derive(Default)]
struct Bell {
    rings: Mutex<u64>,
    rung: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rings.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.rung.notify_all();
    }

    /// The number of rings, once it is another one than `known` or the time is up.
    fn wait(&self, known: u64, at_most: Duration) -> u64 {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.rung.wait_timeout_while(rings, at_most, |rings| *rings == known);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl LibvirtHypervisor {
    /// Returns at once when the watch has just begun, also anew after the daemon went away: nobody
    /// knows what happened before it.
    pub(super) fn await_event(&self, at_most: Duration, cancel: &Cancel) -> Result<(), PortError> {
        let until = Instant::now() + at_most;
        let mut kept = self.watch.borrow_mut();
        if kept.as_ref().is_some_and(|watch| !watch.link.is_alive()) {
            *kept = None;
        }
        let Some(watch) = kept.as_mut() else {
            run_event_loop(&self.library);
            let link = self.open_again()?;
            let watch = Watch::begin(link);
            *kept = Some(watch.map_err(|fault| fault.into_port(&self.uri, "watching the guests"))?);
            return Ok(());
        };
        loop {
            if cancel.is_set() {
                return Err(PortError::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            let rings = watch.bell.wait(watch.answered, left.min(BETWEEN_LOOKS));
            if rings != watch.answered || !watch.link.is_alive() || left.is_zero() {
                watch.answered = rings;
                return if cancel.is_set() { Err(PortError::Cancelled) } else { Ok(()) };
            }
        }
    }
}

/// Of libvirt's kinds of events those that a guest's placement may change with. Definitions come and
/// go as `LIFECYCLE`, pins as `TUNABLE`.
fn kinds() -> [(c_int, EventCallback); 5] {
    // SAFETY: libvirt calls each kind with the signature that is written below for it.
    unsafe {
        [
            (0, transmute::<Numbers, EventCallback>(on_numbers)),
            (15, transmute::<Text, EventCallback>(on_text)),
            (17, transmute::<Parameters, EventCallback>(on_parameters)),
            (18, transmute::<Numbers, EventCallback>(on_numbers)),
            (19, transmute::<Text, EventCallback>(on_text)),
        ]
    }
}

/// `LIFECYCLE`, `AGENT_LIFECYCLE`.
type Numbers =
    unsafe extern "C" fn(*mut RawConnect, *mut RawDomain, c_int, c_int, *mut c_void) -> c_int;
/// `DEVICE_REMOVED`, `DEVICE_ADDED`.
type Text = unsafe extern "C" fn(*mut RawConnect, *mut RawDomain, *const c_char, *mut c_void);
/// `TUNABLE`.
type Parameters =
    unsafe extern "C" fn(*mut RawConnect, *mut RawDomain, *mut c_void, c_int, *mut c_void);

unsafe extern "C" fn on_numbers(
    _connection: *mut RawConnect,
    _domain: *mut RawDomain,
    _what: c_int,
    _detail: c_int,
    bell: *mut c_void,
) -> c_int {
    // SAFETY: it was registered with a bell.
    unsafe { ring(bell) };
    0
}

unsafe extern "C" fn on_text(
    _connection: *mut RawConnect,
    _domain: *mut RawDomain,
    _device: *const c_char,
    bell: *mut c_void,
) {
    // SAFETY: it was registered with a bell.
    unsafe { ring(bell) };
}

unsafe extern "C" fn on_parameters(
    _connection: *mut RawConnect,
    _domain: *mut RawDomain,
    _parameters: *mut c_void,
    _count: c_int,
    bell: *mut c_void,
) {
    // SAFETY: it was registered with a bell.
    unsafe { ring(bell) };
}

/// # Safety
/// `bell` comes from `Arc::into_raw` of a [`Bell`] and was not let go yet.
unsafe fn ring(bell: *mut c_void) {
    // SAFETY: by this function's own condition.
    if let Some(bell) = unsafe { bell.cast::<Bell>().as_ref() } {
        bell.ring();
    }
}

unsafe extern "C" fn let_go(bell: *mut c_void) {
    // SAFETY: libvirt calls it once for each registration, which gave it one reference.
    drop(unsafe { Arc::from_raw(bell.cast_const().cast::<Bell>()) });
}

impl Watch {
    fn begin(link: Link) -> Result<Self, Fault> {
        let mut watch = Self { link, callbacks: Vec::new(), bell: Arc::default(), answered: 0 };
        for (kind, callback) in kinds() {
            let bell = Arc::into_raw(Arc::clone(&watch.bell)).cast_mut().cast::<c_void>();
            let link = &watch.link;
            // SAFETY: the callback has the signature of its kind, and the bell is let go by libvirt.
            let id = unsafe {
                (link.library.virConnectDomainEventRegisterAny)(
                    link.raw.as_ptr(),
                    null_mut(),
                    kind,
                    callback,
                    bell,
                    let_go,
                )
            };
            if id >= 0 {
                watch.callbacks.push(id);
                continue;
            }
            // SAFETY: libvirt keeps nothing of a registration that failed.
            unsafe { let_go(bell) };
            let fault = link.library.last_fault();
            // Older daemons know fewer kinds; without the first there is no watch.
            if watch.callbacks.is_empty() || fault.is_lost_connection() {
                return Err(fault);
            }
        }
        Ok(watch)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for id in &self.callbacks {
            // SAFETY: the connection is open, and the id is one of its registrations.
            unsafe {
                (self.link.library.virConnectDomainEventDeregisterAny)(self.link.raw.as_ptr(), *id)
            };
        }
    }
}

/// Once in the life of the process: the loop is libvirt's, and it has one.
fn run_event_loop(library: &Arc<Library>) {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let library = Arc::clone(library);
        // SAFETY: it is registered before the first connection that it serves.
        if unsafe { (library.virEventRegisterDefaultImpl)() } < 0 {
            return;
        }
        std::thread::spawn(move || {
            // SAFETY: an implementation is registered; each call waits for events.
            while unsafe { (library.virEventRunDefaultImpl)() } >= 0 {}
        });
    });
}
