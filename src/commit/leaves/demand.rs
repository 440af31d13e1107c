//! Demand: what applications ask for, key by key, and the figures that follow it.
//!
//! Tests: `tests/inputs/requests.rs`.

use smallvec::SmallVec;

use super::Leaves;
use crate::commit::apps::ask_error::AskError;
use crate::commit::containers::container::{Container, GiveBack};
use crate::id::{AppSlot, NameId, PartitionId, SchedulerKey};
use crate::queue::{App, PlaceAsk};
use crate::snapshot::State;

/// Asks that passed the checks; most calls have one or two.
pub(in crate::commit) type CheckedAsks = SmallVec<[Checked; 2]>;

/// An ask that passed the checks.
#[derive(Clone, Debug)]
pub(in crate::commit) struct Checked {
    pub(in crate::commit) key: SchedulerKey,
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
        let known = state.apps[app].key(key).filter(|asks| asks.known);
        let again = |ask: &PlaceAsk| {
            let before = known.and_then(|asks| asks.at(ask.place));
            PlaceAsk {
                count: before.map_or(0, |old| old.count) + 1,
                ..ask.clone()
            }
        };
        let asks = asks.iter().map(again).collect();
        self.update_own_asks(state, app, key, asks);
    }

    /// Takes over asks of the scheduler's own making under a key.
    pub(in crate::commit) fn update_own_asks(
        &mut self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
        asks: Vec<PlaceAsk>,
    ) {
        if check_key(state, app, key).is_err() {
            return;
        }
        let anywhere = |ask: &PlaceAsk| ask.place == NameId::ANY;
        let (any, places): (Vec<_>, Vec<_>) = asks.into_iter().partition(anywhere);
        if !places.is_empty() {
            state.apps[app].put_places(key, places);
        }
        for ask in any {
            let label = ask.partition;
            self.ask_anywhere(state, app, key, ask);
            relabel_places(&mut state.apps[app], key, label, &mut usize::MAX.clone());
        }
    }

    /// Takes one container off what is asked anywhere under a key, if anything is.
    // As ContainerUpdateContext.cancelPreviousRequest.
    pub(in crate::commit) fn withdraw_one(
        &mut self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
    ) {
        let row = &mut state.apps[app];
        let Ok(at) = row.keys.find(key) else { return };
        let asks = &mut row.keys[at];
        let Some(any) = asks.at(NameId::ANY).filter(|any| any.count > 0) else {
            return;
        };
        let (partition, size) = (any.partition, any.size.get());
        let left = asks.take_one(NameId::ANY, |_| {});
        asks.known = !asks.places.is_empty();
        if left <= 0 {
            row.close_key(at);
            self.stop_asking_without_keys(state, app);
        }
        self.add_pending(state, app, partition.unwrap_or(PartitionId::DEFAULT), -size);
    }

    /// Takes over the ask for `*` under a key. What it does to the labels of other places comes after it.
    pub(in crate::commit) fn ask_anywhere(
        &mut self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
        new: PlaceAsk,
    ) {
        let row = &mut state.apps[app];
        let at = row.add_key(key);
        let asks = &mut row.keys[at];
        asks.know();
        let old = asks.put(new.clone());
        let partition = new.partition.unwrap_or(PartitionId::DEFAULT);
        asks.partition = partition;
        note_requested(state, app, partition);
        self.pending_changed(state, (app, at), old, &new);
    }

    /// Follows a change of an ask for `*` under the key at a position in the figures of demand.
    // As AppSchedulingInfo.updatePendingResources.
    pub(in crate::commit) fn pending_changed(
        &mut self,
        state: &mut State,
        (app, at): (AppSlot, usize),
        old: Option<PlaceAsk>,
        new: &PlaceAsk,
    ) {
        let before = old.as_ref().map_or(0, |old| old.count);
        if new.count <= 0 {
            if before >= 0 {
                let row = &mut state.apps[app];
                row.close_key(at);
                // Its asks for hosts and racks go too.
                self.forgotten.add_places(row.keys[at].forget_asks());
            }
            self.stop_asking_without_keys(state, app);
        } else if before <= 0 {
            state.apps[app].open_key(at);
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
        if !row.has_open_key() {
            let leaf = row.leaf;
            self.stop_asking(state, app, leaf);
        }
    }
}

/// Checks that asks may come under a key.
pub(in crate::commit) fn check_key(
    state: &State,
    app: AppSlot,
    key: SchedulerKey,
) -> Result<(), AskError> {
    let known = state.apps[app].key(key);
    if known.is_some_and(|asks| asks.constrained.is_some()) {
        let reason = "the key belongs to a scheduling request".to_owned();
        return Err(AskError::Constrained(reason));
    }
    Ok(())
}

/// Hosts and racks follow the label of the ask for `*`, as many as the budget has that have another one; whether all do.
/// `label`: that of the ask, should it be gone meanwhile.
// As LocalityAppPlacementAllocator.updateNodeLabels.
pub(in crate::commit) fn relabel_places(
    row: &mut App,
    key: SchedulerKey,
    label: Option<PartitionId>,
    budget: &mut usize,
) -> bool {
    let Ok(at) = row.keys.find(key) else {
        return true;
    };
    let any = row.keys[at].at(NameId::ANY);
    let label = any.map_or(label, |any| any.partition);
    row.keys[at].places.relabel(label, budget)
}

fn note_requested(state: &mut State, app: AppSlot, partition: PartitionId) {
    let requested = &mut state.apps[app].requested;
    if let Err(at) = requested.binary_search(&partition) {
        requested.insert(at, partition);
    }
}
