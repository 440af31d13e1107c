//! What explanations know of opportunistic containers that wait.
//!
//! Tests: `tests/explain/opportunistic.rs`.

use std::collections::BTreeMap;

use super::rooms::{NodeFit, NodeRooms};
use super::waiting_asks::WaitingAsk;
use crate::id::{AppSlot, NodeSlot, PartitionId, SchedulerKey};
use crate::queue::{OpportunisticNodes, OpportunisticWait, WaitingOpportunistic};
use crate::resource::ResourceVector;

/// Containers of one size and key that wait on nodes.
#[derive(Debug)]
struct OnNodes {
    containers: u64,
    nodes: usize,
    /// The node with the fewest containers ahead, and how many there are.
    first: (usize, NodeSlot),
}

impl NodeRooms<'_> {
    /// Opportunistic containers that wait, of applications that are wanted.
    ///
    /// Cost: a look at every node for each application, key and size that has no node; a look at the queue of every node.
    pub(super) fn waiting(self, wanted: impl Fn(AppSlot) -> bool) -> Vec<WaitingOpportunistic> {
        let mut found = Vec::new();
        let apps = self.opportunistic.waiting.keys().copied();
        for app in apps.filter(|&app| wanted(app)) {
            found.extend(self.waiting_to_be_placed(app));
        }
        found.extend(self.waiting_on_nodes(wanted));
        found
    }

    fn waiting_to_be_placed(self, app: AppSlot) -> Vec<WaitingOpportunistic> {
        // Asks of one size that name no place come to the same.
        let mut known: BTreeMap<(PartitionId, ResourceVector), OpportunisticNodes> =
            BTreeMap::new();
        let Some(waiting) = self.waiting_asks(app) else {
            return Vec::new();
        };
        let explained = waiting.iter().map(|(key, ask)| {
            let nodes = if ask.relax {
                let size = (ask.partition, ask.size);
                *known
                    .entry(size)
                    .or_insert_with(|| self.nodes_for(app, ask))
            } else {
                self.nodes_for(app, ask)
            };
            WaitingOpportunistic {
                app,
                priority: key.priority,
                containers: u64::from(ask.count.unsigned_abs()),
                size: ask.size,
                wait: OpportunisticWait::Placing(nodes),
            }
        });
        explained.collect()
    }

    /// What each node that an ask may use does with a container of it.
    fn nodes_for(self, app: AppSlot, ask: &WaitingAsk) -> OpportunisticNodes {
        let row = &self.state.apps[app];
        let mut nodes = OpportunisticNodes::default();
        for &node in self.opportunistic.queues.keys() {
            let of = &self.state.nodes[node];
            let mut places = ask.places.iter().map(|wanted| wanted.place);
            let named = places.any(|place| place == of.host || place == of.rack);
            if of.partition != ask.partition || !(ask.relax || named) {
                continue;
            }
            let count = match self.fit_on(row, ask, node) {
                NodeFit::Starts | NodeFit::Queues => &mut nodes.open,
                NodeFit::Full => &mut nodes.full,
                NodeFit::TooSmall => &mut nodes.small,
                NodeFit::Closed => &mut nodes.closed,
                NodeFit::Excluded => &mut nodes.excluded,
            };
            *count += 1;
        }
        nodes
    }

    fn waiting_on_nodes(self, wanted: impl Fn(AppSlot) -> bool) -> Vec<WaitingOpportunistic> {
        let mut groups: BTreeMap<(AppSlot, SchedulerKey, ResourceVector), OnNodes> =
            BTreeMap::new();
        for (&node, queue) in &self.opportunistic.queues {
            let mut here = Vec::new();
            for (ahead, container) in queue.queued().enumerate() {
                let row = self.containers.get(container.slot);
                if !wanted(row.app) {
                    continue;
                }
                let key = (row.app, row.key, container.size);
                let group = groups.entry(key).or_insert(OnNodes {
                    containers: 0,
                    nodes: 0,
                    first: (ahead, node),
                });
                group.containers += 1;
                group.first = group.first.min((ahead, node));
                if !here.contains(&key) {
                    here.push(key);
                    group.nodes += 1;
                }
            }
        }
        let explained = groups.into_iter().map(|((app, key, size), group)| {
            let (ahead, first) = group.first;
            WaitingOpportunistic {
                app,
                priority: key.priority,
                containers: group.containers,
                size,
                wait: OpportunisticWait::OnNodes {
                    nodes: group.nodes,
                    first: self.state.nodes[first].name.to_string(),
                    ahead,
                },
            }
        });
        explained.collect()
    }
}
