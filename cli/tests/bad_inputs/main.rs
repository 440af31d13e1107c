//! Broken input through the command itself, by the catalogue of bad inputs: traces and command lines
//! (rows H and I), snapshots, and what a server is started with.
#![expect(clippy::unwrap_used, reason = "test code")]

#[cfg(unix)]
mod serving;
#[cfg(unix)]
mod snapshots;
#[cfg(unix)]
#[expect(dead_code, reason = "these tests make their own traces")]
#[path = "../support/mod.rs"]
mod support;
mod traces;
