//! Rows of the auditor's books.

use std::collections::BTreeMap;

use crate::api::{ApplicationId, ContainerId, ResourceVector};
use crate::id::Map;

/// An application and the key of a gang of it.
pub(super) type GangKey = (ApplicationId, (i32, i64));

/// Gangs that wait, as they were asked for.
#[derive(Debug, Default)]
pub(super) struct AuditedGangs {
    pub(super) waiting: BTreeMap<GangKey, AuditedGang>,
    /// The gang of which members were placed, and not yet all.
    pub(super) open: Option<GangKey>,
}

#[derive(Debug)]
pub(super) struct AuditedGang {
    pub(super) minimum: u32,
    pub(super) deadline_ms: u64,
    pub(super) placed: u32,
}

/// A queue with a limit on one partition.
#[derive(Debug)]
pub(super) struct QueueLimit {
    pub(super) used: ResourceVector,
    pub(super) most: ResourceVector,
}

/// A reserved container.
#[derive(Debug)]
pub(super) struct WaitingReservation {
    pub(super) node: usize,
    pub(super) size: ResourceVector,
}

/// Since when reservations fit on their nodes.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    pub(super) now_ms: u64,
    /// Longest time between two looks at a node; nothing where it is unknown.
    pub(super) round_ms: Option<u64>,
    pub(super) fits_since: Map<ContainerId, u64>,
}

/// A live container: numbers of its node, the partition of that if it was registered, its queue and its user.
#[derive(Clone, Debug)]
pub(super) struct AuditedContainer {
    pub(super) node: usize,
    pub(super) partition: Option<usize>,
    pub(super) queue: usize,
    pub(super) user: usize,
    pub(super) size: ResourceVector,
    pub(super) handed_over: bool,
}
