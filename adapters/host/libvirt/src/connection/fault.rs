//! libvirt's errors, and which of the engine's each is.

use numawise_engine::ports::PortError;
use std::path::Path;

/// An error as libvirt gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// `virErrorNumber`; 0 where libvirt gave none.
    pub code: i32,
    /// `virErrorDomain`: the part of libvirt that it came from.
    pub domain: i32,
    pub message: String,
}

// virErrorNumber, as far as it matters here.
const INTERNAL: i32 = 1;
pub(super) const NO_SUPPORT: i32 = 3;
const NO_CONNECT: i32 = 5;
const INVALID_CONNECTION: i32 = 6;
const OPERATION_DENIED: i32 = 29;
const SYSTEM: i32 = 38;
const RPC: i32 = 39;
const NO_DOMAIN: i32 = 42;
const AUTH_FAILED: i32 = 45;
pub(super) const OPERATION_INVALID: i32 = 55;
const AUTH_CANCELLED: i32 = 79;
const OPERATION_UNSUPPORTED: i32 = 84;
const SSH: i32 = 85;
const ACCESS_DENIED: i32 = 88;
const AUTH_UNAVAILABLE: i32 = 94;
const LIBSSH: i32 = 98;
/// Not one of libvirt's: the library itself is missing.
const NO_LIBRARY: i32 = -1;
// virErrorDomain.
const FROM_RPC: i32 = 7;
const FROM_REMOTE: i32 = 13;

impl Fault {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, domain: 0, message: message.into() }
    }

    pub fn too_old(function: &str) -> Self {
        let text = format!("this machine's libvirt library is too old: it has no {function}");
        Self::new(NO_SUPPORT, text)
    }

    pub fn no_library(file: &Path, why: &str) -> Self {
        let text = format!(
            "libvirt's library {} cannot be loaded: {why}. Install it (Debian and Ubuntu: libvirt0, \
             Fedora and RHEL: libvirt-libs), or plan from the guest's XML: numawise plan --xml FILE",
            file.display()
        );
        Self::new(NO_LIBRARY, text)
    }

    pub fn is_no_domain(&self) -> bool {
        self.code == NO_DOMAIN
    }

    /// The driver behind the connection has no such function.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.code, NO_SUPPORT | OPERATION_UNSUPPORTED)
    }

    /// Whether the way to the daemon is what failed. The same numbers come from elsewhere, so the
    /// part of libvirt that they came from is looked at too.
    pub fn is_lost_connection(&self) -> bool {
        let way = matches!(self.domain, FROM_RPC | FROM_REMOTE);
        match self.code {
            NO_CONNECT | INVALID_CONNECTION | SSH | LIBSSH => true,
            INTERNAL | SYSTEM | RPC => way,
            _ => false,
        }
    }

    fn is_no_access(&self) -> bool {
        matches!(
            self.code,
            NO_LIBRARY
                | OPERATION_DENIED
                | AUTH_FAILED
                | AUTH_CANCELLED
                | AUTH_UNAVAILABLE
                | ACCESS_DENIED
        ) || self.is_lost_connection()
    }

    /// While a connection is being opened every failure means that there is none.
    pub fn on_opening(self, uri: &str) -> PortError {
        if self.code == NO_LIBRARY {
            return PortError::NoAccess(format!("'{uri}' cannot be reached: {}", self.message));
        }
        PortError::NoAccess(format!(
            "'{uri}' cannot be reached: {}. {}",
            self.message,
            self.way_in(uri)
        ))
    }

    /// `doing` is what was tried, with the guest's name: "starting db".
    pub fn into_port(self, uri: &str, doing: &str) -> PortError {
        let text = format!("{doing} at {uri}: {}", self.message);
        if self.is_no_domain() {
            PortError::NotFound(text)
        } else if self.is_no_access() {
            PortError::NoAccess(format!("{text}. {}", self.way_in(uri)))
        } else {
            PortError::Failed(text)
        }
    }

    fn way_in(&self, uri: &str) -> &'static str {
        let denied = matches!(
            self.code,
            AUTH_FAILED | AUTH_CANCELLED | AUTH_UNAVAILABLE | OPERATION_DENIED | ACCESS_DENIED
        ) || self.message.contains("Permission denied");
        if denied {
            "Only root and members of the group libvirt may manage guests there: run it as root, or \
             usermod -aG libvirt USER and log in again"
        } else if uri.starts_with("qemu") {
            "Is its daemon running? systemctl status libvirtd (or virtqemud); another address is \
             given by --connect URI or the key connect of the configuration"
        } else {
            "Another address is given by --connect URI or the key connect of the configuration"
        }
    }
}
