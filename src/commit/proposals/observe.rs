//! Applying what passes observed.
//!
//! Tests: `tests/commit/working_copies.rs`.

use crate::accounting::{note_head_limit, note_user_limit};
use crate::commit::event::LedgerEvent;
use crate::commit::ledger::Ledger;
use crate::commit::users::records::keep_user_limit;
use crate::id::{ContainerId, NodeSlot, QueueSlot};
use crate::policy::Locality;
use crate::proposer::{
    CounterMove, Observation, ToldLimit, note_cached_limit, note_counters, publish_limit,
};
use crate::resource::PackedVector;
use crate::snapshot::State;

impl Ledger {
    /// Counts looks that found nothing, each so many times over.
    pub fn repeat_looks(&mut self, looks: &[CounterMove], times: u64) {
        let grown = |counter: i32, by: i32| {
            let by = u64::from(by.unsigned_abs()).saturating_mul(times);
            counter.saturating_add(i32::try_from(by).unwrap_or(i32::MAX))
        };
        for look in looks {
            let app = &mut self.state.apps[look.app];
            if let Ok(at) = app.find_key(look.key) {
                let asks = &mut app.keys[at];
                asks.opportunities = grown(asks.opportunities, look.opportunities);
                asks.missed = grown(asks.missed, look.missed);
            }
        }
    }

    /// Writes limits of leaves once more, whatever was written meanwhile.
    pub fn repeat_limits(&mut self, told: &[ToldLimit]) {
        for told in told {
            let leaf = self.state.queues[told.leaf].as_leaf_mut();
            leaf.current_limit.clone_from(&told.limit);
            if told.published {
                leaf.published_limit.clone_from(&told.limit);
            }
        }
    }

    /// Writes to a leaf the limit that it has now, and the one that is published.
    pub fn tell_limit(
        &mut self,
        leaf: QueueSlot,
        current: Option<&PackedVector>,
        published: Option<&PackedVector>,
    ) {
        let known = self.state.queues[leaf].as_leaf();
        let news =
            |new: Option<&PackedVector>, old: &PackedVector| new.is_some_and(|new| new != old);
        if !news(current, &known.current_limit) && !news(published, &known.published_limit) {
            return;
        }
        let leaf = self.state.queues[leaf].as_leaf_mut();
        if let Some(limit) = current {
            leaf.current_limit.clone_from(limit);
        }
        if let Some(limit) = published {
            leaf.published_limit.clone_from(limit);
        }
    }

    /// Keeps the reservation on a node so many times more, where an attempt does nothing else.
    // As FiCaSchedulerApp.reReserveContainer, and RegularContainerAllocator before it.
    pub fn keep_reservation(&mut self, node: NodeSlot, times: i32) {
        let Some(held) = self.state.nodes[node].reserved else {
            return;
        };
        let asks = self.state.apps[held.app].key_mut(held.key);
        asks.opportunities = asks.opportunities.saturating_add(times);
        asks.re_reservations = asks.re_reservations.saturating_add(times);
    }

    /// Reports that a reservation was kept, as its attempt does.
    pub fn tell_kept(&mut self, node: NodeSlot) {
        let row = &self.state.nodes[node];
        let Some(held) = row.reserved else {
            return;
        };
        self.outbox.push(LedgerEvent::Reserved {
            container: ContainerId {
                app: self.state.apps[held.app].id,
                number: held.number,
            },
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

    /// Applies what a pass changed by looking, in order.
    pub fn observe(&mut self, observations: &[Observation]) {
        for observation in observations {
            self.observe_one(observation);
        }
    }

    fn observe_one(&mut self, observation: &Observation) {
        let state = &mut self.state;
        match *observation {
            Observation::CurrentLimit { leaf, ref limit } => {
                state.queues[leaf].as_leaf_mut().current_limit = limit.clone();
            }
            Observation::UserLimit { .. } => note_computed_limit(state, observation),
            Observation::LimitNotice { .. } | Observation::HeadNotice { .. } => {
                note_limit(state, observation);
            }
            Observation::HeadGrown { leaf, ref growth } if growth.len == 0 => {
                self.skipped.cut(state, leaf, 0);
            }
            Observation::HeadGrown { leaf, ref growth } => self.skipped.grow(state, leaf, growth),
            Observation::Served { app, provider } => {
                publish_limit(state, provider.leaf);
                self.set_provider(app, Some(provider));
            }
            Observation::CachedUserLimit { .. } => note_cached_limit(state, observation),
            Observation::UserUnknown {
                leaf,
                app,
                partition,
                exclusivity,
            } => self.refuse_unknown_user(leaf, app, partition, exclusivity),
            Observation::Counters { .. } => note_counters(state, observation),
            Observation::Sorted { leaf } => self.sort_marked(leaf),
        }
    }
}

/// Keeps a user limit that a pass computed; other observations change nothing.
fn note_computed_limit(state: &mut State, observation: &Observation) {
    if let Observation::UserLimit {
        leaf,
        partition,
        kind,
        version,
        ref limit,
    } = *observation
    {
        keep_user_limit(state, leaf, partition, kind, version, limit.clone());
    }
}

/// Notes a limit that was handed to one application, or to all of the skippable head of a leaf.
fn note_limit(state: &mut State, observation: &Observation) {
    match *observation {
        Observation::LimitNotice {
            user,
            ref limit,
            once,
        } => {
            note_user_limit(state, user, limit.clone());
            if let Some((partition, exclusivity, version)) = once {
                let part = &mut state.users[user].parts[partition];
                part.limit_version[exclusivity as usize] = Some(version);
            }
        }
        Observation::HeadNotice {
            leaf,
            partition,
            exclusivity,
            version,
            ref limit,
        } => note_head_limit(state, leaf, (partition, exclusivity, version), limit.get()),
        _ => {}
    }
}
