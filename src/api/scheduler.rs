//! The scheduler as outsiders drive it: one trait, its events and its refusals.

use std::fmt;

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

/// Where a submitted application stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Full path of the leaf queue it was placed in.
    pub queue: String,
    /// Whether it may ask already; otherwise it waits for the queue to activate it.
    pub active: bool,
}

/// What a node is told with its heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatReply {
    /// Containers to stop.
    pub stop: Vec<ContainerId>,
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
        queue: String,
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
    /// Its application ended.
    AppEnded,
    /// Its node went away.
    NodeLost,
    /// The scheduler took it back for others.
    Preempted,
    /// A reservation that is no longer wanted, or was moved.
    Unreserved,
}

macro_rules! refusal {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::error::Error for $name {}
    };
}

refusal!(
    /// Why a node was not taken, or is not known.
    NodeError
);
refusal!(
    /// Why an application was not taken.
    SubmitError
);
refusal!(
    /// Why a call of an application was refused as a whole.
    AskError
);
refusal!(
    /// Why an application could not be ended.
    AppError
);
refusal!(
    /// Why the end of a container was refused.
    ContainerError
);
