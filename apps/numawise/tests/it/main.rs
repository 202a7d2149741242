//! The command line as users have it: the real binary, on state folders of its own.

mod bench;
mod concurrent;
mod crash;
mod faults;
mod files;
mod live;
mod others;
mod shows;
mod stories;
