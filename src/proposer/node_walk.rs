//! The walk over candidate nodes for one key; nodes without room for it are counted without a closer look.
//!
//! Tests: `tests/commit/full_nodes.rs`, and the recordings of `tests/parity`, which `cli/tests/parity.rs` plays.

use std::borrow::Cow;

use super::allocator::Answer;
use super::candidates::node_policy;
use super::fit::FitIndex;
use super::key_visit::KeyVisit;
use super::simple_ask::simple_ask_of;
use super::walk::Pass;
use crate::id::{NodeSlot, PartitionId};
use crate::queue::{App, Exclusivity, PlaceAsk};
use crate::resource::ResourceVector;

impl<const N: usize> Pass<'_, N> {
    /// The nodes that a walk for an application tries, in its order. `fulfils`: the walk is about a reservation.
    // As MultiNodeLookupPolicy.getPreferredNodeIterator, and RegularContainerAllocator.allocate, which skips
    // every reserved node but the last.
    #[inline]
    pub(super) fn nodes_to_try(&self, app: &App, fulfils: bool) -> Cow<'_, [NodeSlot]> {
        let mut nodes = self.candidates.ordered(node_policy(self.state, app));
        if let Some(index) = self.candidates.index()
            && let Some(last) = self.last_node(index)
            && nodes.last() != Some(&last)
        {
            // It is reserved, so that the index has it closed.
            nodes.to_mut().push(last);
        }
        if fulfils || !self.skips_last_node() {
            return nodes;
        }
        let free = |&node: &NodeSlot| self.state.nodes[node].reserved.is_none();
        let tried = nodes.iter().rposition(free).map_or(0, |last| last + 1);
        match nodes {
            Cow::Borrowed(nodes) => Cow::Borrowed(&nodes[..tried]),
            Cow::Owned(mut nodes) => {
                nodes.truncate(tried);
                Cow::Owned(nodes)
            }
        }
    }

    /// Whether no reserved node is tried, not even the last one.
    pub(super) fn skips_last_node(&self) -> bool {
        let settings = &self.state.settings;
        settings.skip_reserved_nodes && settings.mends.reserved_last_node
    }

    /// The node of an index that is tried last, where no node has room; it may be reserved.
    pub(super) fn last_node(&self, index: &FitIndex) -> Option<NodeSlot> {
        let settings = &self.state.settings;
        if !settings.skip_reserved_nodes || settings.mends.reserved_last_node {
            return index.open().next_back();
        }
        let is_tried = |&node: &NodeSlot| {
            let row = &self.state.nodes[node];
            let reserved = row.reserved.is_some()
                && row.partition == self.partition
                && self.state.is_candidate(node);
            reserved || index.is_open(node)
        };
        let mut nodes = index.order().iter().copied().rev();
        nodes.find(is_tried)
    }

    /// Tries nodes in their order for one key until one yields something; otherwise the answer of the last.
    #[inline]
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

    #[inline]
    fn walk_from(
        &self,
        visit: &mut KeyVisit<'_, N>,
        nodes: &[NodeSlot],
        ask: Option<&PlaceAsk>,
    ) -> (Answer, NodeSlot) {
        let state = self.state;
        let size = ask.map(|ask| ask.size.get());
        let passed = size.map_or(0, |size| self.pass_full_nodes(visit, nodes, &size));
        let last = nodes.len() - 1;
        for &node in &nodes[passed..last] {
            let row = &state.nodes[node];
            if state.settings.skip_reserved_nodes && row.reserved.is_some() {
                continue;
            }
            let full = |size| !state.calculator.holds_one(&row.free.get(), size);
            if size.as_ref().is_some_and(full) {
                self.count_full(visit, 1);
                continue;
            }
            if visit.reserved.is_none() && self.check_node(visit, row).is_some() {
                continue;
            }
            let answer = self.try_node(visit, row);
            if matches!(answer, Answer::Allocate(_)) {
                visit.reset_after(row, state, &answer);
                return (answer, node);
            }
        }
        self.try_last(visit, nodes[last])
    }

    /// What the last node of a walk answers, which alone may be reserved for the key.
    #[inline]
    pub(super) fn try_last(
        &self,
        visit: &mut KeyVisit<'_, N>,
        node: NodeSlot,
    ) -> (Answer, NodeSlot) {
        let row = &self.state.nodes[node];
        if visit.reserved.is_none()
            && let Some(answer) = self.check_node(visit, row)
        {
            return (answer, node);
        }
        let answer = self.try_node(visit, row);
        visit.reset_after(row, self.state, &answer);
        (answer, node)
    }

    /// The ask for containers that may be anywhere, where nothing of a node but its room decides and a node
    /// without room for one is no more than counted.
    #[inline]
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
            Some(reserved) => {
                // Those behind the last node that is tried are reserved, too.
                let all = self.candidates.ordered(node_policy(state, visit.app));
                reserved - last_reserved - (all.len() - nodes.len())
            }
            None => before.iter().filter(|&&node| is_reserved(node)).count(),
        };
        let counted = before.len() - skipped;
        self.count_full(visit, i32::try_from(counted).unwrap_or(i32::MAX));
        before.len()
    }

    /// Counts so many nodes without room for a container that may be anywhere.
    // As preCheckForNodeCandidateSet and assignContainersOnNode; 3.5 counts what is missed once, before the nodes.
    fn count_full(&self, visit: &mut KeyVisit<'_, N>, nodes: i32) {
        visit.opportunities = visit.opportunities.saturating_add(nodes);
        let by_node = !self.state.settings.rules.request_before_nodes;
        if by_node && visit.asks.partition == PartitionId::DEFAULT {
            visit.missed = visit.missed.saturating_add(nodes);
        }
    }
}
