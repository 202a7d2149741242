//! The command line as users have it: the real binary, on state folders of its own.

mod audited;
mod bench;
mod concurrent;
mod cpu;
mod crash;
mod doctor_database;
mod emulated;
mod emulated_tune;
mod experiments;
mod faults;
mod files;
mod fleet;
mod host_tree;
mod libvirt;
mod live;
mod migrate;
mod others;
mod refused;
mod shows;
mod stories;
mod tpcc;
mod tune;
mod tune_faults;
