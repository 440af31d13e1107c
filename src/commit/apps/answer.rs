//! Answers to applications: new containers, ends, headroom, containers asked back.
//!
//! Tests: `tests/inputs/requests.rs`.

use crate::commit::ledger::Ledger;
use crate::id::AppSlot;
use crate::queue::{AskReply, Granted};

impl Ledger {
    /// Fills an answer: new containers, ends, headroom, containers asked back.
    pub(in crate::commit) fn answer(&mut self, app: AppSlot, reply: &mut AskReply) {
        let fetched = self.containers.fetch(app);
        reply.headroom = self.leaves.answered_headroom(&mut self.state, app);
        let granted = fetched.iter().map(|&slot| {
            let container = self.container(slot);
            Granted {
                container: container.id,
                node: self.state.nodes[container.node].name.clone(),
                size: container.size.get(),
                priority: container.key.priority,
                request_id: container.key.request_id,
            }
        });
        reply.allocated.extend(granted);
        self.containers.reuse_unfetched(app, fetched);
        self.containers.move_finished(app, &mut reply.finished);
        let asked_back = self.containers.take_asked_back(app);
        reply.asked_back.extend(asked_back);
    }
}
