//! Applying proposals: the only place where containers come into being.

use std::iter;
use std::sync::Arc;

use super::validate::Conflict;
use crate::cluster::{Reservation, TagCount};
use crate::commit::containers::container::{Container, ContainerState, GiveBack};
use crate::commit::event::{Ending, Event, UnreserveReason};
use crate::commit::follow_up_events::FollowUpEvent;
use crate::commit::ledger::{ContainerSlot, Ledger};
use crate::id::{AppSlot, ContainerId, NameId, NodeSlot, PartitionId, SchedulerKey};
use crate::policy::Locality;
use crate::proposer::{Observation, Outcome, Proposal, ProposalKind, Release};
use crate::queue::{ConstrainedKey, Exclusivity, ReservedAt};
use crate::resource::{ResourceVector, with_width};
use crate::sync::{Mutant, injected};

/// What became of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum CommitOutcome {
    /// A container was placed, or a reservation made, kept or given up.
    Committed,
    /// A container was placed on the alternate of its proposal.
    CommittedElsewhere,
    /// The proposal did not hold.
    Rejected(Conflict),
    /// There was nothing to commit.
    Nothing,
}

impl CommitOutcome {
    /// Whether it changed what the proposal was about.
    #[must_use]
    pub const fn is_committed(self) -> bool {
        matches!(self, Self::Committed | Self::CommittedElsewhere)
    }
}

/// What was taken off the asks of a key with one container.
struct Taken<const N: usize> {
    /// The partition that was asked for.
    partition: PartitionId,
    /// The scheduling request, if it was one.
    constrained: Option<Arc<ConstrainedKey>>,
    /// What to give back should the container be lost.
    give_back: GiveBack,
    /// What the queues have not outstanding any more.
    served: Option<(PartitionId, ResourceVector<N>)>,
}

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
        self.observe(observations);
        match outcome {
            Outcome::Proposed(proposal) => self.commit_proposal(proposal, checked),
            Outcome::GiveUp(release) => {
                self.settle_arrears();
                self.release(release, UnreserveReason::Excess);
                CommitOutcome::Committed
            }
            Outcome::Skipped(_) => CommitOutcome::Nothing,
        }
    }

    fn commit_proposal(&mut self, proposal: &Proposal, checked: impl FnOnce()) -> CommitOutcome {
        let verdict = with_width!(self.state.calculator, N => {
            match self.check_plain::<N>(proposal) {
                Some(Ok(plain)) => {
                    checked();
                    self.apply_plain::<N>(proposal, &plain);
                    return CommitOutcome::Committed;
                }
                Some(Err(conflict)) => Err(conflict),
                None => {
                    self.settle_arrears();
                    self.validate::<N>(proposal)
                }
            }
        });
        let second = match verdict {
            Ok(()) => None,
            Err(conflict) => self.second_choice(proposal, conflict),
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
            (Err(conflict), None) => {
                self.count_found(proposal);
                self.note_rejection(proposal, conflict);
                CommitOutcome::Rejected(conflict)
            }
        }
    }

    /// A proposal on its alternate, where that holds though the first node took it no more. The alternate
    /// must still be of the partition that is asked for, and nothing excluded.
    fn second_choice(&mut self, proposal: &Proposal, conflict: Conflict) -> Option<Proposal> {
        if !conflict.is_of_node() {
            return None;
        }
        let second = proposal.on_alternate()?;
        let holds = with_width!(self.state.calculator, N => self.validate::<N>(&second));
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

    /// Moves the counters of a key for which room was found, though the proposal did not hold.
    fn count_found(&mut self, proposal: &Proposal) {
        let here = self.is_registered(proposal.node, proposal.incarnation);
        let app = &mut self.state.apps[proposal.app];
        if proposal.counted
            && here
            && app.generation == proposal.generation
            && let Ok(at) = app.find_key(proposal.key)
        {
            let partition = self.state.nodes[proposal.node].partition;
            app.keys[at].count_found(partition);
        }
    }

    fn note_rejection(&mut self, proposal: &Proposal, conflict: Conflict) {
        let held = proposal
            .reserved
            .and_then(|_| self.state.nodes[proposal.node].reserved);
        self.events.push(Event::Rejected {
            app: self.state.apps[proposal.app].id,
            node: self.state.nodes[proposal.node].name.clone(),
            size: held.map_or_else(|| proposal.size.get(), |held| held.size),
            kind: proposal.kind,
            again: proposal.reserved.is_some(),
            conflict,
        });
    }

    // As FiCaSchedulerApp.apply and AbstractLeafQueue.apply for an allocation.
    fn apply_allocation<const N: usize>(&mut self, proposal: &Proposal) {
        let (app, node) = (proposal.app, proposal.node);
        let partition = self.state.nodes[node].partition;
        let slot = self.container_of(proposal);
        let Taken {
            partition: requested_partition,
            constrained,
            give_back,
            served,
        } = self.take_ask::<N>(proposal, slot);
        let container = self.container_mut(slot);
        container.state = ContainerState::Allocated;
        container.on_node = true;
        container.requested_partition = requested_partition;
        container.borrowed = proposal.exclusivity == Exclusivity::Ignore;
        container.give_back = give_back;
        let (id, size) = (container.id, container.size.narrow::<N>());
        self.live[app.index()].insert(id.number, slot);
        self.unfetched[app.index()].push(slot);
        // The application is charged what the key asks now, which may differ from the size of a
        // container that was reserved earlier.
        let row = &mut self.state.apps[app];
        row.part_mut(partition).used += proposal.size.narrow::<N>();
        let (leaf, user, starts) = (row.leaf, row.user, row.waits_for_master());
        let row = &mut self.state.nodes[node];
        row.free -= size;
        row.allocated += size;
        row.containers += 1;
        self.spaces[app.index()] += 1;
        self.on_node[node.index()].push(slot);
        if let Some(fixed) = constrained {
            self.note_tags(app, proposal.key, node, fixed);
        }
        if starts {
            self.deferred.push_back(FollowUpEvent::Allocated(app));
        }
        for victim in &proposal.kill {
            self.kill_for(app, victim.container);
        }
        if let Some(exchange) = &proposal.exchange {
            self.release(exchange, UnreserveReason::Exchange);
        }
        let skips = injected(Mutant::SkipQueueCharge)
            && self.state.users[user].part(partition).used.is_none();
        if proposal.reserved.is_none() && !skips {
            self.charge_served(app, partition, size, served);
            self.flag_for_reordering(app);
        } else if let Some((partition, size)) = served {
            self.add_queue_pending(leaf, partition, -size.widen());
        }
        self.join_idle(leaf);
        // Made where it stays: pushed, it would be put together elsewhere and read back at once.
        let allocated = || Event::Allocated {
            container: id,
            node: self.state.nodes[node].name.clone(),
            size: size.widen(),
            queue: Arc::clone(&self.state.queues[leaf].settings.path),
            key: proposal.key,
            locality: proposal.locality,
            requested: proposal.requested,
            partition,
            borrowed: proposal.exclusivity == Exclusivity::Ignore,
            from_reservation: proposal.reserved.is_some(),
        };
        self.events.extend(iter::once_with(allocated));
    }

    /// The container of a proposal: the reserved one, taken off its node, or a new one.
    fn container_of(&mut self, proposal: &Proposal) -> ContainerSlot {
        if proposal.reserved.is_some() {
            let slot = self.reserved_on[proposal.node.index()]
                .expect("validation found the reservation on the node");
            self.unreserve(slot);
            return slot;
        }
        self.new_container(proposal, ContainerState::Allocated)
    }

    fn new_container(&mut self, proposal: &Proposal, state: ContainerState) -> ContainerSlot {
        let app = &mut self.state.apps[proposal.app];
        let id = ContainerId {
            app: app.id,
            number: app.next_container,
        };
        app.next_container += 1;
        self.stamp += 1;
        let (stamp, created_ms) = (self.stamp, self.now_ms);
        self.store_container(|| Container {
            id,
            app: proposal.app,
            key: proposal.key,
            size: proposal.size.clone(),
            node: proposal.node,
            state,
            on_node: false,
            handed: false,
            launched: false,
            to_launch: false,
            to_stop: false,
            master: false,
            stamp,
            created_ms,
            requested_partition: PartitionId::DEFAULT,
            borrowed: false,
            give_back: GiveBack::Nothing,
        })
    }

    /// Takes one container off the asks of a key.
    // As LocalityAppPlacementAllocator.allocate and SingleConstraintAppPlacementAllocator.allocate.
    fn take_ask<const N: usize>(&mut self, proposal: &Proposal, slot: ContainerSlot) -> Taken<N> {
        let (app, key, node) = (proposal.app, proposal.key, proposal.node);
        // The ask may not have the size any more that was reserved. That of a new container stands in the
        // proposal; reading it back right after it was written stalls.
        let size = match proposal.reserved {
            Some(_) => self.container(slot).size.clone(),
            None => proposal.size.clone(),
        };
        let row = &self.state.nodes[node];
        let (host, rack, here) = (row.host, row.rack, row.partition);
        let asks = self.state.apps[app].key_mut(key);
        if proposal.counted {
            asks.count_found(here);
        }
        let partition = asks.partition;
        if let Some(fixed) = &asks.constrained {
            let constrained = Some(Arc::clone(fixed));
            if let Some(ask) = asks.at_mut(NameId::ANY) {
                ask.count -= 1;
            }
            // What a scheduling request had taken is not asked again.
            return Taken {
                partition,
                constrained,
                give_back: GiveBack::Places(Box::default()),
                served: None,
            };
        }
        let nearer: &[NameId] = match proposal.locality {
            Locality::Node => &[host, rack],
            Locality::Rack => &[rack],
            Locality::Any => &[],
        };
        let mut taken = [None, None];
        for (taken, &place) in taken.iter_mut().zip(nearer) {
            *taken = asks.at(place).cloned();
            asks.take_one(place);
        }
        let any = asks.at(NameId::ANY);
        let give_back = GiveBack::of(&taken, any, &size);
        let served = any.map(|ask| {
            (
                ask.partition.unwrap_or(PartitionId::DEFAULT),
                ask.size.narrow(),
            )
        });
        asks.take_one(NameId::ANY);
        asks.known = !asks.asks.is_empty();
        if asks.count(NameId::ANY) == 0 {
            self.close_key(app, key, false);
            self.stop_asking_without_keys(app);
        }
        if let Some((partition, size)) = served {
            self.add_app_pending(app, partition, -size);
        }
        Taken {
            partition,
            constrained: None,
            give_back,
            served,
        }
    }

    // As FiCaSchedulerApp.reserve and AbstractLeafQueue.apply for a reservation.
    fn apply_reservation(&mut self, proposal: &Proposal) {
        let (app, node, key) = (proposal.app, proposal.node, proposal.key);
        let partition = self.state.nodes[node].partition;
        let again = proposal.reserved.is_some();
        let slot = match self.reserved_on[node.index()] {
            Some(slot) if again => {
                self.state.apps[app].key_mut(key).re_reservations += 1;
                slot
            }
            _ => self.new_reservation(proposal),
        };
        let (id, size) = (self.container(slot).id, self.container(slot).size.get());
        if !again {
            self.charge(app, partition, size);
            self.flag_for_reordering(app);
            let leaf = self.state.apps[app].leaf;
            self.add_reserved(leaf, partition, size);
        }
        self.events.push(Event::Reserved {
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
        let slot = self.new_container(proposal, ContainerState::Reserved);
        let (id, size) = (self.container(slot).id, self.container(slot).size.get());
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
        self.reserved_on[node.index()] = Some(slot);
        slot
    }

    /// Gives up a reservation: application, queues and user are relieved of it.
    fn release(&mut self, release: &Release, reason: UnreserveReason) {
        let Some(slot) = self.reserved_on[release.node.index()] else {
            return;
        };
        let container = self.container(slot);
        if (container.app, container.id.number) != (release.app, release.number) {
            return;
        }
        let (app, size) = (container.app, container.size.get());
        let partition = self.state.nodes[release.node].partition;
        if self.drop_reservation(slot, reason) {
            self.flag_for_reordering(app);
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
        self.tagged.insert((app, key), fixed);
    }

    /// Forgets the tags of a container whose space is free again.
    pub(in crate::commit) fn forget_tags(
        &mut self,
        app: AppSlot,
        key: SchedulerKey,
        node: NodeSlot,
    ) {
        let Some(fixed) = self.tagged.get(&(app, key)) else {
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
