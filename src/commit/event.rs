//! Events: what happened in the ledger, in order, for the outside.
//!
//! Tests: `tests/commit/property.rs`.

use serde::Serialize;

use super::event_text;
use crate::accounting::PlacedIn;
use crate::commit::proposals::conflict::Conflict;
use crate::id::{ApplicationId, ContainerId, NodeName, PartitionId, QueuePath, SchedulerKey};
use crate::policy::Locality;
use crate::proposer::{Proposal, ProposalKind};
use crate::queue::{EndCause, Exclusivity, GangWait, UpdateKind};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// The auxiliary container of a change that was fetched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuxiliaryContainer {
    /// Its id.
    pub id: ContainerId,
    /// Its size from now on.
    pub size: ResourceVector,
}

/// Something that happened to a container, a reservation or an application.
///
/// ```
/// use capsched::api::*;
///
/// let engine = Engine::builder(example::settings()).start()?;
/// engine.add_node(NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[4096, 4])))?;
/// let app = ApplicationId::new(1);
/// engine.submit(AppSpec::new(app, "root.a", "ann"))?;
/// engine.ask(app, AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)]))?;
/// engine.heartbeat("n0:8041".parse()?, NodeReport::AsExpected)?;
/// engine.quiesce();
/// let events = serde_json::to_value(engine.take_events())?;
/// let allocated = events.as_array().and_then(|all| all.last()).expect("an event");
/// assert_eq!(allocated["event"], "allocated");
/// assert_eq!((&allocated["node"], &allocated["key"]["priority"]), (&"n0:8041".into(), &1.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A container was placed.
    Allocated {
        /// The container.
        container: ContainerId,
        /// Its node.
        node: NodeName,
        /// Its size.
        size: ResourceVector,
        /// Full path of its leaf queue.
        queue: QueuePath,
        /// The key that was served.
        key: SchedulerKey,
        /// The level used.
        #[serde(serialize_with = "event_text::locality")]
        locality: Locality,
        /// The first level asked.
        #[serde(serialize_with = "event_text::requested")]
        requested: Option<Locality>,
        /// Partition of the node.
        #[serde(serialize_with = "event_text::partition")]
        partition: PartitionId,
        /// Whether a request without a label borrows idle capacity of the partition.
        borrowed: bool,
        /// Whether it took the place that a reservation held.
        from_reservation: bool,
    },
    /// A reservation was made, or kept by a further attempt.
    Reserved {
        /// The container that waits.
        container: ContainerId,
        /// Its node.
        node: NodeName,
        /// Its size.
        size: ResourceVector,
        /// The key that was served.
        key: SchedulerKey,
        /// The level used.
        #[serde(serialize_with = "event_text::locality")]
        locality: Locality,
        /// The first level asked.
        #[serde(serialize_with = "event_text::requested")]
        requested: Option<Locality>,
        /// Partition of the node.
        #[serde(serialize_with = "event_text::partition")]
        partition: PartitionId,
        /// Whether a request without a label borrows idle capacity of the partition.
        borrowed: bool,
        /// Whether it existed before.
        again: bool,
    },
    /// A reservation ended without a container.
    Unreserved {
        /// The container that waited.
        container: ContainerId,
        /// Its node.
        node: NodeName,
        /// Its size.
        size: ResourceVector,
        /// Why.
        reason: UnreserveReason,
    },
    /// A reservation moved to another node.
    ReservationMoved {
        /// The container that waits.
        container: ContainerId,
        /// Where it waited.
        from: NodeName,
        /// Where it waits now.
        to: NodeName,
        /// Its size.
        size: ResourceVector,
    },
    /// A container ended.
    Ended {
        /// The container.
        container: ContainerId,
        /// Its node.
        node: NodeName,
        /// Its size.
        size: ResourceVector,
        /// How.
        ending: Ending,
        /// Why.
        cause: EndCause,
    },
    /// A container changed, and its application fetched the change. What it grew by had been placed as an auxiliary
    /// container; what it gave back has that container now, which ends next.
    Updated {
        /// The container.
        container: ContainerId,
        /// Its node.
        node: NodeName,
        /// How it changed.
        kind: UpdateKind,
        /// Its size, that of an opportunistic container among them.
        size: ResourceVector,
        /// What its queue is charged with for it; nothing for an opportunistic container. Boxed, as `auxiliary` is:
        /// every event takes as much room as the largest one.
        charged: Box<ResourceVector>,
        /// Its version.
        version: u32,
        /// The auxiliary container.
        auxiliary: Box<AuxiliaryContainer>,
    },
    /// A proposal was refused.
    Rejected {
        /// Its application.
        app: ApplicationId,
        /// Its node.
        node: NodeName,
        /// Size of the container.
        size: ResourceVector,
        /// What it wanted.
        #[serde(serialize_with = "event_text::proposal")]
        kind: ProposalKind,
        /// Whether it wanted to keep a reservation.
        again: bool,
        /// Why.
        #[serde(serialize_with = "event_text::conflict")]
        conflict: Conflict,
    },
    /// The master of an application has its container; the application may ask from now on. An
    /// unmanaged application may ask as soon as it is accepted.
    MasterStarted {
        /// The application.
        app: ApplicationId,
        /// The master's container; nothing for an unmanaged application.
        container: Option<ContainerId>,
    },
    /// The container of a master was lost, and the application ended with it, or its attempt.
    MasterLost {
        /// The application.
        app: ApplicationId,
    },
    /// An attempt ended, and its application stays until another one starts. What it does not keep ended before.
    AttemptEnded {
        /// The application.
        app: ApplicationId,
        /// Number of the attempt.
        attempt: u32,
    },
    /// An application ended though nobody called for that. Its containers ended before.
    AppEnded {
        /// The application.
        app: ApplicationId,
        /// Why.
        cause: AppEnd,
    },
    /// Something happened to a gang.
    Gang(GangEvent),
    /// An opportunistic container waits on its node, or starts there.
    Opportunistic(OpportunisticEvent),
    /// Events that would stand here were dropped, since more waited than the engine keeps
    /// ([`EngineBuilder::events_limit`](crate::api::EngineBuilder::events_limit)). Whoever follows the state by events
    /// reads it anew.
    Lost {
        /// How many.
        count: u64,
    },
}

/// Why an application ended though nobody called for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AppEnd {
    /// Its lifetime was over.
    Lifetime,
    /// All applications of its queue were ended.
    QueueKilled,
}

impl AppEnd {
    /// A stable word for the cause.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lifetime => "lifetime",
            Self::QueueKilled => "queue_killed",
        }
    }
}

impl Event {
    /// A container was placed in a queue for a priority and a request id, by a scheduler that knows no more of it.
    #[must_use]
    pub fn placed(
        container: ContainerId,
        (node, queue): (NodeName, QueuePath),
        size: ResourceVector,
        (priority, request_id): (i32, i64),
    ) -> Self {
        let key = SchedulerKey::new(priority, request_id);
        let asked = (key, None, PartitionId::DEFAULT);
        Self::allocated_anywhere(container, (node, queue), size, asked)
    }

    /// Space was reserved, by a scheduler that knows no more of it.
    #[must_use]
    pub fn held(container: ContainerId, node: NodeName, size: ResourceVector) -> Self {
        Self::Reserved {
            container,
            node,
            size,
            key: SchedulerKey::new(0, 0),
            locality: Locality::Any,
            requested: None,
            partition: PartitionId::DEFAULT,
            borrowed: false,
            again: false,
        }
    }

    /// A container ended for a cause.
    #[must_use]
    pub const fn ended(
        container: ContainerId,
        node: NodeName,
        size: ResourceVector,
        cause: EndCause,
    ) -> Self {
        Self::Ended {
            container,
            node,
            size,
            ending: Ending::of(cause),
            cause,
        }
    }

    /// Whether something changed by it: it is neither a proposal that was refused nor a reservation that was kept.
    #[must_use]
    pub const fn changes_something(&self) -> bool {
        !matches!(
            self,
            Self::Rejected { .. } | Self::Reserved { again: true, .. }
        )
    }

    /// A container was placed that may be anywhere: for which key, at which level it was asked first, in which partition.
    pub(super) fn allocated_anywhere(
        container: ContainerId,
        (node, queue): (NodeName, QueuePath),
        size: ResourceVector,
        (key, requested, partition): (SchedulerKey, Option<Locality>, PartitionId),
    ) -> Self {
        Self::Allocated {
            container,
            node,
            size,
            queue,
            key,
            locality: Locality::Any,
            requested,
            partition,
            borrowed: false,
            from_reservation: false,
        }
    }

    /// A container of a proposal was placed, or takes the place of its reservation.
    #[inline(always)]
    pub(super) fn allocated(
        state: &State,
        proposal: &Proposal,
        container: ContainerId,
        size: ResourceVector,
        placed: &PlacedIn,
    ) -> Self {
        Self::Allocated {
            container,
            node: state.nodes[proposal.node].name.clone(),
            size,
            queue: state.queues[placed.leaf].settings.path.clone(),
            key: proposal.key,
            locality: proposal.locality,
            requested: proposal.requested,
            partition: placed.partition,
            borrowed: proposal.exclusivity == Exclusivity::Ignore,
            from_reservation: proposal.reserved.is_some(),
        }
    }
}

/// Something that happened to a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GangEvent {
    /// The application.
    pub app: ApplicationId,
    /// Request priority that the gang was asked under.
    pub priority: i32,
    /// Allocation request id that it was asked under.
    pub request_id: i64,
    /// Members that it wants at once.
    pub members: u32,
    /// What happened.
    #[serde(flatten)]
    pub step: GangStep,
}

/// What happened to a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "gang", rename_all = "snake_case")]
#[non_exhaustive]
pub enum GangStep {
    /// The minimum was placed, all of it in this step; the events of its containers come before.
    Placed {
        /// How long the gang waited in ms.
        waited_ms: u64,
    },
    /// Nodes are held for it from now on, until it is placed, given up or withdrawn.
    Holds {
        /// How many nodes.
        nodes: usize,
        /// Until when at most, in ms.
        until_ms: u64,
    },
    /// It was given up: nothing of it was placed within its time.
    Expired {
        /// Why it waited at last.
        #[serde(flatten)]
        wait: GangWait,
    },
}

/// What happened to an opportunistic container before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpportunisticEvent {
    /// The container.
    pub container: ContainerId,
    /// Its node.
    pub node: NodeName,
    /// What it takes of its node beside guaranteed containers once it runs. No queue is charged with it.
    pub size: ResourceVector,
    /// Request priority it was asked under.
    pub priority: i32,
    /// Allocation request id it was asked under.
    pub request_id: i64,
    /// What happened.
    pub step: OpportunisticStep,
}

/// Where an opportunistic container stands on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OpportunisticStep {
    /// It was placed and waits for room.
    Queued,
    /// It has room. The node launches it at its next report, once the application has it.
    Started,
}

impl OpportunisticStep {
    /// A stable word for the step.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Started => "started",
        }
    }
}

/// Why a reservation ended without a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnreserveReason {
    /// Given up for an allocation elsewhere.
    Exchange,
    /// Nobody asks for it any more.
    Excess,
    /// Node or application gone, label changed, or policy.
    Kill,
    /// It waited longer than reservations may.
    Timeout,
    /// The container that was to grow ended by itself.
    Finished,
    /// The container that was to grow was given back.
    Released,
}

impl UnreserveReason {
    /// Why the reservation of an increase ends with the container that was to grow.
    #[must_use]
    pub const fn with(ending: Ending) -> Self {
        match ending {
            Ending::Finished => Self::Finished,
            Ending::Released => Self::Released,
            Ending::Killed => Self::Kill,
        }
    }
}

impl Ending {
    /// How a container ends for a cause.
    #[must_use]
    pub const fn of(cause: EndCause) -> Self {
        match cause {
            EndCause::Exited => Self::Finished,
            EndCause::Released => Self::Released,
            _ => Self::Killed,
        }
    }
}

/// How a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By itself.
    Finished,
    /// Given back by its application.
    Released,
    /// By the scheduler: node or application gone, or preempted.
    Killed,
}
