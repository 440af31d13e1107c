//! Views: the whole state as plain data, in YARN's terms.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::cluster::NodeState;

/// Amounts of the cluster's resource types, in their order.
pub(super) type Amounts = Vec<i64>;

/// Amounts by partition; partitions with nothing are left out.
pub(super) type ByPartition = BTreeMap<String, Amounts>;

/// A fraction as the reference keeps it. Serialized as a number, or as the words `NaN`,
/// `Infinity`, `-Infinity`.
///
/// ```
/// use capsched::api::Fraction;
///
/// assert_eq!(serde_json::to_string(&Fraction(0.5))?, "0.5");
/// assert_eq!(serde_json::to_string(&Fraction(f32::NAN))?, "\"NaN\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction(pub f32);

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f32(self.0)
        } else if self.0.is_nan() {
            serializer.serialize_str("NaN")
        } else if self.0 > 0.0 {
            serializer.serialize_str("Infinity")
        } else {
            serializer.serialize_str("-Infinity")
        }
    }
}

/// Everything there is, at one moment.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let view = StateView::of(engine.engine().ledger());
/// assert_eq!(view.cluster, [8192, 8]);
/// assert_eq!((view.queues.len(), view.nodes.len(), view.apps.len()), (2, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StateView {
    /// Sum of the totals of all nodes.
    pub cluster: Amounts,
    /// Totals by partition; absent without labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<BTreeMap<String, Amounts>>,
    /// Queues in tree order, children in the scheduler's own order.
    pub queues: Vec<QueueView>,
    /// Nodes by name.
    pub nodes: Vec<NodeView>,
    /// Live applications by number.
    pub apps: Vec<AppView>,
}

/// One queue.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let view = StateView::of(engine.engine().ledger());
/// let paths: Vec<&str> = view.queues.iter().map(|queue| queue.path.as_str()).collect();
/// assert_eq!(paths, ["root", "root.a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueueView {
    /// Full path.
    pub path: String,
    /// `leaf` or `parent`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Whether a submission created it, flexibly.
    #[serde(skip_serializing_if = "is_false")]
    pub dynamic: bool,
    /// `STOPPED` or `DRAINING`; absent while running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Priority among siblings, when not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Applications below a parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_apps: Option<i32>,
    /// Figures of a leaf.
    #[serde(flatten)]
    pub leaf: Option<LeafView>,
    /// Figures by partition.
    pub labels: BTreeMap<String, PartitionView>,
}

/// What only leaves have.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let view = StateView::of(engine.engine().ledger());
/// let leaf: &LeafView = view.queues[1].leaf.as_ref().expect("root.a is a leaf");
/// assert_eq!(serde_json::to_value(leaf)?["active_apps"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LeafView {
    /// Active applications.
    pub active_apps: usize,
    /// Applications that wait for room for their master.
    pub pending_apps: usize,
    /// Parked applications, when there are any.
    #[serde(skip_serializing_if = "is_zero")]
    pub non_runnable_apps: usize,
    /// Most applications.
    pub max_apps: i32,
    /// Most applications of one user.
    pub max_apps_per_user: i32,
    /// Largest allocation.
    pub max_alloc: Amounts,
    /// Active users as last counted.
    pub num_active_users: i32,
    /// Users by name.
    pub users: BTreeMap<String, UserView>,
}

/// One user of a leaf.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let view = StateView::of(engine.engine().ledger());
/// let leaf = view.queues[1].leaf.as_ref().expect("root.a is a leaf");
/// let ann = &serde_json::to_value(leaf)?["users"]["ann"];
/// assert_eq!(ann["active_apps"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct UserView {
    /// Containers and reservations.
    pub used: ByPartition,
    /// Masters that count against the limit for masters.
    pub am_used: ByPartition,
    /// Weight.
    pub weight: Fraction,
    /// Active applications.
    pub active_apps: i32,
    /// Waiting applications.
    pub pending_apps: i32,
    /// User limit as last handed to an application of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_limit: Option<Amounts>,
}

/// A queue on one partition.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let view = StateView::of(engine.engine().ledger());
/// let default = &serde_json::to_value(&view.queues[1])?["labels"][""];
/// assert_eq!(default["eff_min"], serde_json::json!([8192, 8]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartitionView {
    /// Capacity, as a fraction of the parent's.
    pub cap: Fraction,
    /// Capacity, as a fraction of the partition.
    pub abs_cap: Fraction,
    /// Maximum, as a fraction of the parent's.
    pub max_cap: Fraction,
    /// Maximum, as a fraction of the partition.
    pub abs_max_cap: Fraction,
    /// Used, as a fraction of the guarantee.
    pub used_cap: Fraction,
    /// Used, as a fraction of the partition.
    pub abs_used_cap: Fraction,
    /// Weight, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Fraction>,
    /// Weight as a fraction of the siblings'.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm_weight: Option<Fraction>,
    /// Guaranteed resources.
    pub eff_min: Amounts,
    /// Largest resources.
    pub eff_max: Amounts,
    /// Containers and reservations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Amounts>,
    /// Reservations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Amounts>,
    /// Outstanding asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Amounts>,
    /// Masters that count against the limit for masters; leaves only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_used: Option<Amounts>,
    /// Limit for masters; leaves only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_limit: Option<Amounts>,
    /// Limit for the masters of one user; leaves only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_am_limit: Option<Amounts>,
}

/// One node.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let view = StateView::of(engine.engine().ledger());
/// let node: &NodeView = &view.nodes[0];
/// assert!(serde_json::to_string(node)?.contains("n0:8041"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NodeView {
    /// Name.
    pub node: String,
    /// Partition, when not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Whether it takes containers.
    #[serde(skip)]
    pub state: NodeState,
    /// Everything the node offers.
    pub total: Amounts,
    /// What its containers take.
    pub allocated: Amounts,
    /// What is left; may be negative.
    pub available: Amounts,
    /// Containers that take space.
    pub containers: u32,
    /// The container that waits here: application and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<[u32; 2]>,
    /// Containers that may be killed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub killable: Vec<[u32; 2]>,
    /// Its opportunistic containers; nothing while the settings do not enable them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunistic: Option<NodeQueueView>,
}

/// The opportunistic containers of one node.
///
/// ```
/// use capsched::api::*;
///
/// let view = StateView::of(example::cluster().engine().ledger());
/// let queue: &Option<NodeQueueView> = &view.nodes[0].opportunistic;
/// assert_eq!(*queue, None); // the settings of the example do not enable them
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NodeQueueView {
    /// Containers that wait.
    pub queued: u32,
    /// Containers that started.
    pub started: usize,
    /// What those take beside guaranteed containers.
    pub used: Amounts,
}

/// One application.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let view = StateView::of(engine.engine().ledger());
/// let app: &AppView = &view.apps[0];
/// assert!(serde_json::to_value(app)?.is_object());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AppView {
    /// Sequence number.
    pub app: u32,
    /// `active`, `pending`, `non_runnable` or `between_attempts`.
    pub state: &'static str,
    /// Full path of its queue.
    pub queue: String,
    /// Larger is more important.
    pub priority: i32,
    /// Outstanding asks.
    pub pending: ByPartition,
    /// Containers, without reservations.
    pub used: ByPartition,
    /// Reservations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reserved: ByPartition,
    /// Live containers, ascending.
    pub live: Vec<u32>,
    /// Containers that wait, and where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reserved_containers: Vec<(u32, String)>,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}
