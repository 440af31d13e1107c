//! Changes of containers that wait for their application to fetch them.
//!
//! Each change has an auxiliary container with a number of its own. Its size is what an increase adds, or nothing
//! where a container gets smaller. When the application fetches the change, the two exchange resources and the
//! auxiliary container ends. Sums of sizes stay as they are in between.
//!
//! Tests: `tests/commit/updates.rs`.

use std::collections::BTreeMap;

use super::slot::ContainerSlot;
use crate::id::{ContainerId, java_order};
use crate::queue::UpdateKind;
use crate::resource::{PackedVector, ResourceVector};

/// What changes have made of a container.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct ChangedContainer {
    /// Counts its changes, from 0.
    pub(in crate::commit) version: u32,
    /// What it takes of its node beside guaranteed containers, where it is opportunistic.
    pub(in crate::commit) opportunistic: Option<ResourceVector>,
}

/// A change that was granted.
#[derive(Clone, Debug)]
pub(in crate::commit) struct GrantedUpdate {
    /// Number of the container that changes.
    pub(in crate::commit) number: u32,
    /// The auxiliary container.
    pub(in crate::commit) auxiliary: ContainerSlot,
    /// What changes; nothing where the container was gone when the change was granted.
    pub(in crate::commit) kind: Option<UpdateKind>,
    /// The size to decrease to; otherwise the size follows from both containers.
    pub(in crate::commit) target: Option<PackedVector>,
}

/// Granted changes of one application. A container has one at most.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct GrantedUpdates {
    /// By number of the container that changes; each with its position in the order of grants.
    by_number: BTreeMap<u32, (u64, GrantedUpdate)>,
    /// Those of containers that were gone when the change was granted.
    of_gone: Vec<GrantedUpdate>,
    pushed: u64,
    /// How many there are of each kind, and the most that there ever were, by which a hash map has buckets.
    counts: [usize; UpdateKind::COUNT],
    most: [usize; UpdateKind::COUNT],
}

impl GrantedUpdates {
    /// Adds a change.
    pub(in crate::commit) fn push(&mut self, update: GrantedUpdate) {
        let Some(kind) = update.kind else {
            self.of_gone.push(update);
            return;
        };
        self.pushed += 1;
        let number = update.number;
        self.by_number.insert(number, (self.pushed, update));
        let (count, most) = (
            &mut self.counts[kind as usize],
            &mut self.most[kind as usize],
        );
        *count += 1;
        *most = (*most).max(*count);
    }

    /// Whether there is none.
    pub(in crate::commit) fn is_empty(&self) -> bool {
        self.by_number.is_empty() && self.of_gone.is_empty()
    }

    /// Whether a container has a change.
    pub(in crate::commit) fn has(&self, number: u32) -> bool {
        self.by_number.contains_key(&number)
    }

    /// Forgets the change of a container whose auxiliary container ended.
    pub(in crate::commit) fn remove(&mut self, number: u32, auxiliary: ContainerSlot) {
        self.of_gone.retain(|update| update.auxiliary != auxiliary);
        let known = self.by_number.get(&number);
        if known.is_some_and(|(_, update)| update.auxiliary == auxiliary) {
            self.take_one(number);
        }
    }

    fn take_one(&mut self, number: u32) -> Option<GrantedUpdate> {
        let (_, update) = self.by_number.remove(&number)?;
        if let Some(kind) = update.kind {
            self.counts[kind as usize] -= 1;
        }
        Some(update)
    }

    /// Takes changes in the order in which they are handed out, at most so many: those of containers that are gone,
    /// increases, decreases, promotions, demotions; within a kind in the order of a hash map of the containers.
    // As SchedulerApplicationAttempt.pullNewlyUpdatedContainers.
    pub(in crate::commit) fn take(
        &mut self,
        most: usize,
        id: impl Fn(u32) -> ContainerId,
    ) -> Vec<GrantedUpdate> {
        let of_gone = self.of_gone.len().min(most);
        let mut taken: Vec<_> = self.of_gone.drain(..of_gone).collect();
        for kind in [
            UpdateKind::Increase,
            UpdateKind::Decrease,
            UpdateKind::Promote,
            UpdateKind::Demote,
        ] {
            if self.counts[kind as usize] == 0 || taken.len() == most {
                continue;
            }
            let of_kind = self.by_number.iter();
            let of_kind = of_kind.filter(|(_, (_, update))| update.kind == Some(kind));
            let mut ordered: Vec<_> = of_kind.map(|(&number, &(at, _))| (at, number)).collect();
            ordered.sort_unstable();
            java_order::sort(&mut ordered, self.most[kind as usize], |&(_, number)| {
                java_order::container_hash(id(number))
            });
            for (_, number) in ordered.into_iter().take(most - taken.len()) {
                taken.extend(self.take_one(number));
            }
        }
        taken
    }
}
