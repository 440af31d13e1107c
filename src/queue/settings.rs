//! What a queue tree is built from: the typed settings of the scheduler and of every queue.
//!
//! The floor `config` fills these from `capacity-scheduler.xml` and `yarn-site.xml`; embedders may
//! fill them by hand. Inheritance is already resolved: a setting holds the value that counts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::mends::Mends;
use super::multi_node::MultiNodeSettings;
use super::opportunistic::OpportunisticSettings;
use super::reference::ReferenceRules;
use crate::id::QueuePath;
use crate::resource::{Calculator, ResourceUnit, ResourceVector, share};

/// Everything that a scheduler is started or refreshed with.
#[derive(Clone, Debug)]
pub struct TreeSettings {
    /// Settings of the whole scheduler.
    pub scheduler: SchedulerSettings,
    /// The static queues, parents before their children, root first; the children of one parent in
    /// the order of its list.
    pub queues: Vec<QueueSettings>,
    /// Paths of queues, listed or not, whose state the configuration sets to stopped; a queue that
    /// is missing from the list may be deleted when it is among them.
    pub stopped: std::collections::BTreeSet<Arc<str>>,
    /// Settings for queues that submissions create.
    pub templates: Arc<dyn Templates>,
}

/// Makes the settings of queues that do not stand in the configuration.
pub trait Templates: fmt::Debug + Send + Sync {
    /// Settings of a queue that a submission creates below `parent`, a leaf or a parent of further
    /// ones; also consulted at each refresh for the queues created so far.
    ///
    /// # Errors
    ///
    /// The code of what is wrong first, where the templates make no valid settings.
    // As AutoCreatedQueueTemplate (v2) and the leaf-queue-template of a managed parent (v1).
    fn dynamic(
        &self,
        parent: &QueueSettings,
        name: &str,
        leaf: bool,
    ) -> Result<QueueSettings, &'static str>;
}

/// Settings that hold for the whole scheduler.
#[derive(Clone, Debug)]
pub struct SchedulerSettings {
    /// Names of the resource types in vector order: `memory-mb`, `vcores`, further ones.
    pub resource_types: Vec<Arc<str>>,
    /// The unit of each of them (`yarn.resource-types.<type>.units`); what is missing has none.
    pub resource_units: Vec<ResourceUnit>,
    /// How resources are compared; never changes after the start.
    pub calculator: Calculator,
    /// Smallest allocation, and the step that requests are rounded to.
    pub minimum_allocation: ResourceVector,
    /// Largest allocation of the cluster.
    pub maximum_allocation: ResourceVector,
    /// `legacy-queue-mode.enabled`: capacities by fractions, not by vectors.
    pub legacy_queue_mode: bool,
    /// `maximum-applications` of the whole scheduler.
    pub maximum_applications: i32,
    /// `global-queue-max-application`, when positive.
    pub global_queue_maximum_applications: Option<i32>,
    /// `yarn.cluster.max-application-priority`; application priorities are capped to it.
    pub maximum_application_priority: i32,
    /// `reservations-continue-look-all-nodes`.
    pub continue_looking: bool,
    /// `skip-allocate-on-nodes-with-reserved-containers`.
    pub skip_reserved_nodes: bool,
    /// `yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation`.
    pub master_non_exclusive: bool,
    /// `lazy-preemption-enabled`: containers to kill stay until their place is needed.
    pub lazy_preemption: bool,
    /// Bounds of one heartbeat.
    pub heartbeat: HeartbeatSettings,
    /// Scheduling without heartbeats.
    pub asynchronous: AsynchronousSettings,
    /// Placement over all nodes of a partition.
    pub multi_node: MultiNodeSettings,
    /// Applications that one user may have running at once.
    pub user_parallel: UserParallelSettings,
    /// `yarn.node-labels.enabled`.
    pub node_labels: bool,
    /// `yarn.resourcemanager.placement-constraints.handler`.
    pub constraint_handler: ConstraintHandler,
    /// `yarn.resourcemanager.scheduler.autocorrect.container.allocation`, where the release reads
    /// it: a call asks for what it names less what was placed since the last call.
    pub corrects_asks: bool,
    /// Open faults of the reference that are mended.
    pub mends: Mends,
    /// Part of the nodes below which those are avoided where masters of an application failed; nothing where none is
    /// (`yarn.resourcemanager.am-scheduling.node-blacklisting-*`).
    pub failed_master_threshold: Option<f32>,
    /// How opportunistic containers are placed; nothing where they are off. Never changes after the start.
    pub opportunistic: Option<OpportunisticSettings>,
    /// The rules of the release that is followed; never change after the start.
    pub rules: ReferenceRules,
}

impl SchedulerSettings {
    /// Makes every attempt look at all nodes that nobody reserved, as threads in global mode do whatever is
    /// configured. The name of the policy by which it does.
    pub fn look_at_all_nodes(&mut self) -> Arc<str> {
        self.skip_reserved_nodes = true;
        self.mends.reserved_last_node = true;
        self.multi_node.look_at_all()
    }
}

/// Bounds of the assignments of one node heartbeat (`per-node-heartbeat.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatSettings {
    /// Off-switch assignments that end the heartbeat, at least 1.
    pub maximum_offswitch: i32,
    /// Whether one heartbeat may assign several containers.
    pub multiple_assignments: bool,
    /// Assignments that end the heartbeat; −1: no bound.
    pub maximum_assignments: i32,
}

/// `schedule-asynchronously.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsynchronousSettings {
    /// Whether heartbeats leave scheduling to threads, unless a mode is named ([`Self::name_mode`]).
    pub enabled: bool,
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Pause after a pass over all nodes, in ms.
    pub interval_ms: i64,
    /// Waiting proposals above which threads pause.
    pub maximum_backlog: usize,
}

impl AsynchronousSettings {
    /// Takes over a mode that a caller names. It wins over the configuration and over the default of
    /// the release: heartbeats schedule in heartbeat mode, and in no other.
    pub const fn name_mode(&mut self, heartbeats_schedule: bool) {
        self.enabled = !heartbeats_schedule;
    }
}

/// `user.max-parallel-apps` and `user.<name>.max-parallel-apps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserParallelSettings {
    /// Bound of every user without an own one.
    pub default: i32,
    /// Bounds of single users.
    pub by_user: BTreeMap<String, i32>,
}

impl UserParallelSettings {
    /// The bound that holds for a user.
    #[must_use]
    pub fn of(&self, user: &str) -> i32 {
        self.by_user.get(user).copied().unwrap_or(self.default)
    }
}

/// Who serves scheduling requests with placement constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintHandler {
    /// Scheduling requests are refused.
    Disabled,
    /// The allocation loop, node by node.
    Scheduler,
    /// A placement algorithm in front of the scheduler.
    Processor,
}

/// Settings of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSettings {
    /// Full path, starting with `root`.
    pub path: QueuePath,
    /// What kind of queue it is.
    pub kind: QueueKind,
    /// Whether a submission created it.
    pub dynamic: bool,
    /// Partitions that requests of this queue may name.
    pub accessible: Accessible,
    /// Partitions with own settings; the default one (`""`) always.
    pub partitions: BTreeMap<Arc<str>, PartitionSettings>,
    /// Partition of requests that name none.
    pub default_partition: Option<Arc<str>>,
    /// State that the configuration asks for; unset keeps the present one.
    pub state: Option<ConfiguredState>,
    /// Priority among siblings.
    pub priority: i32,
    /// Order of the children of a parent.
    pub child_order: ChildOrder,
    /// Largest allocation that the queue accepts.
    pub maximum_allocation: ResourceVector,
    /// Applications that may run at once below this queue.
    pub maximum_parallel: i32,
    /// Weights of single users, those of the ancestors included; others weigh 1.
    pub user_weights: BTreeMap<String, f32>,
    /// Share of a leaf for application masters on partitions without an own one, as a fraction.
    pub maximum_master_share: f32,
    /// Settings that only leaves use.
    pub leaf: LeafSettings,
    /// Automatic creation of children, when allowed.
    pub creation: Option<CreationSettings>,
    /// Whether containers are protected from other queues' preemption.
    pub preemption_disabled: bool,
    /// Whether containers are protected from preemption inside the queue.
    pub intra_queue_preemption_disabled: bool,
    /// Longest and default lifetime of applications in seconds; −1: unlimited.
    pub lifetime: LifetimeSettings,
    /// Name of the node lookup policy.
    pub node_policy: Option<Arc<str>>,
    /// Who may do what in this queue; rights of the ancestors hold too.
    pub access: QueueAccess,
}

/// Access control lists of one queue, without those of its ancestors.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct QueueAccess {
    /// `acl_submit_applications`.
    pub submit: AccessList,
    /// `acl_administer_queue`.
    pub administer: AccessList,
    /// `acl_application_max_priority`; empty: everybody up to the cluster's maximum.
    pub priorities: Vec<PriorityAccess>,
}

/// Users and groups of an access control list; nobody by default.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AccessList {
    /// `*`: the lists do not matter.
    pub everybody: bool,
    /// User names; `~name` stands for the real user behind a proxy user.
    pub users: Vec<String>,
    /// Group names.
    pub groups: Vec<String>,
}

/// Application priorities of some users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityAccess {
    /// Whom it holds for.
    pub who: AccessList,
    /// Largest priority, already capped to the cluster's.
    pub maximum: i32,
    /// Priority of applications that ask for none; without one they are refused.
    pub default: Option<i32>,
}

impl QueueSettings {
    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    /// The path of the parent; nothing for root.
    #[must_use]
    pub fn parent_path(&self) -> Option<&str> {
        self.path.rsplit_once('.').map(|(parent, _)| parent)
    }

    /// Users whose weights are too small or too large for a leaf with these settings, and the
    /// largest that is not.
    // As UserWeights.validateForLeafQueue.
    pub fn wrong_user_weights(&self) -> (impl Iterator<Item = (&str, f32)>, f32) {
        let percent = self.leaf.user_limit_percent;
        let limit = if percent > 100.0 { 100.0 } else { percent };
        let most = share::quotient(100.0, limit);
        let weights = self.user_weights.iter();
        let weights = weights.map(|(user, &weight)| (user.as_str(), weight));
        let wrong = weights.filter(move |&(_, weight)| weight < 0.0 || weight > most);
        (wrong, most)
    }
}

/// Kinds of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Holds applications.
    Leaf,
    /// Holds queues.
    Parent,
    /// Creates its leaves from a template (automatic creation, version 1).
    ManagedParent,
    /// Reservable: a parent whose leaves come from the reservation system.
    Plan,
}

/// Partitions that a queue may use; everybody may use the default one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accessible {
    /// `*`: every partition.
    All,
    /// These partitions.
    Only(std::collections::BTreeSet<Arc<str>>),
}

impl Accessible {
    /// Whether requests may name the partition.
    #[must_use]
    pub fn contains(&self, partition: &str) -> bool {
        partition.is_empty()
            || match self {
                Self::All => true,
                Self::Only(names) => names.contains(partition),
            }
    }
}

/// Capacities of a queue on one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionSettings {
    /// Guaranteed share.
    pub capacity: CapacitySetting,
    /// Largest share.
    pub maximum: CapacitySetting,
    /// Share for application masters, as a fraction.
    pub maximum_master_share: f32,
}

/// A capacity as the two queue modes read it.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacitySetting {
    /// What legacy mode makes of the value.
    pub legacy: LegacyCapacity,
    /// What the mode of capacity vectors makes of the value, per resource type.
    pub vector: Vec<VectorEntry>,
}

impl CapacitySetting {
    /// The weight of a vector in which all of `types` resource types have the same one.
    #[must_use]
    pub fn common_weight(&self, types: usize) -> Option<f32> {
        let Some(VectorEntry::Weight(weight)) = self.vector.first() else {
            return None;
        };
        let same = |entry: &VectorEntry| *entry == VectorEntry::Weight(*weight);
        let all = self.vector.len() == types && self.vector.iter().all(same);
        all.then_some(share::narrow(*weight))
    }

    /// Whether the vector has amounts alone.
    // As QueueCapacityVector.getDefinedCapacityTypes.
    #[must_use]
    pub fn is_absolute_vector(&self) -> bool {
        let absolute = |entry: &VectorEntry| matches!(entry, VectorEntry::Absolute(_));
        !self.vector.is_empty() && self.vector.iter().all(absolute)
    }
}

/// A capacity in legacy mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LegacyCapacity {
    /// Percent of the parent; an unset capacity is 0 %, an unset maximum 100 %.
    Percent(f32),
    /// Weight among siblings.
    Weight(f32),
    /// An amount of each type.
    Absolute(ResourceVector),
    /// A bracket value that counts as unset in legacy mode, such as one with percent entries.
    Unusable,
}

/// One resource type of a capacity vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VectorEntry {
    /// There is no value.
    Unset,
    /// An amount in the type's unit (MiB, vcores, …); 0 where the value leaves the type out.
    Absolute(f64),
    /// Percent of the parent.
    Percent(f64),
    /// Weight among siblings.
    Weight(f64),
}

/// State of a queue that a configuration may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfiguredState {
    /// Accepts applications.
    Running,
    /// Accepts none; drains first if it has some.
    Stopped,
}

/// Orders of the children of a parent queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOrder {
    /// By used share alone.
    Utilization,
    /// By queue priority among queues on the same side of their guarantee.
    PriorityUtilization,
}

/// Settings that only leaf queues use.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSettings {
    /// `minimum-user-limit-percent`.
    pub user_limit_percent: f32,
    /// `user-limit-factor`; −1: no bound by the factor.
    pub user_limit_factor: f32,
    /// `maximum-applications` of the queue; derived when unset.
    pub maximum_applications: Option<i32>,
    /// Order of the active applications.
    pub app_order: AppOrder,
    /// Priority of applications that ask for none.
    pub default_priority: i32,
    /// Missed opportunities before a container may leave its host.
    pub node_locality_delay: i32,
    /// Further missed opportunities before it may leave its rack; −1: by the number of names.
    pub rack_locality_additional_delay: i32,
    /// Whether a rack-local container resets the missed opportunities.
    pub rack_locality_full_reset: bool,
}

/// Orders of the active applications of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppOrder {
    /// Priority, then submission.
    Fifo,
    /// Least used memory first.
    Fair {
        /// Whether used memory is divided by the logarithm of the demand.
        size_based_weight: bool,
    },
    /// As waiting applications are ordered: recovering ones first, then as `Fifo`.
    FifoForPendingApps,
    /// One `Fifo` list for each of these partitions and one for all others.
    FifoWithPartitions {
        /// Partitions with a list of the applications that were submitted with their label.
        exclusive: Vec<Arc<str>>,
    },
}

impl AppOrder {
    /// Partitions whose applications stand in lists of their own; none where one list holds all.
    #[must_use]
    pub fn own_lists(&self) -> &[Arc<str>] {
        match self {
            Self::FifoWithPartitions { exclusive } => exclusive,
            Self::Fifo | Self::Fair { .. } | Self::FifoForPendingApps => &[],
        }
    }
}

/// Automatic creation of child queues.
#[derive(Clone, Debug, PartialEq)]
pub struct CreationSettings {
    /// Which of the two schemes.
    pub scheme: CreationScheme,
    /// Most children that one parent may have.
    pub maximum_queues: usize,
    /// Most levels below a static parent (version 2).
    pub maximum_depth: usize,
    /// Whether creation fails when the guarantees would exceed the parent's (version 1).
    pub fail_on_exceeding_parent: bool,
    /// Capacities that created leaves may have, by partition (version 1).
    pub template: BTreeMap<Arc<str>, PartitionSettings>,
}

/// The two schemes of automatic queue creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreationScheme {
    /// Leaves below a managed parent, created by placement rules.
    Managed,
    /// Leaves and parents below a parent in weight mode, created by submission.
    Flexible,
}

/// Bounds of the lifetime of applications, in seconds; −1: unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifetimeSettings {
    /// Longest lifetime.
    pub maximum_s: i64,
    /// Lifetime of applications that ask for none.
    pub default_s: i64,
}
