//! Nodes that could take a container: how many have the size, the room, and are allowed.

use crate::cluster::Node;
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId};
use crate::policy::constraint_holds;
use crate::queue::KeyAsks;
use crate::resource::{MAX_TYPES, ResourceVector};
use crate::snapshot::State;

/// What the nodes of a partition offer to one container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offer {
    /// Nodes that take containers.
    pub(super) nodes: usize,
    /// Of these, nodes that are large enough when empty.
    pub(super) large: usize,
    /// Nodes with room now that are not reserved, and may be used.
    pub(super) open: usize,
    /// Nodes with room now that another application reserved, and may be used.
    pub(super) reserved: usize,
    /// Nodes with room now that locality rules out.
    pub(super) elsewhere: usize,
    /// Nodes with room now that the application excludes.
    pub(super) excluded: usize,
    /// Nodes with room now that a placement constraint rules out.
    pub(super) constrained: usize,
    /// Sum of what is free on all nodes.
    pub(super) free: ResourceVector,
    /// Most that is free on one node, by type.
    pub(super) most_free: ResourceVector,
    /// Largest node, by type.
    pub(super) largest: ResourceVector,
    /// Nodes of the partition that any application has reserved.
    pub(super) any_reserved: usize,
    /// Nodes without room, by the first type that they lack.
    pub(super) short: [u64; MAX_TYPES],
}

/// What the nodes offer to one container of a key.
///
/// Cost: a look at every node of the partition.
pub(super) fn offer(
    state: &State,
    app: AppSlot,
    asks: &KeyAsks,
    partition: PartitionId,
    size: &ResourceVector,
) -> Offer {
    let mut offer = Offer::default();
    for &slot in &state.partitions[partition].nodes {
        let node = &state.nodes[slot];
        if node.takes_containers() {
            offer.count(state, app, asks, slot, size);
        }
    }
    offer
}

impl Offer {
    fn count(
        &mut self,
        state: &State,
        app: AppSlot,
        asks: &KeyAsks,
        slot: NodeSlot,
        size: &ResourceVector,
    ) {
        let node = &state.nodes[slot];
        let (free, total) = (node.free.get(), node.total.get());
        self.nodes += 1;
        self.any_reserved += usize::from(node.reserved.is_some());
        self.free += free.component_max(&ResourceVector::NONE);
        self.most_free = self.most_free.component_max(&free);
        self.largest = self.largest.component_max(&total);
        self.large += usize::from(state.calculator.fits_in(size, &total));
        if !state.calculator.fits_in(size, &free) {
            let lacking = (0..MAX_TYPES).find(|&index| size[index] > free[index]);
            self.short[lacking.unwrap_or(0)] += 1;
            return;
        }
        let row = &state.apps[app];
        let blacklist = &row.blacklist;
        let of_other = |reserved: &crate::cluster::Reservation| reserved.app != app;
        let counted = if blacklist.contains(node.host) || blacklist.contains(node.rack) {
            &mut self.excluded
        } else if !is_local(asks, node) {
            &mut self.elsewhere
        } else if !constraint_holds(state, app, asks, node) {
            &mut self.constrained
        } else if node.reserved.as_ref().is_some_and(of_other) {
            &mut self.reserved
        } else {
            &mut self.open
        };
        *counted += 1;
    }
}

/// Whether a node is within the places that a key is restricted to.
// As RegularContainerAllocator.assignContainersOnNode.
pub(super) fn is_local(asks: &KeyAsks, node: &Node) -> bool {
    asks.count(node.host) > 0
        || asks.count(node.rack) > 0 && asks.relaxed(node.rack)
        || asks.relaxed(NameId::ANY) && (asks.count(node.rack) <= 0 || asks.relaxed(node.rack))
}

/// Whether nodes differ for a key by more than their room.
pub(super) fn is_particular(state: &State, app: AppSlot, asks: &KeyAsks) -> bool {
    asks.places.len() > 1
        || asks.constrained.is_some()
        || !state.apps[app].blacklist.is_empty()
        || state.apps[app]
            .keys
            .iter()
            .any(|key| !key.reserved.is_empty())
}
