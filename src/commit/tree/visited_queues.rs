//! Whose queues are visited, and where a visit pauses.
//!
//! Tests: `tests/runtime/fetches.rs`.

use crate::commit::leaves::Leaves;
use crate::snapshot::State;

/// What has queues that are visited.
pub(in crate::commit) trait VisitedQueues {
    /// The rows that a visit reads and writes.
    fn rows(&mut self) -> (&mut State, &mut Leaves);

    /// A moment between two queues, applications, containers or follow-up events, at which other calls may be served.
    /// They leave the queues and their lists as they are, but for what is computed for a user and computed anew later.
    fn pause(&mut self) {}
}
