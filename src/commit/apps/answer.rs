//! Answers to applications: new containers, ends, headroom, containers asked back.
//!
//! Tests: `tests/inputs/requests.rs`.

use crate::commit::containers::slot::ContainerSlot;
use crate::commit::ledger::Ledger;
use crate::id::AppSlot;
use crate::queue::{AskReply, Granted};

impl Ledger {
    /// Fills an answer with ends, headroom and containers asked back; new containers stand in it.
    pub(in crate::commit) fn answer(&mut self, app: AppSlot, reply: &mut AskReply) {
        reply.headroom = self.leaves.answered_headroom(&mut self.state, app);
        self.containers.move_finished(app, reply);
        let asked_back = self.containers.take_asked_back(app);
        reply.asked_back.extend(asked_back);
    }

    /// Hands over new containers in an answer, as many as the budget has; whether none is left.
    pub(super) fn hand_over(
        &mut self,
        app: AppSlot,
        reply: &mut AskReply,
        budget: &mut usize,
    ) -> bool {
        if reply.allocated.is_empty() {
            // A list that grows is copied as a whole now and then.
            let most = self.containers.unfetched_at_most(app);
            reply.allocated.reserve(most);
        }
        while *budget > 0 {
            let Some(slot) = self.fetch_next(app) else {
                return self.hand_over_updates(app, reply, budget);
            };
            *budget -= 1;
            let container = self.container(slot);
            reply.allocated.push(Granted {
                container: container.id,
                node: self.state.nodes[container.node].name.clone(),
                size: self.containers.full_size(slot),
                opportunistic: self.containers.is_opportunistic(slot),
                priority: container.key.priority,
                request_id: container.key.request_id,
            });
        }
        false
    }

    /// Hands over changes of containers in an answer, as many as the budget has; whether none is left.
    fn hand_over_updates(
        &mut self,
        app: AppSlot,
        reply: &mut AskReply,
        budget: &mut usize,
    ) -> bool {
        let updated = self.hand_out_updates(app, *budget);
        *budget = budget.saturating_sub(updated.len());
        reply.updated.extend(updated);
        !self.containers.has_updates(app)
    }

    /// Hands an application its next new container, which its node will launch.
    pub(in crate::commit) fn fetch_next(&mut self, app: AppSlot) -> Option<ContainerSlot> {
        let slot = self.containers.next_unfetched(app)?;
        self.acquire(slot);
        Some(slot)
    }
}
