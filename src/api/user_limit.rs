//! The user limits of a leaf, computed from the state as it is, for those who want to see them.

use crate::commit::Ledger;
use crate::id::PartitionId;
use crate::policy::{compute_user_limit, user_value};
use crate::queue::LimitKind;
use crate::resource::ResourceVector;

/// How far a user may go in a leaf on the default partition, by the two ways to count.
///
/// Reading them changes nothing: unlike the limit a pass computes, these are not remembered.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster();
/// let limits = UserLimits::of(engine.engine().ledger(), "root.a", "ann").expect("a leaf");
/// assert_eq!(limits.enforced.memory(), 8192);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserLimits {
    /// The limit that gates allocations. Its equal share divides what users with outstanding asks
    /// use, plus one minimum allocation.
    pub enforced: ResourceVector,
    /// The limit that preemption reads. Its equal share divides the queue's current capacity, which
    /// is its guarantee or, from there on, what is used plus one minimum allocation, by all users.
    pub of_all_users: ResourceVector,
}

impl UserLimits {
    /// The limits of a user, who need not be known to the leaf; nothing when there is no such leaf.
    // As UsersManager.getComputedResourceLimitForActiveUsers and and the like for all users.
    #[must_use]
    pub fn of(ledger: &Ledger, leaf: &str, user: &str) -> Option<Self> {
        Self::within(ledger, (leaf, user), PartitionId::DEFAULT)
    }

    /// The same on a partition by its label; nothing when no partition has it.
    #[must_use]
    pub fn on_partition(ledger: &Ledger, leaf: &str, user: &str, label: &str) -> Option<Self> {
        Self::within(ledger, (leaf, user), ledger.partition(label)?)
    }

    fn within(ledger: &Ledger, (leaf, user): (&str, &str), partition: PartitionId) -> Option<Self> {
        let state = ledger.state();
        let slot = ledger.queue(leaf)?;
        let users = &state.queues[slot].leaf.as_ref()?.users;
        let records = users.iter().map(|&user| &state.users[user]);
        let known = records.into_iter().find(|record| &*record.name == user);
        let limit = |kind| {
            let common = compute_user_limit(state, slot, partition, kind);
            user_value(state, &common, known)
        };
        Some(Self {
            enforced: limit(LimitKind::Respect),
            of_all_users: limit(LimitKind::All),
        })
    }
}
