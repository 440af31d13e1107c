//! What commits of a batch defer: charges of ancestors, and notices of user limits.

use crate::accounting::DeferredAncestorCharges;
use crate::id::{PartitionId, UserSlot};

/// What the commits of a batch leave for settling.
#[derive(Debug, Default)]
pub(in crate::commit) struct Deferred {
    /// Charges of the queues above leaves.
    pub(in crate::commit) charges: DeferredAncestorCharges,
    /// Users who got containers since a limit was last noted with them, and the partition of it.
    pub(in crate::commit) notices: Vec<(UserSlot, PartitionId)>,
}

/// Whether a commit charges the queues above a leaf at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commit) enum ChargeTime {
    /// With the container.
    Now,
    /// When the ledger is settled.
    Settling,
}
