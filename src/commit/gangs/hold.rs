//! A hold: nodes that take no container but members of one gang, for a bounded time.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::waiting::WaitingGang;
use crate::cluster::NodeState;
use crate::id::{AppSlot, NodeSlot, PartitionId, SchedulerKey};
use crate::snapshot::State;

/// Nodes held for a gang.
#[derive(Clone, Debug)]
pub(super) struct GangHold {
    app: AppSlot,
    generation: u32,
    key: SchedulerKey,
    pub(super) partition: PartitionId,
    pub(super) since_ms: u64,
    /// With their incarnations, ascending.
    nodes: Vec<(NodeSlot, u32)>,
}

impl GangHold {
    /// Nodes that are held for a gang from now on.
    pub(super) fn new(gang: &WaitingGang, since_ms: u64, nodes: Vec<(NodeSlot, u32)>) -> Self {
        Self {
            app: gang.slot,
            generation: gang.generation,
            key: gang.key,
            partition: gang.partition,
            since_ms,
            nodes,
        }
    }

    /// Whether it is that of the gang under a key of an application.
    pub(super) fn is_for(&self, app: AppSlot, key: SchedulerKey) -> bool {
        (self.app, self.key) == (app, key)
    }

    pub(super) fn is_of(&self, gang: &WaitingGang) -> bool {
        self.is_for(gang.slot, gang.key) && self.generation == gang.generation
    }

    /// Its nodes, ascending.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeSlot> {
        self.nodes.iter().map(|&(node, _)| node)
    }

    /// Leaves out nodes that are held no more: they left, came to another partition or are decommissioned.
    pub(super) fn follow(&mut self, state: &mut State) {
        let partition = self.partition;
        self.nodes.retain(|&(node, incarnation)| {
            let row = &state.nodes[node];
            let held = row.incarnation == incarnation && row.state == NodeState::Held;
            if held && row.partition != partition {
                state.nodes[node].state = NodeState::Running;
                return false;
            }
            held
        });
    }

    /// Opens its nodes for everybody.
    pub(super) fn open(&self, state: &mut State) {
        for &(node, incarnation) in &self.nodes {
            let row = &state.nodes[node];
            if row.incarnation == incarnation && row.state == NodeState::Held {
                state.nodes[node].state = NodeState::Running;
            }
        }
    }
}
