//! What the reference scheduler remembers: queues, users, applications, asks, containers, nodes.

use super::config::{Config, Vector};
use super::resources::{Calculator, Res};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Name of the ask that any node satisfies.
pub(crate) const ANY: &str = "*";
/// Place of a queue in `Scheduler::queues`.
pub(crate) type QueueIdx = usize;
/// Place of a node in `Scheduler::nodes`.
pub(crate) type NodeIdx = usize;
/// Place of a container in `Scheduler::containers`.
pub(crate) type ContainerIdx = usize;
/// Request priority and allocation request id.
pub(crate) type Key = (i64, i64);
/// Amounts by partition; a partition left out has none.
pub(crate) type ByLabel = BTreeMap<String, Res>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerState {
    New,
    Reserved,
    Allocated,
    Acquired,
    Running,
    Done,
}

/// One line of an ask: under `key`, `count` times `res` at `name`.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) key: Key,
    pub(crate) name: String,
    pub(crate) res: Res,
    pub(crate) count: i64,
    pub(crate) relax: bool,
    pub(crate) label: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) app: u64,
    pub(crate) key: Key,
    pub(crate) res: Res,
    pub(crate) node: NodeIdx,
    pub(crate) id: Option<u64>,
    pub(crate) state: ContainerState,
    /// Asks to give back while not handed to the application master.
    pub(crate) recover: Option<Vec<Request>>,
    pub(crate) is_am: bool,
    pub(crate) tags: BTreeSet<String>,
}

/// Tags of a container that ended before its application fetched it: counted for ever.
#[derive(Clone, Debug)]
pub(crate) struct LeftTags {
    pub(crate) app: u64,
    pub(crate) node: String,
    pub(crate) rack: String,
    pub(crate) tags: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeState {
    Running,
    Decommissioning,
    Lost,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) rack: String,
    pub(crate) partition: String,
    /// Whether the label manager has received a label of this node.
    pub(crate) labelled: bool,
    /// In the list of the default partition that multi-node placement goes by.
    pub(crate) default_listed: bool,
    pub(crate) total: Res,
    pub(crate) allocated: Res,
    pub(crate) free: Res,
    pub(crate) state: NodeState,
    pub(crate) reserved: Option<ContainerIdx>,
    /// Container to whether it was launched here.
    pub(crate) running: BTreeMap<ContainerIdx, bool>,
    pub(crate) to_launch: BTreeSet<ContainerIdx>,
    pub(crate) launched: BTreeSet<ContainerIdx>,
    pub(crate) to_clean: BTreeSet<ContainerIdx>,
    /// Whether containers beyond the total are killed.
    pub(crate) enforced: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) res: Res,
    pub(crate) count: i64,
    pub(crate) relax: bool,
    pub(crate) label: Option<String>,
}

/// What may not change while a scheduling request lives: amount, tags, constraint.
pub(crate) type Fixed = (Res, Vec<String>, Option<String>);

/// Asks of one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyAsk {
    pub(crate) names: BTreeMap<String, Ask>,
    pub(crate) partition: String,
    pub(crate) fixed: Option<Fixed>,
    pub(crate) tags: BTreeSet<String>,
    pub(crate) constraint: Option<super::constraints::Constraint>,
}

impl KeyAsk {
    pub(crate) fn count(&self, name: &str) -> i64 {
        self.names.get(name).map_or(0, |a| a.count)
    }

    pub(crate) fn relax(&self, name: &str) -> bool {
        self.names.get(name).is_none_or(|a| a.relax)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct App {
    pub(crate) number: u64,
    pub(crate) user: String,
    pub(crate) leaf: QueueIdx,
    pub(crate) priority: i64,
    /// Priority changes are compared with this one, not with the present one.
    pub(crate) submitted_priority: i64,
    pub(crate) unmanaged: bool,
    pub(crate) am_res: Res,
    pub(crate) am_partition: String,
    pub(crate) am_label: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) runnable: bool,
    pub(crate) start: u64,
    pub(crate) used: ByLabel,
    pub(crate) reserved_res: ByLabel,
    pub(crate) pending: ByLabel,
    pub(crate) live: BTreeMap<u64, ContainerIdx>,
    /// Allocated, not handed over.
    pub(crate) fresh: Vec<ContainerIdx>,
    /// Key to (node name, container), in order of insertion.
    pub(crate) reserved: BTreeMap<Key, Vec<(String, ContainerIdx)>>,
    pub(crate) opportunities: BTreeMap<Key, i64>,
    pub(crate) missed: BTreeMap<Key, i64>,
    pub(crate) re_reservations: BTreeMap<Key, i64>,
    pub(crate) asks: BTreeMap<Key, KeyAsk>,
    /// Keys with an outstanding any-ask.
    pub(crate) keys: BTreeSet<Key>,
    /// Whether the leaf in which it started looks at many nodes.
    pub(crate) many_nodes: bool,
    /// Partitions asked for since the last move.
    pub(crate) partitions: BTreeSet<String>,
    pub(crate) asked_back: BTreeSet<u64>,
    /// The leaf that it comes from while it enters another.
    pub(crate) moving_from: Option<QueueIdx>,
    pub(crate) black: BTreeSet<String>,
    /// Leaf and user whose headroom is reported; none before the first computation.
    pub(crate) headroom_of: Option<(QueueIdx, usize)>,
    pub(crate) next_id: u64,
    pub(crate) master: Option<ContainerIdx>,
    pub(crate) done: bool,
    pub(crate) finished: Vec<u64>,
    pub(crate) seen: &'static str,
    pub(crate) cached_used: i64,
    pub(crate) cached_demand: i64,
}

/// Ratios of one queue in one partition.
#[derive(Clone, Debug)]
pub(crate) struct Cap {
    pub(crate) cap: f32,
    pub(crate) abs: f32,
    pub(crate) max: f32,
    pub(crate) abs_max: f32,
    pub(crate) used: f32,
    pub(crate) abs_used: f32,
    pub(crate) norm_weight: f32,
    pub(crate) am_percent: f32,
    pub(crate) weight: f32,
}

impl Default for Cap {
    fn default() -> Self {
        Self {
            cap: 0.0,
            abs: 0.0,
            max: 0.0,
            abs_max: 0.0,
            used: 0.0,
            abs_used: 0.0,
            norm_weight: 0.0,
            am_percent: 0.0,
            weight: -1.0,
        }
    }
}

/// What a managed parent may give each leaf in one partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template {
    pub(crate) cap: f32,
    pub(crate) max: f32,
    /// As of the last creation or refresh.
    pub(crate) abs: f32,
    /// Sum of what was given since the last refresh.
    pub(crate) given: f32,
}

/// How a queue states its capacities in legacy mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    #[default]
    Percent,
    Weight,
    Absolute,
    Mixed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum QueueState {
    #[default]
    Running,
    Stopped,
    Draining,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) parent: Option<QueueIdx>,
    pub(crate) children: Vec<QueueIdx>,
    pub(crate) is_leaf: bool,
    /// Made by a submission, not by the configuration.
    pub(crate) dynamic: bool,
    /// Makes its leaves from one template (version 1 of automatic creation).
    pub(crate) managed: bool,
    /// That template, by partition.
    pub(crate) template: BTreeMap<String, Template>,
    /// Capacity and maximum of a leaf that it made, outside legacy mode.
    pub(crate) vectors: BTreeMap<String, (Vector, Vector)>,
    pub(crate) state: QueueState,
    pub(crate) caps: BTreeMap<String, Cap>,
    pub(crate) used: ByLabel,
    pub(crate) reserved: ByLabel,
    /// Of the default partition, by applications that are below now.
    pub(crate) reserved_now: ByLabel,
    pub(crate) pending: ByLabel,
    pub(crate) am_used: ByLabel,
    pub(crate) am_limit: ByLabel,
    pub(crate) user_am_limit: ByLabel,
    pub(crate) eff_min: ByLabel,
    pub(crate) eff_max: ByLabel,
    pub(crate) min_conf: ByLabel,
    pub(crate) max_conf: ByLabel,
    /// Partition to the ratio that scales the children's absolute minimums down, by type.
    pub(crate) min_ratio: BTreeMap<String, BTreeMap<usize, f32>>,
    pub(crate) accessible: BTreeSet<String>,
    pub(crate) labels: BTreeSet<String>,
    pub(crate) default_label: Option<String>,
    pub(crate) modes: BTreeMap<String, Mode>,
    pub(crate) mode: Mode,
    pub(crate) priority: i64,
    pub(crate) user_weights: BTreeMap<String, f32>,
    pub(crate) max_alloc: Res,
    pub(crate) parallel: i64,
    pub(crate) running_apps: i64,
    pub(crate) policy: String,
    pub(crate) num_apps: i64,
    // The rest belongs to leaves.
    pub(crate) users: Users,
    pub(crate) active: Vec<u64>,
    pub(crate) waiting: Vec<u64>,
    pub(crate) parked: Vec<u64>,
    /// Flagged for re-sorting (fair order).
    pub(crate) dirty: BTreeSet<u64>,
    /// The limit behind headrooms and the AM limit.
    pub(crate) queue_limit: Res,
    pub(crate) current_limit: Res,
    pub(crate) max_apps: i64,
    pub(crate) max_apps_user: i64,
    pub(crate) limit_version: u64,
    pub(crate) limit_cache: BTreeMap<(String, bool), BTreeMap<String, CachedLimit>>,
    pub(crate) size_weight: bool,
    pub(crate) default_priority: i64,
    pub(crate) node_delay: i64,
    pub(crate) rack_delay: i64,
    pub(crate) rack_reset: bool,
}

/// User limit within one state of the users, and whether the gate stood open.
#[derive(Clone, Debug)]
pub(crate) struct CachedLimit {
    pub(crate) limit: Res,
    pub(crate) open: bool,
    pub(crate) held: Res,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) used: ByLabel,
    pub(crate) am_used: ByLabel,
    pub(crate) ratio: BTreeMap<String, f32>,
    pub(crate) weight: f32,
    pub(crate) pending: i64,
    pub(crate) active: i64,
    pub(crate) last_limit: Res,
}

/// Users of one leaf.
#[derive(Clone, Debug, Default)]
pub(crate) struct Users {
    /// Everybody who ever was here; headrooms may still refer to those who left.
    pub(crate) people: Vec<User>,
    /// Present users in order of arrival.
    pub(crate) present: Vec<usize>,
    /// Active users: name to applications with asks.
    pub(crate) apps: BTreeMap<String, BTreeSet<u64>>,
    /// Users with waiting applications only, as counted when a limit was last computed.
    pub(crate) only_pending: i64,
    pub(crate) active_set: BTreeSet<String>,
    pub(crate) idle_set: BTreeSet<String>,
    pub(crate) active_used: ByLabel,
    pub(crate) ratio: BTreeMap<String, f32>,
    pub(crate) w_active: f32,
    pub(crate) version: u64,
    /// (partition, respects exclusivity) to (version, limit).
    pub(crate) limits: BTreeMap<(String, bool), (u64, Res)>,
    pub(crate) limit_percent: f32,
    pub(crate) limit_factor: f32,
    /// Most users at one time.
    pub(crate) most: usize,
}

/// Limits handed down the tree during one attempt.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) limit: Res,
    pub(crate) headroom: Res,
    pub(crate) unreserve: Res,
    pub(crate) blocked: Res,
}

impl Limits {
    pub(crate) fn new(limit: Res) -> Self {
        let zero = vec![0; limit.len()];
        Self {
            headroom: limit.clone(),
            limit,
            unreserve: zero.clone(),
            blocked: zero,
        }
    }
}

/// Calls that wait until the scheduler's own call has returned.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    AttemptAdded(u64),
    Labels(Option<(NodeIdx, String)>),
    Allocated(u64),
    Clean(ContainerIdx),
    Finished(ContainerIdx),
    NodeTotal(NodeIdx, Res),
    Overcommitted(ContainerIdx),
}

/// The reference scheduler.
#[derive(Debug)]
pub(crate) struct Scheduler {
    pub(crate) conf: Config,
    pub(crate) types: usize,
    pub(crate) zero: Res,
    /// Partition to whether it is exclusive.
    pub(crate) labels: BTreeMap<String, bool>,
    pub(crate) label_total: ByLabel,
    pub(crate) cluster: Res,
    pub(crate) queues: Vec<Queue>,
    pub(crate) root: QueueIdx,
    pub(crate) nodes: Vec<Node>,
    pub(crate) node_of: BTreeMap<String, NodeIdx>,
    pub(crate) containers: Vec<Container>,
    pub(crate) left_tags: Vec<LeftTags>,
    pub(crate) apps: BTreeMap<u64, App>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) decisions: Vec<Map<String, Value>>,
    pub(crate) am_started: Vec<u64>,
    pub(crate) am_lost: Vec<u64>,
    pub(crate) starts: u64,
    pub(crate) user_runnable: BTreeMap<String, i64>,
    pub(crate) rc: Calculator,
    pub(crate) minimum: Res,
    pub(crate) maximum: Res,
    pub(crate) settings: Settings,
}

/// Scheduler-wide settings, read anew at each refresh but for `asynchronous`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) legacy: bool,
    pub(crate) continue_looking: bool,
    pub(crate) skip_reserved_nodes: bool,
    pub(crate) asynchronous: bool,
    pub(crate) multi_node: bool,
    pub(crate) max_offswitch: i64,
    pub(crate) multiple: bool,
    pub(crate) max_assign: i64,
    pub(crate) max_priority: i64,
    pub(crate) am_non_exclusive: bool,
}
