//! The embedded hypervisor, through its public face: small domain XMLs on a host of two nodes.

mod boot;
mod crash;
mod define;
mod drift;
mod life;
mod memory;
mod scene;
