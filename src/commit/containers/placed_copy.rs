//! What all nodes hold, as a round of preemption reads it.
//!
//! Tests: `tests/runtime/preemption_turns.rs`.

use super::container::{Container, ContainerState};
use super::in_passes::CopiedRows;
use crate::commit::gangs::members::MembersOfGangs;
use crate::commit::ledger::Ledger;
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{AppSlot, ContainerId, NodeSlot, PartitionId, SchedulerKey, Set};
use crate::resource::PackedVector;

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
    /// Position of each node in the order of registrations.
    positions: Vec<u64>,
    gangs: MembersOfGangs,
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

    /// Position of a node in the order of registrations.
    #[must_use]
    pub fn position(&self, node: NodeSlot) -> u64 {
        self.positions.get(node.index()).copied().unwrap_or(0)
    }

    /// Time in ms since the start.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Members of the gangs that have all of their minimum, as [`Ledger::whole_gangs`] lists them.
    ///
    /// Cost: where there are gangs, a look at each container.
    #[must_use]
    pub fn whole_gang_members(&self) -> Set<ContainerId> {
        let placed = self.of.iter().flat_map(|of| &of.placed);
        let live = placed.filter(|container| !container.done);
        let whole = self.gangs.whole(live.map(|container| container.id));
        whole.flatten().copied().collect()
    }
}

impl CopiedRows for PlacedCopy {
    type Room = usize;

    fn room(ledger: &Ledger) -> usize {
        ledger.containers.nodes()
    }

    fn grow(&mut self, rows: usize) -> usize {
        self.of.resize_with(rows, CopiedNode::default);
        rows
    }

    fn copy(&mut self, ledger: &Ledger, row: usize) -> usize {
        let node = NodeSlot::at(row);
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

    /// Cost: a look at each node and gang.
    fn complete(&mut self, ledger: &Ledger) {
        self.positions.clear();
        self.positions.extend(ledger.history.positions());
        self.gangs = ledger.gangs.all_members();
        self.now_ms = ledger.now_ms();
    }
}
