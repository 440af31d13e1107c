//! Batches of commits, and settling what they defer.
//!
//! # What
//!
//! A [`CommitBatch`] commits what proposers decided on their copies. It defers what it does not read itself:
//! the charges of queues above leaves ([`crate::accounting::DeferredAncestorCharges`]), and the notices of
//! the limits of users who pass without a check. [`Ledger::settled`] makes up for both, and returns the one
//! value through which settled figures are read.
//!
//! # When it is valid
//!
//! While charges are deferred, used and pending amounts above leaves are those of before the batch. Commits
//! allow for it; every other change settles first, by itself.
//!
//! # Why
//!
//! Thousands of containers move the same few rows near root, and the same users.
//!
//! # Steps
//!
//! 1. A commit in a batch charges the leaf, and notes the user whose limit was not computed.
//! 2. A commit that the room of an ancestor does not surely admit settles the charges and looks again.
//! 3. [`Ledger::settled`] charges the ancestors, then computes the limit of each noted user once.
//!
//! # Cost
//!
//! Settling costs, for each leaf and each user that got containers since the last time, that of one container.
//!
//! `tests/commit/deferred_charges.rs` compares batches with single commits.

use super::deferred::ChargeTime;
use crate::commit::ledger::Ledger;
use crate::commit::proposals::outcome::CommitOutcome;
use crate::commit::users::records::user_limit;
use crate::id::{PartitionId, UserSlot};
use crate::proposer::{Observation, Outcome};
use crate::queue::Exclusivity;
use crate::resource::with_width;
use crate::snapshot::State;

/// Commits of decisions that were taken elsewhere, some of whose charges wait until the ledger is settled.
#[derive(Debug)]
pub struct CommitBatch<'a> {
    ledger: &'a mut Ledger,
}

impl CommitBatch<'_> {
    /// As [`Ledger::commit`].
    pub fn commit(&mut self, outcome: &Outcome, observations: &[Observation]) -> CommitOutcome {
        self.commit_watched(outcome, observations, || {})
    }

    /// As [`Ledger::commit_watched`].
    pub fn commit_watched(
        &mut self,
        outcome: &Outcome,
        observations: &[Observation],
        checked: impl FnOnce(),
    ) -> CommitOutcome {
        self.ledger
            .commit_at(ChargeTime::Settling, outcome, observations, checked)
    }
}

/// A ledger in which nothing is deferred; only settling returns it.
#[derive(Debug)]
pub struct Settled<'a> {
    ledger: &'a mut Ledger,
}

impl<'a> Settled<'a> {
    /// What decisions read, with the figures of all queues.
    #[must_use]
    pub fn state(&self) -> &State {
        self.ledger.state()
    }

    /// The state, for publication: what was written since the last one is handed over and forgotten.
    ///
    /// Cost: where capacities changed since, a look at each leaf.
    #[must_use]
    pub fn into_state_to_publish(self) -> &'a mut State {
        self.ledger.renew_published_bounds();
        &mut self.ledger.state
    }
}

impl Ledger {
    /// A batch of commits. It may be begun again for each decision; what it defers stays deferred until the
    /// ledger is settled.
    pub fn batch(&mut self) -> CommitBatch<'_> {
        CommitBatch { ledger: self }
    }

    /// Makes up for what batches deferred, once for all of their commits: the charges of queues above
    /// leaves, used shares, and the limits noted with users, which are those of a pass that comes by now.
    ///
    /// Cost: for each leaf and each user that got containers since the last call, that of one.
    // As UsersManager.getComputedResourceLimitForActiveUsers.
    pub fn settled(&mut self) -> Settled<'_> {
        self.deferred.charges.settle(&mut self.state);
        if !self.deferred.notices.is_empty() {
            with_width!(self.state.calculator, N => self.note_limits::<N>());
        }
        Settled { ledger: self }
    }

    /// Notes that a user with a record got a container by the guaranteed minimum, without its limit being
    /// computed.
    #[inline]
    pub(in crate::commit) fn note_granted(&mut self, user: UserSlot, partition: PartitionId) {
        let record = &mut self.state.users[user];
        if !std::mem::replace(&mut record.notice_pending, true) {
            self.deferred.notices.push((user, partition));
        }
    }

    fn note_limits<const N: usize>(&mut self) {
        let kind = Exclusivity::Respect.limit_kind();
        while let Some((user, partition)) = self.deferred.notices.pop() {
            let record = &mut self.state.users[user];
            record.notice_pending = false;
            let leaf = record.leaf;
            if !record.removed {
                user_limit::<N>(&mut self.state, leaf, Some(user), partition, kind);
            }
        }
    }
}
