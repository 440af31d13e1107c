//! What a pass returns: a proposal or a reason; and what it observes on the way.
//!
//! Tests: `tests/commit/bad_proposals.rs`.

use crate::accounting::HeadGrowth;
use crate::cluster::Killable;
use crate::id::{AppSlot, NodeSlot, PartitionId, QueueSlot, SchedulerKey, UserSlot};
use crate::policy::Locality;
use crate::queue::{CachedUserLimit, Exclusivity, HeadroomProvider, KeyAsks, LimitKind};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// What is to be done after a pass.
#[derive(Clone, Debug)]
#[must_use]
pub enum Outcome {
    /// A container to allocate, or a reservation to make or keep.
    Proposed(Proposal),
    /// A reservation that nobody asks for any more.
    GiveUp(Release),
    /// Nothing, and why.
    Skipped(SkipReason),
}

/// Why a pass got nothing from a queue or an application (`CSAssignment.SkippedType` and the null assignment).
///
/// A node that is passed over among several has no reason here; `explain` says what stands against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// The queue may not use the partition.
    NoAccess,
    /// Nobody below the queue asks for anything.
    NothingPending,
    /// The node is reserved, or has less free than the smallest allocation.
    NodeFull,
    /// The queue is at its maximum.
    AtMaximum,
    /// A request is larger than the headroom of its queue (`QUEUE_LIMIT`).
    QueueLimit,
    /// No application may be served, or none fits: the walk goes on (`OTHER`).
    Other,
    /// An application waits, and those behind it wait with it: the walk of the leaf ends.
    Nothing,
}

/// One container on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Whether to allocate or to reserve.
    pub kind: ProposalKind,
    /// The application.
    pub app: AppSlot,
    /// Generation of the application's slot.
    pub generation: u32,
    /// The key that is served.
    pub key: SchedulerKey,
    /// The node.
    pub node: NodeSlot,
    /// Incarnation of the node's slot.
    pub incarnation: u32,
    /// Where the container may go should that node not take it any more.
    pub alternate: Option<Alternate>,
    /// Size as the key asks it now.
    pub size: PackedVector,
    /// The level used.
    pub locality: Locality,
    /// The first level for which an ask existed.
    pub requested: Option<Locality>,
    /// Whether partition exclusivity was respected.
    pub exclusivity: Exclusivity,
    /// Whether the counters of the key move with it, as [`KeyAsks::count_found`](crate::queue::KeyAsks::count_found) says; otherwise
    /// they are observed.
    pub counted: bool,
    /// Number of the reserved container that is fulfilled or kept.
    pub reserved: Option<u32>,
    /// A reservation to give up for this.
    pub exchange: Option<Box<Release>>,
    /// Containers to kill for this.
    pub kill: Vec<Killable>,
}

/// A second choice among the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternate {
    /// The node.
    pub node: NodeSlot,
    /// Incarnation of the node's slot.
    pub incarnation: u32,
}

impl Proposal {
    /// A container that a key of an application asks anywhere on the partition of a node.
    #[inline(always)]
    pub(crate) fn anywhere(
        state: &State,
        slot: AppSlot,
        asks: &KeyAsks,
        node: NodeSlot,
        size: PackedVector,
    ) -> Self {
        let app = &state.apps[slot];
        Self {
            kind: ProposalKind::Allocate,
            app: slot,
            generation: app.generation,
            key: asks.key,
            node,
            incarnation: state.nodes[node].incarnation,
            alternate: None,
            size,
            locality: Locality::Any,
            requested: Some(Locality::Any),
            exclusivity: Exclusivity::Respect,
            counted: true,
            reserved: None,
            exchange: None,
            kill: Vec::new(),
        }
    }

    /// The same on its alternate, if it has one. Only a container that may be anywhere goes elsewhere:
    /// nothing else in it may be about the first node.
    #[must_use]
    pub fn on_alternate(&self) -> Option<Self> {
        let Alternate { node, incarnation } = self.alternate?;
        let anywhere = self.counted
            && self.kind == ProposalKind::Allocate
            && self.reserved.is_none()
            && self.exchange.is_none()
            && self.kill.is_empty();
        anywhere.then(|| Self {
            node,
            incarnation,
            alternate: None,
            ..self.clone()
        })
    }
}

impl Outcome {
    /// Whether nothing more is proposed than that a reservation goes on waiting.
    #[must_use]
    pub fn keeps_reservation(&self) -> bool {
        matches!(self, Self::Proposed(proposal)
            if proposal.kind == ProposalKind::Reserve && proposal.reserved.is_some())
    }
}

/// What a proposal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    /// Places a container.
    Allocate,
    /// Makes a reservation, or keeps one.
    Reserve,
}

/// A reservation to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The application.
    pub app: AppSlot,
    /// The key of the reservation.
    pub key: SchedulerKey,
    /// Number of the container.
    pub number: u32,
    /// Where it waits.
    pub node: NodeSlot,
    /// Its size.
    pub size: ResourceVector,
}

/// Something that a pass changes by looking.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The limit of a leaf was computed for an application: headroom and the limit for masters read it.
    PublishedLimit {
        /// The leaf.
        leaf: QueueSlot,
        /// Its limit on the default partition.
        limit: PackedVector,
    },
    /// A user limit was computed.
    UserLimit {
        /// The leaf.
        leaf: QueueSlot,
        /// The partition.
        partition: PartitionId,
        /// Which of the limits.
        kind: LimitKind,
        /// Version of the users for which it holds.
        version: u64,
        /// The limit of a user of weight 1.
        limit: PackedVector,
    },
    /// A user's limit was handed to an application.
    LimitNotice {
        /// The user's record.
        user: UserSlot,
        /// The limit.
        limit: PackedVector,
        /// For passes: the partition, the mode and the version of the users for which it is not
        /// handed out again.
        once: Option<(PartitionId, Exclusivity, u64)>,
    },
    /// A leaf computed a user limit for an application, which has a headroom from now on.
    Served {
        /// The application.
        app: AppSlot,
        /// Whom its headroom is computed for.
        provider: HeadroomProvider,
    },
    /// All applications of the skippable head of a leaf were handed their limit.
    HeadNotice {
        /// The leaf.
        leaf: QueueSlot,
        /// The partition.
        partition: PartitionId,
        /// The mode.
        exclusivity: Exclusivity,
        /// Version of the users for which the limit holds.
        version: u64,
        /// The limit of a user of weight 1.
        limit: PackedVector,
    },
    /// More applications belong to the skippable head of a leaf.
    HeadGrown {
        /// The leaf.
        leaf: QueueSlot,
        /// The new head.
        growth: HeadGrowth,
    },
    /// It was found out that a user without a record may be assigned nothing.
    CachedUserLimit {
        /// The user's record.
        user: UserSlot,
        /// The partition.
        partition: PartitionId,
        /// The mode.
        exclusivity: Exclusivity,
        /// What was found; seldom, so that it does not widen the others.
        cached: Box<CachedUserLimit>,
    },
    /// An application that moved away is still listed in a leaf that has no record of its user:
    /// nothing is assigned to that user there.
    UserUnknown {
        /// The leaf.
        leaf: QueueSlot,
        /// The application.
        app: AppSlot,
        /// The partition.
        partition: PartitionId,
        /// The mode.
        exclusivity: Exclusivity,
    },
    /// Counters of a key moved.
    Counters {
        /// The application.
        app: AppSlot,
        /// The key.
        key: SchedulerKey,
        /// Scheduling opportunities.
        opportunities: i32,
        /// Missed opportunities on the default partition.
        missed: i32,
    },
    /// The applications of a leaf with a fair order were put in order.
    Sorted {
        /// The leaf.
        leaf: QueueSlot,
    },
}
