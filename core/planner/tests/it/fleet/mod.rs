//! Many hosts: the index against a plain scan, batches against every assignment, moves step by step.

mod index;
mod small_fleet;
