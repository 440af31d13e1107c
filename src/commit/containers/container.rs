//! Containers in the ledger, and how they end.

use crate::accounting::{FairChange, mark_moved};
use crate::commit::event::{Ending, Event, UnreserveReason};
use crate::commit::follow_up_events::FollowUpEvent;
use crate::commit::ledger::{ContainerSlot, Ledger};
use crate::commit::tree::usage::add_reserved;
use crate::id::{AppSlot, ContainerId, NodeSlot, PartitionId, SchedulerKey};
use crate::proposer::Proposal;
use crate::queue::{AppStage, PlaceAsk};
use crate::resource::PackedVector;
use crate::snapshot::State;
use crate::sync::{Mutant, injected};

/// A container, or a reservation of one.
#[derive(Clone, Debug)]
pub struct Container {
    /// Application and number.
    pub id: ContainerId,
    /// The application's slot.
    pub app: AppSlot,
    /// The key it was asked under.
    pub key: SchedulerKey,
    /// Its size; that of the ask at the time it was first reserved or allocated.
    pub size: PackedVector,
    /// The node.
    pub node: NodeSlot,
    /// Where it stands.
    pub state: ContainerState,
    /// Whether its space on the node is taken.
    pub on_node: bool,
    /// Whether its application fetched it.
    pub handed: bool,
    /// Whether the node reported that it was launched.
    pub launched: bool,
    /// Whether the node will report it as launched next.
    pub to_launch: bool,
    /// Whether the node will report it as stopped next.
    pub to_stop: bool,
    /// Whether the application's master runs in it.
    pub master: bool,
    /// Position in the order of creation.
    pub stamp: u64,
    /// Time of creation in ms since the start.
    pub created_ms: u64,
    /// Partition of the request that it serves.
    pub requested_partition: PartitionId,
    /// Whether it runs on borrowed capacity of its node's partition.
    pub borrowed: bool,
    /// Asks to give back should it be lost before its application fetched it.
    pub give_back: GiveBack,
}

/// What a container had been asked with.
#[derive(Clone, Debug, Default)]
pub enum GiveBack {
    /// Nothing is given back any more.
    #[default]
    Nothing,
    /// One ask for `*` of the container's size.
    Anywhere {
        /// Containers that were outstanding with it.
        count: i32,
        /// Whether a less local place would have done.
        relax: bool,
        /// Partition asked for.
        partition: Option<PartitionId>,
    },
    /// Asks at several places, or of another size.
    Places(Box<[PlaceAsk]>),
}

impl GiveBack {
    /// From the asks at nearer places that a container was taken off, and the one for anywhere,
    /// each as it stood before. A copy of the latter is made only when it has to be.
    #[inline]
    pub(in crate::commit) fn of(nearer: &[PlaceAsk], any: &PlaceAsk, size: &PackedVector) -> Self {
        if nearer.is_empty() && any.size == *size {
            return Self::Anywhere {
                count: any.count,
                relax: any.relax,
                partition: any.partition,
            };
        }
        Self::Places(nearer.iter().chain([any]).cloned().collect())
    }
}

/// Life of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// Waits for room on its node.
    Reserved,
    /// Placed; its application does not know yet.
    Allocated,
    /// Handed to its application.
    Acquired,
    /// Reported by its node.
    Running,
    /// Ended; its space on the node may still be taken.
    Done,
    /// Ended and off its node; the slot may be used again.
    Gone,
}

/// How a container is placed.
#[derive(Debug)]
pub(in crate::commit) struct PlacedAs {
    /// Partition of the request that it serves.
    pub(in crate::commit) requested_partition: PartitionId,
    /// Whether it runs on borrowed capacity of its node's partition.
    pub(in crate::commit) borrowed: bool,
    /// Asks to give back should it be lost before its application fetched it.
    pub(in crate::commit) give_back: GiveBack,
}

impl Container {
    /// A container that takes its place on the node of a proposal at once.
    #[inline(always)]
    pub(in crate::commit) fn placed(
        proposal: &Proposal,
        id: ContainerId,
        stamps: (u64, u64),
        placed: PlacedAs,
    ) -> Self {
        Self::new(proposal, id, stamps, (ContainerState::Allocated, placed))
    }

    /// A container that waits for room on the node of a proposal.
    pub(in crate::commit) fn reserved(
        proposal: &Proposal,
        id: ContainerId,
        stamps: (u64, u64),
    ) -> Self {
        let nothing = PlacedAs {
            requested_partition: PartitionId::DEFAULT,
            borrowed: false,
            give_back: GiveBack::Nothing,
        };
        Self::new(proposal, id, stamps, (ContainerState::Reserved, nothing))
    }

    #[inline(always)]
    fn new(
        proposal: &Proposal,
        id: ContainerId,
        (stamp, created_ms): (u64, u64),
        (state, placed): (ContainerState, PlacedAs),
    ) -> Self {
        Self {
            id,
            app: proposal.app,
            key: proposal.key,
            size: proposal.size.clone(),
            node: proposal.node,
            state,
            on_node: matches!(state, ContainerState::Allocated),
            handed: false,
            launched: false,
            to_launch: false,
            to_stop: false,
            master: false,
            stamp,
            created_ms,
            requested_partition: placed.requested_partition,
            borrowed: placed.borrowed,
            give_back: placed.give_back,
        }
    }

    /// Gives a reserved container its place.
    pub(in crate::commit) fn set_placed(&mut self, placed: PlacedAs) {
        self.state = ContainerState::Allocated;
        self.on_node = true;
        self.requested_partition = placed.requested_partition;
        self.borrowed = placed.borrowed;
        self.give_back = placed.give_back;
    }
}

impl Ledger {
    /// Ends a container, or drops a reservation.
    // As AbstractYarnScheduler.completedContainer with AbstractLeafQueue.completedContainer.
    pub(in crate::commit) fn end_container(&mut self, slot: ContainerSlot, ending: Ending) {
        self.end_as(slot, ending, UnreserveReason::Kill);
    }

    /// Ends a container, or drops a reservation for a reason of its own.
    pub(in crate::commit) fn end_as(
        &mut self,
        slot: ContainerSlot,
        ending: Ending,
        reason: UnreserveReason,
    ) {
        let container = self.container(slot);
        let (app, node, size) = (container.app, container.node, container.size.get());
        let partition = self.state.nodes[node].partition;
        if container.state == ContainerState::Reserved {
            if !self.drop_reservation(slot, reason) {
                return;
            }
        } else if !self.end_running(slot, ending) {
            return;
        }
        mark_moved(&mut self.state, app, FairChange::Use);
        if injected(Mutant::KilledStaysCharged) && ending == Ending::Killed {
            return;
        }
        self.charge(app, partition, -size);
        // What ran to its end was needed once.
        if ending != Ending::Finished {
            self.give_back_container(slot);
        }
    }

    /// Ends a live container; whether it was one.
    fn end_running(&mut self, slot: ContainerSlot, ending: Ending) -> bool {
        let container = self.container(slot);
        let (id, app, node, size) = (
            container.id,
            container.app,
            container.node,
            container.size.get(),
        );
        let before = container.state;
        if !self.containers.end_live(slot) {
            return false;
        }
        let partition = self.state.nodes[node].partition;
        self.state.apps[app].part_mut(partition).used -= size;
        let container = self.container_mut(slot);
        container.state = ContainerState::Done;
        let (to_stop, launched) = (container.to_stop, container.launched);
        if ending != Ending::Finished {
            self.containers.set_due(slot, false, to_stop);
        }
        if !launched {
            self.free_space(slot);
        }
        mark_ended_killable(&mut self.state, node, id);
        if before != ContainerState::Allocated && ending != Ending::Finished {
            self.outbox.follow_up(FollowUpEvent::Stop(slot));
        }
        // RMContainerImpl knows no way for a container that was not fetched to be given back.
        if before != ContainerState::Allocated || ending != Ending::Released {
            self.outbox.follow_up(FollowUpEvent::Finished(slot));
        }
        self.containers.note_ended(slot);
        let node = self.state.nodes[node].name.clone();
        self.outbox.push(Event::Ended {
            container: id,
            node,
            size,
            ending,
        });
        true
    }

    /// Frees the space of a container on its node.
    pub(in crate::commit) fn free_space(&mut self, slot: ContainerSlot) {
        if !self.containers.leave_node(slot) {
            return;
        }
        let container = self.container(slot);
        let (id, node, size) = (container.id, container.node, container.size.get());
        let (app, key, handed) = (container.app, container.key, container.handed);
        let row = &mut self.state.nodes[node];
        row.killable.retain(|killable| killable.container != id);
        row.free += size;
        row.allocated -= size;
        row.containers -= 1;
        // As SchedulerNode.releaseContainer: a container has its tags from when it is fetched, so
        // that those of others are counted for ever.
        if handed {
            self.forget_tags(app, key, node);
        }
        if self.state.apps[app].stage == AppStage::Done {
            self.outbox.follow_up(FollowUpEvent::Forget(app));
        }
    }

    /// Takes a reservation off its node and its application; whether it was still there.
    /// What queues and users are charged for it stays.
    pub(in crate::commit) fn drop_reservation(
        &mut self,
        slot: ContainerSlot,
        reason: UnreserveReason,
    ) -> bool {
        let container = self.container(slot);
        let (id, node, size) = (container.id, container.node, container.size.get());
        if !self.unreserve(slot) {
            return false;
        }
        self.container_mut(slot).state = ContainerState::Done;
        self.containers.note_ended(slot);
        let node = self.state.nodes[node].name.clone();
        self.outbox.push(Event::Unreserved {
            container: id,
            node,
            size,
            reason,
        });
        true
    }

    /// Takes a reservation off its node and its application without ending the container.
    // As FiCaSchedulerApp.unreserve and LeafQueue's share of it.
    pub(in crate::commit) fn unreserve(&mut self, slot: ContainerSlot) -> bool {
        let container = self.container(slot);
        let (id, app, key) = (container.id, container.app, container.key);
        let (node, size) = (container.node, container.size.get());
        let partition = self.state.nodes[node].partition;
        let asks = self.state.apps[app].key_mut(key);
        let Some(at) = asks
            .reserved
            .iter()
            .position(|held| held.node == node && held.number == id.number)
        else {
            return false;
        };
        asks.reserved.remove(at);
        asks.re_reservations = 0;
        self.state.apps[app].part_mut(partition).reserved -= size;
        self.state.nodes[node].reserved = None;
        self.containers.set_reserved(node, None);
        let leaf = self.state.apps[app].leaf;
        add_reserved(&mut self.state, leaf, partition, -size);
        true
    }

    /// Containers that wait for room, of one application, by number.
    pub(in crate::commit) fn reservations_of(&self, app: AppSlot) -> Vec<ContainerSlot> {
        let mut held: Vec<_> = self.state.apps[app]
            .keys
            .iter()
            .flat_map(|asks| &asks.reserved)
            .map(|held| (held.number, held.node))
            .collect();
        held.sort_unstable();
        held.into_iter()
            .filter_map(|(_, node)| self.containers.reserved_on(node))
            .collect()
    }
}

impl Container {
    /// Whether its application was handed it and it has not ended.
    #[must_use]
    pub fn is_handed(&self) -> bool {
        matches!(
            self.state,
            ContainerState::Acquired | ContainerState::Running
        )
    }
}

fn mark_ended_killable(state: &mut State, node: NodeSlot, id: ContainerId) {
    if state.nodes[node].killable.is_empty() {
        return;
    }
    for killable in &mut state.nodes[node].killable {
        if killable.container == id {
            killable.ended = true;
        }
    }
}
