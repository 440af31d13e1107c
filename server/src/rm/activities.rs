//! What the scheduler did on a node, recorded on demand.
//!
//! The queues that a pass comes to are looked up before the heartbeat; its decisions say where the pass ended.
// As ActivitiesManager, for passes over one node.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use capsched::api::{ApplicationId, ContainerId, Event, NodeName, ResourceVector};
use capsched::id::{NodeSlot, PartitionId, QueuePath, QueueSlot, SchedulerKey};
use capsched::policy::order_children;
use capsched::snapshot::State;

use super::looks::{KeyLook, LookResult, PassEntry, looks};

/// A queue that a pass may come to, with what it may come to below, in the order of the visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// Full path.
    pub path: QueuePath,
    /// Whether anything is asked below it on the node's partition.
    pub asks: bool,
    /// Child queues.
    pub children: Vec<Self>,
    /// Active applications of a leaf: their priorities, and whether they ask anything.
    pub apps: Vec<(ApplicationId, i32, bool)>,
}

/// What one attempt of a pass placed or reserved.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The container.
    pub container: ContainerId,
    /// Full path of its leaf.
    pub queue: QueuePath,
    /// The key that was served.
    pub key: SchedulerKey,
    /// Its size.
    pub size: ResourceVector,
    /// Whether a container was placed, or space reserved.
    pub result: LookResult,
}

/// What happened in one heartbeat of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeActivity {
    /// The node.
    pub node: NodeName,
    /// When, in ms since the Unix epoch.
    pub at_ms: u64,
    /// Port of the node's web page.
    pub http_port: u16,
    /// Name of the node's partition.
    pub partition: String,
    /// Whether the pass could visit the queues.
    pub entry: PassEntry,
    /// The root queue as the pass found it.
    pub root: Visited,
    /// What the pass placed and reserved, in order.
    pub placed: Vec<Placed>,
    /// What it found of the keys of applications, in order.
    pub looks: Vec<KeyLook>,
}

/// What a pass over a node comes to, looked up before it.
#[derive(Debug)]
pub(super) struct Prospect {
    pub(super) partition: String,
    pub(super) entry: PassEntry,
    pub(super) root: Visited,
    pub(super) looks: Vec<KeyLook>,
}

impl Prospect {
    pub(super) fn of(state: &State, node: NodeSlot) -> Self {
        let partition = state.nodes[node].partition;
        Self {
            partition: state.partitions[partition].name.to_string(),
            entry: PassEntry::of(state, node),
            root: Visited::of_queue(state, State::ROOT, partition),
            looks: looks(state, node),
        }
    }
}

/// An application's recording.
#[derive(Clone, Debug, Default, PartialEq)]
struct AppRecording {
    until_ms: u64,
    /// The oldest first.
    activities: VecDeque<Arc<NodeActivity>>,
}

/// Recordings that are asked for, and those that are done.
#[derive(Debug, Default)]
pub struct Activities {
    nodes: BTreeSet<NodeName>,
    next: bool,
    done: BTreeMap<NodeName, Arc<NodeActivity>>,
    last: Option<NodeName>,
    apps: BTreeMap<ApplicationId, AppRecording>,
}

/// Fewest activities of an application that are kept; a fifth more than there are nodes in large clusters.
// As yarn.resourcemanager.activities-manager.app-activities.max-queue-length.
const KEPT: usize = 100;

/// How long activities of an application are kept, in ms.
// As yarn.resourcemanager.activities-manager.app-activities.ttl-ms.
const KEPT_MS: u64 = 600_000;

impl Activities {
    /// The next heartbeat of a node is recorded; of any node where none is named.
    pub(super) fn arm(&mut self, node: Option<NodeName>) {
        match node {
            Some(node) => {
                self.nodes.insert(node);
            }
            None => self.next = true,
        }
    }

    /// An application is recorded until a time. What is old is dropped.
    pub(super) fn arm_app(&mut self, app: ApplicationId, now_ms: u64, until_ms: u64) {
        self.apps.retain(|_, recording| {
            let old =
                |activity: &Arc<NodeActivity>| now_ms.saturating_sub(activity.at_ms) > KEPT_MS;
            let kept = recording
                .activities
                .iter()
                .skip_while(|&activity| old(activity));
            recording.activities = kept.cloned().collect();
            recording.until_ms >= now_ms || !recording.activities.is_empty()
        });
        self.apps.entry(app).or_default().until_ms = until_ms;
    }

    /// The last recording of a node; of the last node where none is named.
    #[must_use]
    pub fn of_node(&self, node: Option<&NodeName>) -> Option<&Arc<NodeActivity>> {
        self.done.get(node.or(self.last.as_ref())?)
    }

    /// Recordings of an application, the newest first.
    pub fn of_app(&self, app: ApplicationId) -> impl Iterator<Item = &Arc<NodeActivity>> {
        let recording = self.apps.get(&app);
        recording
            .into_iter()
            .flat_map(|recording| recording.activities.iter().rev())
    }

    /// Whether a heartbeat of a node is to be recorded.
    pub(super) fn wants(&self, node: &NodeName, now_ms: u64) -> bool {
        let app = |recording: &AppRecording| recording.until_ms >= now_ms;
        self.next || self.nodes.contains(node) || self.apps.values().any(app)
    }

    pub(super) fn record(&mut self, activity: NodeActivity, nodes: usize) {
        let activity = Arc::new(activity);
        let most = KEPT.max(nodes + nodes / 5);
        for (id, recording) in &mut self.apps {
            if recording.until_ms > activity.at_ms && activity.concerns(*id) {
                while recording.activities.len() >= most {
                    recording.activities.pop_front();
                }
                recording.activities.push_back(Arc::clone(&activity));
            }
        }
        if self.nodes.remove(&activity.node) || self.next {
            self.next = false;
            self.last = Some(activity.node.clone());
            self.done.insert(activity.node.clone(), activity);
        }
    }
}

impl NodeActivity {
    /// Whether an application was looked at.
    fn concerns(&self, app: ApplicationId) -> bool {
        let looked_at = self.looks.iter().any(|look| look.app == app);
        looked_at || (self.entry == PassEntry::Open && self.root.asks_of(app))
    }
}

impl Visited {
    /// A queue and all below it as a pass over a node of a partition comes to them.
    fn of_queue(state: &State, slot: QueueSlot, partition: PartitionId) -> Self {
        let queue = &state.queues[slot];
        let children = order_children(state, slot, partition).into_iter();
        let children = children.map(|child| Self::of_queue(state, child, partition));
        let active = || queue.leaf.iter().flat_map(|leaf| &leaf.active);
        let apps = active().map(|&app| {
            let row = &state.apps[app];
            (row.id, row.priority, !row.part(partition).pending.is_none())
        });
        Self {
            path: queue.settings.path.clone(),
            asks: !queue.part(partition).pending.is_none(),
            apps: apps.collect(),
            children: children.collect(),
        }
    }

    /// Whether an application asks anything.
    fn asks_of(&self, app: ApplicationId) -> bool {
        let own = self.apps.iter().any(|&(id, _, asks)| id == app && asks);
        own || self.children.iter().any(|child| child.asks_of(app))
    }
}

/// What the decisions of a heartbeat placed and reserved on its node, by queues of applications.
pub(super) fn placed(
    decisions: &[Event],
    queue_of: impl Fn(ApplicationId) -> String,
) -> Vec<Placed> {
    let one = |decision: &Event| match decision {
        Event::Allocated {
            container,
            queue,
            key,
            size,
            ..
        } => Some(Placed {
            container: *container,
            queue: queue.clone(),
            key: *key,
            size: *size,
            result: LookResult::Allocated,
        }),
        Event::Reserved {
            container,
            key,
            size,
            again,
            ..
        } => Some(Placed {
            container: *container,
            queue: queue_of(container.app).into(),
            key: *key,
            size: *size,
            result: match again {
                true => LookResult::ReservedAgain,
                false => LookResult::Reserved,
            },
        }),
        _ => None,
    };
    decisions.iter().filter_map(one).collect()
}
