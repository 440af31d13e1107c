//! Reports of many nodes, handed to the committer together.
//!
//! Tests: `tests/runtime/reports.rs`.

use crate::commit::{HeartbeatReply, NodeError};
use crate::id::NodeName;
use crate::queue::NodeReport;

/// Budget that a report takes, in items: a node that is scheduled takes some microseconds.
const REPORT: usize = 4;

/// Reports with their answers so far.
#[derive(Debug)]
pub(in crate::runtime) struct HeartbeatBatch {
    reports: Vec<(NodeName, NodeReport)>,
    replies: Vec<Result<HeartbeatReply, NodeError>>,
}

impl HeartbeatBatch {
    pub(in crate::runtime) fn new(reports: Vec<(NodeName, NodeReport)>) -> Self {
        Self {
            replies: Vec::with_capacity(reports.len()),
            reports,
        }
    }

    /// Takes over the next reports, as many as the budget has; whether there are no more.
    pub(in crate::runtime) fn go_on(
        &mut self,
        budget: &mut usize,
        mut take: impl FnMut(&NodeName, &NodeReport) -> Result<HeartbeatReply, NodeError>,
    ) -> bool {
        while let Some((node, report)) = self.reports.get(self.replies.len()) {
            if *budget == 0 {
                return false;
            }
            *budget = budget.saturating_sub(REPORT);
            self.replies.push(take(node, report));
        }
        true
    }

    pub(in crate::runtime) fn into_replies(self) -> Vec<Result<HeartbeatReply, NodeError>> {
        self.replies
    }
}
