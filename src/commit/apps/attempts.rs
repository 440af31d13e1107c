//! Attempts of one application: the end of one and the start of the next, while the application stays.
//!
//! 1. Containers and reservations end; containers that run stay where the application keeps them.
//! 2. Everything that was asked is forgotten, and the application leaves the lists of its leaf.
//! 3. The next attempt enters the leaf anew and asks for its master's container.
//!
//! Numbers of containers go on where containers are kept, so that a number names one container. Otherwise they
//! begin with 1 again, and ids differ by the number of the attempt.
//!
//! Tests: `tests/commit/attempts.rs`.
// As CapacityScheduler.doneApplicationAttempt and addApplicationAttempt.

use super::lifecycle::AppError;
use crate::commit::containers::container::ContainerState;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::Event;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::id::{AppSlot, ApplicationId};
use crate::queue::{AppStage, Blacklist, Demand, EndCause, refresh_fair_figures};
use crate::resource::PackedVector;

impl Ledger {
    /// The number of the attempt of an application that runs, if one does.
    #[must_use]
    pub fn running_attempt(&self, app: ApplicationId) -> Option<u32> {
        let row = &self.state.apps[self.app(app)?];
        (row.stage != AppStage::Between).then_some(row.attempt)
    }

    /// Ends the attempt of an application, which stays: until the next attempt starts it asks for nothing.
    ///
    /// # Errors
    ///
    /// When its attempt ended already.
    pub fn end_attempt(&mut self, app: AppSlot) -> Result<(), AppError> {
        let row = &self.state.apps[app];
        if row.stage == AppStage::Between {
            return Err(AppError::NoAttempt(row.id));
        }
        let (id, attempt, leaf) = (row.id, row.attempt, row.leaf);
        self.end_containers_at_end(app);
        self.leaves.drop_asks(&mut self.state, app);
        let users = self.state.queues[leaf].as_leaf_mut();
        users.between.push(app);
        self.leaves.remove_attempt(&mut self.state, app, false);
        self.leaves.stop_asking(&mut self.state, app, leaf);
        if !self.state.apps[app].keeps_containers() {
            self.leaves.set_provider(&mut self.state, app, None);
            self.containers.clear_finished(app);
        }
        self.tags.constraints_mut().unregister_application(id);
        self.opportunistic.forget_app(app);
        self.reset_attempt(app);
        self.outbox.push(Event::AttemptEnded { app: id, attempt });
        Ok(())
    }

    /// Starts the next attempt of an application; its number.
    ///
    /// # Errors
    ///
    /// When an attempt runs.
    pub fn start_attempt(&mut self, app: AppSlot) -> Result<u32, AppError> {
        let row = &self.state.apps[app];
        if row.stage != AppStage::Between {
            return Err(AppError::AttemptRuns(row.id));
        }
        let leaf = row.leaf;
        let node_policy = self.state.queues[leaf].settings.node_policy.clone();
        let users = self.state.queues[leaf].as_leaf_mut();
        users.between.retain(|&other| other != app);
        let row = &mut self.state.apps[app];
        row.attempt = row.attempt.saturating_add(1);
        row.start = self.clock.next_start();
        row.stage = AppStage::Waiting;
        row.reset_master();
        if !row.keeps_containers() {
            row.next_container = 1;
        }
        std::sync::Arc::make_mut(&mut row.submission).node_policy = node_policy;
        refresh_fair_figures(row);
        let attempt = row.attempt;
        self.masters.avoid_hosts(&mut self.state, app);
        self.leaves.enter_attempt(&mut self.state, app);
        self.begin_attempt(app);
        Ok(attempt)
    }

    /// An attempt that entered its leaf asks for its master's container, or may ask at once without one.
    pub(super) fn begin_attempt(&mut self, app: AppSlot) {
        let row = &self.state.apps[app];
        if row.unmanaged {
            self.outbox.push(Event::MasterStarted {
                app: row.id,
                container: None,
            });
        } else {
            let label = row.submission.master_label;
            self.outbox
                .follow_up(FollowUpEvent::AskForMaster(app, label));
        }
    }

    /// As [`Ledger::end_part_of_app`], for an attempt.
    pub fn end_part_of_attempt(&mut self, app: AppSlot, budget: &mut usize) -> bool {
        self.end_part(app, budget, |ledger, slot| {
            ledger.ends_with_attempt(app, slot)
        })
    }

    /// Whether a live container ends with the attempt: its master, and what does not run or is not kept.
    fn ends_with_attempt(&self, app: AppSlot, slot: ContainerSlot) -> bool {
        let container = self.container(slot);
        let runs = container.state == ContainerState::Running && !container.master;
        !(runs && self.state.apps[app].keeps_containers())
    }

    /// Ends the containers that end with the attempt, and its reservations.
    fn end_containers_at_end(&mut self, app: AppSlot) {
        let live = self.containers.live_of(app);
        let live: Vec<_> = live
            .filter(|&slot| self.ends_with_attempt(app, slot))
            .collect();
        for container in live {
            self.end_container(container, EndCause::ApplicationEnded);
        }
        for container in self.containers.reservations_of(&self.state, app) {
            self.end_container(container, EndCause::ApplicationEnded);
        }
    }

    /// Sets the row of an application whose attempt ended. Whatever began for the attempt is refused from now on.
    fn reset_attempt(&mut self, app: AppSlot) {
        let row = &mut self.state.apps[app];
        let (keeps, before) = (row.keeps_containers(), row.generation);
        row.generation += 1;
        (row.master, row.stage) = (None, AppStage::Between);
        row.requested.clear();
        for part in row.parts.iter_mut() {
            (part.pending, part.reserved) = (PackedVector::default(), PackedVector::default());
            if !keeps {
                part.used = PackedVector::default();
            }
        }
        let own = self.masters.take_own(app);
        let row = &mut self.state.apps[app];
        row.blacklist = match own {
            // The master did not start, so that the list is not the application's.
            Some(own) => own,
            None if keeps => std::mem::take(&mut row.blacklist),
            None => Blacklist::default(),
        };
        self.state.demands[app] = Demand::default();
        self.clock.follow_generation(app, before);
        self.gangs.note_change();
    }
}
