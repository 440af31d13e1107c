//! Commits: what the committer does with a batch of a proposer, and with the asks of a call.
//!
//! 1. A batch is validated decision by decision; each one that holds is applied at once, so that the next one
//!    is validated against it. Charges of ancestors are deferred until the ledger is settled, mostly at a publication.
//! 2. Observations of a batch are ignored if a slot was freed after its snapshot: they may name another
//!    owner's slot.
//! 3. Follow-ups of a batch run once for all batches of a turn, before any command.
//! 4. What became of each decision is counted; a decision that proposed nothing is skipped.
//!
//! Tests: `tests/runtime/threads.rs`.

use super::Committer;
use super::inline_scheduling::Served;
use super::publication::BatchCounts;
use crate::commit::{CommitBatch, CommitOutcome, Conflict, Unsettled};
use crate::metrics::{Phase, Recorder};
use crate::proposer::{Observation, Outcome};
use crate::runtime::Sequential;
use crate::runtime::proposer::batch::Batch;
use crate::time::Clock;

/// Whether a decision was refused because another container waits for its node. That one being news, its refusal is
/// none: the same would be proposed again, and refused, for ever.
fn awaits_node(decision: &Outcome, outcome: CommitOutcome) -> bool {
    matches!(decision, Outcome::Proposed(proposal) if proposal.reserved.is_none())
        && outcome == CommitOutcome::Rejected(Conflict::ReservationChanged)
}

/// When a batch that is measured was begun, in ns, and when its first proposal was checked; 0 before that.
#[derive(Clone, Copy, Default)]
struct BatchTimes {
    began_ns: u64,
    checked_ns: u64,
}

impl<C: Clock> Committer<C> {
    /// Commits one batch of every proposer in turn; whether there was one.
    pub(super) fn take_proposals(&mut self) -> bool {
        let mut any = false;
        for proposer in 0..self.proposers.len() {
            if let Some(batch) = self.proposers.take(proposer) {
                any = true;
                self.commit(proposer, &batch, |_, _| {});
            }
        }
        if any {
            self.engine.drain_follow_ups();
        }
        any
    }

    /// Commits a batch; `on_outcome` is called with what became of each decision. Batches of a proposer come
    /// in their order, and none is missing.
    pub(in crate::runtime) fn commit(
        &mut self,
        proposer: usize,
        batch: &Batch,
        mut on_outcome: impl FnMut(&mut Unsettled<Sequential>, CommitOutcome),
    ) {
        self.proposers.assert_next(proposer, batch);
        let (mut times, mut counts) = (self.begin_batch(batch), BatchCounts::default());
        let stale = self.freed.outdates(batch.version);
        self.engine.batch();
        for (decision, seen) in batch.iter() {
            let seen = if stale { &[] } else { seen };
            let keeps = decision.keeps_reservation();
            let measured = times.as_mut().filter(|times| times.checked_ns == 0);
            let outcome = match measured {
                None => self.engine.next_in_batch().commit(decision, seen),
                Some(times) => {
                    let (commits, clock) = (self.engine.next_in_batch(), &self.clock);
                    let recorder = &mut self.measures.recorder;
                    commit_timed(commits, (decision, seen), (times, clock), recorder)
                }
            };
            on_outcome(&mut self.engine, outcome);
            self.publication
                .note_news(!(keeps || awaits_node(decision, outcome)));
            match outcome {
                CommitOutcome::Committed => {
                    counts.committed += 1;
                    counts.kept += u64::from(keeps);
                }
                CommitOutcome::CommittedElsewhere => counts.elsewhere += 1,
                CommitOutcome::Rejected(conflict) => {
                    counts.refused += 1;
                    self.measures.count_refusal(conflict);
                }
                CommitOutcome::Nothing => counts.skipped += 1,
            }
        }
        self.end_batch(proposer, batch, counts);
    }

    /// Begins to measure a batch, if it is one of those that are.
    fn begin_batch(&mut self, batch: &Batch) -> Option<BatchTimes> {
        let recorder = &mut self.measures.recorder;
        let sent_ns = batch.sent_ns.filter(|_| recorder.is_active())?;
        let began_ns = self.clock.now_ns();
        recorder.record(Phase::HandOff, began_ns.saturating_sub(sent_ns));
        Some(BatchTimes {
            began_ns,
            checked_ns: 0,
        })
    }

    fn end_batch(&mut self, proposer: usize, batch: &Batch, counts: BatchCounts) {
        let (committed, elsewhere) = (CommitOutcome::Committed, CommitOutcome::CommittedElsewhere);
        let outcomes = &mut self.measures.outcomes;
        outcomes.count_n(committed, counts.committed);
        outcomes.count_n(elsewhere, counts.elsewhere);
        self.publication.note_batch(batch.len() as u64, counts);
        let BatchCounts {
            refused, skipped, ..
        } = counts;
        self.proposers.count(proposer, batch.end, refused, skipped);
    }

    /// Places what calls ask for while every proposer is idle. Where nothing is left for the proposers they
    /// sleep on, and the snapshot waits for a pause.
    pub(super) fn place_inline(&mut self) -> Served {
        let complete = self.delivery.is_complete();
        let Some(inline) = self.inline.as_mut().filter(|_| complete) else {
            return Served::NotAll;
        };
        if !inline.is_willing() {
            return Served::NotAll;
        }
        let (mut placed, measures) = (0, &mut self.measures);
        let served = inline.serve(&mut self.engine, &self.clock, |outcome, took_ns| {
            match outcome {
                // What is decided on the live state has no alternate.
                CommitOutcome::Committed | CommitOutcome::CommittedElsewhere => placed += 1,
                CommitOutcome::Rejected(conflict) => measures.count_refusal(conflict),
                CommitOutcome::Nothing => return,
            }
            if let Some(took_ns) = took_ns {
                measures.recorder.record(Phase::Propose, took_ns);
            }
        });
        let outcomes = &mut self.measures.outcomes;
        outcomes.count_n(CommitOutcome::Committed, placed);
        self.publication
            .note_inline(placed, served == Served::NotAll);
        served
    }
}

/// Commits a decision and records how long checking and applying it took.
fn commit_timed(
    commits: CommitBatch<'_>,
    (decision, seen): (&Outcome, &[Observation]),
    (times, clock): (&mut BatchTimes, &impl Clock),
    recorder: &mut Recorder,
) -> CommitOutcome {
    let outcome = commits.commit_watched(decision, seen, || times.checked_ns = clock.now_ns());
    if outcome.is_committed() {
        let (checked, applied) = (times.checked_ns.max(times.began_ns), clock.now_ns());
        recorder.record(Phase::Validate, checked - times.began_ns);
        recorder.record(Phase::Apply, applied.saturating_sub(checked));
    }
    outcome
}
