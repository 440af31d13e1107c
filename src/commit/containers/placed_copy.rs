//! The containers on all nodes, copied in parts while the ledger goes on.
//!
//! 1. A pass looks at the nodes by slot, and copies what is on those that changed since.
//! 2. A pass has any number of parts. Others change the ledger between two of them.
//! 3. Passes get shorter, since each copies what changed during the one before. The last one is made in one piece.
//!
//! Tests: `tests/runtime/preemption_turns.rs`.

use std::sync::Arc;

use super::container::{Container, ContainerState};
use crate::commit::ledger::Ledger;
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{AppSlot, ContainerId, Map, NodeSlot, PartitionId, SchedulerKey, Set};
use crate::resource::PackedVector;

/// Nodes that are looked at for the price of one container.
const LOOKS: usize = 4;

/// What a round of preemption reads of a container or reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenContainer {
    /// Application and number.
    pub id: ContainerId,
    /// The application's slot.
    pub app: AppSlot,
    /// The key it was asked under.
    pub key: SchedulerKey,
    /// Its size.
    pub size: PackedVector,
    /// The node.
    pub node: NodeSlot,
    /// Whether it is a reservation.
    pub reserved: bool,
    /// Whether it ended, and its space is still taken.
    pub done: bool,
    /// Whether its application's master runs in it.
    pub master: bool,
    /// Position in the order of creation.
    pub stamp: u64,
    /// Time of creation in ms since the start.
    pub created_ms: u64,
    /// Partition of the request that it serves.
    pub requested_partition: PartitionId,
}

impl From<&Container> for SeenContainer {
    fn from(row: &Container) -> Self {
        Self {
            id: row.id,
            app: row.app,
            key: row.key,
            size: row.size.clone(),
            node: row.node,
            reserved: row.state == ContainerState::Reserved,
            done: row.state == ContainerState::Done,
            master: row.master,
            stamp: row.stamp,
            created_ms: row.created_ms,
            requested_partition: row.requested_partition,
        }
    }
}

/// What was copied of one node.
#[derive(Clone, Debug, Default)]
struct CopiedNode {
    /// How often it had changed then; nothing before the first copy.
    changes: Option<u32>,
    placed: Vec<SeenContainer>,
    reserved: Option<SeenContainer>,
}

/// What a round of preemption reads of a ledger besides its state.
#[derive(Clone, Debug, Default)]
pub struct PlacedCopy {
    of: Vec<CopiedNode>,
    /// The next slot of the present pass.
    at: usize,
    /// What the present pass copied, in containers.
    copied: usize,
    /// The same of the pass before; nothing in the first one.
    copied_before: Option<usize>,
    /// Position of each node in the order of registrations.
    positions: Vec<u64>,
    gangs: Vec<Arc<Vec<ContainerId>>>,
    now_ms: u64,
}

impl PlacedCopy {
    /// Containers whose space on a node is taken, ended ones too, in order of placement.
    #[must_use]
    pub fn on_node(&self, node: NodeSlot) -> &[SeenContainer] {
        self.of.get(node.index()).map_or(&[], |of| &of.placed)
    }

    /// The reservation on a node.
    #[must_use]
    pub fn reservation_on(&self, node: NodeSlot) -> Option<&SeenContainer> {
        self.of.get(node.index())?.reserved.as_ref()
    }

    /// Position of a node in the order of registrations, as [`Self::finish`] found it.
    #[must_use]
    pub fn position(&self, node: NodeSlot) -> u64 {
        self.positions.get(node.index()).copied().unwrap_or(0)
    }

    /// Time in ms since the start, as [`Self::finish`] found it.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Members of the gangs that have all of their minimum, as [`Ledger::whole_gangs`] lists them.
    ///
    /// Cost: where there are gangs, a look at each container.
    #[must_use]
    pub fn whole_gang_members(&self) -> Set<ContainerId> {
        // Must equal `Ledger::whole_gangs`.
        let members = self.gangs.iter().flat_map(|members| members.iter());
        let mut lives: Map<ContainerId, bool> = members.map(|&id| (id, false)).collect();
        if lives.is_empty() {
            return Set::default();
        }
        let placed = self.of.iter().flat_map(|of| &of.placed);
        for container in placed.filter(|container| !container.done) {
            if let Some(lives) = lives.get_mut(&container.id) {
                *lives = true;
            }
        }
        let is_whole = |members: &&Arc<Vec<ContainerId>>| members.iter().all(|id| lives[id]);
        let whole = self.gangs.iter().filter(is_whole);
        whole.flat_map(|members| members.iter().copied()).collect()
    }

    /// Whether the last pass copied so little that the next one may be made in one piece.
    #[must_use]
    pub fn is_near(&self, most: usize) -> bool {
        self.copied_before.is_some_and(|copied| copied <= most)
    }

    /// Goes on with a pass, for so many containers and the rest of one node; whether it ended.
    pub fn go_on(&mut self, ledger: &Ledger, most: usize) -> bool {
        let nodes = ledger.containers.nodes();
        self.of.resize_with(nodes, CopiedNode::default);
        let mut left = most.saturating_mul(LOOKS);
        while self.at < nodes {
            if left == 0 {
                return false;
            }
            let copied = self.copy(ledger, NodeSlot::at(self.at));
            self.copied += copied;
            self.at += 1;
            left = left.saturating_sub(1 + copied.saturating_mul(LOOKS));
        }
        self.copied_before = Some(std::mem::take(&mut self.copied));
        self.at = 0;
        true
    }

    /// Makes a whole pass, so that everything is as of now.
    ///
    /// Cost: a look at each node and gang, and a copy of what changed since the pass before.
    pub fn finish(&mut self, ledger: &Ledger) {
        (self.at, self.copied) = (0, 0);
        self.go_on(ledger, usize::MAX);
        self.positions.clear();
        self.positions.extend(ledger.history.positions());
        self.gangs = ledger.gangs.all_members();
        self.now_ms = ledger.now_ms();
    }

    /// Copies what is on one node if it changed; how many containers.
    fn copy(&mut self, ledger: &Ledger, node: NodeSlot) -> usize {
        let changes = Some(ledger.containers.changes_on(node));
        let of = &mut self.of[node.index()];
        let keeps_stale = of.changes.is_some() && is_planted(PlantedFlaw::PlacedCopyIsStale);
        if of.changes == changes || keeps_stale {
            return 0;
        }
        of.changes = changes;
        of.placed.clear();
        of.placed
            .extend(ledger.containers_of_node(node).map(SeenContainer::from));
        of.reserved = ledger.reservation_on(node).map(SeenContainer::from);
        of.placed.len() + 1
    }
}
