//! What the scheduler did last, for its health.

use capsched::api::{
    ApplicationId, ContainerId, EndCause, Event, NodeName, ResourceVector, UnreserveReason,
};
use capsched::id::java_order;

/// What happened last of one kind, for the health of the scheduler.
// As SchedulerHealth.DetailedInformation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastOperation {
    /// When, in ms since the Unix epoch.
    pub at_ms: u64,
    /// Where.
    pub node: NodeName,
    /// Which container; nothing where the operation has none yet.
    pub container: Option<ContainerId>,
    /// Full path of the queue.
    pub queue: String,
}

/// Kinds of operations that the health of the scheduler counts.
// As SchedulerHealth.Operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A container was placed.
    Allocation,
    /// A container ended.
    Release,
    /// A container was preempted.
    Preemption,
    /// Space was reserved.
    Reservation,
}

/// What the last pass over a node came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastRun {
    /// When, in ms since the Unix epoch; 0: never.
    pub at_ms: u64,
    /// Containers placed by it.
    pub allocations: u64,
    /// Sum of their sizes.
    pub allocated: ResourceVector,
    /// Reservations made by it.
    pub reservations: u64,
    /// Sum of their sizes.
    pub reserved: ResourceVector,
    /// Containers released before it.
    pub releases: u64,
    /// Sum of their sizes.
    pub released: ResourceVector,
}

/// The container that ends last, of those that end with their application.
// As CapacityScheduler.doneApplicationAttempt, which walks the map of live containers, then the reservations.
pub(super) fn last_end<'a>(
    decisions: &'a [Event],
    finishing: Option<&(ApplicationId, NodeName)>,
) -> Option<(ContainerId, &'a NodeName)> {
    let mut ended: Vec<(ContainerId, &NodeName)> = Vec::new();
    for decision in decisions {
        if let Event::Ended {
            container,
            node,
            cause: EndCause::ApplicationEnded,
            ..
        } = decision
        {
            if ended
                .first()
                .is_some_and(|(first, _)| first.app != container.app)
            {
                ended.clear();
            }
            ended.push((*container, node));
        }
    }
    // Where the master finished, its node reported its other containers with it.
    if let Some((app, node)) = finishing {
        let elsewhere = ended.iter().any(|(id, on)| id.app == *app && *on != node);
        ended.retain(|(id, on)| !elsewhere || id.app != *app || *on != node);
    }
    let count = ended.len();
    java_order::sort(&mut ended, count, |(id, _)| java_order::container_hash(*id));
    let last = ended.pop()?;
    // The events of reservations come first.
    let reserved = |decision: &'a Event| match decision {
        Event::Unreserved {
            container,
            node,
            reason: UnreserveReason::Kill,
            ..
        } if container.app == last.0.app => Some((*container, node)),
        _ => None,
    };
    Some(decisions.iter().rev().find_map(reserved).unwrap_or(last))
}
