//! The readers on files as kernels wrote them, and on what no kernel writes.

mod cgroups;
mod live;
mod memory;
mod scene;
mod threads;
