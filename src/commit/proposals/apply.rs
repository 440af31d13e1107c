//! Applying proposals: the only place where containers come into being.
//!
//! Tests: `tests/commit/bad_proposals.rs`.

use std::sync::Arc;

use super::batch::CommitBatch;
use super::conflict::Conflict;
use super::deferred::PendingNotices;
use super::outcome::CommitOutcome;
use super::sink::{next_id, sink};
use crate::accounting::{ContainerPlacement, FairChange, mark_moved, place};
use crate::cluster::{Reservation, TagCount};
use crate::commit::containers::container::{Container, GiveBack};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::{Ending, LedgerEvent, UnreserveReason};
use crate::commit::ledger::Ledger;
use crate::commit::nodes::registration::is_registered;
use crate::commit::outbox::FollowUpEvent;
use crate::commit::tree::usage::add_reserved;
use crate::id::{AppSlot, ContainerId, NodeSlot, SchedulerKey};
use crate::proposer::{Observation, Outcome, Proposal, ProposalKind, Release};
use crate::queue::{ConstrainedKey, Exclusivity, ReservedAt};
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

    /// Applies a validated proposal, or its alternate where the first node refuses it; otherwise notes the
    /// conflict.
    pub(super) fn carry_out(
        &mut self,
        proposal: &Proposal,
        verdict: Result<(), Conflict>,
        notices: Option<&mut PendingNotices>,
        checked: impl FnOnce(),
    ) -> CommitOutcome {
        let second = match verdict {
            Ok(()) => None,
            Err(conflict) => self.second_choice(proposal, conflict, notices),
        };
        checked();
        match (verdict, second) {
            (Ok(()), _) => {
                self.apply(proposal);
                CommitOutcome::Committed
            }
            (Err(_), Some(second)) => {
                self.apply(&second);
                CommitOutcome::CommittedElsewhere
            }
            (Err(conflict), None) => self.reject(proposal, conflict),
        }
    }

    /// Notes that a proposal did not hold.
    pub(super) fn reject(&mut self, proposal: &Proposal, conflict: Conflict) -> CommitOutcome {
        count_found(&mut self.state, proposal);
        self.note_rejection(proposal, conflict);
        CommitOutcome::Rejected(conflict)
    }

    /// A proposal on its alternate, where that holds though the first node took it no more. The alternate
    /// must still be of the partition that is asked for, and nothing excluded.
    fn second_choice(
        &mut self,
        proposal: &Proposal,
        conflict: Conflict,
        notices: Option<&mut PendingNotices>,
    ) -> Option<Proposal> {
        if !conflict.is_of_node() {
            return None;
        }
        let second = proposal.on_alternate()?;
        let holds = with_width!(self.state.calculator, N => self.validate::<N>(&second, notices));
        holds.ok()?;
        let row = &self.state.apps[second.app];
        let partition = self.state.nodes[second.node].partition;
        let asked = row.key(second.key)?.partition == partition;
        (asked && row.blacklist.is_empty()).then_some(second)
    }

    fn apply(&mut self, proposal: &Proposal) {
        match proposal.kind {
            ProposalKind::Allocate => {
                with_width!(self.state.calculator, N => self.apply_allocation::<N>(proposal));
            }
            ProposalKind::Reserve => self.apply_reservation(proposal),
        }
    }

    fn note_rejection(&mut self, proposal: &Proposal, conflict: Conflict) {
        let held = proposal
            .reserved
            .and_then(|_| self.state.nodes[proposal.node].reserved);
        self.outbox.push(LedgerEvent::Rejected {
            app: self.state.apps[proposal.app].id,
            node: self.state.nodes[proposal.node].name.clone(),
            size: held.map_or_else(|| proposal.size.get(), |held| held.size),
            kind: proposal.kind,
            again: proposal.reserved.is_some(),
            conflict,
        });
    }

    /// Places the container of a proposal that holds.
    ///
    /// 1. Take a reservation that it fulfils off its node.
    /// 2. Count its tags on the node; end the containers that it replaces.
    /// 3. [`place`] it.
    /// 4. Follow the end of its asks.
    // As FiCaSchedulerApp.apply and AbstractLeafQueue.apply for an allocation.
    fn apply_allocation<const N: usize>(&mut self, proposal: &Proposal) {
        let app = proposal.app;
        let reserved = self.take_reserved(proposal);
        let row = &self.state.apps[app];
        let key = row
            .find_key(proposal.key)
            .expect("validation found the key");
        let (leaf, starts) = (row.leaf, row.waits_for_master());
        let constrained = row.keys[key].constrained.clone();
        if constrained.is_none() || self.state.settings.rules.constrained_pending_falls {
            self.skipped.stop(&mut self.state, app);
        }
        if let Some(fixed) = constrained {
            self.note_tags(app, proposal.key, proposal.node, fixed);
        }
        if starts {
            self.outbox.follow_up(FollowUpEvent::Allocated(app));
        }
        self.replace(proposal);
        let charged = reserved.is_some() || self.skips_charge(proposal);
        if !charged {
            self.user_of(app);
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
        if place(state, &placement, &mut sink) {
            self.stop_asking_without_keys(app);
        }
        self.skipped.join_idle(&mut self.state, leaf);
    }

    /// The container that was reserved for a proposal, taken off its node; nothing where none was.
    fn take_reserved(&mut self, proposal: &Proposal) -> Option<ContainerSlot> {
        proposal.reserved?;
        let reserved = self.containers.reserved_on(proposal.node);
        let slot = reserved.expect("validation found the reservation on the node");
        self.unreserve(slot);
        Some(slot)
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

    /// Whether a planted bug forgets to charge the queues.
    fn skips_charge(&self, proposal: &Proposal) -> bool {
        let user = &self.state.users[self.state.apps[proposal.app].user];
        let partition = self.state.nodes[proposal.node].partition;
        injected(Mutant::SkipQueueCharge) && user.part(partition).used.is_none()
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
            _ => self.new_reservation(proposal),
        };
        let (id, size) = (self.container(slot).id, self.container(slot).size.get());
        if !again {
            self.charge(app, partition, size);
            mark_moved(&mut self.state, app, FairChange::Use);
            let leaf = self.state.apps[app].leaf;
            add_reserved(&mut self.state, leaf, partition, size);
        }
        self.outbox.push(LedgerEvent::Reserved {
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

    fn new_reservation(&mut self, proposal: &Proposal) -> ContainerSlot {
        let (app, node, key) = (proposal.app, proposal.node, proposal.key);
        let id = next_id(&mut self.state, app);
        let stamps = (self.containers.next_stamp(), self.clock.now_ms());
        let size = proposal.size.clone();
        let container = || Container::reserved(proposal, id, size, stamps);
        let slot = self.containers.store(container);
        let size = proposal.size.get();
        let row = &self.state.nodes[node];
        let (partition, java_hash) = (row.partition, row.java_hash);
        let asks = self.state.apps[app].key_mut(key);
        asks.re_reservations = 0;
        asks.reserved.push(ReservedAt {
            number: id.number,
            node,
            java_hash,
            size,
        });
        asks.most_reserved = asks.most_reserved.max(asks.reserved.len());
        self.state.apps[app].part_mut(partition).reserved += size;
        self.state.nodes[node].reserved = Some(Reservation {
            app,
            key,
            number: id.number,
            size,
        });
        self.containers.set_reserved(node, Some(slot));
        slot
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
        if self.drop_reservation(slot, reason) {
            mark_moved(&mut self.state, app, FairChange::Use);
            self.charge(app, partition, -size);
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
            self.container_mut(slot).give_back = GiveBack::Nothing;
            self.end_container(slot, Ending::Killed);
        }
    }

    /// Counts the tags of a container on its node.
    fn note_tags(
        &mut self,
        app: AppSlot,
        key: SchedulerKey,
        node: NodeSlot,
        fixed: Arc<ConstrainedKey>,
    ) {
        let (id, app_tags) = (
            self.state.apps[app].id,
            Arc::clone(&self.state.apps[app].submission.tags),
        );
        let tags = &mut self.state.nodes[node].tags;
        for tag in &fixed.tags {
            match tags
                .iter_mut()
                .find(|known| known.app == id && known.tag == *tag)
            {
                Some(known) => known.count += 1,
                None => tags.push(TagCount {
                    app: id,
                    app_tags: Arc::clone(&app_tags),
                    tag: Arc::clone(tag),
                    count: 1,
                }),
            }
        }
        self.tags.note(app, key, fixed);
    }

    /// Forgets the tags of a container whose space is free again.
    pub(in crate::commit) fn forget_tags(
        &mut self,
        app: AppSlot,
        key: SchedulerKey,
        node: NodeSlot,
    ) {
        let Some(fixed) = self.tags.of(app, key) else {
            return;
        };
        let id = self.state.apps[app].id;
        let tags = &mut self.state.nodes[node].tags;
        for tag in &fixed.tags {
            if let Some(at) = tags
                .iter()
                .position(|known| known.app == id && known.tag == *tag)
            {
                tags[at].count -= 1;
                if tags[at].count == 0 {
                    tags.swap_remove(at);
                }
            }
        }
    }
}

/// Moves the counters of a key for which room was found, though the proposal did not hold.
fn count_found(state: &mut State, proposal: &Proposal) {
    let here = is_registered(state, proposal.node, proposal.incarnation);
    let app = &mut state.apps[proposal.app];
    if proposal.counted
        && here
        && app.generation == proposal.generation
        && let Ok(at) = app.find_key(proposal.key)
    {
        let partition = state.nodes[proposal.node].partition;
        app.keys[at].count_found(partition);
    }
}
