//! The scheduler as outsiders drive it: one trait, its events and its refusals.

use std::fmt;
use std::sync::Arc;

use crate::commit::{
    self, AppError, AskError, Ending, HeartbeatReply, NodeError, SubmitError, Submitted,
};
use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::queue::{AppSpec, AskCall, AskReply, NodeReport, NodeSpec};
use crate::resource::ResourceVector;

/// Everything an outsider may tell a scheduler, in virtual or real time.
pub trait Scheduler {
    /// Registers a node.
    ///
    /// # Errors
    ///
    /// When the node is known already or its description is out of range.
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError>;

    /// Takes a node away; its containers are released and told as events.
    ///
    /// # Errors
    ///
    /// When the node is unknown.
    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError>;

    /// Submits an application.
    ///
    /// # Errors
    ///
    /// When the queue refuses it; nothing changed then.
    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError>;

    /// Carries out one call of an application.
    ///
    /// # Errors
    ///
    /// When the application is unknown or the call is out of range; nothing changed then.
    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError>;

    /// Takes a node's heartbeat; in heartbeat mode this is where the node is scheduled.
    ///
    /// # Errors
    ///
    /// When the node is unknown and has to register again.
    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError>;

    /// Tells that a container ended by itself.
    ///
    /// # Errors
    ///
    /// When the container is not live.
    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError>;

    /// Ends an application; what it still holds is released and told as events.
    ///
    /// # Errors
    ///
    /// When the application is unknown.
    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError>;

    /// Appends what happened since the last call, in order.
    fn events(&mut self, into: &mut Vec<Event>);

    /// One round of a mode that does not wait for heartbeats; the number of containers placed.
    fn schedule(&mut self) -> usize;

    /// Moves the clock forward to `to_ms` virtual milliseconds.
    fn advance(&mut self, to_ms: u64);
}

/// Something the scheduler did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A container was placed.
    Allocated {
        /// The container.
        container: ContainerId,
        /// Where.
        node: NodeName,
        /// Its size after rounding.
        size: ResourceVector,
        /// Full path of its leaf queue.
        queue: Arc<str>,
        /// Request priority it was asked under.
        priority: i32,
        /// Allocation request id it was asked under.
        request_id: i64,
    },
    /// Space was reserved on a node for a container.
    Reserved {
        /// The container that will come to be.
        container: ContainerId,
        /// Where.
        node: NodeName,
        /// Its size.
        size: ResourceVector,
    },
    /// A reservation went to another node; its container keeps its number.
    ReservationMoved {
        /// The container that will come to be.
        container: ContainerId,
        /// Where space was held.
        from: NodeName,
        /// Where it is held now.
        to: NodeName,
        /// Its size.
        size: ResourceVector,
    },
    /// A container or a reservation ended.
    Released {
        /// The container.
        container: ContainerId,
        /// Why.
        reason: ReleaseReason,
    },
    /// An application's master got its container, or an unmanaged one may ask.
    MasterStarted {
        /// The application.
        app: ApplicationId,
        /// Its container; nothing for an unmanaged application.
        container: Option<ContainerId>,
    },
}

/// Why a container or reservation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseReason {
    /// It ran to its end.
    Finished,
    /// Its application gave it back.
    GivenBack,
    /// The scheduler ended it: its node or application went, or others needed its place.
    Killed,
    /// A reservation that is no longer wanted.
    Unreserved,
}

/// The end of a container that is not live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerError(pub ContainerId);

impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not live", self.0)
    }
}

impl std::error::Error for ContainerError {}

impl Event {
    /// The event that outsiders see of a decision, if they see one.
    #[must_use]
    pub fn of(decision: &commit::Event) -> Option<Self> {
        Some(match decision {
            commit::Event::Allocated {
                container,
                node,
                size,
                queue,
                key,
                ..
            } => Self::Allocated {
                container: *container,
                node: node.clone(),
                size: *size,
                queue: Arc::clone(queue),
                priority: key.priority,
                request_id: key.request_id,
            },
            commit::Event::Reserved { again: true, .. } => return None,
            commit::Event::Reserved {
                container,
                node,
                size,
                ..
            } => Self::Reserved {
                container: *container,
                node: node.clone(),
                size: *size,
            },
            commit::Event::Unreserved { container, .. } => Self::Released {
                container: *container,
                reason: ReleaseReason::Unreserved,
            },
            commit::Event::Ended {
                container, ending, ..
            } => Self::Released {
                container: *container,
                reason: match ending {
                    Ending::Finished => ReleaseReason::Finished,
                    Ending::Released => ReleaseReason::GivenBack,
                    Ending::Killed => ReleaseReason::Killed,
                },
            },
            commit::Event::MasterStarted { app, container } => Self::MasterStarted {
                app: *app,
                container: *container,
            },
            commit::Event::ReservationMoved {
                container,
                from,
                to,
                size,
            } => Self::ReservationMoved {
                container: *container,
                from: from.clone(),
                to: to.clone(),
                size: *size,
            },
            commit::Event::Rejected { .. } | commit::Event::MasterLost { .. } => return None,
        })
    }
}
