//! Work that was refused, by reason.

use crate::api::Finding;

/// Work that was refused for one reason by one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Reason, setting, and the evidence of the first job.
    pub finding: Finding,
    /// Jobs.
    pub jobs: u64,
    /// Their containers.
    pub containers: u64,
    /// The first job.
    pub example: String,
}
