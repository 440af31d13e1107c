//! What commits of others' decisions leave for later, to do it once for many containers.

use smallvec::SmallVec;

use super::ledger::Ledger;
use crate::id::{PartitionId, QueueSlot, UserSlot};
use crate::policy::{Limits, child_limit, queue_current_limit};
use crate::queue::Exclusivity;
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::{Slot, State};

/// Rows with something to be told, each with the partition that it was last of.
#[derive(Debug)]
pub(super) struct Untold<S> {
    rows: Vec<S>,
    /// By row.
    partitions: Vec<Option<PartitionId>>,
}

impl<S> Default for Untold<S> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            partitions: Vec::new(),
        }
    }
}

impl<S: Slot> Untold<S> {
    #[inline]
    fn note(&mut self, row: S, partition: PartitionId) {
        let index = row.index();
        if self.partitions.len() <= index {
            self.partitions.resize(index + 1, None);
        }
        if self.partitions[index].replace(partition).is_none() {
            self.rows.push(row);
        }
    }

    fn pop(&mut self) -> Option<(S, PartitionId)> {
        let row = self.rows.pop()?;
        let partition = self.partitions[row.index()].take();
        Some((row, partition.unwrap_or(PartitionId::DEFAULT)))
    }
}

impl Ledger {
    /// Notes that a leaf got a container. Passes on copies tell leaves no limit when they go down
    /// the short way.
    #[inline]
    pub(super) fn note_untold(&mut self, leaf: QueueSlot, partition: PartitionId) {
        if self.state.concurrent {
            self.untold_leaves.note(leaf, partition);
        }
    }

    /// Notes that a user with a record got a container by what is granted in any case, without its
    /// limit being computed.
    #[inline]
    pub(super) fn note_granted(&mut self, user: UserSlot, partition: PartitionId) {
        self.untold_users.note(user, partition);
    }

    /// From now on commits leave to [`Ledger::catch_up`] what they do not read themselves, or no
    /// longer.
    pub fn defer(&mut self, defers: bool) {
        self.defers = defers;
    }

    /// Does what commits of others' decisions left for later, once for all of them: the used shares
    /// of queues; and the limits that leaves and users are told, which headrooms and the limit for
    /// masters read from then on, and which are those of a pass that comes to them now. To be
    /// called before anything is read but by [`Ledger::commit`].
    ///
    /// Cost: a walk down the tree for each leaf that got containers since the last call.
    // As CSQueueUtils.updateQueueStatistics, AbstractLeafQueue.updateCurrentResourceLimits and
    // UsersManager.getComputedResourceLimitForActiveUsers.
    pub fn catch_up(&mut self) {
        with_width!(self.state.calculator, N => {
            self.catch_up_shares::<N>();
            self.tell_limits::<N>();
        });
    }

    fn tell_limits<const N: usize>(&mut self) {
        while let Some((leaf, partition)) = self.untold_leaves.pop() {
            let row = &self.state.queues[leaf];
            if row.is_leaf() && !row.removed {
                let limit = told::<N>(&self.state, leaf, partition);
                let users = self.state.queues[leaf].as_leaf_mut();
                users.current_limit.set(limit);
                users.published_limit.set(limit);
            }
        }
        let kind = Exclusivity::Respect.limit_kind();
        while let Some((user, partition)) = self.untold_users.pop() {
            let record = &self.state.users[user];
            if !record.removed {
                self.user_limit::<N>(record.leaf, Some(user), partition, kind);
            }
        }
    }
}

/// The limit that a leaf is told by a pass on a partition.
fn told<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
) -> ResourceVector<N> {
    let mut limits = Limits::<N>::new(state.total(partition).narrow());
    let down: SmallVec<[QueueSlot; 8]> = state.chain(leaf).collect();
    let mut parent = State::ROOT;
    for &child in down.iter().rev().skip(1) {
        limits = child_limit(state, parent, child, partition, &mut limits, true);
        parent = child;
    }
    queue_current_limit(state, leaf, &limits.limit)
}
