//! Demand: what applications ask for, key by key, and the figures that follow it.
//!
//! Tests: `tests/inputs/requests.rs`.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::Leaves;
use crate::commit::apps::ask_error::AskError;
use crate::commit::containers::container::{Container, GiveBack};
use crate::id::{AppSlot, NameId, PartitionId, SchedulerKey, java_order};
use crate::queue::PlaceAsk;
use crate::snapshot::State;

/// Asks that passed the checks; most calls have one or two.
pub(in crate::commit) type CheckedAsks = SmallVec<[Checked; 2]>;

/// An ask that passed the checks.
pub(in crate::commit) struct Checked {
    pub(in crate::commit) key: SchedulerKey,
    pub(in crate::commit) place: NameId,
    pub(in crate::commit) ask: PlaceAsk,
}

impl Leaves {
    /// What a container had been asked with that was lost or given back before its application
    /// fetched it is asked again at once, before anything else happens: its user may become active
    /// by that.
    // As AbstractYarnScheduler.recoverResourceRequestForContainer.
    pub(in crate::commit) fn give_back_container(
        &mut self,
        state: &mut State,
        container: &mut Container,
    ) {
        let (app, key, size) = (container.app, container.key, container.size.get());
        let given = std::mem::take(&mut container.give_back);
        if state.apps[app].stage.is_over() {
            return;
        }
        match given {
            GiveBack::Nothing => {}
            GiveBack::Anywhere(sole) => {
                let ask = PlaceAsk {
                    place: NameId::ANY,
                    size: size.into(),
                    count: sole.count,
                    relax: sole.relax,
                    partition: sole.partition,
                };
                self.give_back(state, app, key, &[ask]);
            }
            GiveBack::Places(asks) => self.give_back(state, app, key, &asks),
        }
    }

    /// Gives back what a lost container had been asked with.
    // As AbstractYarnScheduler.recoverResourceRequestForContainer.
    fn give_back(&mut self, state: &mut State, app: AppSlot, key: SchedulerKey, asks: &[PlaceAsk]) {
        let checked = asks
            .iter()
            .map(|ask| {
                let known = state.apps[app].key(key).filter(|asks| asks.known);
                let count = known
                    .and_then(|asks| asks.at(ask.place))
                    .map_or(0, |old| old.count);
                Checked {
                    key,
                    place: ask.place,
                    ask: PlaceAsk {
                        count: count + 1,
                        ..ask.clone()
                    },
                }
            })
            .collect();
        self.update_own_asks(state, app, checked);
    }

    /// Takes over asks of the scheduler's own making.
    pub(in crate::commit) fn update_own_asks(
        &mut self,
        state: &mut State,
        app: AppSlot,
        asks: CheckedAsks,
    ) {
        let constrained = |asks: &crate::queue::KeyAsks| asks.constrained.is_some();
        let free = |checked: &Checked| !state.apps[app].key(checked.key).is_some_and(constrained);
        let asks = asks.into_iter().filter(free).collect();
        self.update_asks(state, app, asks)
            .expect("keys of scheduling requests were left out");
    }

    /// Takes over asks, key by key in the order of a hash map; whether an ask for `*` was among
    /// them. A key that belongs to a scheduling request ends it: what came before stays.
    // As AppSchedulingInfo.updateResourceRequests with SingleConstraintAppPlacementAllocator.
    pub(in crate::commit) fn update_asks(
        &mut self,
        state: &mut State,
        app: AppSlot,
        asks: CheckedAsks,
    ) -> Result<bool, AskError> {
        let mut changed = false;
        if let [only] = asks.as_slice() {
            let key = only.key;
            return self.update_key(state, app, key, asks);
        }
        for (key, places) in by_key(asks) {
            changed |= self.update_key(state, app, key, places)?;
        }
        Ok(changed)
    }

    /// Takes over asks under one key.
    fn update_key(
        &mut self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
        mut places: CheckedAsks,
    ) -> Result<bool, AskError> {
        let known = state.apps[app].key(key);
        if known.is_some_and(|asks| asks.constrained.is_some()) {
            let reason = "the key belongs to a scheduling request".to_owned();
            return Err(AskError::Constrained(reason));
        }
        // What the ask for `*` does to the key comes after all its places.
        places.sort_by_key(|checked| checked.place == NameId::ANY);
        let mut changed = false;
        for Checked { place, ask, .. } in places {
            changed |= self.update_ask(state, app, key, PlaceAsk { place, ..ask });
        }
        Ok(changed)
    }

    fn update_ask(
        &mut self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
        mut new: PlaceAsk,
    ) -> bool {
        let asks = state.apps[app].key_mut(key);
        if !asks.known {
            asks.known = true;
            asks.partition = PartitionId::DEFAULT;
        }
        let labelled = asks.at(NameId::ANY).map(|any| any.partition);
        if new.place != NameId::ANY {
            // Hosts and racks share the label of the ask for anywhere.
            new.partition = labelled.unwrap_or(new.partition);
        } else if labelled != Some(new.partition) {
            for other in asks.asks.iter_mut().filter(|ask| ask.place != NameId::ANY) {
                other.partition = new.partition;
            }
        }
        let old = asks.put(new.clone());
        if new.place != NameId::ANY {
            return false;
        }
        let partition = new.partition.unwrap_or(PartitionId::DEFAULT);
        asks.partition = partition;
        note_requested(state, app, partition);
        self.pending_changed(state, app, key, old, &new);
        true
    }

    /// Follows a change of an ask for `*` in the figures of demand.
    // As AppSchedulingInfo.updatePendingResources.
    pub(in crate::commit) fn pending_changed(
        &mut self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
        old: Option<PlaceAsk>,
        new: &PlaceAsk,
    ) {
        let before = old.as_ref().map_or(0, |old| old.count);
        if new.count <= 0 {
            if before >= 0 {
                close_key(state, app, key, true);
            }
            self.stop_asking_without_keys(state, app);
        } else if before <= 0 {
            state.apps[app].key_mut(key).outstanding = true;
            self.start_asking(state, app);
        }
        if let Some(old) = old {
            let partition = old.partition.unwrap_or(PartitionId::DEFAULT);
            self.add_pending(
                state,
                app,
                partition,
                -old.size.get().times(i64::from(before)),
            );
        }
        let partition = new.partition.unwrap_or(PartitionId::DEFAULT);
        self.add_pending(
            state,
            app,
            partition,
            new.size.get().times(i64::from(new.count)),
        );
    }

    pub(in crate::commit) fn stop_asking_without_keys(&mut self, state: &mut State, app: AppSlot) {
        let row = &state.apps[app];
        if row.keys.iter().all(|asks| !asks.outstanding) {
            let leaf = row.leaf;
            self.stop_asking(state, app, leaf);
        }
    }
}

/// Asks by key in the order of a hash map; the last ask for one place counts.
fn by_key(asks: CheckedAsks) -> Vec<(SchedulerKey, CheckedAsks)> {
    let mut by_key: Vec<(SchedulerKey, CheckedAsks)> = Vec::new();
    let mut positions = BTreeMap::new();
    for checked in asks {
        let at = *positions.entry(checked.key).or_insert(by_key.len());
        if at == by_key.len() {
            by_key.push((checked.key, CheckedAsks::new()));
        }
        let places = &mut by_key[at].1;
        match places.iter_mut().find(|other| other.place == checked.place) {
            Some(other) => *other = checked,
            None => places.push(checked),
        }
    }
    java_order::sort(&mut by_key, 0, |(key, _)| {
        java_order::scheduler_key_hash(key.priority, key.request_id)
    });
    by_key
}

fn note_requested(state: &mut State, app: AppSlot, partition: PartitionId) {
    let requested = &mut state.apps[app].requested;
    if let Err(at) = requested.binary_search(&partition) {
        requested.insert(at, partition);
    }
}

/// A key has nothing outstanding any more; `forget`: its asks for hosts and racks go too.
pub(in crate::commit) fn close_key(
    state: &mut State,
    app: AppSlot,
    key: SchedulerKey,
    forget: bool,
) {
    let asks = state.apps[app].key_mut(key);
    asks.outstanding = false;
    if forget {
        asks.known = false;
        asks.asks.clear();
        asks.constrained = None;
        asks.partition = PartitionId::DEFAULT;
    }
}
