//! An open connection, its domains and their snapshots as owned values: freed when dropped, texts
//! copied, each failing call with the error that libvirt left for it.

#![expect(unsafe_code, reason = "each call hands pointers to a C library")]

use super::fault::Fault;
use super::library::{Library, RawConnect, RawDomain};
use numawise_model::{CpuSet, GuestUuid, Pcpu};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;

/// `virConnectPtr`. libvirt's objects may be used from several threads at once.
pub(super) struct Link {
    pub(super) library: Arc<Library>,
    pub(super) raw: NonNull<RawConnect>,
}

// SAFETY: libvirt locks its connection objects itself; errors are kept for each thread.
unsafe impl Send for Link {}
// SAFETY: as above.
unsafe impl Sync for Link {}

/// `virDomainPtr`. It keeps its connection open.
pub(super) struct Domain {
    pub(super) library: Arc<Library>,
    pub(super) raw: NonNull<RawDomain>,
}

// SAFETY: libvirt locks its domain objects itself; errors are kept for each thread.
unsafe impl Send for Domain {}

/// libvirt's `major * 1,000,000 + minor * 1,000 + release`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(number) = self;
        write!(f, "{}.{}.{}", number / 1_000_000, number / 1_000 % 1_000, number % 1_000)
    }
}

/// What a domain of a list is, without asking again.
pub(super) struct Listed {
    pub name: String,
    pub uuid: GuestUuid,
    pub running: bool,
}

/// All, or those without a stored definition.
pub(super) const LIST_ALL: u32 = 0;
pub(super) const LIST_TRANSIENT: u32 = 1 << 3;

/// A text for C. One with a zero byte in it is no name, URI or XML.
pub(super) fn c_text(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault::new(0, "the text has a zero byte in it"))
}

/// Takes over a text that libvirt has allocated.
///
/// # Safety
/// `text` is null or a text from malloc that nobody else frees.
pub(super) unsafe fn take_text(library: &Library, text: *mut c_char) -> Result<String, Fault> {
    if text.is_null() {
        return Err(library.last_fault());
    }
    // SAFETY: by this function's own condition.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        free(text.cast());
        Ok(copy)
    }
}

unsafe extern "C" {
    /// libvirt's texts and arrays come from malloc of the same C library.
    pub(super) fn free(memory: *mut c_void);
}

impl Link {
    pub fn open(library: &Arc<Library>, uri: &str) -> Result<Self, Fault> {
        let uri = c_text(uri)?;
        // SAFETY: the text lives for the length of the call.
        let raw = unsafe { (library.virConnectOpen)(uri.as_ptr()) };
        let raw = NonNull::new(raw).ok_or_else(|| library.last_fault())?;
        Ok(Self { library: Arc::clone(library), raw })
    }

    pub(super) fn done(&self, result: c_int) -> Result<c_int, Fault> {
        if result < 0 { Err(self.library.last_fault()) } else { Ok(result) }
    }

    fn owned(&self, raw: *mut RawDomain) -> Result<Domain, Fault> {
        let raw = NonNull::new(raw).ok_or_else(|| self.library.last_fault())?;
        Ok(Domain { library: Arc::clone(&self.library), raw })
    }

    /// What the library knows without asking; a broken connection shows at the next call at the
    /// latest.
    pub fn is_alive(&self) -> bool {
        // SAFETY: the connection is open for as long as `self`.
        unsafe { (self.library.virConnectIsAlive)(self.raw.as_ptr()) != 0 }
    }

    pub fn list(&self, flags: u32) -> Result<Vec<Listed>, Fault> {
        let mut array: *mut *mut RawDomain = null_mut();
        // SAFETY: libvirt fills the pointer with an array that ends with null and is ours to free,
        // as each domain in it is.
        unsafe {
            let listed =
                (self.library.virConnectListAllDomains)(self.raw.as_ptr(), &raw mut array, flags);
            let count = usize::try_from(self.done(listed)?).map_or(0, |count| count);
            let domains: Vec<Domain> =
                (0..count).filter_map(|at| self.owned(*array.add(at)).ok()).collect();
            free(array.cast());
            domains.iter().map(Domain::listed).collect()
        }
    }

    pub fn find(&self, guest: &GuestUuid) -> Result<Domain, Fault> {
        let uuid = c_text(&guest.0)?;
        // SAFETY: connection and text live for the length of the call; the domain is ours.
        self.owned(unsafe {
            (self.library.virDomainLookupByUUIDString)(self.raw.as_ptr(), uuid.as_ptr())
        })
    }

    pub fn define(&self, xml: &str) -> Result<Domain, Fault> {
        let xml = c_text(xml)?;
        // SAFETY: as in `find`.
        self.owned(unsafe { (self.library.virDomainDefineXML)(self.raw.as_ptr(), xml.as_ptr()) })
    }

    pub fn create(&self, xml: &str, flags: u32) -> Result<Domain, Fault> {
        let xml = c_text(xml)?;
        // SAFETY: as in `find`.
        self.owned(unsafe {
            (self.library.virDomainCreateXML)(self.raw.as_ptr(), xml.as_ptr(), flags)
        })
    }

    pub fn capabilities(&self) -> Result<String, Fault> {
        // SAFETY: the text is ours to free.
        unsafe {
            let text = (self.library.virConnectGetCapabilities)(self.raw.as_ptr());
            take_text(&self.library, text)
        }
    }

    /// `None` takes libvirt's default of each.
    pub fn domain_capabilities(&self, wanted: [Option<&str>; 4]) -> Result<String, Fault> {
        let Some(function) = self.library.virConnectGetDomainCapabilities else {
            return Err(Fault::too_old("virConnectGetDomainCapabilities"));
        };
        let mut texts = Vec::new();
        for text in wanted {
            texts.push(text.map(c_text).transpose()?);
        }
        let at = |n: usize| texts[n].as_ref().map_or(null(), |text| text.as_ptr());
        // SAFETY: the texts live for the length of the call; the answer is ours to free.
        unsafe {
            let text = function(self.raw.as_ptr(), at(0), at(1), at(2), at(3), 0);
            take_text(&self.library, text)
        }
    }

    pub fn hostname(&self) -> Result<String, Fault> {
        // SAFETY: the text is ours to free.
        unsafe { take_text(&self.library, (self.library.virConnectGetHostname)(self.raw.as_ptr())) }
    }

    /// Of the daemon's libvirt.
    pub fn daemon_version(&self) -> Result<Version, Fault> {
        let mut number: c_ulong = 0;
        // SAFETY: the number lives for the length of the call.
        let result =
            unsafe { (self.library.virConnectGetLibVersion)(self.raw.as_ptr(), &raw mut number) };
        self.done(result).map(|_| Version(number))
    }

    /// Of what runs the guests, which is QEMU for `qemu:`.
    pub fn hypervisor_version(&self) -> Result<Version, Fault> {
        let mut number: c_ulong = 0;
        // SAFETY: the number lives for the length of the call.
        let result =
            unsafe { (self.library.virConnectGetVersion)(self.raw.as_ptr(), &raw mut number) };
        self.done(result).map(|_| Version(number))
    }

    /// The CPUs that are online, and how many there can be.
    pub fn cpu_map(&self) -> Result<(CpuSet, usize), Fault> {
        let mut map: *mut u8 = null_mut();
        let mut online: c_uint = 0;
        // SAFETY: libvirt allocates the map with a bit for each of the CPUs that it counts.
        unsafe {
            let counted = (self.library.virNodeGetCPUMap)(
                self.raw.as_ptr(),
                &raw mut map,
                &raw mut online,
                0,
            );
            let count = u32::try_from(self.done(counted)?).map_or(0, |count| count);
            let mut cpus = CpuSet::new();
            for cpu in 0..count {
                if *map.add(cpu as usize / 8) & (1 << (cpu % 8)) != 0 {
                    cpus.insert(Pcpu(cpu));
                }
            }
            free(map.cast());
            Ok((cpus, count as usize))
        }
    }

    pub fn free_memory_bytes(&self, node: u32) -> Result<u64, Fault> {
        let start = c_int::try_from(node).map_err(|_| Fault::new(0, "no such node"))?;
        let mut bytes = 0;
        // SAFETY: there is room for the one cell that is asked for.
        let result = unsafe {
            (self.library.virNodeGetCellsFreeMemory)(self.raw.as_ptr(), &raw mut bytes, start, 1)
        };
        self.done(result).map(|_| bytes)
    }

    /// Free pages of each size on a node, in the order of the sizes.
    pub fn free_pages(&self, node: u32, sizes_kib: &[u32]) -> Result<Vec<u64>, Fault> {
        let Some(function) = self.library.virNodeGetFreePages else {
            return Err(Fault::too_old("virNodeGetFreePages"));
        };
        let start = c_int::try_from(node).map_err(|_| Fault::new(0, "no such node"))?;
        let count = c_uint::try_from(sizes_kib.len()).map_err(|_| Fault::new(0, "too many"))?;
        let mut sizes = sizes_kib.to_vec();
        let mut free_pages = vec![0; sizes.len()];
        // SAFETY: both arrays have room for `count` sizes of one cell.
        let result = unsafe {
            function(
                self.raw.as_ptr(),
                count,
                sizes.as_mut_ptr(),
                start,
                1,
                free_pages.as_mut_ptr(),
                0,
            )
        };
        self.done(result).map(|_| free_pages)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: this reference is ours; domains hold their own.
        unsafe { (self.library.virConnectClose)(self.raw.as_ptr()) };
    }
}

impl Library {
    /// Of the library itself.
    pub(super) fn version(&self) -> Result<Version, Fault> {
        let mut number: c_ulong = 0;
        // SAFETY: no driver is named, so the last pointer may be null.
        let result = unsafe { (self.virGetVersion)(&raw mut number, null(), null_mut()) };
        if result < 0 { Err(self.last_fault()) } else { Ok(Version(number)) }
    }
}
