//! A round of a proposer: reservations, nodes and partitions in their turn, some decisions measured.

use crate::cluster::NodeState;
use crate::id::{NodeSlot, PartitionId};
use crate::metrics::Phase;
use crate::proposer::{
    Candidates, Observation, Outcome, Watch, has_room, propose_reserved, propose_watched,
};
use crate::queue::Exclusivity;
use crate::time::Clock;

use super::batch::BATCH;
use super::stopwatch::{Latencies, Stopwatch};
use super::worker::{Proposer, taken};
use super::working_copy::{Noted, View};
use crate::runtime::handles::start::Mode;

/// One decision in so many is timed.
const SAMPLE: u32 = 512;

/// Rounds after which the clock is asked whether latencies are to be handed over.
const ROUNDS: u32 = 256;

/// How long a busy proposer keeps its latencies, in ns: adding them takes as long as a thousand decisions.
const HAND_OVER_NS: u64 = 100_000_000;

/// Rounds on a state that nothing has changed since.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Refused {
    /// Changes that had brought about that state.
    changes: u64,
    /// Decisions that the ledger had taken when this was first seen.
    before: u64,
    /// How many of the rounds proposed something.
    rounds: usize,
}

/// What a round over all candidates came to.
#[derive(Default)]
pub(in crate::runtime) struct Round {
    pub(in crate::runtime) proposed: bool,
    /// Counters moved, so that a further round may find something without any other change.
    pub(in crate::runtime) counted: bool,
    /// The view cannot follow what was proposed: a newer snapshot is needed.
    pub(in crate::runtime) stuck: bool,
    /// A reservation is given up, which the view does not follow either: until that has landed, every
    /// further round would give it up again.
    pub(in crate::runtime) gave_up: bool,
    /// Nodes that it had passed by then; these come last in the next round.
    passed: usize,
}

impl Round {
    fn count(&mut self, noted: Noted) {
        self.proposed |= matches!(noted, Noted::OverlayResult | Noted::Ahead);
        self.counted |= noted == Noted::Waiting;
    }
}

impl<C: Clock> Proposer<C> {
    /// A round, unless rounds on this very state brought proposals that were all refused: they
    /// would be made again at every version, and each refusal makes a version. Once the ledger took some and
    /// nothing came of them, those in flight are awaited first: behind a slow committer there is always one.
    pub(in crate::runtime) fn look(&mut self, view: &mut View) -> Round {
        let own = self.share.0;
        let newest = self.snapshots.refresh();
        // On an older state they say nothing of this one, on which their proposals may hold.
        let older = view.seen().changes != newest.changes;
        if older || self.refused.changes != newest.changes {
            self.refused = Refused {
                changes: newest.changes,
                before: taken(newest, own),
                rounds: 0,
            };
        } else if self.refused.rounds > view.state.nodes.len() {
            let landed = self.batches.in_flight().next().is_none();
            if landed || taken(newest, own) > self.refused.before {
                let counted = self.counted;
                if landed && counted {
                    self.counted = false;
                    self.refused.rounds -= 1;
                }
                return Round {
                    counted,
                    ..Round::default()
                };
            }
        }
        let round = match self.mode {
            Mode::Heartbeat => Round::default(),
            Mode::Asynchronous { .. } => self.walk_nodes(view),
            Mode::Global { .. } => self.walk_partitions(view),
        };
        self.start = self.start.wrapping_add(round.passed.max(1));
        self.counted = round.counted;
        self.refused.rounds += usize::from(round.proposed);
        round
    }

    /// One attempt on each running node of this proposer's share; a proposer whose share brings
    /// nothing looks at the others'.
    fn walk_nodes(&mut self, view: &mut View) -> Round {
        let (own, of) = self.share;
        let mut round = self.walk(view, |node| node.index() % of == own);
        if !round.proposed && of > 1 && !round.stuck {
            round = self.walk(view, |_| true);
        }
        round
    }

    fn walk(&mut self, view: &mut View, is_mine: impl Fn(NodeSlot) -> bool) -> Round {
        let mut round = Round::default();
        let count = view.state.nodes.len();
        for i in 0..count {
            let node = NodeSlot::at(self.start.wrapping_add(i) % count);
            let row = &view.state.nodes[node];
            if row.state != NodeState::Running || !is_mine(node) {
                continue;
            }
            if row.reserved.is_some() {
                // The view does not follow reservations; others go on without it.
                self.fulfil(view, node, &mut round);
            } else if has_room(&view.state, node) {
                let partition = row.partition;
                let noted = self.attempt(view, partition, Some(node));
                round.count(noted);
                round.stuck |= noted == Noted::Ahead;
            }
            if self.batches.open.len() >= BATCH {
                self.send(view);
                self.catch_up(view, false);
            }
            if round.stuck {
                round.passed = i + 1;
                break;
            }
        }
        self.send(view);
        round
    }

    /// Looks at some reservations, then makes a batch of attempts on the partitions, each until it brings
    /// nothing. Reservations take turns, and so do partitions in being first: none waits until all
    /// others are done. Where no attempt brings anything, all reservations are looked at.
    fn walk_partitions(&mut self, view: &mut View) -> Round {
        let mut round = Round::default();
        view.lay_out(self.index.refresh());
        let reserved = view.reserved();
        let turns = reserved.len().div_ceil(BATCH).max(1);
        let (before, now) = reserved.split_at(self.start % turns * BATCH);
        let (now, behind) = now.split_at(now.len().min(BATCH));
        self.fulfil_all(view, now, &mut round);
        self.attempt_on_partitions(view, &mut round);
        if !round.proposed {
            self.fulfil_all(view, behind, &mut round);
            self.fulfil_all(view, before, &mut round);
        }
        self.send(view);
        round
    }

    fn attempt_on_partitions(&mut self, view: &mut View, round: &mut Round) {
        let (start, count) = (self.start, view.state.partitions.len());
        for i in 0..count {
            let partition = PartitionId::at(start.wrapping_add(i) % count);
            while view.lane(partition).is_some() {
                round.proposed |= self.extend(view, partition);
                if self.batches.open.len() >= BATCH {
                    break;
                }
                let noted = self.attempt(view, partition, None);
                round.count(noted);
                round.stuck |= noted == Noted::Ahead;
                if noted != Noted::OverlayResult {
                    break;
                }
            }
            if self.batches.open.len() >= BATCH || round.stuck {
                break;
            }
        }
    }

    /// Looks at reservations, and hands over what fills a batch.
    fn fulfil_all(&mut self, view: &mut View, nodes: &[NodeSlot], round: &mut Round) {
        for &node in nodes {
            self.fulfil(view, node, round);
            if self.batches.open.len() >= BATCH {
                self.send(view);
            }
        }
    }

    /// A reservation is fulfilled, kept or given up.
    fn fulfil(&mut self, view: &mut View, node: NodeSlot, round: &mut Round) {
        let outcome = self.timed(|seen, _| propose_reserved(&view.state, node, seen));
        // A node that is leaving serves no reservation; one that nobody wants any more is given up.
        let leaves = view.state.nodes[node].state != NodeState::Running;
        if leaves && !matches!(outcome, Outcome::GiveUp(_)) {
            self.seen.clear();
            return;
        }
        round.gave_up |= matches!(outcome, Outcome::GiveUp(_));
        let noted = view.note(outcome, &mut self.seen, &mut self.batches.open);
        self.seen.clear();
        round.count(noted);
    }

    /// The two passes of an attempt, on one node or among all of a partition.
    fn attempt(
        &mut self,
        view: &mut View,
        partition: PartitionId,
        node: Option<NodeSlot>,
    ) -> Noted {
        let noted = self.pass(view, partition, node, Exclusivity::Respect);
        let lends =
            partition != PartitionId::DEFAULT && !view.state.partitions[partition].exclusive;
        if matches!(noted, Noted::OverlayResult | Noted::Ahead) || !lends {
            return noted;
        }
        match self.pass(view, partition, node, Exclusivity::Ignore) {
            Noted::Nothing => noted,
            found => found,
        }
    }

    fn pass(
        &mut self,
        view: &mut View,
        partition: PartitionId,
        node: Option<NodeSlot>,
        exclusivity: Exclusivity,
    ) -> Noted {
        let candidates = match (node, view.lane(partition)) {
            (Some(node), _) => Candidates::node(node),
            (None, Some(lane)) => Candidates::indexed(lane, partition),
            (None, None) => return Noted::Nothing,
        };
        let state = &view.state;
        let outcome =
            self.timed(|seen, watch| propose_watched(state, &candidates, exclusivity, seen, watch));
        let noted = view.note(outcome, &mut self.seen, &mut self.batches.open);
        self.seen.clear();
        noted
    }

    /// Decides what the next passes over a partition surely place, until the batch is full or it takes a
    /// whole pass to tell; whether anything. Decisions are measured as those of whole passes are.
    fn extend(&mut self, view: &mut View, partition: PartitionId) -> bool {
        let before = self.batches.open.len();
        if !self.recorder.is_active() {
            return view.extend(&mut self.batches.open, partition, BATCH, None) > 0;
        }
        while self.extend_unmeasured(view, partition) {
            // Counted before, as everywhere: should it panic, the next one is not measured again.
            self.decisions = self.decisions.wrapping_add(1);
            let mut watch = Stopwatch::start(&self.clock);
            if view.extend(&mut self.batches.open, partition, 1, Some(&mut watch)) == 0 {
                // It takes a whole pass, which is measured instead.
                self.decisions = self.decisions.wrapping_sub(1);
                break;
            }
            watch.record(&mut self.recorder);
        }
        self.batches.open.len() > before
    }

    /// The same up to the next decision of which the steps are measured; whether it came so far, with
    /// room for that one in the batch.
    fn extend_unmeasured(&mut self, view: &mut View, partition: PartitionId) -> bool {
        let unmeasured = SAMPLE - 1 - self.decisions % SAMPLE;
        // Measured or not, batches are of the same length.
        let room = BATCH.saturating_sub(self.batches.open.len());
        let most = room.min(unmeasured as usize);
        let all = self.latencies == Latencies::All;
        let before = if all { self.clock.now_ns() } else { 0 };
        let placed = view.extend(&mut self.batches.open, partition, most, None);
        let placed = u32::try_from(placed).expect("no more than asked for");
        if all && placed > 0 {
            // Each took its part.
            let took = self.clock.now_ns().saturating_sub(before) / u64::from(placed);
            (0..placed).for_each(|_| self.recorder.record(Phase::Propose, took));
        }
        self.decisions = self.decisions.wrapping_add(placed);
        placed == unmeasured && self.batches.open.len() < BATCH
    }

    /// Decides, and records where the time went for some of the decisions.
    fn timed(
        &mut self,
        decide: impl FnOnce(&mut Vec<Observation>, Option<&mut dyn Watch>) -> Outcome,
    ) -> Outcome {
        self.decisions = self.decisions.wrapping_add(1);
        if !self.recorder.is_active() {
            return decide(&mut self.seen, None);
        }
        if !self.decisions.is_multiple_of(SAMPLE) {
            if self.latencies != Latencies::All {
                return decide(&mut self.seen, None);
            }
            let before = self.clock.now_ns();
            let outcome = decide(&mut self.seen, None);
            if matches!(outcome, Outcome::Proposed(_)) {
                let took = self.clock.now_ns().saturating_sub(before);
                self.recorder.record(Phase::Propose, took);
            }
            return outcome;
        }
        let mut watch = Stopwatch::start(&self.clock);
        let outcome = decide(&mut self.seen, Some(&mut watch));
        if matches!(outcome, Outcome::Proposed(_)) {
            watch.record(&mut self.recorder);
        }
        outcome
    }

    /// Hands latencies over when it is time.
    pub(in crate::runtime) fn hand_over_in_time(&mut self) {
        if !self.recorder.is_active() || !self.rounds.is_multiple_of(ROUNDS) {
            return;
        }
        let now_ns = self.clock.now_ns();
        if now_ns.saturating_sub(self.handed_ns) >= HAND_OVER_NS {
            self.handed_ns = now_ns;
            self.recorder.hand_over();
        }
    }
}
