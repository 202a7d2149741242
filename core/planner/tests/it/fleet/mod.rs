//! Many hosts: the index against a plain scan, batches against every assignment, moves step by step.

mod batches;
mod index;
mod most;
mod small_fleet;
