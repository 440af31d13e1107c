//! Calls that the scheduler makes on its resource manager: they wait until the present call has
//! returned, and are then carried out in order.
//!
//! Tests: `tests/commit/property.rs`.

use super::event::Event;
use super::outbox::FollowUpEvent;
use crate::commit::containers::hand_out::HandOut;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::leaves::records::entered;
use crate::commit::ledger::Ledger;
use crate::commit::nodes::registration::is_registered;
use crate::commit::tree::visited_queues::VisitedQueues;
use crate::id::AppSlot;
use crate::queue::{AppStage, EndCause, Restarts};

impl Ledger {
    /// Whether calls wait that the last change brought about.
    #[must_use]
    pub fn has_follow_ups(&self) -> bool {
        self.outbox.has_new_follow_ups()
    }

    /// Whether no call waits, not even for the next part of a call.
    pub(crate) fn is_followed_up(&self) -> bool {
        self.outbox.is_drained()
    }

    /// Carries out what waits, and what that brings about; drops ended containers. What an earlier call left to its
    /// next part stays, unless the last change brought something about: calls are carried out in order.
    #[inline]
    pub fn drain_follow_ups(&mut self) {
        let by_event = self.hand_out == HandOut::Event;
        if by_event || self.has_follow_ups() || self.containers.has_ended() {
            self.carry_out_follow_ups();
        }
    }

    fn carry_out_follow_ups(&mut self) {
        loop {
            while self.has_follow_ups() && !self.leaves_recomputing() {
                self.pause();
                self.carry_out_next();
            }
            self.hand_out_by_event();
            if !self.has_follow_ups() {
                break;
            }
        }
        if self.outbox.is_drained() {
            self.containers.drop_ended();
        }
    }

    fn carry_out_next(&mut self) {
        if let Some(call) = self.outbox.next_follow_up() {
            self.carry_out(call);
        }
    }

    /// Whether all that waits is left to the next part of the present call: each has all queues computed anew, and does
    /// no more.
    fn leaves_recomputing(&mut self) -> bool {
        let (outbox, state) = (&mut self.outbox, &self.state);
        outbox.leaves_rest(|call| match *call {
            FollowUpEvent::Labels(None) => true,
            FollowUpEvent::Labels(Some((slot, incarnation, partition))) => {
                let is_there = is_registered(state, slot, incarnation);
                !is_there || state.nodes[slot].partition == partition
            }
            _ => false,
        })
    }

    /// Whether the present call goes on in parts, or not any more: then it leaves to [`Self::recompute_on`] what only has
    /// all queues computed anew.
    pub(crate) fn set_in_parts(&mut self, in_parts: bool) {
        self.outbox.set_in_parts(in_parts);
    }

    /// Goes on with what a call left, once for each time that the budget has all queues; whether nothing is left.
    pub(crate) fn recompute_on(&mut self, budget: &mut usize) -> bool {
        while *budget > 0 && !self.outbox.is_drained() {
            self.carry_out_next();
            self.drain_follow_ups();
            self.take_recomputing_off(budget);
        }
        self.outbox.is_drained()
    }

    /// Takes a look at all queues off a budget.
    pub(crate) fn take_recomputing_off(&self, budget: &mut usize) {
        *budget = budget.saturating_sub(self.state.queues.len());
    }

    fn carry_out(&mut self, call: FollowUpEvent) {
        match call {
            FollowUpEvent::AskForMaster(app, partition) => {
                if self.state.apps[app].waits_for_master() {
                    self.ask_for_master(app, partition);
                }
            }
            FollowUpEvent::Labels(node) => self.apply_labels(node),
            FollowUpEvent::Allocated(app) => self.start_master(app),
            FollowUpEvent::Stop(slot) => {
                let launched = self.container(slot).launched;
                self.containers.set_due(slot, false, launched);
            }
            FollowUpEvent::Release(slot) => self.release_auxiliary(slot),
            FollowUpEvent::Finished(slot, cause) => self.finish_container(slot, cause),
            FollowUpEvent::NodeTotal(node, incarnation, total) => {
                if is_registered(&self.state, node, incarnation) {
                    // As AbstractYarnScheduler.updateNodeResource with a timeout of 0: enforced from now on.
                    self.state.nodes[node].enforced |= self.state.nodes[node].total != total;
                    self.set_total(node, total);
                }
            }
            FollowUpEvent::Kill(slot) => self.kill_or_mark(slot),
            FollowUpEvent::Forget(app) => self.forget_app(app),
        }
    }

    /// Frees the slot of an ended application once none of its containers takes space and its leaf
    /// does not list it: a waiting attempt that slipped into a fair order stays in the list of
    /// waiting ones when it ends, as in the reference.
    pub(super) fn forget_app(&mut self, app: AppSlot) {
        let row = &self.state.apps[app];
        let over = !self.containers.take_space(app) && row.stage == AppStage::Done;
        if over && !entered(&self.state, row.leaf).any(|other| other == app) {
            self.state.apps[app].stage = AppStage::Gone;
            self.opportunistic.forget_app(app);
            self.registry.free_app(app);
        }
    }

    /// A waiting master takes over its container as soon as it is allocated.
    fn start_master(&mut self, app: AppSlot) {
        if !self.state.apps[app].waits_for_master() {
            return;
        }
        let first = self.fetch_next(app);
        while self.fetch_next(app).is_some() {}
        // The answer that fetches it reads the headroom, which may recompute a user limit.
        self.leaves.answered_headroom(&mut self.state, app);
        if let Some(slot) = first {
            let container = self.containers.get_mut(slot);
            container.master = true;
            let id = container.id;
            self.containers.note_rewritten(slot);
            self.state.apps[app].master = Some(id.number);
            self.masters.restore_own(&mut self.state, app);
            self.outbox.push(Event::MasterStarted {
                app: id.app,
                container: Some(id),
            });
        }
    }

    /// The next answer to the application lists the end. Without its master the attempt ends, and the application
    /// with it unless it starts again.
    fn finish_container(&mut self, slot: ContainerSlot, cause: EndCause) {
        let container = self.container(slot);
        let (id, app, was_master) = (container.id, container.app, container.master);
        let row = &self.state.apps[app];
        if row.id != id.app || row.stage.is_over() {
            return;
        }
        let of_attempt = id.attempt == row.attempt && row.stage != AppStage::Between;
        if of_attempt && row.master == Some(id.number) {
            let restarts = row.submission.restarts;
            self.outbox.push(Event::MasterLost { app: id.app });
            if restarts == Restarts::Never {
                self.end_with_attempt(app);
            } else {
                // An attempt with a master runs.
                let _ = self.end_attempt(app);
            }
        } else if !was_master && (of_attempt || row.keeps_containers()) {
            self.containers.note_finished(app, id.number, cause);
        }
    }
}
