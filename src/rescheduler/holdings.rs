//! Where a look finds containers, and what else no state shows: in the ledger, or in a copy.

use crate::cluster::NodeState;
use crate::commit::{Ledger, PlacedCopy, SeenContainer};
use crate::id::{AppSlot, ApplicationId, ContainerId, NodeSlot, Set};
use crate::snapshot::State;

/// What a look reads besides the state.
pub(super) trait Holdings {
    /// Registered nodes in the order in which they registered.
    fn nodes_by_registration(&self) -> Vec<NodeSlot>;

    /// Live applications by id, ascending.
    fn apps_by_id(&self) -> Vec<(ApplicationId, AppSlot)>;

    /// Containers whose space on a node is taken, ended ones too, in order of placement.
    fn on_node(&self, node: NodeSlot) -> impl Iterator<Item = SeenContainer>;

    /// The reservation on a node.
    fn reservation_on(&self, node: NodeSlot) -> Option<SeenContainer>;

    /// Members of the gangs that have all of their minimum.
    fn whole_gang_members(&self) -> Set<ContainerId>;

    /// Time in ms since the start.
    fn now_ms(&self) -> u64;
}

impl Holdings for Ledger {
    fn nodes_by_registration(&self) -> Vec<NodeSlot> {
        Self::nodes_by_registration(self)
    }

    fn apps_by_id(&self) -> Vec<(ApplicationId, AppSlot)> {
        Self::apps_by_id(self)
    }

    fn on_node(&self, node: NodeSlot) -> impl Iterator<Item = SeenContainer> {
        self.containers_of_node(node).map(SeenContainer::from)
    }

    fn reservation_on(&self, node: NodeSlot) -> Option<SeenContainer> {
        Self::reservation_on(self, node).map(SeenContainer::from)
    }

    fn whole_gang_members(&self) -> Set<ContainerId> {
        self.whole_gangs().flatten().copied().collect()
    }

    fn now_ms(&self) -> u64 {
        Self::now_ms(self)
    }
}

/// A copy of what nodes hold, with a state of the same moment.
#[derive(Debug)]
pub(super) struct Copied<'a> {
    pub(super) state: &'a State,
    pub(super) placed: &'a PlacedCopy,
}

impl Holdings for Copied<'_> {
    fn nodes_by_registration(&self) -> Vec<NodeSlot> {
        let nodes = (0..self.state.nodes.len()).map(NodeSlot::at);
        let mut nodes: Vec<_> = nodes
            .filter(|&node| self.state.nodes[node].state != NodeState::Lost)
            .collect();
        nodes.sort_unstable_by_key(|&node| self.placed.position(node));
        nodes
    }

    fn apps_by_id(&self) -> Vec<(ApplicationId, AppSlot)> {
        let apps = (0..self.state.apps.len()).map(AppSlot::at);
        let apps = apps.filter(|&app| !self.state.apps[app].stage.is_over());
        let mut apps: Vec<_> = apps.map(|app| (self.state.apps[app].id, app)).collect();
        apps.sort_unstable();
        apps
    }

    fn on_node(&self, node: NodeSlot) -> impl Iterator<Item = SeenContainer> {
        self.placed.on_node(node).iter().cloned()
    }

    fn reservation_on(&self, node: NodeSlot) -> Option<SeenContainer> {
        self.placed.reservation_on(node).cloned()
    }

    fn whole_gang_members(&self) -> Set<ContainerId> {
        self.placed.whole_gang_members()
    }

    fn now_ms(&self) -> u64 {
        self.placed.now_ms()
    }
}
