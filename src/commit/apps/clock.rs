//! Time in the ledger: its clock, which only moves forward, and the ends of lifetimes.
//!
//! Tests: `tests/commit/lifetimes.rs`.

use std::collections::{BTreeSet, VecDeque};

use super::unconfirmed::UnconfirmedIncreases;
use crate::id::{AppSlot, ContainerId, NodeSlot};
use crate::queue::LifetimeSettings;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// The time that the ledger was set to, and what is due by time. Times are in ms.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct LedgerClock {
    now_ms: u64,
    /// When lifetimes end, and whose: slot and generation.
    deadlines: BTreeSet<(u64, AppSlot, u32)>,
    /// Attempts started so far.
    starts: u64,
    /// How long after it was handed out a container expires in ms, if no node launched it.
    allocation_expiry_ms: Option<u64>,
    /// When containers that were handed out expire, the oldest first.
    handed_out: VecDeque<(u64, ContainerId)>,
    /// Increases that expire.
    increases: UnconfirmedIncreases,
}

impl LedgerClock {
    /// The present time.
    #[inline]
    pub(in crate::commit) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Sets the time, which never goes back.
    pub(in crate::commit) fn set(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
    }

    /// Moves the time forward.
    pub(in crate::commit) fn advance(&mut self, ms: u64) {
        self.now_ms = self.now_ms.saturating_add(ms);
    }

    /// Position of the next attempt in the order of starts, which is used up by that.
    pub(in crate::commit) fn next_start(&mut self) -> u64 {
        self.starts += 1;
        self.starts
    }

    /// Starts the clock of a new application, by its queue's settings.
    pub(in crate::commit) fn start_lifetime(&mut self, state: &State, app: AppSlot) {
        let leaf = state.apps[app].leaf;
        let settings = state.queues[leaf].settings.lifetime;
        if let Some(seconds) = effective_lifetime(settings, None) {
            self.end_after(state, app, seconds);
        }
    }

    /// Gives an application a lifetime of some seconds from now on.
    pub(in crate::commit) fn end_after(&mut self, state: &State, app: AppSlot, seconds: i64) {
        let ms = u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
        let generation = state.apps[app].generation;
        self.end_in(ms, app, generation);
    }

    /// Ends a lifetime in some ms from now.
    fn end_in(&mut self, ms: u64, app: AppSlot, generation: u32) {
        let deadline = self.now_ms.saturating_add(ms);
        self.deadlines.insert((deadline, app, generation));
    }

    /// How many lifetimes are known.
    pub(in crate::commit) fn lifetimes(&self) -> usize {
        self.deadlines.len()
    }

    /// Forgets the lifetime of an application.
    pub(in crate::commit) fn forget(&mut self, app: AppSlot, generation: u32) {
        let kept = |&(_, other, known): &(u64, AppSlot, u32)| (other, known) != (app, generation);
        self.deadlines.retain(kept);
    }

    /// The application of a slot has the next generation: its lifetime goes on.
    ///
    /// Cost: a look at all lifetimes.
    pub(in crate::commit) fn follow_generation(&mut self, app: AppSlot, before: u32) {
        let of_app = |&&(_, other, known): &&(u64, AppSlot, u32)| (other, known) == (app, before);
        let deadline = self.deadlines.iter().find(of_app).copied();
        if let Some(known) = deadline {
            self.deadlines.remove(&known);
            self.deadlines.insert((known.0, app, before + 1));
        }
    }

    /// Sets after how many ms a container expires that is handed out from now on.
    pub(in crate::commit) fn set_allocation_expiry(&mut self, after_ms: Option<u64>) {
        self.allocation_expiry_ms = after_ms;
    }

    /// Notes that a container was handed out.
    ///
    /// Cost: nothing unless allocations expire.
    #[inline]
    pub(in crate::commit) fn note_handed_out(&mut self, container: ContainerId) {
        if let Some(after_ms) = self.allocation_expiry_ms {
            let deadline = self.now_ms.saturating_add(after_ms);
            self.handed_out.push_back((deadline, container));
        }
    }

    /// Takes the next container of which the time to be launched is over.
    pub(in crate::commit) fn take_expired(&mut self) -> Option<ContainerId> {
        let now_ms = self.now_ms;
        let expired = self
            .handed_out
            .pop_front_if(|&mut (deadline, _)| deadline <= now_ms)?;
        Some(expired.1)
    }

    /// Notes that an application fetched the increase of a container, from a size.
    pub(in crate::commit) fn note_increased(
        &mut self,
        of: (NodeSlot, ContainerId),
        held: ResourceVector,
    ) {
        if let Some(after_ms) = self.allocation_expiry_ms {
            let deadline = self.now_ms.saturating_add(after_ms);
            self.increases.add(of, deadline, held);
        }
    }

    /// A node confirmed the size of a container.
    pub(in crate::commit) fn confirm_increase(&mut self, node: NodeSlot, container: ContainerId) {
        self.increases.confirm(node, container);
    }

    /// A node confirmed a part of an increase.
    pub(in crate::commit) fn confirm_part(
        &mut self,
        (node, container): (NodeSlot, ContainerId),
        size: &ResourceVector,
    ) {
        self.increases.confirm_part(node, container, size);
    }

    /// A node confirmed the sizes of all its containers.
    pub(in crate::commit) fn confirm_increases(&mut self, node: NodeSlot) {
        self.increases.confirm_all(node);
    }

    /// Takes the next increase of which the time to be confirmed is over, with the size to go back to.
    pub(in crate::commit) fn take_expired_increase(
        &mut self,
    ) -> Option<(ContainerId, ResourceVector)> {
        self.increases.take_expired(self.now_ms)
    }

    /// When the next lifetime ends.
    fn next_end(&self) -> Option<u64> {
        self.deadlines.first().map(|&(deadline, _, _)| deadline)
    }

    /// When the next lifetime ends or allocation expires.
    pub(in crate::commit) fn next_deadline(&self) -> Option<u64> {
        let expires = self.handed_out.front().map(|&(deadline, _)| deadline);
        let increases = self.increases.next_deadline();
        let all = [self.next_end(), expires, increases];
        all.into_iter().flatten().min()
    }

    /// Takes the next application whose lifetime is over.
    pub(in crate::commit) fn take_due(&mut self) -> Option<(AppSlot, u32)> {
        let due = self.next_end().is_some_and(|at| at <= self.now_ms);
        let (_, app, generation) = due.then(|| self.deadlines.pop_first())??;
        Some((app, generation))
    }
}

/// The lifetime that holds for an application: what it wished, or the queue's default, cut to the
/// queue's maximum; nothing when it is unlimited. In seconds.
// As CapacityScheduler.checkAndGetApplicationLifetime.
#[must_use]
pub fn effective_lifetime(settings: LifetimeSettings, wished_s: Option<i64>) -> Option<i64> {
    let bounded = |seconds: i64| seconds > 0;
    let wanted = wished_s
        .filter(|&s| bounded(s))
        .unwrap_or(settings.default_s);
    let most = Some(settings.maximum_s).filter(|&s| bounded(s));
    match (Some(wanted).filter(|&s| bounded(s)), most) {
        (Some(wanted), Some(most)) => Some(wanted.min(most)),
        (wanted, most) => wanted.or(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_cut_to_the_maximum_and_a_default_stands_in_for_none() {
        let queue = |maximum_s, default_s| LifetimeSettings {
            maximum_s,
            default_s,
        };
        assert_eq!(effective_lifetime(queue(-1, -1), None), None);
        assert_eq!(effective_lifetime(queue(-1, -1), Some(50)), Some(50));
        assert_eq!(effective_lifetime(queue(100, 20), None), Some(20));
        assert_eq!(effective_lifetime(queue(100, -1), None), Some(100));
        assert_eq!(effective_lifetime(queue(100, 20), Some(500)), Some(100));
        assert_eq!(effective_lifetime(queue(0, 0), Some(500)), Some(500));
    }
}
