//! libvirt's C functions, looked up in its shared library when somebody first needs them.
//!
//! A program that is linked to libvirt does not start where libvirt is absent, and takes twenty
//! times as long to start where it is there. So each function is a pointer with its type written
//! out here, once, after libvirt's headers; its ABI has been stable since 2005. What older releases
//! lack is an `Option`.
//!
//! The library is never unloaded: it has threads and thread-local values of its own.

#![expect(unsafe_code, reason = "symbols of a C library have the types that are claimed here")]

use super::fault::{Fault, NO_SUPPORT};
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_ulonglong, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where the libraries are: names that the loader looks up, or paths.
#[derive(Clone, Debug)]
pub struct LibraryFiles {
    pub libvirt: PathBuf,
    /// For the guest agent alone.
    pub libvirt_qemu: PathBuf,
}

impl Default for LibraryFiles {
    fn default() -> Self {
        Self { libvirt: "libvirt.so.0".into(), libvirt_qemu: "libvirt-qemu.so.0".into() }
    }
}

/// Types that only libvirt sees the inside of.
macro_rules! opaque {
    ($($name:ident)*) => {$(
        #[repr(C)]
        pub(super) struct $name { _inside: [u8; 0] }
    )*};
}

opaque! { RawConnect RawDomain RawSnapshot RawTypedParameter }

/// The beginning of `virError`; the rest is of no use here.
#[repr(C)]
pub(super) struct RawError {
    code: c_int,
    domain: c_int,
    message: *const c_char,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct RawBlockJob {
    pub kind: c_int,
    pub bandwidth: c_ulong,
    pub current: c_ulonglong,
    pub end: c_ulonglong,
}

pub(super) type ErrorHandler = unsafe extern "C" fn(*mut c_void, *const RawError);
/// Callbacks have a signature for each kind of event; they are registered under this one.
pub(super) type EventCallback = unsafe extern "C" fn();
pub(super) type FreeCallback = unsafe extern "C" fn(*mut c_void);

macro_rules! functions {
    (
        needed { $($name:ident($($arg:ty),*) $(-> $ret:ty)?;)* }
        newer { $($new:ident($($new_arg:ty),*) $(-> $new_ret:ty)?;)* }
    ) => {
        /// One pointer for each function, named as libvirt names it.
        #[expect(non_snake_case, reason = "the names are libvirt's")]
        pub(super) struct Library {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            $(pub $new: Option<unsafe extern "C" fn($($new_arg),*) $(-> $new_ret)?>,)*
            agent: OnceLock<Result<AgentCommand, Fault>>,
            qemu_file: PathBuf,
        }

        impl Library {
            fn resolve(
                library: &libloading::Library,
                file: &Path,
                qemu_file: PathBuf,
            ) -> Result<Self, Fault> {
                // SAFETY: the types stand in libvirt's headers under these names, and the library
                // stays loaded for as long as the process lives.
                unsafe {
                    Ok(Self {
                        $($name: match library.get(stringify!($name)) {
                            Ok(symbol) => *symbol,
                            Err(_) => return Err(lacks(file, stringify!($name))),
                        },)*
                        $($new: library.get(stringify!($new)).ok().map(|symbol| *symbol),)*
                        agent: OnceLock::new(),
                        qemu_file,
                    })
                }
            }
        }
    };
}

functions! {
    needed {
        virSetErrorFunc(*mut c_void, Option<ErrorHandler>);
        virGetLastError() -> *const RawError;
        virResetLastError();
        virGetVersion(*mut c_ulong, *const c_char, *mut c_ulong) -> c_int;
        virConnectOpen(*const c_char) -> *mut RawConnect;
        virConnectClose(*mut RawConnect) -> c_int;
        virConnectIsAlive(*mut RawConnect) -> c_int;
        virConnectGetVersion(*mut RawConnect, *mut c_ulong) -> c_int;
        virConnectGetLibVersion(*mut RawConnect, *mut c_ulong) -> c_int;
        virConnectGetHostname(*mut RawConnect) -> *mut c_char;
        virConnectGetCapabilities(*mut RawConnect) -> *mut c_char;
        virConnectListAllDomains(*mut RawConnect, *mut *mut *mut RawDomain, c_uint) -> c_int;
        virNodeGetCellsFreeMemory(*mut RawConnect, *mut c_ulonglong, c_int, c_int) -> c_int;
        virNodeGetCPUMap(*mut RawConnect, *mut *mut u8, *mut c_uint, c_uint) -> c_int;
        virDomainLookupByUUIDString(*mut RawConnect, *const c_char) -> *mut RawDomain;
        virDomainFree(*mut RawDomain) -> c_int;
        virDomainGetName(*mut RawDomain) -> *const c_char;
        virDomainGetUUIDString(*mut RawDomain, *mut c_char) -> c_int;
        virDomainGetID(*mut RawDomain) -> c_uint;
        virDomainIsActive(*mut RawDomain) -> c_int;
        virDomainGetState(*mut RawDomain, *mut c_int, *mut c_int, c_uint) -> c_int;
        virDomainGetXMLDesc(*mut RawDomain, c_uint) -> *mut c_char;
        virDomainDefineXML(*mut RawConnect, *const c_char) -> *mut RawDomain;
        virDomainCreateXML(*mut RawConnect, *const c_char, c_uint) -> *mut RawDomain;
        virDomainCreate(*mut RawDomain) -> c_int;
        virDomainShutdownFlags(*mut RawDomain, c_uint) -> c_int;
        virDomainDestroyFlags(*mut RawDomain, c_uint) -> c_int;
        virDomainPinVcpuFlags(*mut RawDomain, c_uint, *mut u8, c_int, c_uint) -> c_int;
        virDomainPinEmulator(*mut RawDomain, *mut u8, c_int, c_uint) -> c_int;
        virDomainResume(*mut RawDomain) -> c_int;
        virDomainUndefineFlags(*mut RawDomain, c_uint) -> c_int;
        virDomainGetAutostart(*mut RawDomain, *mut c_int) -> c_int;
        virDomainSetAutostart(*mut RawDomain, c_int) -> c_int;
        virDomainAbortJob(*mut RawDomain) -> c_int;
        virDomainMigrate3(
            *mut RawDomain, *mut RawConnect, *mut RawTypedParameter, c_uint, c_uint
        ) -> *mut RawDomain;
        virConnectCompareCPU(*mut RawConnect, *const c_char, c_uint) -> c_int;
        virDomainHasManagedSaveImage(*mut RawDomain, c_uint) -> c_int;
        virDomainGetBlockJobInfo(*mut RawDomain, *const c_char, *mut RawBlockJob, c_uint) -> c_int;
        virDomainGetJobStats(
            *mut RawDomain, *mut c_int, *mut *mut RawTypedParameter, *mut c_int, c_uint
        ) -> c_int;
        virTypedParamsGetInt(*mut RawTypedParameter, c_int, *const c_char, *mut c_int) -> c_int;
        virTypedParamsGetULLong(
            *mut RawTypedParameter, c_int, *const c_char, *mut c_ulonglong
        ) -> c_int;
        virTypedParamsAddString(
            *mut *mut RawTypedParameter, *mut c_int, *mut c_int, *const c_char, *const c_char
        ) -> c_int;
        virTypedParamsAddULLong(
            *mut *mut RawTypedParameter, *mut c_int, *mut c_int, *const c_char, c_ulonglong
        ) -> c_int;
        virTypedParamsFree(*mut RawTypedParameter, c_int);
        virDomainListAllSnapshots(*mut RawDomain, *mut *mut *mut RawSnapshot, c_uint) -> c_int;
        virDomainSnapshotGetXMLDesc(*mut RawSnapshot, c_uint) -> *mut c_char;
        virDomainSnapshotFree(*mut RawSnapshot) -> c_int;
        virEventRegisterDefaultImpl() -> c_int;
        virEventRunDefaultImpl() -> c_int;
        virConnectDomainEventRegisterAny(
            *mut RawConnect, *mut RawDomain, c_int, EventCallback, *mut c_void, FreeCallback
        ) -> c_int;
        virConnectDomainEventDeregisterAny(*mut RawConnect, c_int) -> c_int;
    }
    newer {
        virNodeGetFreePages(
            *mut RawConnect, c_uint, *mut c_uint, c_int, c_uint, *mut c_ulonglong, c_uint
        ) -> c_int;
        virConnectGetDomainCapabilities(
            *mut RawConnect, *const c_char, *const c_char, *const c_char, *const c_char, c_uint
        ) -> *mut c_char;
        virConnectCompareHypervisorCPU(
            *mut RawConnect, *const c_char, *const c_char, *const c_char, *const c_char,
            *const c_char, c_uint
        ) -> c_int;
        virDomainPinIOThread(*mut RawDomain, c_uint, *mut u8, c_int, c_uint) -> c_int;
    }
}

/// `virDomainQemuAgentCommand`.
pub(super) type AgentCommand =
    unsafe extern "C" fn(*mut RawDomain, *const c_char, c_int, c_uint) -> *mut c_char;

impl Library {
    pub(super) fn load(files: &LibraryFiles) -> Result<Self, Fault> {
        let library = open(&files.libvirt)?;
        let library = Self::resolve(&library, &files.libvirt, files.libvirt_qemu.clone())?;
        // SAFETY: the handler ignores its arguments. It is libvirt's own global, and without it
        // libvirt prints each error on standard error before anybody has judged it.
        unsafe { (library.virSetErrorFunc)(std::ptr::null_mut(), Some(say_nothing)) };
        Ok(library)
    }

    /// The function of libvirt's second library, which not every installation has.
    pub(super) fn agent_command(&self) -> Result<AgentCommand, Fault> {
        let load = || {
            let library = open(&self.qemu_file)?;
            // SAFETY: the type stands in libvirt-qemu.h, and the library stays loaded.
            let symbol = unsafe { library.get::<AgentCommand>("virDomainQemuAgentCommand") };
            match symbol {
                Ok(symbol) => Ok(*symbol),
                Err(_) => Err(lacks(&self.qemu_file, "virDomainQemuAgentCommand")),
            }
        };
        self.agent.get_or_init(load).clone()
    }

    /// What the failing call just before said; libvirt keeps it for each thread.
    pub(super) fn last_fault(&self) -> Fault {
        // SAFETY: the error belongs to this thread and stays as it is until the next call.
        unsafe {
            let Some(error) = (self.virGetLastError)().as_ref() else {
                return Fault::new(0, "libvirt failed and did not say why");
            };
            let message = match error.message {
                text if text.is_null() => format!("libvirt's error number {}", error.code),
                text => CStr::from_ptr(text).to_string_lossy().trim().to_owned(),
            };
            let fault = Fault { code: error.code, domain: error.domain, message };
            (self.virResetLastError)();
            fault
        }
    }
}

unsafe extern "C" fn say_nothing(_user_data: *mut c_void, _error: *const RawError) {}

/// Loaded for as long as the process lives.
fn open(file: &Path) -> Result<ManuallyDrop<libloading::Library>, Fault> {
    // SAFETY: what the library does when it is loaded is libvirt's own initialisation.
    match unsafe { libloading::Library::new(file) } {
        Ok(library) => Ok(ManuallyDrop::new(library)),
        Err(error) => Err(Fault::no_library(file, &error.to_string())),
    }
}

fn lacks(file: &Path, symbol: &str) -> Fault {
    Fault::new(
        NO_SUPPORT,
        format!(
            "{} is too old: it has no {symbol}; libvirt 1.3 or newer is wanted",
            file.display()
        ),
    )
}
