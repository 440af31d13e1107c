//! Attempts of the thread-free mode: on one node, at a heartbeat, among the nodes of a partition.
//!
//! Tests: `tests/simulation/skipping.rs`.

use super::nodes::live_order::{Collected, LiveOrder, Structure};
use super::sequential::{Attempt, Sequential};
use crate::cluster::NodeState;
use crate::commit::CommitOutcome;
use crate::id::{AppSlot, NodeName, NodeSlot, PartitionId};
use crate::policy::Locality;
use crate::proposer::{
    Candidates, Observation, Outcome, ProposalKind, Watch, has_room, is_still, may_starve_later,
    propose_reserved, propose_watched,
};
use crate::queue::Exclusivity;

const NOTHING: Attempt = Attempt {
    proposed: false,
    reserving: false,
    locality: None,
    refused: None,
};

/// What is remembered of an attempt that finds nothing.
#[derive(Clone, Copy, Debug)]
enum Lesson {
    /// Of a node alone.
    One(NodeSlot),
    /// Of the nodes of a partition together.
    Among(PartitionId, Collected),
    /// Nothing; the round will not come to the same for sure.
    None,
}

/// What a pass and its commit change.
#[derive(Clone, Copy, Debug)]
enum Changed {
    /// Of applications no more than counters.
    Counters,
    /// An application.
    App(AppSlot),
    /// Perhaps any application.
    Any,
}

impl Sequential {
    /// One attempt on one running node; nothing when there is no such node.
    pub fn schedule_node(&mut self, node: &NodeName) -> Option<Attempt> {
        let slot = self.ledger.node(node)?;
        self.schedule_slot(slot)
    }

    /// The same for the node in a slot.
    pub(crate) fn schedule_slot(&mut self, slot: NodeSlot) -> Option<Attempt> {
        let state = self.ledger.state();
        if !state.nodes[slot].takes_containers() {
            return None;
        }
        let attempt = if state.settings.multi_node.enabled {
            self.attempt_among(vec![slot])
        } else {
            self.attempt_alone(slot)
        };
        self.follow_up();
        Some(attempt)
    }

    /// Attempts over all running nodes of a partition, the last one's result; nothing when the
    /// partition has none.
    pub fn schedule_partition(&mut self, label: &str, times: u32) -> Option<Attempt> {
        let partition = self.ledger.partition(label)?;
        let mut last = None;
        for _ in 0..times {
            last = Some(self.attempt_partition(partition, Collected::ByText)?);
        }
        self.standstill.end_attempts(&mut self.ledger);
        self.follow_up();
        last
    }

    /// Number of nodes of a partition; 0 when the cluster does not know it.
    #[must_use]
    pub fn nodes_in(&self, label: &str) -> u64 {
        let state = self.ledger.state();
        let known = self.ledger.partition(label);
        let nodes = known.map_or(0, |partition| state.partitions[partition].nodes.len());
        u64::try_from(nodes).expect("a number of nodes fits in a u64")
    }

    /// A round of attempts begins: on all nodes, or on all partitions.
    pub(crate) fn begin_round(&mut self) {
        self.standstill.begin_round();
    }

    /// The round is over.
    pub(crate) fn end_round(&mut self) {
        self.standstill.end_round(&mut self.ledger);
    }

    /// Counts the last round as often as it surely comes to the same, but at most so often; how often that was. A
    /// round that is carried out has to follow before anything else.
    pub(crate) fn repeat_round(&mut self, most: u64) -> u64 {
        self.standstill.repeat_round(&mut self.ledger, most)
    }

    /// Whether a reservation that is kept often enough lets its application reserve or allocate more.
    ///
    /// Cost: a look at every node.
    pub(crate) fn may_starve_later(&self) -> bool {
        let state = self.ledger.state();
        let partitions = state.partitions.iter();
        let mut nodes = partitions.flat_map(|partition| &partition.nodes);
        nodes.any(|&node| may_starve_later(state, node))
    }

    // As CapacityScheduler.allocateContainersToNode with its canAllocateMore.
    pub(super) fn schedule_heartbeat(&mut self, node: NodeSlot) {
        self.attempts_at_heartbeat(node);
        self.standstill.end_attempts(&mut self.ledger);
    }

    fn attempts_at_heartbeat(&mut self, node: NodeSlot) {
        let bounds = self.ledger.state().settings.heartbeat;
        let (mut offswitch, mut assigned) = (0, 0);
        loop {
            let attempt = self.attempt_on(node);
            offswitch += i32::from(attempt.locality == Some(Locality::Any));
            assigned += i32::from(attempt.proposed);
            let more = attempt.proposed
                && !attempt.reserving
                && offswitch < bounds.maximum_offswitch
                && bounds.multiple_assignments
                && (bounds.maximum_assignments == -1 || assigned < bounds.maximum_assignments);
            if !more {
                return;
            }
        }
    }

    /// One attempt for a node: on it alone, or among all running nodes of its partition under
    /// multi-node placement.
    fn attempt_on(&mut self, node: NodeSlot) -> Attempt {
        let state = self.ledger.state();
        if !state.settings.multi_node.enabled {
            return self.attempt_alone(node);
        }
        let (partition, held) = {
            let row = &state.nodes[node];
            (row.partition, row.state == NodeState::Held)
        };
        match self.attempt_partition(partition, Collected::ByHash) {
            Some(attempt) => attempt,
            // Every node of the partition is held or leaves.
            None if held => NOTHING,
            None => self.attempt_among(vec![node]),
        }
    }

    /// One attempt on one node: its reservation, or else something new.
    // As allocateContainerOnSingleNode.
    fn attempt_alone(&mut self, node: NodeSlot) -> Attempt {
        let state = self.ledger.state();
        if state.nodes[node].state == NodeState::Held {
            return NOTHING;
        }
        if state.nodes[node].reserved.is_some() {
            self.fulfil(node);
            return NOTHING;
        }
        if !has_room(state, node) || self.standstill.count_one(&mut self.ledger, node) {
            return NOTHING;
        }
        self.attempt_new(&Candidates::node(node), Lesson::One(node))
    }

    /// One attempt among the running nodes of a partition; nothing when it has none.
    fn attempt_partition(
        &mut self,
        partition: PartitionId,
        collected: Collected,
    ) -> Option<Attempt> {
        let order = self.take_order(partition);
        let moved = self.fulfil_on(&order, partition, collected);
        let (order, lesson) = if moved {
            // What was fulfilled or given up changed the order.
            self.orders.put(partition, order);
            (self.take_order(partition), Lesson::None)
        } else {
            (order, Lesson::Among(partition, collected))
        };
        let attempt = self.attempt_ordered(&order, (partition, collected), lesson);
        self.orders.put(partition, order);
        attempt
    }

    /// The order of a partition as the state has it, to be put back.
    fn take_order(&mut self, partition: PartitionId) -> LiveOrder {
        let list = self.ledger.state().partitions[partition].changes;
        let calls = self.node_calls;
        let structure = Structure { calls, list };
        let watched = (&mut self.ledger, &mut self.standstill);
        self.orders.take(watched, partition, structure)
    }

    /// Attempts to fulfil the reservations on the nodes of an order, under multi-node placement; whether any of them
    /// was not just kept.
    fn fulfil_on(
        &mut self,
        order: &LiveOrder,
        partition: PartitionId,
        collected: Collected,
    ) -> bool {
        let several = self.ledger.state().settings.multi_node.enabled;
        let has_nodes = !order.nodes(collected).is_empty();
        several && has_nodes && self.fulfil_reserved(order, partition, collected)
    }

    /// Something new on the nodes of an order, once their reservations were tried; nothing where it has none.
    fn attempt_ordered(
        &mut self,
        order: &LiveOrder,
        scope: (PartitionId, Collected),
        lesson: Lesson,
    ) -> Option<Attempt> {
        let (partition, collected) = scope;
        let &first = order.nodes(collected).first()?;
        if !self.ledger.state().settings.multi_node.enabled {
            return Some(self.attempt_alone(first));
        }
        let known = matches!(lesson, Lesson::Among(..));
        if known
            && self
                .standstill
                .count_among(&mut self.ledger, (partition, order), collected)
        {
            return Some(NOTHING);
        }
        Some(self.attempt_new(&order.candidates(collected), lesson))
    }

    /// One attempt among several nodes: reservations first, then something new.
    // As allocateContainersOnMultiNodes.
    fn attempt_among(&mut self, nodes: Vec<NodeSlot>) -> Attempt {
        self.fulfil_all(&nodes);
        let candidates = Candidates::partition(self.ledger.state(), nodes);
        self.attempt_new(&candidates, Lesson::None)
    }

    /// As [`Self::fulfil_all`] on the nodes of an order, without a look at those that are not reserved.
    fn fulfil_reserved(
        &mut self,
        order: &LiveOrder,
        partition: PartitionId,
        collected: Collected,
    ) -> bool {
        let nodes = order.nodes(collected);
        let mut from = 0;
        let reserved = order.reserved();
        if self
            .standstill
            .count_all_known(&mut self.ledger, partition, reserved)
        {
            return false;
        }
        self.standstill.begin_kept(&mut self.ledger);
        while let Some(place) = order.next_reserved(collected, from) {
            from = place + 1;
            if self.standstill.count_known(nodes[place]) {
                continue;
            }
            if self.fulfil_all(&nodes[place..from]) {
                // Others may be reserved now.
                self.fulfil_all(&nodes[from..]);
                return true;
            }
        }
        self.standstill.apply_kept_read(&mut self.ledger);
        false
    }

    /// Attempts to fulfil the reservations on some nodes; whether any of them was not just kept.
    fn fulfil_all(&mut self, nodes: &[NodeSlot]) -> bool {
        let mut moved = false;
        for &node in nodes {
            if self.ledger.state().nodes[node].reserved.is_some() {
                moved |= self.fulfil(node);
            }
        }
        moved
    }

    /// Attempts to fulfil the reservation on a node; whether it was not just kept.
    fn fulfil(&mut self, node: NodeSlot) -> bool {
        self.standstill.apply_kept(&mut self.ledger);
        if self.standstill.keep(&mut self.ledger, node) {
            return false;
        }
        let outcome = propose_reserved(self.ledger.state(), node, &mut self.seen);
        let committed = self.ledger.commit(&outcome, &self.seen);
        match &outcome {
            Outcome::Skipped(_) => self.standstill.note_change(),
            _ => self.note_changed(self.changed_by(&outcome)),
        }
        self.seen.clear();
        !outcome.keeps_reservation() || !committed.is_committed()
    }

    // As CapacityScheduler.allocateOrReserveNewContainers.
    fn attempt_new(&mut self, candidates: &Candidates<'_>, lesson: Lesson) -> Attempt {
        let state = self.ledger.state();
        let partition = state.nodes[candidates.first()].partition;
        let shares_idle =
            partition != PartitionId::DEFAULT && !state.partitions[partition].exclusive;
        let lesson = if shares_idle { Lesson::None } else { lesson };
        let attempt = self.pass(candidates, Exclusivity::Respect, lesson);
        if attempt.proposed || !shares_idle {
            return attempt;
        }
        self.pass(candidates, Exclusivity::Ignore, lesson)
    }

    /// Has the keys that a commit may change know which reservations were counted as kept.
    #[inline]
    fn apply_before(&mut self, changed: Changed) {
        if self.standstill.keeps_none() {
            return;
        }
        let app = match changed {
            Changed::Counters => return,
            Changed::App(app) => Some(app),
            Changed::Any => None,
        };
        let (ledger, seen) = (&mut self.ledger, &mut self.seen);
        self.standstill.apply_before(ledger, app, seen);
    }

    /// Notes what a pass and its commit changed.
    #[inline]
    fn note_changed(&mut self, changed: Changed) {
        match changed {
            Changed::Counters => self.standstill.note_other_change(),
            Changed::App(app) => self.standstill.note_change_of(app),
            Changed::Any => self.standstill.note_change(),
        }
    }

    /// Of which applications a pass and its commit change more than counters.
    #[inline]
    fn changed_by(&self, outcome: &Outcome) -> Changed {
        let ends_apps = |seen: &Observation| matches!(seen, Observation::UserUnknown { .. });
        match outcome {
            Outcome::Skipped(_) if !self.seen.iter().any(ends_apps) => Changed::Counters,
            // What is given up in exchange is of the same application.
            Outcome::Proposed(proposal) if proposal.kill.is_empty() => Changed::App(proposal.app),
            Outcome::GiveUp(release) => Changed::App(release.app),
            _ => Changed::Any,
        }
    }

    /// One pass and its commit.
    fn pass(
        &mut self,
        candidates: &Candidates<'_>,
        exclusivity: Exclusivity,
        lesson: Lesson,
    ) -> Attempt {
        let state = self.ledger.state();
        let watch = self.standstill.visit();
        let watched = watch.is_some();
        let watch = watch.map(|watch| -> &mut dyn Watch { watch });
        let outcome = propose_watched(state, candidates, exclusivity, &mut self.seen, watch);
        self.standstill
            .note_outcome(matches!(outcome, Outcome::Proposed(_)));
        let still = matches!(outcome, Outcome::Skipped(_)) && is_still(&self.seen);
        let changed = (!still).then(|| self.changed_by(&outcome));
        match changed {
            Some(changed) => self.apply_before(changed),
            None => self.learn(if watched { lesson } else { Lesson::None }),
        }
        let committed = self.ledger.commit(&outcome, &self.seen);
        if let Some(changed) = changed {
            self.note_changed(changed);
        }
        self.seen.clear();
        let refused = match committed {
            CommitOutcome::Rejected(conflict) => Some(conflict),
            _ => None,
        };
        match outcome {
            Outcome::Proposed(proposal) => Attempt {
                proposed: true,
                reserving: proposal.kind == ProposalKind::Reserve,
                locality: Some(proposal.locality),
                refused,
            },
            Outcome::GiveUp(_) | Outcome::Skipped(_) => NOTHING,
        }
    }

    /// Remembers an attempt that found nothing, before what it observed is applied.
    fn learn(&mut self, lesson: Lesson) {
        let state = self.ledger.state();
        match lesson {
            Lesson::One(node) => self.standstill.learn_one(state, node, &self.seen),
            Lesson::Among(partition, collected) => {
                let scope = (partition, collected);
                self.standstill.learn_among(state, scope, &self.seen);
            }
            Lesson::None => self.standstill.unsettle(),
        }
    }
}
