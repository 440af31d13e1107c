//! What operators and node managers bring about: one container killed, all applications of a queue moved or ended,
//! a queue drained, allocations that expire.
//!
//! Tests: `tests/commit/operations.rs`.

use crate::commit::apps::lifecycle::{AppError, SubmitError};
use crate::commit::containers::container::{ContainerState, GiveBack};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::{AppEnd, LedgerEvent};
use crate::commit::ledger::Ledger;
use crate::commit::tree::build::stop_queue;
use crate::id::{AppSlot, ApplicationId, ContainerId, QueueSlot};
use crate::queue::EndCause;

/// What became of the applications of a queue that were to move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedApps {
    /// Those that moved.
    pub moved: Vec<ApplicationId>,
    /// Those that stay, each with the reason.
    pub refused: Vec<(ApplicationId, AppError)>,
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

    /// Ends containers of an application that is about to end, as many as the budget has, but for its master
    /// and the last ones; whether no more are left than that.
    pub fn end_containers_of(&mut self, app: AppSlot, budget: &mut usize) -> bool {
        let most = *budget;
        let ended = |&slot: &ContainerSlot| !self.container(slot).master;
        let live = self.containers.live_of(app).filter(ended);
        let live: Vec<_> = live.take(most.saturating_add(1)).collect();
        if live.len() <= most {
            return true;
        }
        *budget = 0;
        for &slot in &live[..most] {
            // An application that ends asks for nothing again.
            self.containers.get_mut(slot).give_back = GiveBack::Nothing;
            self.end_container(slot, EndCause::ApplicationEnded);
        }
        false
    }

    /// A queue by name, for what is done to all of its applications.
    fn named_leaf(&self, name: &str) -> Result<QueueSlot, SubmitError> {
        if self.is_ambiguous(name) {
            return Err(SubmitError::AmbiguousQueue(name.to_owned()));
        }
        let unknown = || SubmitError::UnknownQueue(name.to_owned());
        self.queue(name).ok_or_else(unknown)
    }

    /// The applications of a leaf by id; none of a parent.
    fn apps_of(&self, queue: QueueSlot) -> Vec<(ApplicationId, AppSlot)> {
        let state = self.state();
        let mut apps: Vec<_> = state.queues[queue]
            .leaf
            .iter()
            .flat_map(|leaf| [&leaf.active, &leaf.waiting, &leaf.parked])
            .flatten()
            .map(|&app| (state.apps[app].id, app))
            .filter(|&(id, app)| self.app(id) == Some(app))
            .collect();
        apps.sort_unstable();
        apps.dedup();
        apps
    }

    /// Moves all applications of a leaf to another one, one after the other in the order of their ids.
    ///
    /// # Errors
    ///
    /// When there is no such queue; nothing moved then.
    // As CapacityScheduler.moveAllApps.
    pub fn move_all_apps(&mut self, from: &str, to: &str) -> Result<MovedApps, AppError> {
        let from = self.named_leaf(from).map_err(AppError::Move)?;
        self.named_leaf(to).map_err(AppError::Move)?;
        let mut result = MovedApps::default();
        for (id, app) in self.apps_of(from) {
            match self.move_app(app, to) {
                Ok(()) => result.moved.push(id),
                Err(error) => result.refused.push((id, error)),
            }
        }
        Ok(result)
    }

    /// Ends all applications of a leaf in the order of their ids; which ones.
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    // As CapacityScheduler.killAllAppsInQueue.
    pub fn kill_all_apps(&mut self, queue: &str) -> Result<Vec<ApplicationId>, AppError> {
        let queue = self.named_leaf(queue).map_err(AppError::Move)?;
        let apps = self.apps_of(queue);
        for &(id, app) in &apps {
            self.end_app(app);
            let cause = AppEnd::QueueKilled;
            self.outbox.push(LedgerEvent::AppEnded { app: id, cause });
        }
        Ok(apps.into_iter().map(|(id, _)| id).collect())
    }

    /// A queue and those below it take no applications from now on; those that they have go on. A refresh gives
    /// each the state of its configuration.
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    // As AbstractCSQueue.stopQueue.
    pub fn drain_queue(&mut self, queue: &str) -> Result<(), AppError> {
        let queue = self.named_leaf(queue).map_err(AppError::Move)?;
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
