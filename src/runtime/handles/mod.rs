//! What callers hold: commands, events, start and end of an engine with threads.
//!
//! # A call
//!
//! 1. It becomes a command with a place for its answer (`command`, `reply`).
//! 2. The command waits in the inbox, or the caller's own thread runs the committer where that is idle.
//! 3. The answer wakes the caller: a thread, or a task of an asynchronous host (`async_calls`).
//!
//! Calls of one thread are carried out in their order. A snapshot shows a command before its answer comes.
//!
//! # Events
//!
//! The committer delivers events in buffers, which go back to it when they are read (`event_reader`). An `EventStream` is
//! taken once and has all events, also behind the end of the engine.

mod async_calls;
pub(super) mod command;
pub(super) mod commands;
pub(super) mod copies_in_passes;
pub(super) mod cores;
pub(super) mod ending;
pub(super) mod engine;
pub(super) mod engine_clock;
pub(super) mod event_reader;
pub(super) mod event_stream;
pub(super) mod heartbeat_batch;
pub(super) mod looks;
pub(super) mod monitor;
mod monitor_calls;
pub(super) mod queue_capacities;
pub(super) mod reply;
mod reports;
pub(super) mod start;
