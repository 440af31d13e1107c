//! The C interface of the engine: `include/capsched.h`, which cbindgen writes from this package.
//!
//! # Rules of every call
//!
//! * It answers 0 or a negative code; [`calls::engine::capsched_last_error`] gives the text of the latest one of the
//!   thread. A refused call changed nothing.
//! * An engine, and what is left of a reply, is an integer with a generation: a handle that was given back, or
//!   is none, is refused.
//! * Nodes and queues are numbers in records. A number stands for its name as long as the engine lives.
//! * Structs begin with their size in bytes. One of an older version lacks fields at its end, which are zero then;
//!   one of a newer version is taken if what is unknown is zero. The elements of an array have one size.
//! * Texts carry their length, are UTF-8 and need no NUL at the end.
//! * A panic ends in the call as a code. Nothing calls back into the host.
//! * Calls may come from any number of threads, but not from a signal handler, nor in a child after `fork`.
//!
//! # Who is trusted
//!
//! Pointers cannot be checked beyond null: a caller promises that each points to as many elements as it says.
//! All reading and writing by pointers is in `memory`.
#![expect(
    unsafe_code,
    reason = "pointers of C callers and exported names; the engine itself has none"
)]

pub mod abi;
pub mod calls;
mod convert;
mod engine_handle;
mod fault;
mod handles;
mod memory;
mod names;
mod reply;
mod settings;

pub use abi::*;
