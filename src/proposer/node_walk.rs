//! The walk over candidate nodes for one key; nodes without room for it are counted without a closer look.

use super::allocator::{Answer, KeyVisit};
use super::simple_ask::simple_ask_of;
use super::walk::Pass;
use crate::id::{NodeSlot, PartitionId};
use crate::queue::{Exclusivity, PlaceAsk};
use crate::resource::ResourceVector;

impl<const N: usize> Pass<'_, N> {
    /// Tries nodes in their order for one key until one yields something; otherwise the answer of the last.
    pub(super) fn walk(
        &self,
        visit: &mut KeyVisit<'_, N>,
        nodes: &[NodeSlot],
        first: NodeSlot,
    ) -> (Answer, NodeSlot) {
        let state = self.state;
        let ask = self.ask_by_room(visit);
        if ask.is_some()
            && let Some(refused) = self.check_node(&mut visit.clone(), &state.nodes[first])
        {
            // Limits are those of the partition.
            return (refused, nodes[nodes.len() - 1]);
        }
        self.walk_from(visit, nodes, ask)
    }

    fn walk_from(
        &self,
        visit: &mut KeyVisit<'_, N>,
        nodes: &[NodeSlot],
        ask: Option<&PlaceAsk>,
    ) -> (Answer, NodeSlot) {
        let state = self.state;
        let size = ask.map(|ask| ask.size.get());
        let mut last = (Answer::KeySkipped, nodes[0]);
        let mut at = size.map_or(0, |size| self.pass_full_nodes(visit, nodes, &size));
        while let Some(&node) = nodes.get(at) {
            at += 1;
            let (row, is_last) = (&state.nodes[node], at == nodes.len());
            if state.settings.skip_reserved_nodes && row.reserved.is_some() && !is_last {
                continue;
            }
            let full = |size| !state.calculator.holds_one(&row.free.get(), size);
            if size.as_ref().is_some_and(full) && !is_last {
                self.count_full(visit, 1);
                continue;
            }
            if visit.reserved.is_none()
                && let Some(answer) = self.check_node(visit, row)
            {
                last = (answer, node);
                continue;
            }
            let answer = self.try_node(visit, node, row);
            last = (answer, node);
            let reserves = matches!(last.0, Answer::Reserve(_));
            if matches!(last.0, Answer::Allocate(_)) || (reserves && is_last) {
                visit.reset_after(row, state, &last.0);
                break;
            }
        }
        last
    }

    /// The ask for containers that may be anywhere, where nothing of a node but its room decides and a node
    /// without room for one is no more than counted.
    fn ask_by_room<'a>(&self, visit: &KeyVisit<'a, N>) -> Option<&'a PlaceAsk> {
        let known = self.candidates.room().is_some()
            && visit.reserved.is_none()
            && self.exclusivity == Exclusivity::Respect;
        if !known {
            return None;
        }
        simple_ask_of(self.state, visit.app, visit.asks)
    }

    /// Counts all nodes but the last where none has room for a size; the position to go on at.
    fn pass_full_nodes(
        &self,
        visit: &mut KeyVisit<'_, N>,
        nodes: &[NodeSlot],
        size: &ResourceVector,
    ) -> usize {
        let room = self.candidates.room();
        if room.is_none_or(|room| room.first_fit(size).is_some()) {
            return 0;
        }
        let state = self.state;
        let before = &nodes[..nodes.len() - 1];
        let is_reserved = |node: NodeSlot| state.nodes[node].reserved.is_some();
        let last_reserved = usize::from(is_reserved(nodes[before.len()]));
        let reserved = self.candidates.reserved();
        let skipped = match reserved {
            _ if !state.settings.skip_reserved_nodes || before.is_empty() => 0,
            Some(reserved) => reserved - last_reserved,
            None => before.iter().filter(|&&node| is_reserved(node)).count(),
        };
        let counted = before.len() - skipped;
        self.count_full(visit, i32::try_from(counted).unwrap_or(i32::MAX));
        before.len()
    }

    /// Counts so many nodes without room for a container that may be anywhere.
    // As preCheckForNodeCandidateSet and assignContainersOnNode; 3.5 counts what is missed once, before the nodes.
    fn count_full(&self, visit: &mut KeyVisit<'_, N>, nodes: i32) {
        visit.tried = true;
        visit.opportunities = visit.opportunities.saturating_add(nodes);
        let by_node = !self.state.settings.rules.request_before_nodes;
        if by_node && visit.asks.partition == PartitionId::DEFAULT {
            visit.missed = visit.missed.saturating_add(nodes);
        }
    }
}
