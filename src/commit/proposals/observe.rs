//! Applying what passes observed.
//!
//! Tests: `tests/commit/working_copies.rs`.

use crate::commit::event::Event;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::Outbox;
use crate::id::{AppSlot, NodeSlot, SchedulerKey};
use crate::policy::Locality;
use crate::proposer::{CounterMove, LimitWrite, Observation};
use crate::snapshot::State;

/// What looks leave behind that find nothing to place: counters of asks, limits of leaves, reservations that are kept.
/// Who knows the result of a look writes it here without looking.
#[derive(Debug)]
pub struct LookResults<'a> {
    state: &'a mut State,
    outbox: &'a mut Outbox,
}

impl LookResults<'_> {
    /// Counts looks that found nothing, each so many times over.
    pub fn repeat(&mut self, looks: &[CounterMove], times: u64) {
        let grown = |counter: i32, by: i32| {
            let by = u64::from(by.unsigned_abs()).saturating_mul(times);
            counter.saturating_add(i32::try_from(by).unwrap_or(i32::MAX))
        };
        for look in looks {
            let app = &mut self.state.apps[look.app];
            if let Ok(at) = app.keys.find(look.key) {
                let asks = &mut app.keys[at];
                asks.opportunities = grown(asks.opportunities, look.opportunities);
                asks.missed = grown(asks.missed, look.missed);
            }
        }
    }

    /// Publishes limits of leaves once more, whatever was published meanwhile.
    pub fn repeat_limits(&mut self, writes: &[LimitWrite]) {
        for write in writes {
            self.publish_limit(write);
        }
    }

    /// Publishes the limit of a leaf.
    pub fn publish_limit(&mut self, write: &LimitWrite) {
        if self.state.queues[write.leaf].as_leaf().published_limit != write.limit {
            let leaf = self.state.queues[write.leaf].as_leaf_mut();
            leaf.published_limit.clone_from(&write.limit);
        }
    }

    /// Keeps reservations of a key so many times more, where an attempt does nothing else.
    // As FiCaSchedulerApp.reReserveContainer, and RegularContainerAllocator before it.
    pub(crate) fn keep_reservations(&mut self, (app, key): (AppSlot, SchedulerKey), times: i32) {
        let asks = self.state.apps[app].key_mut(key);
        asks.opportunities = asks.opportunities.saturating_add(times);
        asks.re_reservations = asks.re_reservations.saturating_add(times);
    }

    /// Reports that a reservation was kept, as its attempt does.
    pub fn report_kept(&mut self, node: NodeSlot) {
        let row = &self.state.nodes[node];
        let Some(held) = row.reserved else {
            return;
        };
        self.outbox.push(Event::Reserved {
            container: self.state.apps[held.app].container(held.number),
            node: row.name.clone(),
            size: held.size,
            key: held.key,
            locality: Locality::Any,
            requested: Some(Locality::Any),
            partition: row.partition,
            borrowed: false,
            again: true,
        });
    }
}

impl Ledger {
    /// What looks leave behind, to be written without a look.
    pub fn looks(&mut self) -> LookResults<'_> {
        LookResults {
            state: &mut self.state,
            outbox: &mut self.outbox,
        }
    }

    /// Applies what a pass changed by looking, in order.
    pub fn observe(&mut self, observations: &[Observation]) {
        for observation in observations {
            self.leaves.observe(&mut self.state, observation);
        }
    }
}
