//! The planner from outside: a request goes in, a plan or refusals come out.

mod binding;
mod scene;
