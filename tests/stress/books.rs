//! What the decisions told come to, and whether a state agrees with it.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{
    ApplicationId, ContainerId, Decision, Fate, NodeName, ResourceVector, Threaded,
};
use capsched::cluster::{Node, NodeState};
use capsched::id::PartitionId;
use capsched::metrics::Closed;
use capsched::queue::{App, Queue};

use crate::client::Known;

/// Where a container is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    node: NodeName,
    size: ResourceVector,
    queue: std::sync::Arc<str>,
}

/// Follows the decisions: what is live, and where.
#[derive(Default)]
pub(crate) struct Books {
    live: BTreeMap<ContainerId, Place>,
    ended: BTreeSet<ContainerId>,
    pub(crate) placed: u64,
    /// Reservations made.
    pub(crate) reserved: u64,
    /// Refusals, by the fate that they are counted as.
    refused: BTreeMap<usize, u64>,
    /// Applications that ended with their masters.
    lost: BTreeSet<ApplicationId>,
}

impl Books {
    fn hear(&mut self, decision: &Decision) {
        match decision {
            Decision::Allocated {
                container,
                node,
                size,
                queue,
                ..
            } => {
                self.placed += 1;
                assert!(
                    !self.ended.contains(container),
                    "{container} was used before"
                );
                let place = Place {
                    node: node.clone(),
                    size: *size,
                    queue: std::sync::Arc::clone(queue),
                };
                let before = self.live.insert(*container, place);
                assert_eq!(before, None, "{container} was placed twice");
            }
            Decision::Ended {
                container, node, ..
            } => {
                let place = self.live.remove(container).unwrap();
                assert_eq!(&place.node, node, "{container} ended elsewhere");
                assert!(self.ended.insert(*container), "{container} ended twice");
            }
            Decision::Reserved { .. } => self.reserved += 1,
            Decision::Rejected { conflict, .. } => {
                let fate = Fate::from(*conflict).index();
                *self.refused.entry(fate).or_default() += 1;
            }
            Decision::MasterLost { app } => {
                self.lost.insert(*app);
            }
            _ => {}
        }
    }

    pub(crate) fn hear_all(&mut self, told: &[Decision]) {
        for decision in told {
            self.hear(decision);
        }
    }

    /// Hears what is still to be told, until all is at rest: an engine without room for its events
    /// rests, too, and goes on when they were read.
    pub(crate) fn hear_out(&mut self, engine: &Threaded) {
        loop {
            engine.quiesce();
            let told = engine.take_events();
            if told.is_empty() {
                return;
            }
            self.hear_all(&told);
        }
    }

    /// What is live, as far as it is `counted`.
    fn sum(&self, counted: impl Fn(&Place) -> bool) -> ResourceVector {
        let counted = self.live.values().filter(|place| counted(place));
        counted.fold(ResourceVector::NONE, |sum, place| sum + place.size)
    }
}

/// What a state has, to be compared with the books.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// Use of each queue without what is reserved, by path.
    queues: BTreeMap<String, ResourceVector>,
    /// Registered nodes: total, allocated, free, and containers that take space.
    nodes: BTreeMap<NodeName, ([ResourceVector; 3], u32)>,
    /// Applications that have not ended.
    apps: BTreeSet<ApplicationId>,
}

impl Found {
    fn of<'a>(
        queues: impl Iterator<Item = &'a Queue>,
        nodes: impl Iterator<Item = &'a Node>,
        apps: impl Iterator<Item = &'a App>,
    ) -> Self {
        let used = |queue: &Queue| {
            queue.part(PartitionId::DEFAULT).used.get()
                - queue.part(PartitionId::DEFAULT).reserved.get()
        };
        let queues = queues.map(|queue| (queue.settings.path.to_string(), used(queue)));
        let nodes = nodes.filter(|row| row.state != NodeState::Lost).map(|row| {
            let figures = [row.total.get(), row.allocated.get(), row.free.get()];
            (row.name.clone(), (figures, row.containers))
        });
        let apps = apps.filter(|app| !app.stage.is_over()).map(|app| app.id);
        Self {
            queues: queues.collect(),
            nodes: nodes.collect(),
            apps: apps.collect(),
        }
    }

    pub(crate) fn published(engine: &Threaded) -> Self {
        let shown = engine.snapshot();
        Self::of(shown.queues.iter(), shown.nodes.iter(), shown.apps.iter())
    }
}

/// Use of every queue is the sum of what the decisions left live, and nodes have what clients and
/// decisions say. Nodes may still hold the space of containers that ended and whose nodes have not
/// said so.
pub(crate) fn sums_hold(found: &Found, books: &Books, clients: &[Known]) {
    for (path, used) in &found.queues {
        let below = format!("{path}.");
        let inside = |queue: &str| queue == path || queue.starts_with(&below);
        assert_eq!(*used, books.sum(|place| inside(&place.queue)), "{path}");
    }
    let nodes: BTreeSet<_> = clients.iter().flat_map(|c| &c.nodes).collect();
    assert!(found.nodes.keys().eq(nodes), "{:?}", found.nodes.keys());
    for (name, ([total, allocated, free], containers)) in &found.nodes {
        assert!(
            books.sum(|place| &place.node == name).fits_in(allocated),
            "{name}"
        );
        assert_eq!(*free, *total - *allocated, "{name}");
        let live = books.live.values().filter(|place| &place.node == name);
        assert!(live.count() <= *containers as usize, "{name}");
    }
    for (id, place) in &books.live {
        assert!(found.nodes.contains_key(&place.node), "{id}: {place:?}");
    }
    let apps = clients.iter().flat_map(|client| &client.apps);
    let apps: BTreeSet<_> = apps.filter(|app| !books.lost.contains(app)).collect();
    assert!(found.apps.iter().eq(apps), "{:?}", found.apps);
}

/// Every proposal has exactly one outcome: what was told of it is what was counted. That a
/// reservation was kept is counted and not told, so that without any the two are equal.
pub(crate) fn outcomes_hold(engine: &Threaded, books: &Books) {
    let fates = engine.fates();
    for (fate, counted) in fates.iter().filter(|(fate, _)| fate.is_refused()) {
        let told = books.refused.get(&fate.index()).copied().unwrap_or(0);
        assert_eq!(counted, told, "{}", fate.name());
    }
    let shown = engine.snapshot();
    let refused: u64 = shown.refused.iter().sum::<u64>() + shown.served_refused;
    assert_eq!(refused, books.refused.values().sum::<u64>());
    let committed = fates.get(Fate::Committed) + fates.get(Fate::CommittedElsewhere);
    let told = books.placed + books.reserved;
    if books.reserved == 0 {
        assert_eq!(committed, told);
    } else {
        assert!(committed >= told, "{committed} of {told}");
    }
}

/// What the ledger has, and the live containers that it has of those in the books.
pub(crate) fn live_state(engine: &Threaded, books: &Books) -> Found {
    let (live, ended) = (books.live.clone(), books.ended.clone());
    engine
        .inspect(move |ledger| {
            for id in live.keys() {
                assert!(ledger.live_container(*id).is_some(), "{id}");
            }
            for id in &ended {
                assert!(ledger.live_container(*id).is_none(), "{id}");
            }
            let state = ledger.state();
            Found::of(state.queues.iter(), state.nodes.iter(), state.apps.iter())
        })
        .unwrap()
}
