//! Why the containers of one key wait.

use super::finding::Finding;
use crate::resource::ResourceVector;

/// Why the containers of one key wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyExplanation {
    /// Request priority; nothing before the application is active.
    pub priority: Option<i32>,
    /// How many containers.
    pub containers: u64,
    /// Size of one.
    pub size: ResourceVector,
    /// The reason, and what applies once it is gone, in that order.
    pub findings: Vec<Finding>,
}
