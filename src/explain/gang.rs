//! Why the minimum of a gang waits.

use super::evidence::Evidence;
use super::finding::{Finding, amounts};
use super::key::KeyExplanation;
use super::reason::Reason;
use crate::id::{AppSlot, PartitionId, QueuePath};
use crate::queue::{Closeness, GangWait};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// A gang that waits, as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangOfApp {
    /// Its application.
    pub app: AppSlot,
    /// Request priority that it was asked under.
    pub priority: i32,
    /// Members that are placed together.
    pub minimum: u32,
    /// Size of one.
    pub size: ResourceVector,
    /// How close together they have to be.
    pub close: Closeness,
    /// Where they may be placed.
    pub partition: PartitionId,
    /// Why it waits.
    pub wait: GangWait,
    /// When it is given up, in ms.
    pub deadline_ms: u64,
    /// Nodes that it holds.
    pub held: usize,
}

/// What a gang waits for, and why.
pub(super) fn explained(state: &State, gang: &GangOfApp) -> KeyExplanation {
    KeyExplanation {
        priority: Some(gang.priority),
        containers: u64::from(gang.minimum),
        size: gang.size,
        findings: vec![finding(state, gang)],
    }
}

fn finding(state: &State, gang: &GangOfApp) -> Finding {
    let members = gang.minimum;
    let size = amounts(&gang.size, &state.settings.resource_types);
    let wanted = format!("a gang of {members} needs {size} for each");
    let detail = match &gang.wait {
        GangWait::Room { found } => {
            let (held, until) = (gang.held, gang.deadline_ms);
            let place = where_of(gang, "the nodes have", "one", "has");
            format!(
                "{wanted}; {place} room for {found} now; it holds {held} nodes and is given up at {until} ms"
            )
        }
        GangWait::Cluster { found } => {
            let place = where_of(gang, "all nodes have", "the largest", "has");
            format!("{wanted}; {place} room for {found} when empty")
        }
        GangWait::KeyInUse => {
            format!("{wanted}; other asks are outstanding under its priority and id")
        }
        GangWait::Inactive => format!("{wanted}; the application may not be served yet"),
        GangWait::QueueLimit { queue } => return of_queue_limit(state, gang, queue, &wanted),
        GangWait::UserLimit | GangWait::Access => return of_leaf(state, gang, &wanted),
    };
    let found = Finding::new(Reason::GangWaits, detail);
    match gang.wait {
        GangWait::Room { found: fit } | GangWait::Cluster { found: fit } => {
            found.shown_by(of_members(members, fit))
        }
        _ => found,
    }
}

/// That the maximum of a queue is against the sum of the members.
fn of_queue_limit(state: &State, gang: &GangOfApp, queue: &QueuePath, wanted: &str) -> Finding {
    let detail = format!("{wanted}, which {queue} has not left below its maximum");
    let sum = gang.size.times(i64::from(gang.minimum));
    let evidence = of_queue(state, gang.partition, queue, &sum);
    let found = Finding::new(Reason::QueueMaxCapacity, detail).shown_by(evidence);
    found.by_queue_setting(queue, "maximum-capacity")
}

/// That a setting of its leaf is against it: the user limit, or the labels that it may use.
fn of_leaf(state: &State, gang: &GangOfApp, wanted: &str) -> Finding {
    let leaf = state.apps[gang.app].leaf;
    let path = &state.queues[leaf].settings.path;
    let evidence = Evidence::default().binding(state, leaf);
    if gang.wait == GangWait::Access {
        let label = &state.partitions[gang.partition].name;
        let detail = format!("{path} may not use label {label}");
        let found = Finding::new(Reason::LabelNotAccessible, detail).shown_by(evidence);
        return found.by_queue_setting(path, "accessible-node-labels");
    }
    let detail = format!("{wanted}, which the user limit of {path} does not allow");
    let found = Finding::new(Reason::UserLimit, detail).shown_by(evidence);
    found.by_queue_setting(path, "user-limit-factor")
}

/// The place that has the most room, as the subject of a sentence.
fn where_of(gang: &GangOfApp, anywhere: &str, one: &str, has: &str) -> String {
    match &gang.close {
        Closeness::Anywhere => anywhere.to_owned(),
        Closeness::Rack => format!("{one} rack at best {has}"),
        Closeness::Attribute(name) => format!("{one} value of {name} at best {has}"),
    }
}

/// The figures of members: how many are wanted at once, and how many there is room for.
fn of_members(wanted: u32, found: u32) -> Evidence {
    Evidence {
        dimension: Some("members".into()),
        limit: Some(i64::from(found)),
        used: Some(0),
        asked: Some(i64::from(wanted)),
        ..Evidence::default()
    }
}

/// The figures of the queue whose maximum is against the sum of the members.
fn of_queue(
    state: &State,
    partition: PartitionId,
    path: &QueuePath,
    sum: &ResourceVector,
) -> Evidence {
    let mut queues = state.queues.iter();
    let Some(queue) = queues.find(|queue| queue.settings.path == *path) else {
        return Evidence::default();
    };
    let part = queue.part(partition);
    let shown = (&part.limit.get(), &part.used.get(), sum);
    Evidence {
        binding: Some(path.clone()),
        ..Evidence::of_limit(state, shown)
    }
}
