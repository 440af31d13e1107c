//! What the scheduler did on a node, recorded on demand.
//!
//! The queues that a pass comes to are looked up before the heartbeat; its decisions say where the pass ended.
// As ActivitiesManager, for passes over one node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsched::api::{ApplicationId, ContainerId, Event, NodeName, ResourceVector};
use capsched::commit::Ledger;
use capsched::id::{AppSlot, NameId, NodeSlot, PartitionId, QueueSlot, SchedulerKey};
use capsched::policy::{constraint_holds, order_children};
use capsched::proposer::{Candidates, Step, Watch, propose_watched};
use capsched::queue::Exclusivity;
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
    /// The key of a leaf's application that its headroom refuses; the visit of the leaf ends there.
    pub refused: Option<(ApplicationId, SchedulerKey)>,
}

/// The keys of a pass that it did not bring to the node.
#[derive(Debug, Default)]
struct KeptBack(Vec<(AppSlot, SchedulerKey)>);

impl Watch for KeptBack {
    fn ended(&mut self, _: Step) {}

    fn looked(&mut self, app: AppSlot, key: SchedulerKey, tried: bool) {
        if !tried {
            self.0.push((app, key));
        }
    }
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
    /// The root queue and all below it as a pass over a node comes to them.
    pub(super) fn of(ledger: &Ledger, node: NodeSlot) -> Self {
        let state = ledger.state();
        let refused = refused_by_headroom(state, node);
        Self::of_queue(state, State::ROOT, state.nodes[node].partition, &refused)
    }

    fn of_queue(
        state: &State,
        slot: QueueSlot,
        partition: PartitionId,
        refused: &[(AppSlot, SchedulerKey)],
    ) -> Self {
        let queue = &state.queues[slot];
        let children = order_children(state, slot, partition).into_iter();
        let children = children.map(|child| Self::of_queue(state, child, partition, refused));
        let active = || queue.leaf.iter().flat_map(|leaf| &leaf.active);
        let apps = active().map(|&app| {
            let row = &state.apps[app];
            (row.id, row.priority, !row.part(partition).pending.is_none())
        });
        let own = |(app, _): &&(AppSlot, SchedulerKey)| active().any(|active| active == app);
        let refused_here = refused.iter().find(own);
        Self {
            path: Arc::clone(&queue.settings.path),
            asks: !queue.part(partition).pending.is_none(),
            apps: apps.collect(),
            children: children.collect(),
            refused: refused_here.map(|&(app, key)| (state.apps[app].id, key)),
        }
    }

    /// Whether an application asks anything.
    fn asks_of(&self, app: ApplicationId) -> bool {
        let own = self.apps.iter().any(|&(id, _, asks)| id == app && asks);
        own || self.children.iter().any(|child| child.asks_of(app))
    }
}

/// The keys for which the headroom of their queue is too small, in a pass over a node that is not carried out.
///
/// A key that asks for the partition, and whose constraint holds, comes to the node unless its limits refuse it. With
/// reservations that do not continue looking, other limits than the headroom may do so; nothing is said then.
fn refused_by_headroom(state: &State, node: NodeSlot) -> Vec<(AppSlot, SchedulerKey)> {
    if !state.settings.continue_looking {
        return Vec::new();
    }
    let mut kept_back = KeptBack::default();
    let watch: Option<&mut dyn Watch> = Some(&mut kept_back);
    let candidates = Candidates::node(node);
    // What it would place is of no interest: the pass itself follows.
    let _ = propose_watched(
        state,
        &candidates,
        Exclusivity::Respect,
        &mut Vec::new(),
        watch,
    );
    let row = &state.nodes[node];
    let by_headroom = |&(app, key): &(AppSlot, SchedulerKey)| {
        let asks = state.apps[app].key(key);
        asks.is_some_and(|asks| {
            asks.count(NameId::ANY) > 0
                && asks.partition == row.partition
                && constraint_holds(state, app, asks, row)
        })
    };
    kept_back.0.into_iter().filter(by_headroom).collect()
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
