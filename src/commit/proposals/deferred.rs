//! What commits of a batch defer: charges of ancestors, and notices of user limits.
//!
//! Tests: `tests/commit/deferred_charges.rs`.

use crate::accounting::DeferredAncestorCharges;
use crate::commit::leaves::records::user_limit;
use crate::id::{PartitionId, UserSlot};
use crate::queue::Exclusivity;
use crate::resource::with_width;
use crate::snapshot::State;

/// What the commits of a batch leave for settling.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// Charges of the queues above leaves.
    pub(super) charges: DeferredAncestorCharges,
    /// Users whose limits are to be noted.
    pub(super) notices: PendingNotices,
}

impl Deferred {
    /// Whether nothing waits.
    pub(super) fn is_none(&self) -> bool {
        self.charges.are_none() && self.notices.users.is_empty()
    }

    /// Makes up for all of it.
    #[inline]
    pub(super) fn settle(&mut self, state: &mut State) {
        self.charges.settle(state);
        if !self.notices.users.is_empty() {
            with_width!(state.calculator, N => self.notices.note_limits::<N>(state));
        }
    }
}

/// Users whose limit a commit was checked against since it was last noted with them.
#[derive(Debug, Default)]
pub(in crate::commit) struct PendingNotices {
    users: Vec<UserSlot>,
}

impl PendingNotices {
    /// Notes that a commit was checked against the limit of a user with a record, on a partition.
    #[inline]
    pub(in crate::commit) fn add(
        &mut self,
        state: &mut State,
        user: UserSlot,
        partition: PartitionId,
    ) {
        let pending = &mut state.users[user].notice_pending;
        // The record has the limit of the last commit.
        if pending.replace(partition).is_none() {
            self.users.push(user);
        }
    }

    fn note_limits<const N: usize>(&mut self, state: &mut State) {
        let kind = Exclusivity::Respect.limit_kind();
        while let Some(user) = self.users.pop() {
            let record = &mut state.users[user];
            debug_assert!(
                !record.removed,
                "only changes of a settled ledger remove records"
            );
            let leaf = record.leaf;
            if let Some(partition) = record.notice_pending.take() {
                user_limit::<N>(state, leaf, Some(user), partition, kind);
            }
        }
    }
}
