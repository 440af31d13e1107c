//! A round of a proposer: reservations, nodes and partitions in turn, and rounds that are not repeated.
//!
//! Tests: `tests/runtime/refusals.rs`.

use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{Candidates, Outcome, has_room, propose_reserved, propose_watched};
use crate::queue::Exclusivity;
use crate::time::Clock;

use super::Proposer;
use super::batch::BATCH;
use super::worker::taken;
use super::working_copy::{Noted, WorkingCopy};
use crate::runtime::handles::start::Mode;

/// What a proposer keeps of its rounds.
#[derive(Debug)]
pub(super) struct RoundHistory {
    /// How much was sent when something was last proposed.
    pub(super) progress: u64,
    /// Where the next round begins among nodes, reservations and partitions.
    start: usize,
    /// Whether counters moved in the last round.
    counted: bool,
    unchanged: UnchangedRounds,
}

impl RoundHistory {
    /// Of a proposer that begins at so many places behind the first.
    pub(super) fn new(start: usize) -> Self {
        Self {
            progress: 0,
            start,
            counted: false,
            unchanged: UnchangedRounds::default(),
        }
    }
}

/// Rounds on a state that nothing has changed since.
#[derive(Debug, Default)]
struct UnchangedRounds {
    /// Changes that had brought about that state.
    changes: u64,
    /// Decisions that the ledger had taken when this was first seen.
    before: u64,
    /// How many of the rounds proposed something.
    rounds: usize,
    /// Whether one of them proposed a node that another container waits for.
    refused: bool,
}

/// What a round over all candidates came to.
#[derive(Default)]
pub(in crate::runtime) struct RoundOutcome {
    pub(in crate::runtime) proposed: bool,
    /// Counters moved, so that a further round may find something without any other change.
    pub(in crate::runtime) counted: bool,
    /// The copy cannot follow what was proposed: the round ends, and the next one begins on a snapshot that
    /// shows it. Before, the same would be proposed again, and refused.
    pub(in crate::runtime) stuck: bool,
    /// Something is proposed that the commit surely refuses.
    refused: bool,
    /// Nodes that it had passed by then; these come last in the next round.
    passed: usize,
}

impl RoundOutcome {
    fn count(&mut self, noted: Noted) {
        self.proposed |= matches!(noted, Noted::OverlayResult | Noted::Ahead);
        self.stuck |= noted == Noted::Ahead;
        self.counted |= noted == Noted::Waiting;
        self.refused |= noted == Noted::Refused;
    }
}

impl<C: Clock> Proposer<C> {
    /// A round, unless it would repeat rounds that came to nothing; see [`Proposer::is_repetition`].
    pub(in crate::runtime) fn look(&mut self, copy: &mut WorkingCopy) -> RoundOutcome {
        if let Some(waiting) = self.is_repetition(copy) {
            return waiting;
        }
        let round = match self.mode {
            Mode::Heartbeat => RoundOutcome::default(),
            Mode::Asynchronous { .. } => self.walk_nodes(copy),
            Mode::Global { .. } => self.walk_partitions(copy),
        };
        let history = &mut self.history;
        history.start = history.start.wrapping_add(round.passed.max(1));
        history.counted = round.counted;
        history.unchanged.rounds += usize::from(round.proposed);
        history.unchanged.refused |= round.refused;
        round
    }

    /// Whether rounds on this very state brought proposals that were all refused: they would be made again at
    /// every version, and each refusal makes a version. Once the ledger took some and nothing came of them,
    /// those in flight are awaited first: behind a slow committer there is always one.
    fn is_repetition(&mut self, copy: &WorkingCopy) -> Option<RoundOutcome> {
        let own = self.share.0;
        let newest = self.snapshots.refresh();
        let (landed, counted) = (
            self.batches.in_flight().next().is_none(),
            self.history.counted,
        );
        let unchanged = &mut self.history.unchanged;
        // On an older state they say nothing of this one, on which their proposals may hold.
        let older = copy.seen().changes != newest.changes;
        if older || unchanged.changes != newest.changes {
            *unchanged = UnchangedRounds {
                changes: newest.changes,
                before: taken(newest, own),
                rounds: 0,
                refused: false,
            };
            return None;
        }
        let repeats = unchanged.rounds > copy.state.nodes.len();
        if !repeats || !(landed || taken(newest, own) > unchanged.before) {
            return None;
        }
        if landed && counted {
            self.history.counted = false;
            unchanged.rounds -= 1;
        }
        Some(RoundOutcome {
            counted,
            ..RoundOutcome::default()
        })
    }

    /// One attempt on each running node of this proposer's share; a proposer whose share brings
    /// nothing looks at the others'.
    fn walk_nodes(&mut self, copy: &mut WorkingCopy) -> RoundOutcome {
        let (own, of) = self.share;
        let mut round = self.walk(copy, |node| node.index() % of == own);
        if !round.proposed && of > 1 && !round.stuck {
            round = self.walk(copy, |_| true);
        }
        round
    }

    fn walk(&mut self, copy: &mut WorkingCopy, is_mine: impl Fn(NodeSlot) -> bool) -> RoundOutcome {
        let mut round = RoundOutcome::default();
        let count = copy.state.nodes.len();
        for i in 0..count {
            let node = NodeSlot::at(self.history.start.wrapping_add(i) % count);
            let row = &copy.state.nodes[node];
            if !row.takes_containers() || !is_mine(node) {
                continue;
            }
            if row.reserved.is_some() {
                self.fulfil(copy, node, &mut round);
            } else if has_room(&copy.state, node) {
                let partition = row.partition;
                let noted = self.attempt(copy, partition, Some(node));
                round.count(noted);
            }
            if self.batches.open.len() >= BATCH {
                self.send(copy);
                self.catch_up(copy, false);
            }
            if round.stuck {
                round.passed = i + 1;
                break;
            }
        }
        self.send(copy);
        round
    }

    /// Looks at some reservations, then makes a batch of attempts on the partitions, each until it brings
    /// nothing. Reservations take turns, and so do partitions in being first: none waits until all
    /// others are done. Where no attempt brings anything, all reservations are looked at.
    fn walk_partitions(&mut self, copy: &mut WorkingCopy) -> RoundOutcome {
        let mut round = RoundOutcome::default();
        copy.lay_out(self.index.refresh());
        let reserved = copy.reserved();
        let turns = reserved.len().div_ceil(BATCH).max(1);
        let (before, now) = reserved.split_at(self.history.start % turns * BATCH);
        let (now, behind) = now.split_at(now.len().min(BATCH));
        self.fulfil_all(copy, now, &mut round);
        if !round.stuck {
            self.attempt_on_partitions(copy, &mut round);
        }
        if !round.proposed {
            self.fulfil_all(copy, behind, &mut round);
            self.fulfil_all(copy, before, &mut round);
        }
        // The others may sit out, and nobody else looks at the reservations of their shares then.
        if !round.proposed && self.share.0 == 0 {
            let theirs = copy.reserved_by_others();
            self.fulfil_all(copy, &theirs, &mut round);
        }
        self.send(copy);
        round
    }

    fn attempt_on_partitions(&mut self, copy: &mut WorkingCopy, round: &mut RoundOutcome) {
        let (start, count) = (self.history.start, copy.state.partitions.len());
        for i in 0..count {
            let partition = PartitionId::at(start.wrapping_add(i) % count);
            while copy.candidates(partition).is_some() {
                round.proposed |= self.extend(copy, partition);
                if self.batches.open.len() >= BATCH {
                    break;
                }
                let noted = self.attempt(copy, partition, None);
                round.count(noted);
                if noted != Noted::OverlayResult {
                    break;
                }
            }
            if self.batches.open.len() >= BATCH || round.stuck {
                break;
            }
        }
    }

    /// Looks at reservations until one of them is more than kept; hands over what fills a batch.
    fn fulfil_all(&mut self, copy: &mut WorkingCopy, nodes: &[NodeSlot], round: &mut RoundOutcome) {
        for &node in nodes {
            if round.stuck {
                return;
            }
            self.fulfil(copy, node, round);
            if self.batches.open.len() >= BATCH {
                self.send(copy);
            }
        }
    }

    /// A reservation is fulfilled, kept or given up.
    fn fulfil(&mut self, copy: &mut WorkingCopy, node: NodeSlot, round: &mut RoundOutcome) {
        let outcome = self.measuring.timed(&mut self.seen, |seen, _| {
            propose_reserved(&copy.state, node, seen)
        });
        // A node that is leaving serves no reservation; one that nobody wants any more is given up.
        let leaves = !copy.state.nodes[node].takes_containers();
        if leaves && !matches!(outcome, Outcome::GiveUp(_)) {
            self.seen.clear();
            return;
        }
        let noted = copy.note(outcome, &mut self.seen, &mut self.batches.open);
        self.seen.clear();
        round.count(noted);
    }

    /// The two passes of an attempt, on one node or among all of a partition.
    fn attempt(
        &mut self,
        copy: &mut WorkingCopy,
        partition: PartitionId,
        node: Option<NodeSlot>,
    ) -> Noted {
        let noted = self.pass(copy, partition, node, Exclusivity::Respect);
        let is_shared =
            partition != PartitionId::DEFAULT && !copy.state.partitions[partition].exclusive;
        if matches!(noted, Noted::OverlayResult | Noted::Ahead | Noted::Refused) || !is_shared {
            return noted;
        }
        match self.pass(copy, partition, node, Exclusivity::Ignore) {
            Noted::Nothing => noted,
            found => found,
        }
    }

    fn pass(
        &mut self,
        copy: &mut WorkingCopy,
        partition: PartitionId,
        node: Option<NodeSlot>,
        exclusivity: Exclusivity,
    ) -> Noted {
        let candidates = match (node, copy.candidates(partition)) {
            (Some(node), _) => Candidates::node(node),
            (None, Some(nodes)) => Candidates::indexed(nodes, partition),
            (None, None) => return Noted::Nothing,
        };
        let state = &copy.state;
        let outcome = self.measuring.timed(&mut self.seen, |seen, watch| {
            propose_watched(state, &candidates, exclusivity, seen, watch)
        });
        // It is made once on a state: nothing but a change makes it hold.
        if self.history.unchanged.refused && copy.is_refused(&outcome) {
            self.seen.clear();
            return Noted::Refused;
        }
        let noted = copy.note(outcome, &mut self.seen, &mut self.batches.open);
        self.seen.clear();
        noted
    }

    /// Decides what the next passes over a partition surely place, until the batch is full or it takes a
    /// whole pass; whether anything. Decisions are measured as those of whole passes are.
    fn extend(&mut self, copy: &mut WorkingCopy, partition: PartitionId) -> bool {
        let before = self.batches.open.len();
        if !self.measuring.is_active() {
            return copy.extend(&mut self.batches.open, partition, BATCH, None) > 0;
        }
        while self.extend_unmeasured(copy, partition) {
            let open = &mut self.batches.open;
            let placed = self
                .measuring
                .watched(|watch| copy.extend(open, partition, 1, Some(watch)));
            if !placed {
                break;
            }
        }
        self.batches.open.len() > before
    }

    /// The same up to the next decision of which the steps are measured; whether it came so far, with
    /// room for that one in the batch.
    fn extend_unmeasured(&mut self, copy: &mut WorkingCopy, partition: PartitionId) -> bool {
        let unmeasured = self.measuring.unmeasured();
        let open = &mut self.batches.open;
        // Measured or not, batches are of the same length.
        let most = BATCH.saturating_sub(open.len()).min(unmeasured as usize);
        let place = || copy.extend(open, partition, most, None);
        let placed = self.measuring.unwatched(place);
        placed == unmeasured && self.batches.open.len() < BATCH
    }
}
