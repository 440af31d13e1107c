//! The threads that decide on working copies and send proposals.

pub(super) mod batch;
pub(super) mod proposer_backoff;
pub(super) mod round;
pub(super) mod stopwatch;
pub(super) mod worker;
pub(super) mod working_copy;
