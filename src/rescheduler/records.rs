//! Records of preemption within a queue, and how demand is counted.
//!
//! Tests: `tests/preemption/cases.rs`.

use crate::resource::ResourceVector;

/// How demand is counted in one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    /// Whether reserved resources count as demand.
    pub(super) include_reserved: bool,
    /// Whether leaves above their guarantees are levelled too.
    pub(super) balance: bool,
}

/// An application of a leaf on one partition.
#[derive(Clone, Debug)]
pub(super) struct AppRecord {
    pub(super) app: usize,
    /// Position among the user records.
    pub(super) user: usize,
    pub(super) used: ResourceVector,
    pub(super) pending: ResourceVector,
    pub(super) master: ResourceVector,
    /// What earlier selectors chose of it.
    pub(super) selected: ResourceVector,
    pub(super) ideal: ResourceVector,
    /// What it could give.
    pub(super) give: ResourceVector,
    /// What is to be taken from it.
    pub(super) quota: ResourceVector,
    /// What it wants from others.
    pub(super) demand: ResourceVector,
}

/// A user of a leaf on one partition.
#[derive(Clone, Debug)]
pub(super) struct UserRecord {
    pub(super) user: usize,
    pub(super) masters: ResourceVector,
    pub(super) used_without_masters: ResourceVector,
    pub(super) limit: ResourceVector,
    pub(super) ideal: ResourceVector,
    pub(super) selected: ResourceVector,
    /// Whether what the user has above the limit was matched with a demand.
    pub(super) matched: bool,
}
