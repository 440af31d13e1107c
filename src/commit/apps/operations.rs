//! What operators and node managers bring about: one container killed, all applications of a queue moved or ended,
//! a queue drained, allocations that expire.
//!
//! Tests: `tests/commit/operations.rs`.

use crate::commit::apps::lifecycle::{AppError, SubmitError};
use crate::commit::apps::move_preparation::MovePreparation;
use crate::commit::containers::container::{ContainerState, GiveBack};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::{AppEnd, Event};
use crate::commit::ledger::Ledger;
use crate::commit::registry::Registry;
use crate::commit::tree::build::stop_queue;
use crate::id::{AppSlot, ApplicationId, ContainerId, QueuePath, QueueSlot};
use crate::queue::EndCause;
use crate::snapshot::State;

/// What became of the applications of a queue that were to move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedApps {
    /// Those that moved.
    pub moved: Vec<ApplicationId>,
    /// Those that stay, each with the reason.
    pub refused: Vec<(ApplicationId, AppError)>,
}

/// The applications of a leaf at one moment, by id, for who goes through them in parts.
#[derive(Debug)]
pub struct LeafApps {
    /// Of the leaf.
    path: QueuePath,
    /// Those to come; the next one is the last.
    left: Vec<ApplicationId>,
    /// The one that stays the next one wherever it is, with its generation.
    held: Option<(AppSlot, u32)>,
}

impl LeafApps {
    /// Passes the next one.
    pub fn pass(&mut self) {
        self.left.pop();
        self.held = None;
    }
}

impl Ledger {
    /// Kills a live container; whether it was one.
    pub fn kill_container(&mut self, id: ContainerId) -> bool {
        let Some(slot) = self.live_container(id) else {
            return false;
        };
        self.end_container(slot, EndCause::Killed);
        true
    }

    /// Goes on with the end of an application, as far as the budget has items, but for its master and the last ones;
    /// whether no more are left than that.
    pub fn end_part_of_app(&mut self, app: AppSlot, budget: &mut usize) -> bool {
        self.end_part(app, budget, |_, _| true)
    }

    /// Withdraws asks, then ends those containers that `ends` names but for the last ones, then reservations but for the last
    /// ones. Until they have ended it asks for nothing.
    ///
    /// Cost: that of so many items, and a look at each key and container.
    pub(super) fn end_part(
        &mut self,
        app: AppSlot,
        budget: &mut usize,
        ends: impl Fn(&Self, ContainerSlot) -> bool,
    ) -> bool {
        let many_keys = self.state.apps[app].keys.len() > *budget;
        if many_keys && self.leaves.withdraw_last_asks(&mut self.state, app, budget) {
            return false;
        }
        let ends = |&slot: &ContainerSlot| !self.container(slot).master && ends(self, slot);
        let live = self.containers.live_of(app).filter(ends);
        let live: Vec<_> = live.take(budget.saturating_add(1)).collect();
        if live.len() <= *budget {
            return self.end_reservations(app, live.len(), budget);
        }
        self.leaves.withdraw_last_asks(&mut self.state, app, budget);
        for &slot in &live[..std::mem::take(budget)] {
            // What ends asks for nothing again.
            self.containers.get_mut(slot).give_back = GiveBack::Nothing;
            self.end_container(slot, EndCause::ApplicationEnded);
        }
        false
    }

    /// Withdraws asks, then ends reservations, as many as the budget has. Returns whether it has enough for all of them and
    /// for `live` containers, which stay then.
    fn end_reservations(&mut self, app: AppSlot, live: usize, budget: &mut usize) -> bool {
        let keys = self.state.apps[app].keys.iter();
        let held = keys.flat_map(|asks| asks.reserved.iter().map(|held| (asks.key, *held)));
        let held: Vec<_> = held.take(budget.saturating_add(1)).collect();
        if held.len() <= *budget - live {
            return true;
        }
        if self.state.apps[app].has_open_key() {
            let all = &mut usize::MAX.clone();
            self.leaves.withdraw_last_asks(&mut self.state, app, all);
        }
        for (key, held) in held.into_iter().take(std::mem::take(budget)) {
            for slot in self.containers.reservations_among(&[held]) {
                self.end_container(slot, EndCause::ApplicationEnded);
            }
            self.state.apps[app].forget_key(key);
        }
        false
    }

    /// The applications of a leaf at this moment.
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    pub fn leaf_apps(&self, queue: &str) -> Result<LeafApps, AppError> {
        let queue = named_leaf(&self.registry, queue).map_err(AppError::Move)?;
        let mut left: Vec<_> = apps_of((&self.state, &self.registry), queue)
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        left.reverse();
        let path = self.state.queues[queue].settings.path.clone();
        let held = None;
        Ok(LeafApps { path, left, held })
    }

    /// The same for applications that move to another queue.
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    pub fn leaf_apps_for(&self, from: &str, to: &str) -> Result<LeafApps, AppError> {
        let apps = self.leaf_apps(from)?;
        named_leaf(&self.registry, to).map_err(AppError::Move)?;
        Ok(apps)
    }

    /// The next of the applications. Those that ended or left the leaf meanwhile are passed, but for one that is held.
    pub fn next_of(&self, apps: &mut LeafApps) -> Option<ApplicationId> {
        let stays = |apps: &LeafApps, id: ApplicationId| {
            self.app(id).is_some_and(|app| {
                let row = &self.state.apps[app];
                let is_there = self.state.queues[row.leaf].settings.path == apps.path;
                is_there || apps.held == Some((app, row.generation))
            })
        };
        while let Some(&id) = apps.left.last() {
            if stays(apps, id) {
                return Some(id);
            }
            apps.pass();
        }
        None
    }

    /// The next of the applications stays the next one wherever it is: what is done with it has begun.
    pub fn hold(&self, apps: &mut LeafApps) {
        let next = apps.left.last().and_then(|&id| self.app(id));
        apps.held = next.map(|app| (app, self.state.apps[app].generation));
    }

    /// Moves an application to a leaf, as far as that is prepared, and notes what became of it.
    // As CapacityScheduler.moveAllApps, for one of them.
    pub fn move_noted(
        &mut self,
        id: ApplicationId,
        (to, preparation): (&str, &MovePreparation),
        result: &mut MovedApps,
    ) {
        let Some(app) = self.app(id) else {
            return;
        };
        match self.move_prepared(app, to, preparation) {
            Ok(()) => result.moved.push(id),
            Err(error) => result.refused.push((id, error)),
        }
    }

    /// Ends an application for its queue, with an event.
    // As CapacityScheduler.killAllAppsInQueue, for one of them.
    pub fn kill_app(&mut self, id: ApplicationId) {
        if let Some(app) = self.app(id) {
            self.end_app(app);
            let cause = AppEnd::QueueKilled;
            self.outbox.push(Event::AppEnded { app: id, cause });
        }
    }

    /// Live containers of an application, keys that it ever asked under, and reservations.
    ///
    /// Cost: a look at each.
    pub fn size_of(&self, id: ApplicationId) -> usize {
        self.app(id).map_or(0, |app| {
            let of_keys = self.state.apps[app].keys.iter();
            let of_keys: usize = of_keys.map(|asks| 1 + asks.reserved.len()).sum();
            self.containers.live_of(app).count() + of_keys
        })
    }

    /// A queue and those below it take no applications from now on; those that they have go on. A refresh gives
    /// each the state of its configuration.
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    // As AbstractCSQueue.stopQueue.
    pub fn drain_queue(&mut self, queue: &str) -> Result<(), AppError> {
        let queue = named_leaf(&self.registry, queue).map_err(AppError::Move)?;
        stop_queue(&mut self.state, queue);
        Ok(())
    }

    /// Containers that are handed out from now on end so many ms later where their node has not launched them
    /// until then; never without a number. Increases go back in the same way.
    pub fn set_allocation_expiry(&mut self, after_ms: Option<u64>) {
        self.clock.set_allocation_expiry(after_ms);
    }

    /// Ends containers that were handed out too long ago and that no node launched, and takes increases back that
    /// no node confirmed.
    // As ContainerAllocationExpirer.
    pub(in crate::commit) fn expire_allocations(&mut self) {
        while let Some(id) = self.clock.take_expired() {
            let slot = self.live_container(id);
            let waits = |state| state == ContainerState::Acquired;
            if let Some(slot) = slot.filter(|&slot| waits(self.container(slot).state)) {
                self.end_container(slot, EndCause::Expired);
            }
        }
        while let Some((id, confirmed)) = self.clock.take_expired_increase() {
            if let Some(slot) = self.live_container(id) {
                self.roll_back(slot, confirmed);
            }
        }
    }
}

/// A queue by name, for what is done to all of its applications.
fn named_leaf(names: &Registry, name: &str) -> Result<QueueSlot, SubmitError> {
    if names.is_ambiguous(name) {
        return Err(SubmitError::AmbiguousQueue(name.to_owned()));
    }
    let unknown = || SubmitError::UnknownQueue(name.to_owned());
    names.queue(name).ok_or_else(unknown)
}

/// The applications of a leaf by id; none of a parent.
fn apps_of((state, names): (&State, &Registry), queue: QueueSlot) -> Vec<(ApplicationId, AppSlot)> {
    let mut apps: Vec<_> = state.queues[queue]
        .leaf
        .iter()
        .flat_map(|leaf| [&leaf.active, &leaf.waiting, &leaf.parked, &leaf.between])
        .flatten()
        .map(|&app| (state.apps[app].id, app))
        .filter(|&(id, app)| names.app(id) == Some(app))
        .collect();
    apps.sort_unstable();
    apps.dedup();
    apps
}
