//! The SQLite store: the rules of every store, and what is a matter of its files.

mod experiments;
mod files;
mod rules;
