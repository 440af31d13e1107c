//! The figures behind a reason: dimension, limit, used, asked, the queue that binds, who holds most.

use std::sync::Arc;

use super::holders::{Holder, HolderScope, Holders};
use crate::id::{AppSlot, PartitionId, QueuePath, QueueSlot};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// What shows a reason. Amounts are in the unit of the dimension, such as MiB for memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The resource type that decides, or what is counted; nothing where neither does.
    pub dimension: Option<Arc<str>>,
    /// What is allowed of it, or how many applications.
    pub limit: Option<i64>,
    /// What is used of it; where something is counted, how many there are.
    pub used: Option<i64>,
    /// What one container asks of it.
    pub asked: Option<i64>,
    /// Full path of the queue whose limit binds.
    pub binding: Option<QueuePath>,
    /// Who holds most of the dimension, largest first, at most three.
    pub holders: Vec<Holder>,
    /// Nodes that lack room, by the first type that they lack.
    pub short: Vec<(Arc<str>, u64)>,
}

impl Evidence {
    /// The figures of a limit: of the first type in which `used` and one more container exceed it, or
    /// else of the type that is used most of.
    pub(super) fn of_limit(
        state: &State,
        (limit, used, asked): (&ResourceVector, &ResourceVector, &ResourceVector),
    ) -> Self {
        let types = &state.settings.resource_types;
        let exceeds =
            |&index: &usize| asked[index] > 0 && used[index] + asked[index] > limit[index];
        let above = |&index: &usize| used[index] > limit[index];
        let counted = 0..types.len();
        let index = counted.clone().find(exceeds);
        let index = index.or_else(|| counted.clone().find(above)).unwrap_or(0);
        Self {
            dimension: types.get(index).map(Arc::clone),
            limit: Some(limit[index]),
            used: Some(used[index]),
            asked: Some(asked[index]),
            ..Self::default()
        }
    }

    /// The figures of a number of applications that is reached, of a queue or of the scheduler.
    #[must_use]
    pub fn of_full_count(limit: i32, queue: Option<&str>) -> Self {
        Self {
            binding: queue.map(QueuePath::from),
            ..Self::of_count(limit, limit)
        }
    }

    /// The figures of a number of applications.
    pub(super) fn of_count(limit: i32, used: i32) -> Self {
        Self {
            limit: Some(i64::from(limit)),
            used: Some(i64::from(used)),
            asked: Some(1),
            ..Self::default()
        }
    }

    /// How many there are of something.
    pub(super) fn of_number<N: TryInto<i64>>(what: &str, number: N) -> Self {
        Self {
            dimension: Some(Arc::from(what)),
            used: number.try_into().ok(),
            ..Self::default()
        }
    }

    /// The same with the queue that binds.
    pub(super) fn binding(mut self, state: &State, queue: QueueSlot) -> Self {
        self.binding = Some(state.queues[queue].settings.path.clone());
        self
    }

    /// The same with the largest holders of the dimension in a scope.
    pub(super) fn held_by(
        self,
        holders: &mut Holders<'_>,
        partition: PartitionId,
        scope: HolderScope,
    ) -> Self {
        self.held_without(holders, (scope, partition), None)
    }

    /// The same without one application.
    pub(super) fn held_without(
        mut self,
        holders: &mut Holders<'_>,
        (scope, partition): (HolderScope, PartitionId),
        without: Option<AppSlot>,
    ) -> Self {
        let types = &holders.state().settings.resource_types;
        let named = |name: &Arc<str>| types.iter().position(|known| known == name);
        let index = self.dimension.as_ref().and_then(named).unwrap_or(0);
        self.holders = holders.largest((scope, partition, index), without);
        self
    }
}
