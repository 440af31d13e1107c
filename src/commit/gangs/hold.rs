//! Holds: nodes that take no container but members of one gang, for a bounded time.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::plan::{are_enough, nodes_to_hold};
use super::{Gangs, WaitingGang};
use crate::cluster::NodeState;
use crate::commit::event::GangStep;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NodeSlot, PartitionId, SchedulerKey};
use crate::queue::GangWait;
use crate::snapshot::State;

/// Nodes held for a gang.
#[derive(Clone, Debug)]
pub(super) struct GangHold {
    app: AppSlot,
    generation: u32,
    key: SchedulerKey,
    partition: PartitionId,
    since_ms: u64,
    /// With their incarnations, ascending.
    nodes: Vec<(NodeSlot, u32)>,
}

impl GangHold {
    /// Whether it is that of the gang under a key of an application.
    pub(super) fn is_for(&self, app: AppSlot, key: SchedulerKey) -> bool {
        (self.app, self.key) == (app, key)
    }

    fn is_of(&self, gang: &WaitingGang) -> bool {
        self.is_for(gang.slot, gang.key) && self.generation == gang.generation
    }

    /// Its nodes, ascending.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeSlot> {
        self.nodes.iter().map(|&(node, _)| node)
    }

    /// Leaves out nodes that are held no more: they left, came to another partition or are decommissioned.
    fn follow(&mut self, state: &mut State) {
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
    fn open(&self, state: &mut State) {
        for &(node, incarnation) in &self.nodes {
            let row = &state.nodes[node];
            if row.incarnation == incarnation && row.state == NodeState::Held {
                state.nodes[node].state = NodeState::Running;
            }
        }
    }
}

impl Gangs {
    /// The nodes that a gang holds, ascending; none without a hold.
    pub(super) fn held_by(&self, gang: &WaitingGang) -> Vec<NodeSlot> {
        let hold = self.holds.iter().find(|hold| hold.is_of(gang));
        hold.map_or_else(Vec::new, |hold| hold.nodes().collect())
    }
}

impl Ledger {
    /// Ends the holds whose gang is gone or waits for something else, or whose nodes are not enough any more; whether
    /// there were any. No gang of the partition holds for as long as the hold took.
    pub(super) fn end_holds(&mut self) -> bool {
        let now_ms = self.clock.now_ms();
        let mut holds = std::mem::take(&mut self.gangs.holds);
        let before = holds.len();
        holds.retain_mut(|hold| {
            hold.follow(&mut self.state);
            let gang = self.gangs.waiting.iter().find(|gang| hold.is_of(gang));
            let nodes: Vec<_> = hold.nodes().collect();
            let stands = gang.is_some_and(|gang| {
                matches!(gang.wait, GangWait::Room { .. })
                    && hold.partition == gang.partition
                    && are_enough(&self.state, gang, &nodes)
            });
            if !stands {
                hold.open(&mut self.state);
                let rest = now_ms.saturating_sub(hold.since_ms);
                let until = now_ms.saturating_add(rest);
                self.gangs.rests.insert(hold.partition, until);
            }
            stands
        });
        let ended = holds.len() != before;
        self.gangs.holds = holds;
        ended
    }

    /// Lets the oldest gang of each partition that waits for room hold nodes, where no gang of the partition
    /// holds and none rests; whether any does.
    pub(super) fn begin_holds(&mut self) -> bool {
        let now_ms = self.clock.now_ms();
        let mut seen: Vec<PartitionId> =
            self.gangs.holds.iter().map(|hold| hold.partition).collect();
        let mut begun = false;
        for i in 0..self.gangs.waiting.len() {
            let gang = &self.gangs.waiting[i];
            let partition = gang.partition;
            let waits_for_room = matches!(gang.wait, GangWait::Room { .. });
            if !waits_for_room || seen.contains(&partition) {
                continue;
            }
            seen.push(partition);
            let rests = self.gangs.rests.get(&partition);
            if rests.is_some_and(|&until| until > now_ms) {
                continue;
            }
            self.gangs.rests.remove(&partition);
            begun |= self.begin_hold(i);
        }
        begun
    }

    /// Holds nodes for a gang that waits, if some are enough.
    fn begin_hold(&mut self, gang: usize) -> bool {
        let gang = &self.gangs.waiting[gang];
        let Some(nodes) = nodes_to_hold(&self.state, gang) else {
            return false;
        };
        for &node in &nodes {
            self.state.nodes[node].state = NodeState::Held;
        }
        self.outbox.push(gang.event(GangStep::Holds {
            nodes: nodes.len(),
            until_ms: gang.deadline_ms,
        }));
        let with_incarnation = |node| (node, self.state.nodes[node].incarnation);
        self.gangs.holds.push(GangHold {
            app: gang.slot,
            generation: gang.generation,
            key: gang.key,
            partition: gang.partition,
            since_ms: self.clock.now_ms(),
            nodes: nodes.into_iter().map(with_incarnation).collect(),
        });
        true
    }
}
