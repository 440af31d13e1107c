//! Asks: validation, normalization and bookkeeping.
//!
//! Tests: `tests/inputs/requests.rs`.

use std::collections::BTreeMap;

use smallvec::{SmallVec, smallvec};

use super::ask_error::{AskError, OutOfRange};
use crate::accounting::{FairChange, mark_moved};
use crate::commit::event::Ending;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NameId, PartitionId, QueueSlot, SchedulerKey, java_order};
use crate::queue::{Ask, AskCall, AskReply, PlaceAsk};
use crate::resource::{MAX_VALUE, ResourceVector};
use crate::snapshot::State;

/// Most containers of one ask.
const MAX_COUNT: i32 = 1_000_000;

/// Most asks of one call, and most keys of one application.
pub(in crate::commit) const MAX_ASKS: usize = 100_000;

/// Asks that passed the checks; most calls have one or two.
type CheckedAsks = SmallVec<[Checked; 2]>;

/// An ask that passed the checks.
pub(super) struct Checked {
    pub(super) key: SchedulerKey,
    place: NameId,
    pub(super) ask: PlaceAsk,
}

impl Ledger {
    /// Largest allocation: the configured one, bounded by the largest node once there is one, and
    /// by the queue's own.
    // As ClusterNodeTracker.getMaxAllowedAllocation.
    #[must_use]
    pub fn largest_allocation(&self, queue: Option<QueueSlot>) -> ResourceVector {
        let mut largest = self.state.settings.maximum_allocation;
        if self.registry.node_count() > 0 {
            largest = largest.component_min(&self.biggest_node());
        }
        match queue {
            Some(queue) => {
                largest.component_min(&self.state.queues[queue].settings.maximum_allocation)
            }
            None => largest,
        }
    }

    /// Checks size and label of an ask; returns the partition after defaults.
    // As SchedulerUtils.normalizeAndValidateRequest.
    pub(in crate::commit) fn check_ask(
        &self,
        queue: Option<QueueSlot>,
        size: &ResourceVector,
        place: &str,
        label: Option<&str>,
        largest: &ResourceVector,
    ) -> Result<Option<PartitionId>, AskError> {
        let anywhere = place == "*";
        let settings = queue.map(|queue| &self.state.queues[queue].settings);
        let default = settings.and_then(|settings| settings.default_partition.as_deref());
        let label = match label {
            None if anywhere => default.or(settings.map(|_| "")),
            label => label,
        };
        if !ResourceVector::NONE.fits_in(size) || !size.fits_in(largest) {
            return Err(AskError::OutOfRange(Box::new(OutOfRange {
                size: *size,
                largest: *largest,
            })));
        }
        let Some(label) = label else { return Ok(None) };
        if label.is_empty() {
            return Ok(Some(PartitionId::DEFAULT));
        }
        if !anywhere {
            return Err(AskError::LabelOnPlace(label.to_owned()));
        }
        if label.contains("&&") {
            return Err(AskError::LabelExpression(label.to_owned()));
        }
        let known = self
            .partition(label)
            .filter(|&id| self.state.partitions[id].exists);
        let accessible = settings.is_none_or(|settings| settings.accessible.contains(label));
        match known {
            Some(id) if accessible => Ok(Some(id)),
            _ => Err(AskError::LabelAccess(label.to_owned())),
        }
    }

    /// One call of an application: releases, asks, blacklist, and the answer.
    ///
    /// # Errors
    ///
    /// As [`AskError`]; then nothing changed. Only a key that is in use for something else is met
    /// on the way: what the call gave back and asked before stays.
    pub fn ask(&mut self, app: AppSlot, call: &AskCall) -> Result<AskReply, AskError> {
        let mut reply = AskReply::default();
        self.ask_into(app, call, &mut reply)?;
        Ok(reply)
    }

    /// The same as [`Ledger::ask`] with an answer whose lists are empty but may have room: who makes and
    /// drops it elsewhere keeps that work from the ledger's thread.
    ///
    /// # Errors
    ///
    /// As [`Ledger::ask`]; the answer is as it was then.
    pub fn ask_into(
        &mut self,
        app: AppSlot,
        call: &AskCall,
        reply: &mut AskReply,
    ) -> Result<(), AskError> {
        let row = &self.state.apps[app];
        if !row.unmanaged && row.master.is_none() {
            return Err(AskError::MasterNotRunning(row.id));
        }
        let leaf = row.leaf;
        let default = row.submission.default_partition.clone();
        let asks = call.asks.len() + call.constrained.len();
        if asks > MAX_ASKS || row.keys.len() + asks > 2 * MAX_ASKS {
            return Err(AskError::TooManyAsks(asks));
        }
        // Queues are looked for by name, which finds none that was removed.
        let queue = (!self.state.queues[leaf].removed).then_some(leaf);
        let largest = self.largest_allocation(queue);
        let mut checked = CheckedAsks::with_capacity(call.asks.len());
        for ask in &call.asks {
            checked.push(self.checked(queue, ask, default.as_deref(), &largest)?);
        }
        let constrained = self.check_constrained(app, &call.constrained)?;
        // Only names of a call that is carried out are remembered.
        for (checked, ask) in checked.iter_mut().zip(&call.asks) {
            checked.place = self.registry.intern(&ask.place);
        }
        self.release_containers(app, &call.release);
        self.correct(app, &mut checked);
        let mut changed = self.update_asks(app, checked)?;
        if !changed {
            changed = self.update_constrained(app, constrained)?;
        }
        self.update_blacklist(app, call);
        self.answer(app, reply);
        if changed {
            mark_moved(&mut self.state, app, FairChange::Demand);
        }
        Ok(())
    }

    /// Ends the containers that an application gives back.
    fn release_containers(&mut self, app: AppSlot, numbers: &[u32]) {
        for &number in numbers {
            if let Some(slot) = self.containers.live(app, number) {
                self.end_container(slot, Ending::Released);
            }
        }
    }

    fn checked(
        &self,
        queue: Option<QueueSlot>,
        ask: &Ask,
        default: Option<&str>,
        largest: &ResourceVector,
    ) -> Result<Checked, AskError> {
        let anywhere = ask.place == "*";
        let label = ask.partition.as_deref().or(default.filter(|_| anywhere));
        let partition = self.check_ask(queue, &ask.size, &ask.place, label, largest)?;
        let (calculator, minimum) = (self.state.calculator, &self.state.minimum);
        let mut size = calculator.normalize(&ask.size, minimum, largest, minimum);
        // Asked once more with the cluster's maximum, as on the reference's way into the scheduler;
        // the same one a second time changes nothing.
        let cluster = self.largest_allocation(None);
        if cluster != *largest {
            size = calculator.normalize(&size, minimum, &cluster, minimum);
        }
        check_count(&self.state, &size, ask.count)?;
        let key = SchedulerKey {
            priority: ask.priority,
            request_id: ask.request_id,
        };
        let place = NameId::ANY;
        let ask = PlaceAsk {
            place,
            size: size.into(),
            count: ask.count,
            relax: ask.relax_locality,
            partition,
        };
        Ok(Checked { key, place, ask })
    }

    /// Asks for the container of a waiting application's master.
    pub(in crate::commit) fn ask_for_master(
        &mut self,
        app: AppSlot,
        partition: Option<PartitionId>,
    ) {
        // As RMAppAttemptImpl.ScheduleTransition: the leaf may have been created for the application.
        let of_leaf = || self.default_partition(self.state.apps[app].leaf);
        let partition = partition.or_else(of_leaf);
        let minimum = self.state.minimum;
        let largest = self.largest_allocation(None);
        let size = &self.state.apps[app].submission.master_size;
        let calculator = self.state.calculator;
        let size = calculator.normalize(size, &minimum, &largest, &minimum);
        let ask = Checked {
            key: SchedulerKey::MASTER,
            place: NameId::ANY,
            ask: PlaceAsk {
                place: NameId::ANY,
                size: size.into(),
                count: 1,
                relax: true,
                partition,
            },
        };
        self.update_own_asks(app, smallvec![ask]);
    }

    /// Gives back what a lost container had been asked with.
    // As AbstractYarnScheduler.recoverResourceRequestForContainer.
    pub(in crate::commit) fn give_back(
        &mut self,
        app: AppSlot,
        key: SchedulerKey,
        asks: &[PlaceAsk],
    ) {
        let checked = asks
            .iter()
            .map(|ask| {
                let known = self.state.apps[app].key(key).filter(|asks| asks.known);
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
        self.update_own_asks(app, checked);
    }

    /// Takes over asks of the scheduler's own making.
    fn update_own_asks(&mut self, app: AppSlot, asks: CheckedAsks) {
        let constrained = |asks: &crate::queue::KeyAsks| asks.constrained.is_some();
        let free = |checked: &Checked| {
            !self.state.apps[app]
                .key(checked.key)
                .is_some_and(constrained)
        };
        let asks = asks.into_iter().filter(free).collect();
        self.update_asks(app, asks)
            .expect("keys of scheduling requests were left out");
    }

    /// Takes over asks, key by key in the order of a hash map; whether an ask for `*` was among
    /// them. A key that belongs to a scheduling request ends it: what came before stays.
    // As AppSchedulingInfo.updateResourceRequests with SingleConstraintAppPlacementAllocator.
    fn update_asks(&mut self, app: AppSlot, asks: CheckedAsks) -> Result<bool, AskError> {
        let mut changed = false;
        if let [only] = asks.as_slice() {
            let key = only.key;
            return self.update_key(app, key, asks);
        }
        for (key, places) in by_key(asks) {
            changed |= self.update_key(app, key, places)?;
        }
        Ok(changed)
    }

    /// Takes over asks under one key.
    fn update_key(
        &mut self,
        app: AppSlot,
        key: SchedulerKey,
        mut places: CheckedAsks,
    ) -> Result<bool, AskError> {
        let known = self.state.apps[app].key(key);
        if known.is_some_and(|asks| asks.constrained.is_some()) {
            let reason = "the key belongs to a scheduling request".to_owned();
            return Err(AskError::Constrained(reason));
        }
        // What the ask for `*` does to the key comes after all its places.
        places.sort_by_key(|checked| checked.place == NameId::ANY);
        let mut changed = false;
        for Checked { place, ask, .. } in places {
            changed |= self.update_ask(app, key, PlaceAsk { place, ..ask });
        }
        Ok(changed)
    }

    fn update_ask(&mut self, app: AppSlot, key: SchedulerKey, mut new: PlaceAsk) -> bool {
        let asks = self.state.apps[app].key_mut(key);
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
        note_requested(&mut self.state, app, partition);
        self.pending_changed(app, key, old, &new);
        true
    }

    /// Follows a change of an ask for `*` in the figures of demand.
    // As AppSchedulingInfo.updatePendingResources.
    pub(in crate::commit) fn pending_changed(
        &mut self,
        app: AppSlot,
        key: SchedulerKey,
        old: Option<PlaceAsk>,
        new: &PlaceAsk,
    ) {
        let before = old.as_ref().map_or(0, |old| old.count);
        if new.count <= 0 {
            if before >= 0 {
                close_key(&mut self.state, app, key, true);
            }
            self.stop_asking_without_keys(app);
        } else if before <= 0 {
            self.state.apps[app].key_mut(key).outstanding = true;
            self.start_asking(app);
        }
        if let Some(old) = old {
            let partition = old.partition.unwrap_or(PartitionId::DEFAULT);
            self.add_pending(app, partition, -old.size.get().times(i64::from(before)));
        }
        let partition = new.partition.unwrap_or(PartitionId::DEFAULT);
        self.add_pending(app, partition, new.size.get().times(i64::from(new.count)));
    }

    pub(in crate::commit) fn stop_asking_without_keys(&mut self, app: AppSlot) {
        let row = &self.state.apps[app];
        if row.keys.iter().all(|asks| !asks.outstanding) {
            let leaf = row.leaf;
            self.stop_asking(app, leaf);
        }
    }

    fn update_blacklist(&mut self, app: AppSlot, call: &AskCall) {
        for name in &call.blacklist_add {
            let name = self.registry.intern(name);
            let blacklist = &mut self.state.apps[app].blacklist;
            if !blacklist.contains(&name) {
                blacklist.push(name);
            }
        }
        for name in &call.blacklist_remove {
            let name = self.registry.intern(name);
            self.state.apps[app]
                .blacklist
                .retain(|&other| other != name);
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

pub(in crate::commit) fn check_count(
    state: &State,
    size: &ResourceVector,
    count: i32,
) -> Result<(), AskError> {
    let out_of_range = AskError::Count(i64::from(count));
    if !(0..=MAX_COUNT).contains(&count) {
        return Err(out_of_range);
    }
    let root = &state.queues[crate::snapshot::State::ROOT];
    let room = ResourceVector::build(|_| MAX_VALUE << 8);
    let sum = size
        .checked_times(i64::from(count))
        .map(|size| root.part(PartitionId::DEFAULT).pending.get() + size);
    match sum {
        Some(sum) if sum.fits_in(&room) => Ok(()),
        _ => Err(out_of_range),
    }
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
