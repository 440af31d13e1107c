//! When a gang begins to hold nodes, and when its hold ends.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::hold::GangHold;
use super::nodes::GangNodes;
use super::plan::{are_enough, nodes_to_hold};
use crate::cluster::NodeState;
use crate::commit::event::GangStep;
use crate::id::PartitionId;
use crate::queue::GangWait;

impl GangNodes<'_> {
    /// Ends the holds whose gang is gone or waits for something else, or whose nodes are not enough any more; whether
    /// there were any. No gang of the partition holds for as long as the hold took.
    pub(super) fn end_holds(&mut self) -> bool {
        let now_ms = self.now_ms;
        let mut holds = std::mem::take(&mut self.gangs.holds);
        let before = holds.len();
        holds.retain_mut(|hold| {
            hold.follow(self.state);
            let gang = self.gangs.waiting.iter().find(|gang| hold.is_of(gang));
            let nodes: Vec<_> = hold.nodes().collect();
            let stands = gang.is_some_and(|gang| {
                matches!(gang.wait, GangWait::Room { .. })
                    && hold.partition == gang.partition
                    && are_enough(self.state, gang, &nodes)
            });
            if !stands {
                hold.open(self.state);
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
        let now_ms = self.now_ms;
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
        let Some(nodes) = nodes_to_hold(self.state, gang) else {
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
        let nodes = nodes.into_iter().map(with_incarnation).collect();
        let hold = GangHold::new(gang, self.now_ms, nodes);
        self.gangs.holds.push(hold);
        true
    }
}
