//! What outsiders ask of the scheduler, as plain data: nodes, applications, asks, reports.

use super::end_cause::EndCause;
use super::priority_refusal::PriorityRefusal;
use super::restarts::Restarts;
use super::update::{ContainerUpdate, UpdateError, UpdatedContainer};
use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::resource::ResourceVector;

/// A node that registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Host and port.
    pub name: NodeName,
    /// Rack, by which asks may name it.
    pub rack: String,
    /// Everything the node offers; types that the cluster does not know are passed over.
    pub total: ResourceVector,
    /// Partition (node label); empty for the default one.
    pub partition: String,
    /// Node attributes as `prefix/name` and value.
    pub attributes: Vec<(String, String)>,
}

impl NodeSpec {
    /// A node of the default rack and partition.
    ///
    /// ```
    /// use capsched::api::{NodeSpec, ResourceVector};
    /// let total = ResourceVector::of(&[65_536, 32]);
    /// let node = NodeSpec::new("worker-1:8041".parse()?, total);
    /// let labelled = NodeSpec { partition: "gpu".to_owned(), ..node };
    /// assert_eq!(labelled.rack, "/default-rack");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(name: NodeName, total: ResourceVector) -> Self {
        Self {
            name,
            rack: "/default-rack".to_owned(),
            total,
            partition: String::new(),
            attributes: Vec::new(),
        }
    }
}

/// An application that is submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSpec {
    /// Its number; decides ties among applications of equal priority, older first.
    pub id: ApplicationId,
    /// Submitting user.
    pub user: String,
    /// Queue: a full path, or a leaf name that is unambiguous. With a parent from placement rules
    /// only the last part counts.
    pub queue: String,
    /// Path of the parent that placement rules put the application below; nothing when they had
    /// no opinion. Leaves of a managed parent are only open to applications placed there.
    pub placement_parent: Option<String>,
    /// Wished priority, larger is more important; the queue's default when unset.
    pub priority: Option<i32>,
    /// Why the user may not have the priority that the workflow of the application has in its queue. The submission is
    /// refused for it once its queue is found or created.
    pub refused_priority: Option<PriorityRefusal>,
    /// Container of the application master; nothing for an unmanaged application, which may ask at
    /// once and counts one minimum allocation against the limit for masters.
    pub master: Option<ResourceVector>,
    /// Partition of the master's container.
    pub master_partition: Option<String>,
    /// Partition of asks that name none.
    pub partition: Option<String>,
    /// Application tags, for placement constraints.
    pub tags: Vec<String>,
    /// What it keeps when its attempt ends.
    pub restarts: Restarts,
}

impl AppSpec {
    /// An unmanaged application with the priority and partition of its queue; it may ask at once.
    ///
    /// ```
    /// use capsched::api::{AppSpec, ApplicationId, ResourceVector};
    /// let app = AppSpec::new(ApplicationId::new(7), "root.dev", "ann");
    /// assert_eq!(app.master, None);
    /// let managed = app.with_master(ResourceVector::of(&[1024, 1]));
    /// assert!(managed.master.is_some());
    /// ```
    #[must_use]
    pub fn new(id: ApplicationId, queue: &str, user: &str) -> Self {
        Self {
            id,
            user: user.to_owned(),
            queue: queue.to_owned(),
            priority: None,
            refused_priority: None,
            master: None,
            master_partition: None,
            partition: None,
            placement_parent: None,
            tags: Vec::new(),
            restarts: Restarts::Never,
        }
    }

    /// The same with another rule for what it keeps when its attempt ends.
    #[must_use]
    pub fn restarting(self, restarts: Restarts) -> Self {
        Self { restarts, ..self }
    }

    /// The same with a container of this size for its master, which is asked for at submission.
    #[must_use]
    pub fn with_master(self, size: ResourceVector) -> Self {
        let master = Some(size);
        Self { master, ..self }
    }
}

/// One ask of an application: `count` containers of one size at one place.
///
/// An ask replaces the earlier one with the same priority, id and place; count 0 cancels it. Asks
/// for a host or rack count only beside an ask for `*` with the same priority and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Request priority; a smaller number is more important.
    pub priority: i32,
    /// Allocation request id.
    pub request_id: i64,
    /// Host, rack, or `*` for anywhere.
    pub place: String,
    /// Size of one container; raised to the minimum and rounded up to its multiples.
    pub size: ResourceVector,
    /// Number of containers.
    pub count: i32,
    /// Whether a less local place will do.
    pub relax_locality: bool,
    /// Partition (node label); the application's or queue's default when unset.
    pub partition: Option<String>,
}

impl Ask {
    /// An ask for `count` containers anywhere, with priority 1.
    ///
    /// ```
    /// use capsched::api::{Ask, AskCall, ResourceVector};
    /// let ask = Ask::anywhere(ResourceVector::of(&[4096, 1]), 250);
    /// let on_a_rack = Ask { place: "/rack-3".to_owned(), ..ask.clone() };
    /// let call = AskCall::asking(vec![on_a_rack, ask]);
    /// assert_eq!(call.asks[1].place, "*");
    /// ```
    #[must_use]
    pub fn anywhere(size: ResourceVector, count: i32) -> Self {
        Self {
            priority: 1,
            request_id: 0,
            place: "*".to_owned(),
            size,
            count,
            relax_locality: true,
            partition: None,
        }
    }
}

/// A scheduling request: containers with allocation tags and a placement constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstrainedAsk {
    /// Request priority; a smaller number is more important.
    pub priority: i32,
    /// Allocation request id.
    pub request_id: i64,
    /// Size of one container.
    pub size: ResourceVector,
    /// Number of containers.
    pub count: i32,
    /// Tags that the containers carry.
    pub tags: Vec<String>,
    /// Constraint in the text form of Hadoop's parser, such as `notin,node,web`.
    pub constraint: Option<String>,
}

/// One call of an application: everything it wants to change, carried out as a whole or refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskCall {
    /// Asks by resource name.
    pub asks: Vec<Ask>,
    /// Scheduling requests with constraints.
    pub constrained: Vec<ConstrainedAsk>,
    /// Containers to give back, by number; of those that are not live the answer says so.
    pub release: Vec<u32>,
    /// Changes of containers that it has.
    pub updates: Vec<ContainerUpdate>,
    /// Hosts and racks not to use from now on.
    pub blacklist_add: Vec<String>,
    /// Hosts and racks to use again.
    pub blacklist_remove: Vec<String>,
}

impl AskCall {
    /// Whether it does no more than fetch what the application got.
    #[must_use]
    pub fn only_fetches(&self) -> bool {
        let Self {
            asks,
            constrained,
            release,
            updates,
            blacklist_add,
            blacklist_remove,
        } = self;
        asks.is_empty()
            && constrained.is_empty()
            && release.is_empty()
            && updates.is_empty()
            && blacklist_add.is_empty()
            && blacklist_remove.is_empty()
    }

    /// A call that changes containers and nothing else.
    #[must_use]
    pub fn updating(updates: Vec<ContainerUpdate>) -> Self {
        let rest = Self::default();
        Self { updates, ..rest }
    }

    /// A call that asks and changes nothing else.
    #[must_use]
    pub fn asking(asks: Vec<Ask>) -> Self {
        let rest = Self::default();
        Self { asks, ..rest }
    }
}

/// What an application learns from its call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AskReply {
    /// Containers handed over by this call, in order of allocation.
    pub allocated: Vec<Granted>,
    /// The containers whose end the application learns now, ascending by number.
    pub finished: Vec<FinishedContainer>,
    /// How much more the application may get, as reported to application masters.
    pub headroom: ResourceVector,
    /// Containers that the scheduler asks back, ascending.
    pub asked_back: Vec<u32>,
    /// Containers that changed since the last call: increases, decreases, promotions, demotions.
    pub updated: Vec<UpdatedContainer>,
    /// Changes of the call that were refused.
    pub update_errors: Vec<UpdateError>,
    /// Numbers that the call gave back though no live container has them, in the order of the call.
    pub unknown: Vec<u32>,
}

/// A container whose end an application learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FinishedContainer {
    /// The number of the container within its application.
    pub number: u32,
    /// Why it ended.
    pub cause: EndCause,
}

impl FinishedContainer {
    /// The end of a container.
    #[must_use]
    pub fn new(number: u32, cause: EndCause) -> Self {
        Self { number, cause }
    }
}

/// A container that an application received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Granted {
    /// The container.
    pub container: ContainerId,
    /// The node it runs on.
    pub node: NodeName,
    /// Its size.
    pub size: ResourceVector,
    /// The key it was asked under.
    pub priority: i32,
    /// The allocation request id it was asked under.
    pub request_id: i64,
    /// Whether it is opportunistic: no queue is charged with it, and it may have to wait on its node.
    pub opportunistic: bool,
}

/// A container that a node runs, as its manager reports it when it registers with a scheduler that started anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningContainer {
    /// The container.
    pub id: ContainerId,
    /// Its size.
    pub size: ResourceVector,
    /// Request priority it was asked under.
    pub priority: i32,
    /// Allocation request id it was asked under.
    pub request_id: i64,
    /// When it was placed, in ms of the scheduler's clock.
    pub created_ms: u64,
    /// Its version: how often it was changed.
    pub version: u32,
    /// Whether it is opportunistic, so that no queue is charged with it.
    pub opportunistic: bool,
}

impl RunningContainer {
    /// A container with priority 1 that was placed at the beginning.
    #[must_use]
    pub const fn new(id: ContainerId, size: ResourceVector) -> Self {
        Self {
            id,
            size,
            priority: 1,
            request_id: 0,
            created_ms: 0,
            version: 0,
            opportunistic: false,
        }
    }
}

/// What a node reports with a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeReport {
    /// Everything handed to its application since the last heartbeat has been launched, and
    /// everything that was to be stopped has stopped.
    #[default]
    AsExpected,
    /// Exactly this.
    Exactly {
        /// Containers launched since the last heartbeat.
        launched: Vec<ContainerId>,
        /// Containers that were stopped on order, and whose space is free now.
        exited: Vec<ContainerId>,
    },
}

impl NodeReport {
    /// Whether it names no container.
    #[inline]
    pub(crate) fn names_nothing(&self) -> bool {
        match self {
            Self::AsExpected => true,
            Self::Exactly { launched, exited } => launched.is_empty() && exited.is_empty(),
        }
    }
}
