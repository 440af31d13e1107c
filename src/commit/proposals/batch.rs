//! Commits whose charges wait: batches, and the one value through which a settled ledger is reached.
//!
//! # What
//!
//! A [`Ledger`] is settled: no figure of it waits for another one. An [`Unsettled`] owner of a ledger also takes
//! a [`CommitBatch`], which commits what proposers decided on their copies and defers what it does not read itself:
//! the charges of queues above leaves ([`crate::accounting::DeferredAncestorCharges`]), and the notices of
//! the limits of users. [`Unsettled::settled`] makes up for both.
//!
//! # When it is valid
//!
//! While charges are deferred, used and pending amounts above leaves are those of before the batch. What a batch
//! does meanwhile is a method of [`CommitBatch`]. Audits read an [`UnsettledView`], which shows no figure that waits.
//! Everything else takes the ledger, which only settling returns.
//!
//! # Why
//!
//! Thousands of containers move the same few rows near root, and the same users.
//!
//! # Steps
//!
//! 1. A commit in a batch charges the leaf, and notes whose limit it was checked against.
//! 2. A commit that the room of an ancestor does not surely admit settles the charges and looks again.
//! 3. [`Unsettled::settled`] charges the ancestors, then computes the limit of each noted user once.
//!
//! # Cost
//!
//! Settling costs, for each leaf and each user that got containers since the last time, that of one container.
//!
//! `tests/commit/deferred_charges.rs` compares batches with single commits.

use super::conflict::Conflict;
use super::deferred::{Deferred, PendingNotices};
use super::unsettled_view::UnsettledView;
use crate::accounting::DeferredAncestorCharges;
use crate::commit::event::{Event, UnreserveReason};
use crate::commit::fetches::Fetches;
use crate::commit::ledger::Ledger;
use crate::commit::proposals::outcome::CommitOutcome;
use crate::commit::proposals::rejection::{count_found, rejection};
use crate::proposer::{Observation, Outcome, Proposal};
use crate::resource::with_width;

/// Who has a ledger, and may know more about it.
pub(crate) trait LedgerOwner {
    /// The ledger.
    fn ledger(&self) -> &Ledger;

    /// The ledger, to be changed by somebody else.
    fn ledger_mut(&mut self) -> &mut Ledger;

    /// The ledger, for the next commit of a batch that began with [`Self::ledger_mut`].
    fn next_ledger(&mut self) -> &mut Ledger {
        self.ledger_mut()
    }

    /// The fetches that wait for the ledger.
    fn fetches(&mut self) -> &mut Fetches;
}

impl LedgerOwner for Ledger {
    fn ledger(&self) -> &Ledger {
        self
    }

    fn ledger_mut(&mut self) -> &mut Ledger {
        self
    }

    fn fetches(&mut self) -> &mut Fetches {
        self.fetches()
    }
}

/// A ledger, or an owner of one, of which batches of commits may have deferred something.
#[derive(Debug)]
pub struct Unsettled<T> {
    owner: T,
    deferred: Deferred,
}

impl<T> Unsettled<T> {
    /// The owner of a ledger, which is settled as yet.
    pub fn new(owner: T) -> Self {
        Self {
            owner,
            deferred: Deferred::default(),
        }
    }

    /// The owner, where nothing waits for settling.
    #[must_use]
    pub fn if_settled(&self) -> Option<&T> {
        self.deferred.is_none().then_some(&self.owner)
    }
}

#[expect(private_bounds, reason = "only the crate has owners of ledgers")]
impl<T: LedgerOwner> Unsettled<T> {
    /// Makes up for what batches deferred, once for all of their commits: the charges of queues above
    /// leaves, used shares, and the limits noted with users, which are those of a pass that comes by now.
    ///
    /// Cost: for each leaf and each user that got containers since the last call, that of one.
    // As UsersManager.getComputedResourceLimitForActiveUsers.
    #[inline]
    pub fn settled(&mut self) -> &mut T {
        self.deferred.settle(&mut self.owner.ledger_mut().state);
        &mut self.owner
    }

    /// The settled ledger itself, to be changed by others than its owner.
    #[inline]
    pub fn settled_ledger(&mut self) -> &mut Ledger {
        self.settled().ledger_mut()
    }

    /// The ledger with all charges; limits of users may still be noted later.
    ///
    /// Cost: nothing where no charge is deferred.
    #[inline]
    pub fn charged(&mut self) -> &Ledger {
        let ledger = self.owner.next_ledger();
        self.deferred.charges.settle(&mut ledger.state);
        ledger
    }

    /// A batch of commits. It may be begun again for each decision; what it defers stays deferred until the
    /// ledger is settled.
    #[inline]
    pub fn batch(&mut self) -> CommitBatch<'_> {
        self.owner.ledger_mut();
        self.next_in_batch()
    }

    /// The batch that was begun last, for its next decision.
    #[inline]
    pub(crate) fn next_in_batch(&mut self) -> CommitBatch<'_> {
        CommitBatch {
            ledger: self.owner.next_ledger(),
            charges: Some(&mut self.deferred.charges),
            notices: Some(&mut self.deferred.notices),
        }
    }

    /// Commits what was decided on the live state: charges at once, limits of users may be noted later.
    pub fn commit_now(&mut self, outcome: &Outcome, observations: &[Observation]) -> CommitOutcome {
        let ledger = self.owner.ledger_mut();
        self.deferred.charges.settle(&mut ledger.state);
        let batch = CommitBatch {
            ledger,
            charges: None,
            notices: Some(&mut self.deferred.notices),
        };
        batch.commit(outcome, observations)
    }

    /// As [`Ledger::drain_follow_ups`]; settles where something waits.
    pub fn drain_follow_ups(&mut self) {
        if self.owner.ledger().has_follow_ups() {
            self.settled();
        }
        self.owner.ledger_mut().drain_follow_ups();
    }

    /// What may be read of the ledger while something waits.
    #[must_use]
    pub fn view(&self) -> UnsettledView<'_> {
        UnsettledView {
            ledger: self.owner.ledger(),
            charges: &self.deferred.charges,
        }
    }

    /// The fetches that wait for the ledger.
    pub(crate) fn fetches(&mut self) -> &mut Fetches {
        self.owner.fetches()
    }

    /// Whether a fetch is begun, which goes on in the next turn.
    pub(crate) fn has_begun_fetch(&self) -> bool {
        self.owner.ledger().has_begun_fetch()
    }

    /// As [`Ledger::has_fetches`].
    pub(crate) fn has_fetches(&self) -> bool {
        self.owner.ledger().has_fetches()
    }

    /// As [`Ledger::event_count`].
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.owner.ledger().event_count()
    }

    /// As [`Ledger::exchange_events`].
    pub fn exchange_events(&mut self, buffer: Vec<Event>) -> Vec<Event> {
        self.owner.ledger_mut().exchange_events(buffer)
    }

    /// As [`Ledger::next_deadline`].
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.owner.ledger().next_deadline()
    }

    /// As [`Ledger::is_followed_up`].
    pub(crate) fn is_followed_up(&self) -> bool {
        self.owner.ledger().is_followed_up()
    }

    /// As [`crate::snapshot::State::rows_written`].
    #[must_use]
    pub fn rows_written(&self) -> usize {
        self.owner.ledger().state().rows_written()
    }

    /// As [`crate::snapshot::State::rows_to_copy`].
    #[must_use]
    pub fn rows_to_copy(&self) -> usize {
        self.owner.ledger().state().rows_to_copy()
    }

    /// As [`Ledger::renew_bounds_on`].
    pub(crate) fn renew_bounds_on(&mut self, budget: &mut usize) -> bool {
        self.owner.ledger_mut().renew_bounds_on(budget)
    }

    /// As [`crate::snapshot::State::free_large`], and frees some of what is forgotten.
    pub fn free_large(&mut self) {
        let ledger = self.owner.ledger_mut();
        ledger.state.free_large();
        ledger.leaves.free_in_turn();
    }

    /// As [`crate::snapshot::State::copy_ahead`].
    pub fn copy_ahead(&mut self, most: usize) {
        self.owner.ledger_mut().state.copy_ahead(most);
    }
}

/// A commit of a decision, or a batch of them. Between two decisions the figures of queues above leaves may
/// wait for settling.
#[derive(Debug)]
pub struct CommitBatch<'a> {
    pub(super) ledger: &'a mut Ledger,
    /// Where charges of ancestors wait; without it they are charged at once, and none waits.
    pub(super) charges: Option<&'a mut DeferredAncestorCharges>,
    /// Where users wait whose limits are to be noted; without it each limit is computed at once.
    pub(super) notices: Option<&'a mut PendingNotices>,
}

impl<'a> CommitBatch<'a> {
    /// A batch that defers nothing.
    #[inline]
    pub(super) fn settled(ledger: &'a mut Ledger) -> Self {
        Self {
            ledger,
            charges: None,
            notices: None,
        }
    }

    /// As [`Ledger::commit`].
    #[inline]
    pub fn commit(self, outcome: &Outcome, observations: &[Observation]) -> CommitOutcome {
        self.commit_watched(outcome, observations, || {})
    }

    /// As [`Ledger::commit_watched`].
    #[inline]
    pub fn commit_watched(
        mut self,
        outcome: &Outcome,
        observations: &[Observation],
        checked: impl FnOnce(),
    ) -> CommitOutcome {
        // What passes observe is about leaves, and below.
        if !observations.is_empty() {
            self.ledger.observe(observations);
        }
        match outcome {
            Outcome::Proposed(proposal) => self.commit_proposal(proposal, checked),
            Outcome::GiveUp(release) => {
                self.charge_ancestors()
                    .release(release, UnreserveReason::Excess);
                CommitOutcome::Committed
            }
            Outcome::Skipped(_) => CommitOutcome::Nothing,
        }
    }

    fn commit_proposal(&mut self, proposal: &Proposal, checked: impl FnOnce()) -> CommitOutcome {
        let verdict = with_width!(self.ledger.state.calculator, N => {
            match self.check_simple::<N>(proposal) {
                Some(Ok(simple)) => {
                    checked();
                    self.apply_simple::<N>(proposal, &simple);
                    return CommitOutcome::Committed;
                }
                Some(Err(conflict)) => {
                    checked();
                    return self.reject(proposal, conflict);
                }
                None => {
                    self.charge_ancestors();
                    self.ledger.validate::<N>(proposal, self.notices.as_deref_mut())
                }
            }
        });
        self.carry_out(proposal, verdict, checked)
    }

    /// Applies a validated proposal, or its alternate where the first node refuses it; otherwise notes the
    /// conflict.
    fn carry_out(
        &mut self,
        proposal: &Proposal,
        verdict: Result<(), Conflict>,
        checked: impl FnOnce(),
    ) -> CommitOutcome {
        let second = match verdict {
            Ok(()) => None,
            Err(conflict) => self.second_choice(proposal, conflict),
        };
        checked();
        match (verdict, second) {
            (Ok(()), _) => {
                self.ledger.apply(proposal);
                CommitOutcome::Committed
            }
            (Err(_), Some(second)) => {
                self.ledger.apply(&second);
                CommitOutcome::CommittedElsewhere
            }
            (Err(conflict), None) => self.reject(proposal, conflict),
        }
    }

    /// A proposal on its alternate, where that holds though the first node took it no more. The alternate
    /// must still be of the partition that is asked for, and nothing excluded.
    fn second_choice(&mut self, proposal: &Proposal, conflict: Conflict) -> Option<Proposal> {
        if !conflict.is_of_node() {
            return None;
        }
        let second = proposal.on_alternate()?;
        let holds = with_width!(self.ledger.state.calculator, N => {
            let notices = self.notices.as_deref_mut();
            self.ledger.validate::<N>(&second, notices)
        });
        holds.ok()?;
        let row = &self.ledger.state.apps[second.app];
        let partition = self.ledger.state.nodes[second.node].partition;
        let asked = row.key(second.key)?.partition == partition;
        (asked && row.blacklist.is_empty()).then_some(second)
    }

    /// Notes that a proposal did not hold.
    fn reject(&mut self, proposal: &Proposal, conflict: Conflict) -> CommitOutcome {
        let Ledger { state, outbox, .. } = &mut *self.ledger;
        count_found(state, proposal);
        outbox.push(rejection(state, proposal, conflict));
        CommitOutcome::Rejected(conflict)
    }

    /// Charges the ancestors with what waits; the ledger, of which no figure waits any more.
    #[inline]
    pub(super) fn charge_ancestors(&mut self) -> &mut Ledger {
        if let Some(charges) = self.charges.as_deref_mut() {
            charges.settle(&mut self.ledger.state);
        }
        self.ledger
    }
}
