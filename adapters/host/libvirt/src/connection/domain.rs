//! The calls on one domain.

#![expect(unsafe_code, reason = "each call hands pointers to a C library")]

use super::fault::Fault;
use super::library::{RawBlockJob, RawSnapshot, RawTypedParameter};
use super::link::{Domain, Listed, c_text, free, take_text};
use numawise_model::GuestUuid;
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::ptr::null_mut;

/// With passwords in it.
pub(super) const XML_SECURE: u32 = 1 << 0;
/// What the next boot takes.
pub(super) const XML_INACTIVE: u32 = 1 << 1;
pub(super) const SHUTDOWN_BY_LIBVIRTS_CHOICE: u32 = 0;
pub(super) const SHUTDOWN_BY_AGENT: u32 = 1 << 1;
/// Asks QEMU to end and does not kill it, so that it flushes what it has.
pub(super) const DESTROY_GRACEFUL: u32 = 1 << 0;
pub(super) const START_PAUSED: u32 = 1 << 0;
pub(super) const START_AUTODESTROY: u32 = 1 << 1;
/// As another host takes it.
pub(super) const XML_MIGRATABLE: u32 = 1 << 3;
/// Whose variables of the firmware stay where they are.
const UNDEFINE_KEEP_NVRAM: u32 = 1 << 3;
const AFFECT_LIVE: u32 = 1 << 0;
const SNAPSHOT_XML_SECURE: u32 = 1 << 0;
/// The id of a domain that does not run.
const NO_ID: u32 = u32::MAX;
/// 36 characters and the zero.
const UUID_TEXT_BYTES: usize = 37;

/// What a thread is that gets another affinity.
#[derive(Clone, Copy, Debug)]
pub(super) enum Thread {
    Vcpu(u32),
    Emulator,
    Io(u32),
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vcpu(id) => write!(f, "vCPU {id}"),
            Self::Emulator => f.write_str("the emulator threads"),
            Self::Io(id) => write!(f, "I/O thread {id}"),
        }
    }
}

/// `virDomainState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainState {
    Running,
    Blocked,
    Paused,
    ShuttingDown,
    ShutOff,
    Crashed,
    Suspended,
    /// One that libvirt has learnt since.
    Other(i32),
}

impl Domain {
    pub(super) fn done(&self, result: c_int) -> Result<c_int, Fault> {
        if result < 0 { Err(self.library.last_fault()) } else { Ok(result) }
    }

    /// Answered by the library itself: it came with the domain.
    pub fn name(&self) -> Result<String, Fault> {
        // SAFETY: the text belongs to the domain and is copied while that lives.
        unsafe {
            let name = (self.library.virDomainGetName)(self.raw.as_ptr());
            if name.is_null() {
                return Err(self.library.last_fault());
            }
            Ok(CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    pub fn uuid(&self) -> Result<GuestUuid, Fault> {
        let mut text = [0u8; UUID_TEXT_BYTES];
        // SAFETY: the buffer has the size that libvirt.h demands.
        let result = unsafe {
            (self.library.virDomainGetUUIDString)(
                self.raw.as_ptr(),
                text.as_mut_ptr().cast::<c_char>(),
            )
        };
        self.done(result)?;
        let text = CStr::from_bytes_until_nul(&text)
            .map_err(|_| Fault::new(0, "libvirt gave a UUID without an end"))?;
        Ok(GuestUuid(text.to_string_lossy().to_ascii_lowercase()))
    }

    pub(super) fn listed(&self) -> Result<Listed, Fault> {
        // SAFETY: the domain lives for as long as `self`.
        let id = unsafe { (self.library.virDomainGetID)(self.raw.as_ptr()) };
        Ok(Listed { name: self.name()?, uuid: self.uuid()?, running: id != NO_ID })
    }

    /// Whether there is a process: paused, suspended, crashed and powered-off-but-kept ones count.
    pub fn is_active(&self) -> Result<bool, Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe { (self.library.virDomainIsActive)(self.raw.as_ptr()) };
        Ok(self.done(result)? != 0)
    }

    pub fn state(&self) -> Result<DomainState, Fault> {
        let (mut state, mut reason) = (0, 0);
        // SAFETY: both numbers live for the length of the call.
        let result = unsafe {
            (self.library.virDomainGetState)(self.raw.as_ptr(), &raw mut state, &raw mut reason, 0)
        };
        self.done(result)?;
        Ok(match state {
            1 => DomainState::Running,
            2 => DomainState::Blocked,
            3 => DomainState::Paused,
            4 => DomainState::ShuttingDown,
            5 => DomainState::ShutOff,
            6 => DomainState::Crashed,
            7 => DomainState::Suspended,
            other => DomainState::Other(other),
        })
    }

    pub fn xml(&self, flags: u32) -> Result<String, Fault> {
        // SAFETY: the text is ours to free.
        unsafe {
            let text = (self.library.virDomainGetXMLDesc)(self.raw.as_ptr(), flags);
            take_text(&self.library, text)
        }
    }

    pub fn start(&self) -> Result<(), Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe { (self.library.virDomainCreate)(self.raw.as_ptr()) };
        self.done(result).map(drop)
    }

    /// Asks; by the agent it returns when the guest is off, or after a minute.
    pub fn shutdown(&self, flags: u32) -> Result<(), Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe { (self.library.virDomainShutdownFlags)(self.raw.as_ptr(), flags) };
        self.done(result).map(drop)
    }

    pub fn destroy(&self, flags: u32) -> Result<(), Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe { (self.library.virDomainDestroyFlags)(self.raw.as_ptr(), flags) };
        self.done(result).map(drop)
    }

    pub fn resume(&self) -> Result<(), Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe { (self.library.virDomainResume)(self.raw.as_ptr()) };
        self.done(result).map(drop)
    }

    pub fn undefine(&self) -> Result<(), Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe {
            (self.library.virDomainUndefineFlags)(self.raw.as_ptr(), UNDEFINE_KEEP_NVRAM)
        };
        self.done(result).map(drop)
    }

    pub fn abort_job(&self) -> Result<(), Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe { (self.library.virDomainAbortJob)(self.raw.as_ptr()) };
        self.done(result).map(drop)
    }

    pub fn autostarts(&self) -> Result<bool, Fault> {
        let mut on = 0;
        // SAFETY: the number lives for the length of the call.
        let result =
            unsafe { (self.library.virDomainGetAutostart)(self.raw.as_ptr(), &raw mut on) };
        self.done(result).map(|_| on != 0)
    }

    pub fn set_autostart(&self, on: bool) -> Result<(), Fault> {
        // SAFETY: as in `listed`.
        let result =
            unsafe { (self.library.virDomainSetAutostart)(self.raw.as_ptr(), c_int::from(on)) };
        self.done(result).map(drop)
    }

    /// The map has a bit for each CPU, the lowest first.
    pub fn pin(&self, thread: Thread, map: &[u8]) -> Result<(), Fault> {
        let length = c_int::try_from(map.len()).map_err(|_| Fault::new(0, "too many CPUs"))?;
        let (domain, mut map) = (self.raw.as_ptr(), map.to_vec());
        let map = map.as_mut_ptr();
        // SAFETY: the map has `length` bytes and lives for the length of the call.
        let result = unsafe {
            match thread {
                Thread::Vcpu(id) => {
                    (self.library.virDomainPinVcpuFlags)(domain, id, map, length, AFFECT_LIVE)
                }
                Thread::Emulator => {
                    (self.library.virDomainPinEmulator)(domain, map, length, AFFECT_LIVE)
                }
                Thread::Io(id) => match self.library.virDomainPinIOThread {
                    Some(pin) => pin(domain, id, map, length, AFFECT_LIVE),
                    None => return Err(Fault::too_old("virDomainPinIOThread")),
                },
            }
        };
        self.done(result).map(drop)
    }

    pub fn has_saved_state(&self) -> Result<bool, Fault> {
        // SAFETY: as in `listed`.
        let result = unsafe { (self.library.virDomainHasManagedSaveImage)(self.raw.as_ptr(), 0) };
        Ok(self.done(result)? != 0)
    }

    pub fn has_block_job(&self, disk: &str) -> Result<bool, Fault> {
        let disk = c_text(disk)?;
        let mut job = RawBlockJob::default();
        // SAFETY: text and structure live for the length of the call.
        let result = unsafe {
            (self.library.virDomainGetBlockJobInfo)(
                self.raw.as_ptr(),
                disk.as_ptr(),
                &raw mut job,
                0,
            )
        };
        Ok(self.done(result)? != 0)
    }

    /// The number of the operation that holds the domain (`virDomainJobOperation`), 0 for one
    /// without; `None` when nothing does.
    pub fn job(&self) -> Result<Option<i32>, Fault> {
        let mut kind = 0;
        let mut parameters: *mut RawTypedParameter = null_mut();
        let (mut count, mut operation) = (0, 0);
        // SAFETY: libvirt allocates the parameters, and they are freed after the one look.
        unsafe {
            let result = (self.library.virDomainGetJobStats)(
                self.raw.as_ptr(),
                &raw mut kind,
                &raw mut parameters,
                &raw mut count,
                0,
            );
            self.done(result)?;
            let found = (self.library.virTypedParamsGetInt)(
                parameters,
                count,
                c"operation".as_ptr(),
                &raw mut operation,
            );
            (self.library.virTypedParamsFree)(parameters, count);
            if found <= 0 {
                (self.library.virResetLastError)();
                operation = 0;
            }
        }
        // 1 and 2 are running with and without a known end; above are results of past ones.
        Ok(matches!(kind, 1 | 2).then_some(operation))
    }

    /// Each snapshot's XML, in libvirt's order.
    pub fn snapshot_xmls(&self) -> Result<Vec<String>, Fault> {
        let mut array: *mut *mut RawSnapshot = null_mut();
        // SAFETY: libvirt fills the pointer with an array that is ours to free, as each snapshot in
        // it is.
        unsafe {
            let listed =
                (self.library.virDomainListAllSnapshots)(self.raw.as_ptr(), &raw mut array, 0);
            let count = usize::try_from(self.done(listed)?).map_or(0, |count| count);
            let mut xmls = Vec::new();
            for at in 0..count {
                let snapshot = *array.add(at);
                let xml = (self.library.virDomainSnapshotGetXMLDesc)(snapshot, SNAPSHOT_XML_SECURE);
                xmls.push(take_text(&self.library, xml));
                (self.library.virDomainSnapshotFree)(snapshot);
            }
            free(array.cast());
            xmls.into_iter().collect()
        }
    }

    /// Asks the agent in the guest; it has `timeout_sec` for its answer.
    pub fn ask_agent(&self, command: &str, timeout_sec: i32) -> Result<String, Fault> {
        let function = self.library.agent_command()?;
        let command = c_text(command)?;
        // SAFETY: domain and text live for the length of the call; the answer is ours to free.
        unsafe {
            let answer = function(self.raw.as_ptr(), command.as_ptr(), timeout_sec, 0);
            take_text(&self.library, answer)
        }
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: this reference is ours.
        unsafe { (self.library.virDomainFree)(self.raw.as_ptr()) };
    }
}
