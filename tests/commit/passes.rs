//! A pass of a proposer in a pipeline that a test steps.

use std::time::Duration;

use capsched::api::Pipeline;

/// A turn of the proposer over a new snapshot, and its commits.
pub(crate) fn pass(pipeline: &mut Pipeline) {
    pipeline.advance(Duration::from_millis(1));
    pipeline.publish();
    pipeline.sort_nodes();
    pipeline.catch_up(0, true);
    pipeline.turn(0);
    pipeline.hand_over(0);
    while pipeline.commit(0).is_some() {}
}
