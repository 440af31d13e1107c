//! A container as the ledger keeps it.
//!
//! Tests: `tests/commit/property.rs`.

use crate::id::{AppSlot, ApplicationId, ContainerId, NodeSlot, PartitionId, SchedulerKey};
use crate::proposer::Proposal;
use crate::queue::PlaceAsk;
use crate::resource::PackedVector;

/// A container, or a reservation of one.
#[derive(Clone, Debug)]
pub struct Container {
    /// Application and number.
    pub id: ContainerId,
    /// The application's slot.
    pub app: AppSlot,
    /// The key it was asked under.
    pub key: SchedulerKey,
    /// Its size; that of the ask at the time it was first reserved or allocated. Nothing for an opportunistic one.
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
    /// Position among the containers that its application has not fetched, counted from its first.
    pub fetch_order: u32,
}

/// What a container had been asked with.
#[derive(Clone, Debug, Default)]
pub enum GiveBack {
    /// Nothing is given back any more.
    #[default]
    Nothing,
    /// One ask for `*` of the container's size.
    Anywhere(SoleAsk),
    /// Asks at several places, or of another size.
    Places(Box<[PlaceAsk]>),
}

/// An ask for `*` but for its size.
#[derive(Clone, Copy, Debug)]
pub struct SoleAsk {
    /// Containers that were outstanding with it.
    pub count: i32,
    /// Whether a less local place would have done.
    pub relax: bool,
    /// Partition asked for.
    pub partition: Option<PartitionId>,
}

impl SoleAsk {
    /// An ask for `*` as it stands.
    #[inline]
    pub(in crate::commit) fn of(ask: &PlaceAsk) -> Self {
        Self {
            count: ask.count,
            relax: ask.relax,
            partition: ask.partition,
        }
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
    /// A container of an application that waits for room on a node, asked under a key. `stamps`: position in the
    /// order of creation, and time of creation in ms.
    #[inline(always)]
    pub(in crate::commit) fn waiting(
        id: ContainerId,
        (app, key): (AppSlot, SchedulerKey),
        (node, size): (NodeSlot, PackedVector),
        stamps: (u64, u64),
    ) -> Self {
        Self {
            id,
            app,
            key,
            size,
            node,
            state: ContainerState::Reserved,
            on_node: false,
            handed: false,
            launched: false,
            to_launch: false,
            to_stop: false,
            master: false,
            stamp: stamps.0,
            created_ms: stamps.1,
            requested_partition: PartitionId::DEFAULT,
            borrowed: false,
            give_back: GiveBack::Nothing,
            fetch_order: 0,
        }
    }

    /// What stands in a slot that no container had yet.
    pub(in crate::commit) fn gone() -> Self {
        let id = ContainerId::new(ApplicationId::new(0), 0);
        let (of, on) = (AppSlot(0), NodeSlot(0));
        let of = (of, SchedulerKey::new(0, 0));
        let gone = Self::waiting(id, of, (on, PackedVector::default()), (0, 0));
        Self {
            state: ContainerState::Gone,
            ..gone
        }
    }

    /// A container that was asked anywhere, of a size, on the node of a proposal. `stamps`: as in
    /// [`Self::waiting`]. `asked`: the partition of its request, and the ask that it was taken off.
    ///
    /// Each field is written by itself: a record that is put together from another one waits for its stores.
    #[inline(always)]
    pub(in crate::commit) fn simple(
        proposal: &Proposal,
        id: ContainerId,
        size: PackedVector,
        stamps: (u64, u64),
        asked: (PartitionId, SoleAsk),
    ) -> Self {
        Self {
            id,
            app: proposal.app,
            key: proposal.key,
            size,
            node: proposal.node,
            state: ContainerState::Allocated,
            on_node: true,
            handed: false,
            launched: false,
            to_launch: false,
            to_stop: false,
            master: false,
            stamp: stamps.0,
            created_ms: stamps.1,
            requested_partition: asked.0,
            borrowed: false,
            give_back: GiveBack::Anywhere(asked.1),
            fetch_order: 0,
        }
    }

    /// Gives a container its place.
    #[inline(always)]
    pub(in crate::commit) fn set_placed(&mut self, placed: PlacedAs) {
        self.state = ContainerState::Allocated;
        self.on_node = true;
        self.requested_partition = placed.requested_partition;
        self.borrowed = placed.borrowed;
        self.give_back = placed.give_back;
    }
}

impl Container {
    /// Whether it stands for the change of another container, and ends with it.
    #[inline]
    #[must_use]
    pub const fn is_auxiliary(&self) -> bool {
        self.key.updates.is_some()
    }

    /// Whether its application was handed it and it has not ended.
    #[must_use]
    pub fn is_handed(&self) -> bool {
        matches!(
            self.state,
            ContainerState::Acquired | ContainerState::Running
        )
    }
}
