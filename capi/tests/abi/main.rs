//! The exported calls, as a host in C makes them.
#![expect(unsafe_code, reason = "the calls take pointers")]

mod attempts;
mod bad_calls;
mod bad_pointers;
mod calls;
mod changes;
mod opportunistic;
mod support;
