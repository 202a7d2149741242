//! The SQLite store: the rules of every store, and what is a matter of its files.

mod files;
mod rules;
