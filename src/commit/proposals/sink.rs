//! What the ledger adds to a placed container: its record, its lists and its event.

use super::deferred::ChargeTime;
use crate::accounting::{
    Charge, ContainerPlacement, DeferredAncestorCharges, FairChange, Sink, charge_queues,
    mark_moved,
};
use crate::commit::containers::container::{Container, GiveBack, PlacedAs};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::containers::store::Containers;
use crate::commit::event::Event;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::Outbox;
use crate::fast_path::FastPath;
use crate::id::{AppSlot, ContainerId, NameId, PartitionId, QueueSlot};
use crate::proposer::Proposal;
use crate::queue::{Exclusivity, PlaceAsk};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// The ledger's part of [`crate::accounting::place`].
pub(in crate::commit) struct LedgerSink<'a> {
    containers: &'a mut Containers,
    outbox: &'a mut Outbox,
    deferred_charges: &'a mut DeferredAncestorCharges,
    proposal: &'a Proposal,
    /// The container that was reserved; nothing for a new one.
    reserved: Option<ContainerSlot>,
    /// Size of the reserved container.
    reserved_size: Option<PackedVector>,
    /// When the queues above the leaf are charged.
    time: ChargeTime,
    now_ms: u64,
    /// Asks at nearer places that the container was taken off, as they stood before.
    nearer: Vec<PlaceAsk>,
    /// What to give back should the container be lost, once the ask for `*` was taken.
    give_back: Option<GiveBack>,
}

impl Ledger {
    /// The state, and what the ledger adds to a container that is placed in it. `time`: when the queues
    /// above the leaf are charged.
    #[inline(always)]
    pub(in crate::commit) fn sink<'a>(
        &'a mut self,
        proposal: &'a Proposal,
        reserved: Option<ContainerSlot>,
        time: ChargeTime,
    ) -> (&'a mut State, LedgerSink<'a>) {
        let reserved_size = reserved.map(|slot| self.containers.get(slot).size.clone());
        let sink = LedgerSink {
            containers: &mut self.containers,
            outbox: &mut self.outbox,
            deferred_charges: &mut self.deferred.charges,
            proposal,
            reserved,
            reserved_size,
            time,
            now_ms: self.clock.now_ms(),
            nearer: Vec::new(),
            give_back: None,
        };
        (&mut self.state, sink)
    }
}

impl LedgerSink<'_> {
    /// Size of the container, which may differ from what is asked now where it was reserved.
    #[inline(always)]
    pub(in crate::commit) fn size<const N: usize>(&self) -> ResourceVector<N> {
        let size = self.reserved_size.as_ref().unwrap_or(&self.proposal.size);
        size.narrow()
    }

    /// Stores the container or updates the reserved one; its id.
    #[inline(always)]
    fn store(&mut self, state: &mut State, placed: PlacedAs) -> ContainerId {
        let proposal = self.proposal;
        let (slot, id) = match self.reserved {
            Some(slot) => {
                let container = self.containers.get_mut(slot);
                container.set_placed(placed);
                (slot, container.id)
            }
            None => {
                let id = next_id(state, proposal.app);
                let stamps = (self.containers.next_stamp(), self.now_ms);
                let container = || Container::placed(proposal, id, stamps, placed);
                (self.containers.store(container), id)
            }
        };
        self.containers
            .list_placed(slot, proposal.app, id.number, proposal.node);
        id
    }
}

/// The id of the next container of an application, which is used up by that.
#[inline(always)]
pub(in crate::commit) fn next_id(state: &mut State, app: AppSlot) -> ContainerId {
    let row = &mut state.apps[app];
    let id = ContainerId {
        app: row.id,
        number: row.next_container,
    };
    row.next_container += 1;
    id
}

impl<const N: usize> Sink<N> for LedgerSink<'_> {
    #[inline(always)]
    fn take(&mut self, ask: &PlaceAsk) {
        if ask.place != NameId::ANY {
            self.nearer.push(ask.clone());
            return;
        }
        // The ask may not have the size any more that was reserved. That of a new container stands in the
        // proposal; reading it back right after it was written stalls.
        let size = self.reserved_size.as_ref().unwrap_or(&self.proposal.size);
        self.give_back = Some(GiveBack::of(&self.nearer, ask, size));
    }

    #[inline(always)]
    fn add_container(
        &mut self,
        state: &mut State,
        placement: &ContainerPlacement<N>,
        partition: PartitionId,
    ) {
        let proposal = self.proposal;
        let nearer = &mut self.nearer;
        let asked = || GiveBack::Places(std::mem::take(nearer).into());
        let placed = PlacedAs {
            requested_partition: state.apps[placement.app].keys[placement.key].partition,
            borrowed: proposal.exclusivity == Exclusivity::Ignore,
            give_back: self.give_back.take().unwrap_or_else(asked),
        };
        let id = self.store(state, placed);
        let allocated = || Event::allocated(state, proposal, id, placement.size.widen(), partition);
        self.outbox.push_with(allocated);
    }

    #[inline(always)]
    fn charge(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        partition: PartitionId,
        charge: &Charge<N>,
    ) {
        if self.time == ChargeTime::Settling && FastPath::DeferredAncestorCharges.is_taken() {
            // Must equal [`charge_queues`] once the ledger is settled.
            self.deferred_charges
                .charge_leaf(state, leaf, partition, charge);
        } else {
            self.deferred_charges.settle(state);
            charge_queues(state, leaf, partition, charge);
        }
    }

    #[inline(always)]
    fn reorder(&mut self, state: &mut State, _leaf: QueueSlot, app: AppSlot) {
        mark_moved(state, app, FairChange::Use);
    }
}
