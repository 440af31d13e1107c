//! What commits of others' decisions leave for later, to do it once for many containers.

use crate::commit::ledger::Ledger;
use crate::id::{PartitionId, UserSlot};
use crate::queue::Exclusivity;
use crate::resource::with_width;

impl Ledger {
    /// Notes that a user with a record got a container by what is granted in any case, without its
    /// limit being computed.
    #[inline]
    pub(in crate::commit) fn note_granted(&mut self, user: UserSlot, partition: PartitionId) {
        let record = &mut self.state.users[user];
        if !std::mem::replace(&mut record.untold, true) {
            self.untold.push((user, partition));
        }
    }

    /// From now on commits leave to [`Ledger::catch_up`] what they do not read themselves, or no
    /// longer.
    pub fn defer(&mut self, defers: bool) {
        self.defers = defers;
    }

    /// Does what commits of others' decisions left for later, once for all of them: the use of the
    /// queues above leaves, used shares, and the limits that users are told, which are those of a pass
    /// that comes by now. To be called before anything but [`Ledger::commit`] reads or changes the
    /// state.
    ///
    /// Cost: for each leaf and each user that got containers since the last call, that of one.
    // As UsersManager.getComputedResourceLimitForActiveUsers.
    pub fn catch_up(&mut self) {
        self.deferred_charges.settle(&mut self.state);
        with_width!(self.state.calculator, N => self.tell_users::<N>());
    }

    fn tell_users<const N: usize>(&mut self) {
        let kind = Exclusivity::Respect.limit_kind();
        while let Some((user, partition)) = self.untold.pop() {
            let record = &mut self.state.users[user];
            record.untold = false;
            let leaf = record.leaf;
            if !record.removed {
                self.user_limit::<N>(leaf, Some(user), partition, kind);
            }
        }
    }
}
