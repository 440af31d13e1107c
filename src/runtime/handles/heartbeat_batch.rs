//! Reports of many nodes, handed to the committer together.
//!
//! Tests: `tests/runtime/reports.rs`.

use crate::commit::{HeartbeatReply, NodeError};
use crate::id::NodeName;
use crate::queue::NodeReport;
use crate::runtime::Sequential;
use crate::runtime::node_changes::Rest;

/// Budget that a report takes, in items: a node that is scheduled takes some microseconds.
const REPORT: usize = 4;

/// Reports with their answers so far.
#[derive(Debug)]
pub(in crate::runtime) struct HeartbeatBatch {
    reports: Vec<(NodeName, NodeReport)>,
    replies: Vec<Result<HeartbeatReply, NodeError>>,
    /// Of the last report.
    rest: Rest,
}

impl HeartbeatBatch {
    pub(in crate::runtime) fn new(reports: Vec<(NodeName, NodeReport)>) -> Self {
        Self {
            replies: Vec::with_capacity(reports.len()),
            reports,
            rest: Rest::Nothing,
        }
    }

    /// Takes over the next reports, as many as the budget has, each with what follows from it; whether there are no more.
    pub(in crate::runtime) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
        mut take: impl FnMut(
            &mut Sequential,
            &NodeName,
            &NodeReport,
        ) -> (Result<HeartbeatReply, NodeError>, Rest),
    ) -> bool {
        while self.rest == Rest::Nothing || engine.recompute_on(budget) {
            self.rest = Rest::Nothing;
            let Some((node, report)) = self.reports.get(self.replies.len()) else {
                return true;
            };
            if *budget == 0 {
                break;
            }
            *budget = budget.saturating_sub(REPORT);
            let reply;
            (reply, self.rest) = take(engine, node, report);
            self.replies.push(reply);
            if self.has_rest() {
                // The new total of the node.
                engine.ledger().take_recomputing_off(budget);
            }
        }
        false
    }

    /// Whether the next part writes every queue.
    pub(in crate::runtime) fn has_rest(&self) -> bool {
        self.rest == Rest::Left
    }

    pub(in crate::runtime) fn into_replies(self) -> Vec<Result<HeartbeatReply, NodeError>> {
        self.replies
    }
}
