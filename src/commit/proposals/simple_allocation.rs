//! Plain containers: the short way to commit what may be anywhere and takes nobody's place.
//!
//! Most proposals are of that kind, hold, and leave more outstanding under their key. Their rows are
//! looked at once for checking and applying; everything else goes the long way, which finds the
//! conflict if there is one.

use std::iter;
use std::sync::Arc;

use super::validate::Conflict;
use crate::cluster::NodeState;
use crate::commit::containers::container::{Container, ContainerState, GiveBack};
use crate::commit::event::Event;
use crate::commit::ledger::Ledger;
use crate::id::{ContainerId, NameId, PartitionId, QueueSlot, UserSlot};
use crate::policy::Locality;
use crate::proposer::{Proposal, ProposalKind};
use crate::queue::Exclusivity;
use crate::resource::ResourceVector;
use crate::sync::{Mutant, injected};

/// Where a plain container counts.
pub(in crate::commit) struct Plain {
    leaf: QueueSlot,
    user: UserSlot,
    partition: PartitionId,
    /// Position of its key among those of the application.
    key: usize,
}

impl Ledger {
    /// Whether a proposal for a plain container holds; nothing where it takes the long way to tell,
    /// and then nothing has changed.
    // As Ledger::validate.
    pub(in crate::commit) fn check_plain<const N: usize>(
        &mut self,
        proposal: &Proposal,
    ) -> Option<Result<Plain, Conflict>> {
        let found = self.find_plain::<N>(proposal);
        let plain = match found {
            None if !self.arrears.are_none() => {
                self.settle_arrears();
                self.find_plain::<N>(proposal)
            }
            found => found,
        }?;
        // Last, because it tells the user the limit.
        let within =
            self.is_within_user_limit::<N>(proposal, plain.leaf, plain.user, &ResourceVector::NONE);
        Some(within.then_some(plain).ok_or(Conflict::OverUserLimit))
    }

    fn find_plain<const N: usize>(&self, proposal: &Proposal) -> Option<Plain> {
        let plain = proposal.kind == ProposalKind::Allocate
            && proposal.locality == Locality::Any
            && proposal.exclusivity == Exclusivity::Respect
            && proposal.reserved.is_none()
            && proposal.exchange.is_none()
            && proposal.kill.is_empty()
            && !injected(Mutant::SkipQueueCharge);
        if !plain {
            return None;
        }
        let state = &self.state;
        let (app, node) = (&state.apps[proposal.app], &state.nodes[proposal.node]);
        let key = app.find_key(proposal.key).ok()?;
        let (asks, size, partition) = (&app.keys[key], proposal.size.narrow(), node.partition);
        let ask = asks.at(NameId::ANY)?;
        let user = &state.users[app.user];
        let holds = app.generation == proposal.generation
            && !app.stage.is_over()
            && !app.waits_for_master()
            && !self.skipped[proposal.app.index()]
            && asks.known
            && asks.constrained.is_none()
            && ask.count > 1
            && ask.size == proposal.size
            && ask.partition.unwrap_or(PartitionId::DEFAULT) == partition
            && !user.removed
            && user.leaf == app.leaf
            && node.incarnation == proposal.incarnation
            && node.state == NodeState::Running
            && node.reserved.is_none()
            && state.calculator.fits_in(&size, &node.free.narrow::<N>());
        if !holds {
            return None;
        }
        let leaf = app.leaf;
        let part = state.queues[leaf].part(partition);
        let has_room = self.arrears.are_on(partition)
            && state
                .calculator
                .fits_in(&(part.used.narrow() + size), &part.limit.narrow())
            && self.arrears.leave_room(state, leaf, partition, &size);
        has_room.then_some(Plain {
            leaf,
            user: app.user,
            partition,
            key,
        })
    }

    /// Places a plain container that holds.
    // As Ledger::apply_allocation.
    pub(in crate::commit) fn apply_plain<const N: usize>(
        &mut self,
        proposal: &Proposal,
        plain: &Plain,
    ) {
        let (partition, size) = (plain.partition, proposal.size.narrow::<N>());
        self.stamp += 1;
        let (stamp, created_ms) = (self.stamp, self.now_ms);
        let app = &mut self.state.apps[proposal.app];
        let id = ContainerId {
            app: app.id,
            number: app.next_container,
        };
        app.next_container += 1;
        let asks = &mut app.keys[plain.key];
        if proposal.counted {
            asks.count_found(partition);
        }
        let requested_partition = asks.partition;
        let ask = asks.at_mut(NameId::ANY).expect("it was found by checking");
        let (count, relax, asked) = (ask.count, ask.relax, ask.partition);
        ask.count -= 1;
        let part = app.part_mut(partition);
        part.used += size;
        part.pending -= size;
        self.state.note_asks::<N>(proposal.app, partition);
        let slot = self.store_container(|| Container {
            id,
            app: proposal.app,
            key: proposal.key,
            size: proposal.size.clone(),
            node: proposal.node,
            state: ContainerState::Allocated,
            on_node: true,
            handed: false,
            launched: false,
            to_launch: false,
            to_stop: false,
            master: false,
            stamp,
            created_ms,
            requested_partition,
            borrowed: false,
            give_back: GiveBack::Anywhere {
                count,
                relax,
                partition: asked,
            },
        });
        self.live[proposal.app.index()].insert(id.number, slot);
        self.unfetched[proposal.app.index()].push(slot);
        self.spaces[proposal.app.index()] += 1;
        self.on_node[proposal.node.index()].push(slot);
        let node = &mut self.state.nodes[proposal.node];
        node.free -= size;
        node.allocated += size;
        node.containers += 1;
        self.charge_plain(plain.leaf, plain.user, partition, size);
        self.flag_for_reordering(proposal.app);
        self.join_idle(plain.leaf);
        // Made where it stays: pushed, it would be put together elsewhere and read back at once.
        let allocated = || Event::Allocated {
            container: id,
            node: self.state.nodes[proposal.node].name.clone(),
            size: size.widen(),
            queue: Arc::clone(&self.state.queues[plain.leaf].settings.path),
            key: proposal.key,
            locality: Locality::Any,
            requested: proposal.requested,
            partition,
            borrowed: false,
            from_reservation: false,
        };
        self.events.extend(iter::once_with(allocated));
    }
}
