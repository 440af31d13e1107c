//! Reports of many nodes in one call.
//!
//! Tests: `tests/runtime/reports.rs`.

use super::command::Command;
use super::engine::Threaded;
use super::heartbeat_batch::HeartbeatBatch;
use crate::commit::{HeartbeatReply, NodeError};
use crate::id::NodeName;
use crate::queue::NodeReport;

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
