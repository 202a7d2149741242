//! The planner from outside: a request goes in, a plan or refusals come out.

mod best_place;
mod binding;
mod changes;
mod emulator;
mod fit;
mod fleet;
mod frozen;
mod guest_cache;
mod guest_cpu;
mod judge;
mod memory;
mod memory_only;
mod properties;
mod refusals;
mod scale;
mod scene;
mod tuning;
