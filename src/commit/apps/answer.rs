//! Answers to applications: new containers, ends, headroom, containers asked back.
//!
//! Tests: `tests/inputs/requests.rs`.

use crate::commit::containers::container::ContainerState;
use crate::commit::containers::container::GiveBack;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::ledger::Ledger;
use crate::commit::users::records::user_limit;
use crate::id::{AppSlot, PartitionId};
use crate::policy::headroom;
use crate::queue::{AskReply, Granted, LimitKind};
use crate::resource::ResourceVector;

impl Ledger {
    /// Fills an answer: new containers, ends, headroom, containers asked back.
    pub(in crate::commit) fn answer(&mut self, app: AppSlot, reply: &mut AskReply) {
        let fetched = self.fetch(app);
        reply.headroom = self.answered_headroom(app);
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

    /// Hands an application its new containers, which their nodes will launch.
    pub(in crate::commit) fn fetch(&mut self, app: AppSlot) -> Vec<ContainerSlot> {
        let fetched = self.containers.take_unfetched(app);
        for &slot in &fetched {
            let container = self.container_mut(slot);
            container.state = ContainerState::Acquired;
            container.handed = true;
            container.give_back = GiveBack::Nothing;
            let to_stop = container.to_stop;
            self.containers.set_due(slot, true, to_stop);
        }
        fetched
    }

    /// The headroom in an answer: summed over the partitions that it asked for.
    // As CapacityHeadroomProvider.getHeadroom.
    pub(in crate::commit) fn answered_headroom(&mut self, app: AppSlot) -> ResourceVector {
        let row = &self.state.apps[app];
        if row.provider.is_none() {
            return ResourceVector::NONE;
        }
        let requested = row.requested.clone();
        let mut sum = if requested.is_empty() || requested.as_slice() == [PartitionId::DEFAULT] {
            self.headroom_on(app, PartitionId::DEFAULT)
        } else {
            requested
                .into_iter()
                .fold(ResourceVector::NONE, |sum, partition| {
                    sum + self.headroom_on(app, partition)
                })
        };
        sum.set(crate::resource::MEMORY, sum.memory().max(0));
        sum
    }

    fn headroom_on(&mut self, app: AppSlot, partition: PartitionId) -> ResourceVector {
        let row = &self.state.apps[app];
        let Some(provider) = row.provider else {
            return ResourceVector::NONE;
        };
        let named = self.user_in(provider.leaf, app);
        let limit = user_limit(
            &mut self.state,
            provider.leaf,
            named,
            partition,
            LimitKind::Respect,
        );
        let user = &self.state.users[provider.user];
        let used = if user.generation == provider.generation {
            user.part(partition).used.get()
        } else {
            ResourceVector::NONE
        };
        headroom(&self.state, provider.leaf, partition, &limit, &used)
    }
}
