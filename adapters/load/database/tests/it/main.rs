//! Loads against real databases, each a private server of the test.

mod tpcc;
