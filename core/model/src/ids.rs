//! Numbers that must not be mixed up: a host's CPU is never a guest's CPU, a node is never a CPU.

use std::fmt;

/// A typed number. `KIND` is the word a message uses for it.
pub trait Id: Copy + Ord + fmt::Display + fmt::Debug {
    const KIND: &'static str;
    fn new(number: u32) -> Self;
    fn get(self) -> u32;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Id for $name {
            const KIND: &'static str = $kind;
            fn new(number: u32) -> Self {
                Self(number)
            }
            fn get(self) -> u32 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id!(
    /// A logical CPU of the host, by the kernel's number.
    Pcpu, "pCPU"
);
id!(
    /// A CPU of the guest, by libvirt's number.
    Vcpu, "vCPU"
);
id!(
    /// A NUMA node of the host, by the kernel's number (ids may have gaps).
    Pnode, "pNUMA node"
);
id!(
    /// A NUMA node of the guest; always 0..n without gaps.
    Vnode, "vNUMA node"
);
id!(
    /// A last-level cache: its place in [`crate::Topology::l3_domains`], which is ordered by lowest
    /// CPU. The kernel's own cache ids are neither contiguous nor unique over packages.
    L3Id, "L3 domain"
);
id!(
    /// A physical core: its place in [`crate::Topology::cores`], ordered by lowest CPU. The
    /// firmware's core ids repeat over packages and dies.
    CoreId, "core"
);
id!(
    /// A socket: its place in [`crate::Topology::packages`], ordered by lowest CPU. Firmware gives
    /// -1, or 36, or one per core.
    PackageId, "package"
);
