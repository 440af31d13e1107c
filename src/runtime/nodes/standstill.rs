//! What attempts came to since the last change: those that surely come to the same are counted, not carried out.
//!
//! # Invariants
//!
//! * What is known here holds for the state as it is, but for counters that no decision on it depends on; any other
//!   change forgets it.
//! * An attempt that is left out moves the counters that it would have moved.
//!
//! Builds with assertions carry out what is counted, on the state as it is, and compare: each attempt that is counted
//! alone, the last node of those that are counted together, and each reservation that is looked at by itself.
//! Rounds that repeat are not compared.
//!
//! Tests: `tests/simulation/skipping.rs`.

use crate::commit::Ledger;
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{AppSlot, NodeSlot, PartitionId};
use crate::proposer::{
    Candidates, Fruitless, LimitWrite, Observation, Prospect, Visited, keeps_quietly, moved_by,
    prospect, reservation_of,
};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

use super::attempted::{AttemptScope, Attempted, keeps_alike};
use super::counted_nodes::CountedNodes;
use super::kept::KeptReservations;
use super::live_order::{Collected, LiveOrder};

/// The leaves whose limits one call has published, from the last write to the first.
#[derive(Debug, Default)]
struct LastWrites {
    call: u64,
    /// By leaf: the last call that published its limit.
    by_leaf: Vec<u64>,
}

impl LastWrites {
    fn begin(&mut self) {
        self.call += 1;
    }

    /// Publishes the limit of a leaf that the call has not published yet.
    fn write(&mut self, write: &LimitWrite, ledger: &mut Ledger) {
        let leaf = write.leaf.index();
        if self.by_leaf.len() <= leaf {
            self.by_leaf.resize(leaf + 1, 0);
        }
        if std::mem::replace(&mut self.by_leaf[leaf], self.call) != self.call {
            ledger.looks().publish_limit(write);
        }
    }
}

/// What attempts came to since the last change.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Standstill {
    /// Whether every attempt is carried out.
    plain: bool,
    changes: u64,
    known: Vec<Attempted>,
    /// The keys that the present pass looks at.
    visited: Visited,
    /// Reservations that surely stay until something changes.
    stays: KeptReservations,
    /// Whether an event is made of each reservation that is kept.
    keeps_silently: bool,
    /// Whether a round is under way.
    rounding: bool,
    /// Known attempts that were counted since limits were last published, in order.
    pending_notices: Vec<usize>,
    /// Those whose limits were published last; empty once anything else may have published limits.
    written_notices: Vec<usize>,
    last_writes: LastWrites,
    /// Whether an attempt of the round found nothing that would surely repeat.
    unsettled: bool,
    /// Whether the last pass proposed something.
    proposed: bool,
    /// The changes as the round began.
    began: u64,
    /// Whether the last round would come to the same once more, unless something changes.
    repeats: bool,
}

impl Standstill {
    /// Nothing is known yet. Every attempt is carried out where the fast path is not taken.
    pub(in crate::runtime) fn new() -> Self {
        let mut new = Self::default();
        new.set_plain(false);
        new
    }

    /// Whether attempts are carried out though they surely come to nothing.
    // Must equal attempts that are carried out.
    pub(in crate::runtime) fn set_plain(&mut self, plain: bool) {
        self.plain = plain || !FastPath::FruitlessAttempts.is_taken();
        self.note_change();
    }

    /// Something changed on which decisions may depend.
    pub(in crate::runtime) fn note_change(&mut self) {
        self.stays.clear();
        self.note_other_change();
    }

    /// Something changed that concerns an application, and no reserved node that was not written.
    pub(in crate::runtime) fn note_change_of(&mut self, app: AppSlot) {
        self.stays.forget(app);
        self.note_other_change();
    }

    /// Something changed that concerns no application with reservations, and no reserved node that was not written.
    pub(in crate::runtime) fn note_other_change(&mut self) {
        debug_assert!(
            self.pending_notices.is_empty(),
            "what is counted is applied before a change"
        );
        self.changes += 1;
        self.written_notices.clear();
        if is_planted(PlantedFlaw::FruitlessAttemptsSurviveChange) {
            return;
        }
        self.known.clear();
        self.repeats = false;
    }

    /// From now on no event is made of a reservation that is kept.
    pub(in crate::runtime) fn keep_silently(&mut self) {
        self.keeps_silently = true;
    }

    /// A node was written.
    pub(in crate::runtime) fn note_written(&mut self, node: NodeSlot) {
        self.stays.remove(node);
    }

    /// Somebody else writes nodes as well.
    pub(in crate::runtime) fn forget_kept(&mut self) {
        self.stays.clear();
    }

    /// Attempts on reserved nodes begin, one on each at most.
    pub(in crate::runtime) fn begin_kept(&mut self, ledger: &mut Ledger) {
        self.stays.begin(ledger);
    }

    /// Counts that a reservation stays, where it is known to. Its key follows with [`Self::apply_kept`], or with
    /// [`Self::apply_kept_read`].
    #[inline]
    pub(in crate::runtime) fn count_known(&mut self, node: NodeSlot) -> bool {
        self.keeps_silently && self.stays.count(node)
    }

    /// Counts an attempt on each reserved node of a partition that has so many of them; whether all are known to stay.
    /// Keys whose counters no pass reads follow with [`Self::apply_kept`].
    pub(in crate::runtime) fn count_all_known(
        &mut self,
        ledger: &mut Ledger,
        partition: PartitionId,
        reserved: usize,
    ) -> bool {
        self.keeps_silently && self.stays.count_all(ledger, partition, reserved)
    }

    /// Whether every attempt is carried out.
    pub(in crate::runtime) fn is_plain(&self) -> bool {
        self.plain
    }

    /// An attempt found nothing and may come to something else the next time.
    pub(in crate::runtime) fn unsettle(&mut self) {
        self.unsettled = true;
        self.written_notices.clear();
    }

    /// Notes the keys that the next pass looks at; nothing where the last one proposed something: the next one
    /// mostly does, too, and nothing is learned from it.
    pub(in crate::runtime) fn visit(&mut self) -> Option<&mut Visited> {
        let watches = !(self.plain || self.proposed);
        self.visited.clear();
        watches.then_some(&mut self.visited)
    }

    /// Whether the pass proposed something.
    pub(in crate::runtime) fn note_outcome(&mut self, proposed: bool) {
        self.proposed = proposed;
    }

    /// Whether an attempt on one node was counted instead of carried out. The node has room.
    pub(in crate::runtime) fn count_one(&mut self, ledger: &mut Ledger, node: NodeSlot) -> bool {
        self.written_notices.clear();
        let state = ledger.state();
        let row = &state.nodes[node];
        let known = self.known.iter_mut().find(|known| match &known.scope {
            AttemptScope::Like(nodes) => nodes.covers(state, row),
            AttemptScope::Among(..) => false,
        });
        known.is_some_and(|known| {
            debug_assert!(known.moves_alike(ledger.state(), &Candidates::node(node)));
            known.repeat(ledger);
            true
        })
    }

    /// The same for an attempt among the nodes of a partition in an order, but for its reservations.
    pub(in crate::runtime) fn count_among(
        &mut self,
        ledger: &mut Ledger,
        (partition, order): (PartitionId, &LiveOrder),
        collected: Collected,
    ) -> bool {
        self.written_notices.clear();
        let known = self.known.iter_mut().find(|known| {
            matches!(known.scope, AttemptScope::Among(of, by) if (of, by) == (partition, collected))
        });
        known.is_some_and(|known| {
            debug_assert!(known.moves_alike(ledger.state(), &order.candidates(collected)));
            known.repeat(ledger);
            true
        })
    }

    /// Whether a reservation surely stays, so that the attempt on it was counted instead of carried out.
    pub(in crate::runtime) fn keep(&mut self, ledger: &mut Ledger, node: NodeSlot) -> bool {
        if self.plain || prospect(ledger.state(), node) != Prospect::Kept {
            self.unsettled = true;
            return false;
        }
        debug_assert!(keeps_alike(ledger.state(), node));
        self.keep_without_notice(ledger, node);
        if !self.keeps_silently {
            ledger.looks().report_kept(node);
        }
        true
    }

    fn keep_without_notice(&mut self, ledger: &mut Ledger, node: NodeSlot) {
        let Some(of) = reservation_of(ledger.state(), node) else {
            return;
        };
        if keeps_quietly(ledger.state(), of, 1) {
            self.stays.add(ledger.state(), node);
        } else {
            self.note_change_of(of.0);
        }
        ledger.looks().keep_reservations(of, 1);
    }

    /// Has keys know which reservations were counted as kept since this was last called.
    ///
    /// Cost: that of the keys with reservations.
    pub(in crate::runtime) fn apply_kept(&mut self, ledger: &mut Ledger) {
        self.stays.apply(ledger);
    }

    /// The same for keys whose counters a pass reads.
    pub(in crate::runtime) fn apply_kept_read(&mut self, ledger: &mut Ledger) {
        self.stays.apply_read(ledger);
    }

    /// Whether no reservation is held that attempts keep.
    pub(in crate::runtime) fn keeps_none(&self) -> bool {
        self.stays.is_empty()
    }

    /// The same for the keys of an application before it changes; for all, where others may change. What a pass has
    /// seen of their counters is written behind that.
    pub(in crate::runtime) fn apply_before(
        &mut self,
        ledger: &mut Ledger,
        app: Option<AppSlot>,
        seen: &mut [Observation],
    ) {
        self.stays.apply_before(ledger, app, seen);
    }

    /// The same at the end of an attempt, unless the round goes on.
    pub(in crate::runtime) fn end_attempts(&mut self, ledger: &mut Ledger) {
        if !self.rounding {
            self.apply_kept(ledger);
        }
    }

    /// The attempt that is known of open nodes of a size in a partition.
    pub(in crate::runtime) fn attempt_of(
        &self,
        state: &State,
        partition: PartitionId,
        total: &PackedVector,
    ) -> Option<usize> {
        self.known.iter().position(|known| match &known.scope {
            AttemptScope::Like(nodes) => nodes.is_about(state, partition, total),
            AttemptScope::Among(..) => false,
        })
    }

    /// The sizes that such a node must not have free to be covered by the attempt, and the least of them by type.
    pub(in crate::runtime) fn sizes_of(
        &self,
        state: &State,
        partition: PartitionId,
        total: &PackedVector,
    ) -> Option<(&ResourceVector, &[ResourceVector])> {
        let known = &self.known[self.attempt_of(state, partition, total)?];
        match &known.scope {
            AttemptScope::Like(nodes) => Some(nodes.sizes()),
            AttemptScope::Among(..) => None,
        }
    }

    /// Counts a known attempt on several nodes, the last of which is given.
    pub(in crate::runtime) fn count_up_to(
        &mut self,
        state: &State,
        nodes: &CountedNodes,
        last: NodeSlot,
    ) {
        let known = &self.known[nodes.attempt];
        debug_assert!(known.moves_alike(state, &Candidates::node(last)));
        self.count_many(nodes);
    }

    /// Counts a known attempt so many times; its counters follow with [`Self::apply_counted`].
    pub(in crate::runtime) fn count_many(&mut self, nodes: &CountedNodes) {
        let known = &mut self.known[nodes.attempt];
        known.times = known.times.saturating_add(nodes.count);
        known.uncounted = known.uncounted.saturating_add(nodes.count);
        if self.pending_notices.last() != Some(&nodes.attempt) {
            self.pending_notices.push(nodes.attempt);
        }
    }

    /// Counts that a reservation stays, where it surely does and nothing changes by that; whether that is so. No event
    /// is made.
    #[inline]
    pub(in crate::runtime) fn count_kept(&mut self, ledger: &mut Ledger, node: NodeSlot) -> bool {
        if self.count_known(node) {
            debug_assert!(keeps_alike(ledger.state(), node));
            return true;
        }
        let stays = prospect(ledger.state(), node) == Prospect::Kept;
        let of = reservation_of(ledger.state(), node).filter(|_| stays);
        let Some(of) = of else {
            return false;
        };
        self.stays.apply_before(ledger, Some(of.0), &mut []);
        let state = ledger.state();
        if !keeps_quietly(state, of, 1) {
            return false;
        }
        debug_assert!(keeps_alike(state, node));
        self.stays.add(state, node);
        ledger.looks().keep_reservations(of, 1);
        true
    }

    /// Moves the counters of all attempts that were counted since this was last called, and publishes their limits;
    /// those of reservations that were kept, where a pass reads them.
    ///
    /// Cost: that of the keys that were looked at, for each attempt that is known.
    pub(in crate::runtime) fn apply_counted(&mut self, ledger: &mut Ledger) {
        for known in self.known.iter_mut().filter(|known| known.uncounted > 0) {
            let times = std::mem::take(&mut known.uncounted);
            ledger.looks().repeat(known.looks(), times);
        }
        self.apply_kept_read(ledger);
        if self.pending_notices.is_empty() || self.pending_notices == self.written_notices {
            self.pending_notices.clear();
            return;
        }
        // Only what is written last to a leaf stays.
        let last = &mut self.last_writes;
        last.begin();
        for &attempt in self.pending_notices.iter().rev() {
            for write in self.known[attempt].moved.limits.iter().rev() {
                last.write(write, ledger);
            }
        }
        std::mem::swap(&mut self.pending_notices, &mut self.written_notices);
        self.pending_notices.clear();
    }

    /// Remembers an attempt on a node alone, before what it observed is applied.
    pub(in crate::runtime) fn learn_one(
        &mut self,
        state: &State,
        node: NodeSlot,
        seen: &[Observation],
    ) {
        let nodes = Fruitless::of(state, node, &self.visited);
        self.learn(state, nodes.map(AttemptScope::Like), seen);
    }

    /// The same for an attempt among the nodes of a partition.
    pub(in crate::runtime) fn learn_among(
        &mut self,
        state: &State,
        (partition, collected): (PartitionId, Collected),
        seen: &[Observation],
    ) {
        let settled = self.visited.is_settled(state);
        let scope = settled.then_some(AttemptScope::Among(partition, collected));
        self.learn(state, scope, seen);
    }

    fn learn(&mut self, state: &State, scope: Option<AttemptScope>, seen: &[Observation]) {
        self.written_notices.clear();
        let scope = scope.filter(|_| !self.plain);
        let moved = scope
            .is_some()
            .then(|| moved_by(state, &self.visited, seen));
        let Some((scope, moved)) = scope.zip(moved.flatten()) else {
            self.unsettled = true;
            return;
        };
        self.known.push(Attempted {
            scope,
            moved,
            times: 1,
            uncounted: 0,
        });
    }

    /// A round begins: attempts on all nodes, or on all partitions.
    pub(in crate::runtime) fn begin_round(&mut self) {
        self.began = self.changes;
        self.unsettled = false;
        self.rounding = true;
        self.stays.begin_round();
        for known in &mut self.known {
            known.times = 0;
        }
    }

    /// The round is over.
    pub(in crate::runtime) fn end_round(&mut self, ledger: &mut Ledger) {
        self.rounding = false;
        self.apply_kept(ledger);
        self.repeats = !self.plain && !self.unsettled && self.began == self.changes;
    }

    /// Counts the last round as often as it surely comes to the same, but at most so often; how often that was. What
    /// was last published is left to a round that is carried out.
    ///
    /// Cost: that of the keys and reservations that wait, whatever the number.
    pub(in crate::runtime) fn repeat_round(&mut self, ledger: &mut Ledger, most: u64) -> u64 {
        if !self.repeats {
            return 0;
        }
        let state = ledger.state();
        let keys = self.stays.kept_in_round();
        let mut times = i32::try_from(most).unwrap_or(i32::MAX);
        let quiet = |times: i32| {
            keys.iter().all(|key| {
                let all = key.1.checked_mul(times);
                all.is_some_and(|all| keeps_quietly(state, key.0, all))
            })
        };
        while times > 0 && !quiet(times) {
            times /= 2;
        }
        if times == 0 {
            return 0;
        }
        for (of, kept) in keys {
            ledger
                .looks()
                .keep_reservations(of, kept.saturating_mul(times));
        }
        self.stays.test_again();
        let rounds = u64::from(times.unsigned_abs());
        for known in &self.known {
            let times = known.times.saturating_mul(rounds);
            ledger.looks().repeat(known.looks(), times);
        }
        rounds
    }
}
