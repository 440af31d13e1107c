//! Placing a container: the one function that moves the accounts of everything it concerns.
//!
//! # What
//!
//! [`place`] serves four callers: the ledger's general and simple paths, a proposer's working copy, and
//! bulk placement. They differ in their [`Sink`] alone. The ledger's sink adds containers and events.
//!
//! # Steps
//!
//! 1. Take one container off the asks of the key: at the place that matched, its rack, and `*`.
//! 2. Move used and pending of the application, and its demand; the sink numbers the container.
//! 3. Take the room on the node.
//! 4. Let the sink add what only the ledger keeps.
//! 5. Charge the leaf, its ancestors and the user, unless a reservation was charged already.
//! 6. Let the sink follow the application in a fair order.
//!
//! # When it is valid
//!
//! The placement holds: validation, or the pass that proposes it, has looked. A working copy may be behind
//! the ledger; its figures are replaced with the next snapshot.
//!
//! # Cost
//!
//! A few rows, and one charge for each queue from the leaf to root.
//!
//! Tests: `tests/commit/working_copies.rs`.

use super::charge::{Charge, add_queue_pending, charge_queues};
use super::users::charge_user;
use crate::cluster::Node;
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::Locality;
use crate::queue::{App, KeyAsks, PlaceAsk, SchedulerSettings, asks_on};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// A container that is placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContainerPlacement<const N: usize> {
    /// The application.
    pub(crate) app: AppSlot,
    /// Position of the key that is served among those of the application.
    pub(crate) key: usize,
    /// The node.
    pub(crate) node: NodeSlot,
    /// Which of the asks of the key it serves.
    pub(crate) locality: Locality,
    /// Whether the counters of the key move with it.
    pub(crate) counted: bool,
    /// What the key asks now. The application is charged with it.
    pub(crate) asked: ResourceVector<N>,
    /// What the container takes on the node. Differs from `asked` where it was reserved before the ask
    /// changed.
    pub(crate) size: ResourceVector<N>,
    /// Whether queues and user were charged before, by a reservation.
    pub(crate) charged: bool,
}

impl<const N: usize> ContainerPlacement<N> {
    /// A container that was asked anywhere and is not reserved.
    #[inline]
    pub(crate) const fn anywhere(
        app: AppSlot,
        key: usize,
        node: NodeSlot,
        size: ResourceVector<N>,
    ) -> Self {
        Self {
            app,
            key,
            node,
            locality: Locality::Any,
            counted: true,
            asked: size,
            size,
            charged: false,
        }
    }
}

/// Where a placed container counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedIn {
    /// Partition of the node.
    pub(crate) partition: PartitionId,
    /// Partition of the request that is served.
    pub(crate) requested_partition: PartitionId,
    /// Leaf of the application.
    pub(crate) leaf: QueueSlot,
    /// The user's record in that leaf.
    user: UserSlot,
    /// Number of the container, where the sink gave it one.
    pub(crate) number: u32,
}

/// What a caller of [`place`] adds to it. Nothing by default.
pub(crate) trait Sink<const N: usize> {
    /// Whether key and application surely have more outstanding than this container. Then nothing ends with it.
    const GOES_ON: bool = false;

    /// A container is about to be taken off an ask.
    #[inline]
    fn take(&mut self, _ask: &PlaceAsk) {}

    /// The application is charged; the number of the container, where it has one.
    #[inline]
    fn number(&mut self, _app: &mut App) -> u32 {
        0
    }

    /// Application and node are charged; queues and user are not yet.
    #[inline]
    fn add_container(
        &mut self,
        _state: &mut State,
        _placement: &ContainerPlacement<N>,
        _placed: &PlacedIn,
    ) {
    }

    /// Charges a leaf and everything above it.
    #[inline]
    fn charge(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        partition: PartitionId,
        charge: &Charge<N>,
    ) {
        charge_queues(state, leaf, partition, charge);
    }

    /// The use of an application moved, by which a fair order goes.
    #[inline]
    fn reorder(&mut self, _state: &mut State, _leaf: QueueSlot, _app: AppSlot) {}
}

/// What was taken off the asks of a key.
struct AskTaken<const N: usize> {
    /// The partition on which it was outstanding; nothing for scheduling requests where their containers
    /// are not taken off what is outstanding.
    pending: Option<(PartitionId, ResourceVector<N>)>,
    /// Partition of the request.
    partition: PartitionId,
    /// Whether nothing is outstanding under the key any more.
    ended: bool,
}

/// Places a container. Returns whether the key has nothing outstanding any more.
// As FiCaSchedulerApp.apply and AbstractLeafQueue.apply for an allocation.
#[inline(always)]
pub(crate) fn place<const N: usize, S: Sink<N>>(
    state: &mut State,
    placement: &ContainerPlacement<N>,
    sink: &mut S,
) -> bool {
    let node = &state.nodes[placement.node];
    // One borrow of the row serves all that moves in it: each costs a mark of the write.
    let row = &mut state.apps[placement.app];
    let taken = take_ask(row, &state.settings, placement, node, sink);
    row.part_mut(node.partition).used += placement.asked;
    let mut demand = None;
    if let Some((wanted, size)) = taken.pending {
        row.part_mut(wanted).pending -= size;
        debug_assert!(!S::GOES_ON || asks_on::<N>(row, wanted));
        demand = (!S::GOES_ON).then(|| (wanted, asks_on::<N>(row, wanted)));
    }
    let number = sink.number(row);
    let placed = PlacedIn {
        partition: node.partition,
        requested_partition: taken.partition,
        leaf: row.leaf,
        user: row.user,
        number,
    };
    if let Some((wanted, asks)) = demand {
        state.note_demand(placement.app, wanted, asks);
    }
    take_room(state, placement.node, placement.size);
    sink.add_container(state, placement, &placed);
    charge_placed(state, placement, &placed, &taken, sink);
    taken.ended
}

/// The host and the rack of a node, as far as a container at a level is taken off their asks.
#[inline(always)]
fn nearer(locality: Locality, hosts: &[NameId; 2]) -> &[NameId] {
    match locality {
        Locality::Node => hosts,
        Locality::Rack => &hosts[1..],
        Locality::Any => &[],
    }
}

/// Takes one container off the asks of a key.
// As LocalityAppPlacementAllocator.allocate and SingleConstraintAppPlacementAllocator.allocate.
#[inline(always)]
fn take_ask<const N: usize, S: Sink<N>>(
    row: &mut App,
    settings: &SchedulerSettings,
    placement: &ContainerPlacement<N>,
    node: &Node,
    sink: &mut S,
) -> AskTaken<N> {
    let asks = &mut row.keys[placement.key];
    let partition = asks.partition;
    if placement.counted {
        asks.count_found(node.partition);
    }
    if asks.constrained.is_some() {
        let falls = settings.rules.constrained_pending_falls;
        return take_constrained(asks, falls);
    }
    for &place in nearer(placement.locality, &[node.host, node.rack]) {
        asks.take_one(place, |ask| sink.take(ask));
    }
    let mut pending = None;
    let left = asks.take_one(NameId::ANY, |ask| {
        sink.take(ask);
        let partition = ask.partition.unwrap_or(PartitionId::DEFAULT);
        pending = Some((partition, ask.size.narrow()));
    });
    debug_assert!(!S::GOES_ON || left > 0);
    let ended = !S::GOES_ON && left <= 0;
    asks.known = !asks.places.is_empty();
    if ended {
        row.close_key(placement.key);
    }
    AskTaken {
        pending,
        partition,
        ended,
    }
}

/// Takes one container off a scheduling request, whose key stays known. `falls`: it is taken off what is
/// outstanding, too.
fn take_constrained<const N: usize>(asks: &mut KeyAsks, falls: bool) -> AskTaken<N> {
    let partition = asks.partition;
    let size = asks.constrained.as_ref().map(|fixed| fixed.size.narrow());
    asks.lower_anywhere();
    AskTaken {
        pending: size.filter(|_| falls).map(|size| (partition, size)),
        partition,
        ended: false,
    }
}

/// Takes a container's room on a node.
#[inline(always)]
fn take_room<const N: usize>(state: &mut State, node: NodeSlot, size: ResourceVector<N>) {
    let row = &mut state.nodes[node];
    row.free -= size;
    row.allocated += size;
    row.containers += 1;
}

/// Charges queues and user, and follows the application in a fair order.
#[inline(always)]
fn charge_placed<const N: usize>(
    state: &mut State,
    placement: &ContainerPlacement<N>,
    placed: &PlacedIn,
    taken: &AskTaken<N>,
    sink: &mut impl Sink<N>,
) {
    let PlacedIn {
        partition, leaf, ..
    } = *placed;
    let mut pending = ResourceVector::NONE;
    match taken.pending {
        Some((wanted, size)) if wanted == partition && !placement.charged => pending = -size,
        Some((wanted, size)) => add_queue_pending(state, leaf, wanted, -size.widen()),
        None => {}
    }
    if placement.charged {
        return;
    }
    let used = placement.size;
    sink.charge(state, leaf, partition, &Charge { used, pending });
    charge_user(state, leaf, placed.user, partition, placement.size);
    sink.reorder(state, leaf, placement.app);
}
