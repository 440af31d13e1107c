//! Reports of many nodes, handed to the committer together.
//!
//! Tests: `tests/runtime/reports.rs`.

use super::command::Command;
use crate::commit::{HeartbeatReply, NodeError};
use crate::id::NodeName;
use crate::queue::NodeReport;
use crate::runtime::Threaded;

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

impl Threaded {
    /// Reports of several nodes, taken over in their order; in heartbeat mode each node is
    /// scheduled at its turn. The answers stand in the order of the reports.
    ///
    /// One hand-over and one wait serve them all, which for nodes that have little to report, as
    /// most do, is most of the cost of [`Threaded::heartbeat`]. After some of them the committer serves
    /// other callers before it goes on.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// let (known, lost) = (NodeName::new("n0", 8041)?, NodeName::new("n1", 8041)?);
    /// engine.add_node(NodeSpec::new(known.clone(), ResourceVector::of(&[8192, 8])))?;
    ///
    /// let reports = [known, lost.clone()].map(|node| (node, NodeReport::AsExpected));
    /// let replies = engine.heartbeat_all(reports.into());
    /// assert_eq!(replies[0], Ok(HeartbeatReply::default()));
    /// assert_eq!(replies[1], Err(NodeError::Unknown(lost)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Each answer by itself, as that of [`Threaded::heartbeat`]: a node that is not registered is
    /// refused alone. All of them are [`NodeError::Closed`] once the engine has ended.
    pub fn heartbeat_all(
        &self,
        reports: Vec<(NodeName, NodeReport)>,
    ) -> Vec<Result<HeartbeatReply, NodeError>> {
        let number = reports.len();
        let batch = HeartbeatBatch::new(reports);
        self.call(|reply| Command::HeartbeatAll(batch, reply))
            .unwrap_or_else(|refused| vec![Err(refused.into()); number])
    }
}
