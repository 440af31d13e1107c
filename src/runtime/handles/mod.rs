//! What callers hold: commands, events, start and end of an engine with threads.

mod async_calls;
pub(super) mod command;
pub(super) mod cores;
pub(super) mod ending;
pub(super) mod engine;
pub(super) mod engine_clock;
pub(super) mod event_reader;
pub(super) mod event_stream;
pub(super) mod heartbeat_batch;
pub(super) mod looks;
pub(super) mod monitor;
pub(super) mod queue_capacities;
pub(super) mod reply;
pub(super) mod start;
