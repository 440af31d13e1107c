//! Headroom: what an answer says that an application may still get.
//!
//! Tests: `tests/inputs/requests.rs`.

use super::Leaves;
use super::records::user_limit;
use crate::id::{AppSlot, PartitionId};
use crate::policy::headroom;
use crate::queue::LimitKind;
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Leaves {
    /// The headroom in an answer: summed over the partitions that it asked for.
    // As CapacityHeadroomProvider.getHeadroom.
    pub(in crate::commit) fn answered_headroom(
        &self,
        state: &mut State,
        app: AppSlot,
    ) -> ResourceVector {
        let row = &state.apps[app];
        if row.provider.is_none() {
            return ResourceVector::NONE;
        }
        let requested = row.requested.clone();
        let mut sum = if requested.is_empty() || requested.as_slice() == [PartitionId::DEFAULT] {
            self.headroom_on(state, app, PartitionId::DEFAULT)
        } else {
            requested
                .into_iter()
                .fold(ResourceVector::NONE, |sum, partition| {
                    sum + self.headroom_on(state, app, partition)
                })
        };
        sum.set(crate::resource::MEMORY, sum.memory().max(0));
        sum
    }

    fn headroom_on(
        &self,
        state: &mut State,
        app: AppSlot,
        partition: PartitionId,
    ) -> ResourceVector {
        let row = &state.apps[app];
        let Some(provider) = row.provider else {
            return ResourceVector::NONE;
        };
        let named = self.user_in(state, provider.leaf, app);
        let limit = user_limit(state, provider.leaf, named, partition, LimitKind::Respect);
        let user = &state.users[provider.user];
        let used = if user.generation == provider.generation {
            user.part(partition).used.get()
        } else {
            ResourceVector::NONE
        };
        headroom(state, provider.leaf, partition, &limit, &used)
    }
}
