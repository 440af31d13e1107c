//! Applying proposals: the only place where containers come into being.
//!
//! Tests: `tests/commit/bad_proposals.rs`.

use super::batch::CommitBatch;
use super::outcome::CommitOutcome;
use super::sink::sink;
use crate::accounting::{ContainerPlacement, FairChange, mark_moved, place};
use crate::commit::containers::container::GiveBack;
use crate::commit::event::{Event, UnreserveReason};
use crate::commit::leaves::usage::add_reserved;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::id::{AppSlot, ContainerId};
use crate::proposer::{Observation, Outcome, Proposal, ProposalKind, Release};
use crate::queue::{EndCause, Exclusivity};
use crate::resource::with_width;
use crate::snapshot::State;
use crate::sync::{Mutant, injected};

impl Ledger {
    /// Commits what a pass came to: its observations in any case, then what it proposes if it
    /// holds.
    // As CapacityScheduler.tryCommit.
    pub fn commit(&mut self, outcome: &Outcome, observations: &[Observation]) -> CommitOutcome {
        self.commit_watched(outcome, observations, || {})
    }

    /// The same as [`Ledger::commit`]; `checked` is called between the checks of a proposal and its
    /// application.
    pub fn commit_watched(
        &mut self,
        outcome: &Outcome,
        observations: &[Observation],
        checked: impl FnOnce(),
    ) -> CommitOutcome {
        CommitBatch::settled(self).commit_watched(outcome, observations, checked)
    }

    pub(in crate::commit) fn apply(&mut self, proposal: &Proposal) {
        match proposal.kind {
            ProposalKind::Allocate => {
                with_width!(self.state.calculator, N => self.apply_allocation::<N>(proposal));
            }
            ProposalKind::Reserve => self.apply_reservation(proposal),
        }
    }

    /// Places the container of a proposal that holds.
    ///
    /// 1. Take a reservation that it fulfils off its node.
    /// 2. End the containers that it replaces.
    /// 3. [`place`] it, and count its tags on the node.
    /// 4. Follow the end of its asks.
    // As FiCaSchedulerApp.apply and AbstractLeafQueue.apply for an allocation.
    fn apply_allocation<const N: usize>(&mut self, proposal: &Proposal) {
        let app = proposal.app;
        let reserved = self.containers.take_reserved(&mut self.state, proposal);
        let row = &self.state.apps[app];
        let key = row
            .keys
            .find(proposal.key)
            .expect("validation found the key");
        let (leaf, starts) = (row.leaf, row.waits_for_master());
        let constrained = row.keys[key].constrained.clone();
        if constrained.is_none() || self.state.settings.rules.constrained_pending_falls {
            self.leaves.skipped_mut().stop(&mut self.state, app);
        }
        if starts {
            self.outbox.follow_up(FollowUpEvent::Allocated(app));
        }
        self.replace(proposal);
        let charged = reserved.is_some() || skips_charge(&self.state, proposal);
        if !charged {
            self.leaves.user_of(&mut self.state, app);
        }
        let (state, mut sink) = sink::<false>(self, None, proposal, reserved);
        let placement = ContainerPlacement::<N> {
            counted: proposal.counted,
            locality: proposal.locality,
            // The application is charged what the key asks now.
            asked: proposal.size.narrow(),
            charged,
            ..ContainerPlacement::anywhere(app, key, proposal.node, sink.size())
        };
        let last = place(state, &placement, &mut sink);
        let placed = sink.placed();
        if let (Some(fixed), Some(slot)) = (constrained, placed) {
            self.tags
                .count(&mut self.state, (app, proposal.node), slot, fixed);
        }
        if last {
            self.leaves.stop_asking_without_keys(&mut self.state, app);
        }
        self.leaves.skipped_mut().join_idle(&mut self.state, leaf);
    }

    /// Ends the containers that a proposal kills, and gives up the reservation that it exchanges.
    fn replace(&mut self, proposal: &Proposal) {
        for victim in &proposal.kill {
            self.kill_for(proposal.app, victim.container);
        }
        if let Some(exchange) = &proposal.exchange {
            self.release(exchange, UnreserveReason::Exchange);
        }
    }

    // As FiCaSchedulerApp.reserve and AbstractLeafQueue.apply for a reservation.
    fn apply_reservation(&mut self, proposal: &Proposal) {
        let (app, node, key) = (proposal.app, proposal.node, proposal.key);
        let partition = self.state.nodes[node].partition;
        let again = proposal.reserved.is_some();
        let slot = match self.containers.reserved_on(node) {
            Some(slot) if again => {
                self.state.apps[app].key_mut(key).re_reservations += 1;
                slot
            }
            _ => {
                let now_ms = self.clock.now_ms();
                self.containers
                    .new_reservation(&mut self.state, proposal, now_ms)
            }
        };
        let (id, size) = (self.container(slot).id, self.container(slot).size.get());
        if !again {
            self.leaves.charge(&mut self.state, app, partition, size);
            mark_moved(&mut self.state, app, FairChange::Use);
            let leaf = self.state.apps[app].leaf;
            add_reserved(&mut self.state, leaf, partition, size);
        }
        self.outbox.push(Event::Reserved {
            container: id,
            node: self.state.nodes[node].name.clone(),
            size,
            key,
            locality: proposal.locality,
            requested: proposal.requested,
            partition,
            borrowed: proposal.exclusivity == Exclusivity::Ignore,
            again,
        });
    }

    /// Gives up a reservation: application, queues and user are relieved of it.
    pub(super) fn release(&mut self, release: &Release, reason: UnreserveReason) {
        let Some(slot) = self.containers.reserved_on(release.node) else {
            return;
        };
        let container = self.container(slot);
        if (container.app, container.id.number) != (release.app, release.number) {
            return;
        }
        let (app, size) = (container.app, container.size.get());
        let partition = self.state.nodes[release.node].partition;
        if self
            .containers
            .drop_reservation(&mut self.state, &mut self.outbox, slot, reason)
        {
            mark_moved(&mut self.state, app, FairChange::Use);
            self.leaves.charge(&mut self.state, app, partition, -size);
        }
    }

    /// Kills a container marked for it; those of the allocating leaf itself are spared.
    fn kill_for(&mut self, app: AppSlot, victim: ContainerId) {
        let Some(slot) = self.live_container(victim) else {
            return;
        };
        let owner = self.container(slot).app;
        if self.state.apps[owner].leaf != self.state.apps[app].leaf {
            // The ask of a container that was marked is not given back.
            self.containers.get_mut(slot).give_back = GiveBack::Nothing;
            self.end_container(slot, EndCause::Preempted);
        }
    }
}

/// Whether a planted bug forgets to charge the queues.
fn skips_charge(state: &State, proposal: &Proposal) -> bool {
    let user = &state.users[state.apps[proposal.app].user];
    let partition = state.nodes[proposal.node].partition;
    injected(Mutant::SkipQueueCharge) && user.part(partition).used.is_none()
}
