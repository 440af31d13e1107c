//! What the scheduler did on a node, recorded on demand.
//!
//! The queues that a pass comes to are looked up before the heartbeat; its decisions say where the pass ended.
// As ActivitiesManager, for passes over one node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsched::api::{ApplicationId, ContainerId, Event, NodeName, ResourceVector};
use capsched::commit::Ledger;
use capsched::id::{PartitionId, QueueSlot, SchedulerKey};
use capsched::policy::order_children;
use capsched::snapshot::State;

/// A queue that a pass may come to, with what it may come to below, in the order of the visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// Full path.
    pub path: Arc<str>,
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
    pub queue: Arc<str>,
    /// The key that was served.
    pub key: SchedulerKey,
    /// Its size.
    pub size: ResourceVector,
    /// Whether space was reserved alone.
    pub reserved: bool,
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
    /// The root queue as the pass found it.
    pub root: Visited,
    /// What the pass placed and reserved, in order.
    pub placed: Vec<Placed>,
}

/// An application's recording.
#[derive(Clone, Debug, Default, PartialEq)]
struct AppRecording {
    until_ms: u64,
    activities: Vec<NodeActivity>,
}

/// Recordings that are asked for, and those that are done.
#[derive(Debug, Default)]
pub struct Activities {
    nodes: BTreeSet<NodeName>,
    next: bool,
    done: BTreeMap<NodeName, NodeActivity>,
    last: Option<NodeName>,
    apps: BTreeMap<ApplicationId, AppRecording>,
}

/// Activities of an application that are kept.
const KEPT: usize = 100;

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

    /// An application is recorded until a time. What was recorded before is dropped where that time is over.
    pub(super) fn arm_app(&mut self, app: ApplicationId, now_ms: u64, until_ms: u64) {
        let recording = self.apps.entry(app).or_default();
        if recording.until_ms < now_ms {
            recording.activities.clear();
        }
        recording.until_ms = until_ms;
    }

    /// The last recording of a node; of the last node where none is named.
    #[must_use]
    pub fn of_node(&self, node: Option<&NodeName>) -> Option<&NodeActivity> {
        self.done.get(node.or(self.last.as_ref())?)
    }

    /// Recordings of an application, the newest first.
    pub fn of_app(&self, app: ApplicationId) -> impl Iterator<Item = &NodeActivity> {
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

    pub(super) fn record(&mut self, activity: &NodeActivity) {
        for (id, recording) in &mut self.apps {
            let concerned = recording.until_ms >= activity.at_ms && activity.root.asks_of(*id);
            if concerned && recording.activities.len() < KEPT {
                recording.activities.push(activity.clone());
            }
        }
        if self.nodes.remove(&activity.node) || self.next {
            self.next = false;
            self.last = Some(activity.node.clone());
            self.done.insert(activity.node.clone(), activity.clone());
        }
    }
}

impl Visited {
    /// The root queue and all below it as a pass on a partition comes to them.
    pub(super) fn of(ledger: &Ledger, partition: PartitionId) -> Self {
        Self::of_queue(ledger.state(), State::ROOT, partition)
    }

    fn of_queue(state: &State, slot: QueueSlot, partition: PartitionId) -> Self {
        let queue = &state.queues[slot];
        let children = order_children(state, slot, partition).into_iter();
        let children = children.map(|child| Self::of_queue(state, child, partition));
        let apps = queue.leaf.iter().flat_map(|leaf| &leaf.active);
        let apps = apps.map(|&app| {
            let row = &state.apps[app];
            (row.id, row.priority, !row.part(partition).pending.is_none())
        });
        Self {
            path: Arc::clone(&queue.settings.path),
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
            queue: Arc::clone(queue),
            key: *key,
            size: *size,
            reserved: false,
        }),
        Event::Reserved {
            container,
            key,
            size,
            ..
        } => Some(Placed {
            container: *container,
            queue: queue_of(container.app).into(),
            key: *key,
            size: *size,
            reserved: true,
        }),
        _ => None,
    };
    decisions.iter().filter_map(one).collect()
}
