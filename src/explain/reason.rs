//! The reasons by name, their tiers, and what to do about each.

use std::fmt;

/// Why work is refused or waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No queue has the name, and none may be created.
    QueueNotFound,
    /// The queue, or one above it, accepts no applications.
    QueueStopped,
    /// The access control lists let the user not submit to the queue.
    AclDenied,
    /// A submission that the queue or the scheduler cannot take as it is.
    PlacementRejected,
    /// A request that is not well formed.
    InvalidRequest,
    /// The queue may not use the label.
    LabelNotAccessible,
    /// No node carries the label.
    NoNodeWithLabel,
    /// One container is larger than the largest allocation.
    LargerThanMaxAllocation,
    /// One container is larger than every node.
    LargerThanAnyNode,
    /// One container is larger than the maximum of a queue.
    ExceedsQueueMax,
    /// As many applications as there may be.
    MaxApplications,
    /// As many applications run at once as there may.
    MaxParallelApps,
    /// The masters of the queue use what masters may use.
    AmLimitQueue,
    /// The masters of the user use what those of one user may use.
    AmLimitUser,
    /// A queue is at its maximum by what the leaf uses.
    QueueMaxCapacity,
    /// A queue above is at its maximum, which siblings below it use a part of.
    ParentHeadroom,
    /// The user is at the user limit of the queue.
    UserLimit,
    /// Others in the queue with a higher priority come first.
    LowerPriority,
    /// Others in the queue come first.
    BehindInOrder,
    /// No node has that much free.
    NoNodeFitsNow,
    /// Enough is free in all, and no node has it alone.
    Fragmented,
    /// It fits elsewhere than on the hosts and racks that it is restricted to.
    LocalityWait,
    /// It fits only on nodes that another application has reserved, or those are proposed first. Or what is
    /// reserved leaves no room below root.
    NodesReserved,
    /// It fits only on nodes that the application excludes.
    ExcludedNodes,
    /// It fits only on nodes that its placement constraint rules out.
    ConstraintUnsatisfied,
    /// The nodes have no room for all members of its gang at once.
    GangWaits,
    /// No node takes its opportunistic containers.
    OpportunisticWaits,
    /// Containers of other queues are asked back or may be killed for its queue.
    PreemptionInProgress,
    /// It has a node reserved and waits for room there.
    ReservedOnNode,
    /// Its opportunistic containers are in the queues of their nodes.
    OpportunisticQueued,
    /// The commit refused what was proposed for it, and it is proposed again.
    ConflictRetry,
    /// It fits within all limits: nobody has looked at it yet.
    NotYetEvaluated,
}

impl Reason {
    /// All reasons, lowest tier first.
    pub const ALL: [Self; 32] = [
        Self::QueueNotFound,
        Self::QueueStopped,
        Self::AclDenied,
        Self::PlacementRejected,
        Self::InvalidRequest,
        Self::LabelNotAccessible,
        Self::NoNodeWithLabel,
        Self::LargerThanMaxAllocation,
        Self::LargerThanAnyNode,
        Self::ExceedsQueueMax,
        Self::MaxApplications,
        Self::MaxParallelApps,
        Self::AmLimitQueue,
        Self::AmLimitUser,
        Self::QueueMaxCapacity,
        Self::ParentHeadroom,
        Self::UserLimit,
        Self::LowerPriority,
        Self::BehindInOrder,
        Self::NoNodeFitsNow,
        Self::Fragmented,
        Self::LocalityWait,
        Self::NodesReserved,
        Self::ExcludedNodes,
        Self::ConstraintUnsatisfied,
        Self::GangWaits,
        Self::OpportunisticWaits,
        Self::PreemptionInProgress,
        Self::ReservedOnNode,
        Self::OpportunisticQueued,
        Self::ConflictRetry,
        Self::NotYetEvaluated,
    ];

    /// A stable word for the reason.
    ///
    /// ```
    /// use capsched::api::Reason;
    ///
    /// assert_eq!(Reason::QueueMaxCapacity.token(), "QUEUE_MAX_CAPACITY");
    /// ```
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::QueueNotFound => "QUEUE_NOT_FOUND",
            Self::QueueStopped => "QUEUE_STOPPED",
            Self::AclDenied => "ACL_DENIED",
            Self::PlacementRejected => "PLACEMENT_REJECTED",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::LabelNotAccessible => "LABEL_NOT_ACCESSIBLE",
            Self::NoNodeWithLabel => "NO_NODE_WITH_LABEL",
            Self::LargerThanMaxAllocation => "LARGER_THAN_MAX_ALLOCATION",
            Self::LargerThanAnyNode => "LARGER_THAN_ANY_NODE",
            Self::ExceedsQueueMax => "EXCEEDS_QUEUE_MAX",
            Self::MaxApplications => "MAX_APPLICATIONS",
            Self::MaxParallelApps => "MAX_PARALLEL_APPS",
            Self::AmLimitQueue => "AM_LIMIT_QUEUE",
            Self::AmLimitUser => "AM_LIMIT_USER",
            Self::QueueMaxCapacity => "QUEUE_MAX_CAPACITY",
            Self::ParentHeadroom => "PARENT_HEADROOM",
            Self::UserLimit => "USER_LIMIT",
            Self::LowerPriority => "LOWER_PRIORITY",
            Self::BehindInOrder => "BEHIND_IN_ORDER",
            Self::NoNodeFitsNow => "NO_NODE_FITS_NOW",
            Self::Fragmented => "FRAGMENTED",
            Self::LocalityWait => "LOCALITY_WAIT",
            Self::NodesReserved => "NODES_RESERVED",
            Self::ExcludedNodes => "EXCLUDED_NODES",
            Self::ConstraintUnsatisfied => "CONSTRAINT_UNSATISFIED",
            Self::GangWaits => "GANG_WAITS",
            Self::OpportunisticWaits => "OPPORTUNISTIC_WAITS",
            Self::PreemptionInProgress => "PREEMPTION_IN_PROGRESS",
            Self::ReservedOnNode => "RESERVED_ON_NODE",
            Self::OpportunisticQueued => "OPPORTUNISTIC_QUEUED",
            Self::ConflictRetry => "CONFLICT_RETRY",
            Self::NotYetEvaluated => "NOT_YET_EVALUATED",
        }
    }

    /// 1: never as things are configured; 2: admission; 3: quota; 4: order; 5: placement; 6: on its
    /// way. The lowest tier that applies is the reason. Order applies where a node has room, and
    /// placement does not where something is under way to end it.
    #[must_use]
    pub const fn tier(self) -> u8 {
        match self {
            Self::QueueNotFound
            | Self::QueueStopped
            | Self::AclDenied
            | Self::PlacementRejected
            | Self::InvalidRequest
            | Self::LabelNotAccessible
            | Self::NoNodeWithLabel
            | Self::LargerThanMaxAllocation
            | Self::LargerThanAnyNode
            | Self::ExceedsQueueMax => 1,
            Self::MaxApplications
            | Self::MaxParallelApps
            | Self::AmLimitQueue
            | Self::AmLimitUser => 2,
            Self::QueueMaxCapacity | Self::ParentHeadroom | Self::UserLimit => 3,
            Self::LowerPriority | Self::BehindInOrder => 4,
            Self::NoNodeFitsNow
            | Self::Fragmented
            | Self::LocalityWait
            | Self::NodesReserved
            | Self::ExcludedNodes
            | Self::ConstraintUnsatisfied
            | Self::GangWaits
            | Self::OpportunisticWaits => 5,
            Self::PreemptionInProgress
            | Self::ReservedOnNode
            | Self::OpportunisticQueued
            | Self::ConflictRetry
            | Self::NotYetEvaluated => 6,
        }
    }

    /// The name of a tier, as tables group by it; nothing for a number that is no tier.
    #[must_use]
    pub const fn tier_name(tier: u8) -> Option<&'static str> {
        Some(match tier {
            1 => "never",
            2 => "admission",
            3 => "quota",
            4 => "order",
            5 => "placement",
            6 => "progressing",
            _ => return None,
        })
    }

    /// What it means that no step was seen to help. What is under way ends by itself; what the request itself
    /// rules out, no setting and no time admits; everything else waits until more is free.
    ///
    /// ```
    /// use capsched::api::Reason;
    ///
    /// assert!(Reason::ConflictRetry.without_step().starts_with("nothing to do"));
    /// ```
    #[must_use]
    pub const fn without_step(self) -> &'static str {
        match self {
            Self::PlacementRejected | Self::InvalidRequest => {
                "no setting and no time helps: the request itself has to change"
            }
            _ if self.tier() == 6 => "nothing to do: it is under way",
            _ => "nothing that was tried on a copy helps at once",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_listed_once_by_tier_with_tokens_in_capitals() {
        assert!(Reason::ALL.is_sorted_by_key(|reason| reason.tier()));
        assert!(Reason::ALL.windows(2).all(|pair| pair[0] < pair[1]));
        for reason in Reason::ALL {
            let token = reason.token();
            let capital = |c: char| c.is_ascii_uppercase() || c == '_';
            assert!(token.chars().all(capital), "{token}");
        }
    }
}
