//! The domain XML editor against definitions of many origins (`fixtures/domains`).

mod connection;
mod connection_real;
mod corpus;
mod edits;
mod layout;
mod managers;
mod observe;
mod observe_agent;
mod qemu_args;
mod random;
mod reading;
mod rewriting;
mod schema;
mod secrets;
mod speed;
mod stable;
mod unchanged;
mod undo;
