//! What the ledger adds to a placed container: its record, its lists and its event.
//!
//! Tests: `tests/commit/deferred_charges.rs`.

use crate::accounting::{
    Charge, ContainerPlacement, DeferredAncestorCharges, FairChange, PlacedIn, Sink, charge_queues,
    mark_moved_in,
};
use crate::commit::containers::container::{Container, GiveBack, PlacedAs, SoleAsk};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::containers::store::Containers;
use crate::commit::containers::updates::GrantedUpdate;
use crate::commit::event::Event;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::Outbox;
use crate::fast_path::FastPath;
use crate::id::{AppSlot, ContainerId, NameId, PartitionId, QueueSlot};
use crate::proposer::Proposal;
use crate::queue::{App, Exclusivity, PlaceAsk, UpdateKind};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// The ledger's part of [`crate::accounting::place`]. `SIMPLE`: of [`super::simple_allocation`], which places no
/// reserved container.
///
/// Each path has a type of its own, so that the code that builds its records has one caller and is part of it.
/// Otherwise a record is put together elsewhere, and copying it waits for the stores.
pub(in crate::commit) struct LedgerSink<'a, const SIMPLE: bool> {
    containers: &'a mut Containers,
    outbox: &'a mut Outbox,
    /// Where the charges of queues above the leaf wait; without it they are charged at once.
    deferred_charges: Option<&'a mut DeferredAncestorCharges>,
    proposal: &'a Proposal,
    /// The container that was reserved; nothing for a new one.
    reserved: Option<ContainerSlot>,
    /// Size of the reserved container.
    reserved_size: Option<PackedVector>,
    now_ms: u64,
    /// Asks that the container was taken off, as they stood before; but for `sole`.
    asks: Vec<PlaceAsk>,
    /// The ask for `*`, where it is the only one and of the size of the container.
    sole: Option<SoleAsk>,
    /// The container that was placed, but for simple ones.
    placed: Option<ContainerSlot>,
}

/// The state, and what the ledger adds to a container that is placed in it. `charges`: where the charges of queues
/// above the leaf wait, if they do.
#[inline(always)]
pub(super) fn sink<'a, const SIMPLE: bool>(
    ledger: &'a mut Ledger,
    charges: Option<&'a mut DeferredAncestorCharges>,
    proposal: &'a Proposal,
    reserved: Option<ContainerSlot>,
) -> (&'a mut State, LedgerSink<'a, SIMPLE>) {
    let reserved_size = reserved.map(|slot| ledger.containers.get(slot).size.clone());
    let sink = LedgerSink {
        containers: &mut ledger.containers,
        outbox: &mut ledger.outbox,
        deferred_charges: charges,
        proposal,
        reserved,
        reserved_size,
        now_ms: ledger.clock.now_ms(),
        asks: Vec::new(),
        sole: None,
        placed: None,
    };
    (&mut ledger.state, sink)
}

impl<const SIMPLE: bool> LedgerSink<'_, SIMPLE> {
    /// Size of the container, which may differ from what is asked now where it was reserved.
    #[inline(always)]
    pub(in crate::commit) fn size<const N: usize>(&self) -> ResourceVector<N> {
        let size = self.reserved_size.as_ref().unwrap_or(&self.proposal.size);
        size.narrow()
    }

    /// The container that was placed; nothing before, and of simple ones.
    pub(super) fn placed(&self) -> Option<ContainerSlot> {
        self.placed
    }

    /// The record of a simple container, made as it stays.
    #[inline(always)]
    fn add_simple<const N: usize>(
        &mut self,
        id: ContainerId,
        (size, requested_partition): (ResourceVector<N>, PartitionId),
        sole: SoleAsk,
    ) -> ContainerSlot {
        let proposal = self.proposal;
        let stamps = (self.containers.next_stamp(), self.now_ms);
        let container = || {
            Container::simple(
                proposal,
                id,
                size.into(),
                stamps,
                (requested_partition, sole),
            )
        };
        self.containers.store(container)
    }

    /// Lists what a container grows by as a change that its application fetches.
    // As SchedulerApplicationAttempt.addToNewlyAllocatedContainers.
    #[cold]
    fn list_increase(&mut self, slot: ContainerSlot, of: u32) {
        let app = self.proposal.app;
        let grows = self.containers.live(app, of);
        let kind = grows.map(|grows| match self.containers.changed(grows).opportunistic {
            Some(_) => UpdateKind::Promote,
            None => UpdateKind::Increase,
        });
        let update = GrantedUpdate {
            number: of,
            auxiliary: slot,
            kind,
            target: None,
        };
        self.containers.list_update(app, update);
    }

    /// The record of the container, a new one where none was reserved. For each width `N` by itself, see
    /// [`LedgerSink`].
    #[inline(always)]
    fn record<const N: usize>(&mut self, id: ContainerId) -> ContainerSlot {
        if let Some(slot) = self.reserved {
            return slot;
        }
        let proposal = self.proposal;
        let stamps = (self.containers.next_stamp(), self.now_ms);
        // Made of its words: a clone of the proposal's waits for the stores that it is made by.
        let size = proposal.size.narrow::<N>();
        let (of, node) = ((proposal.app, proposal.key), proposal.node);
        self.containers
            .store(|| Container::waiting(id, of, (node, size.into()), stamps))
    }
}

impl<const N: usize, const SIMPLE: bool> Sink<N> for LedgerSink<'_, SIMPLE> {
    #[inline(always)]
    fn take(&mut self, ask: &PlaceAsk) {
        // The ask may not have the size any more that was reserved or proposed.
        let size = self.reserved_size.as_ref().unwrap_or(&self.proposal.size);
        let of_size = || ask.size.narrow::<N>() == size.narrow();
        debug_assert!(!SIMPLE || of_size());
        if SIMPLE || ask.place == NameId::ANY && self.asks.is_empty() && of_size() {
            self.sole = Some(SoleAsk::of(ask));
        } else {
            self.asks.push(ask.clone());
        }
    }

    #[inline(always)]
    fn number(&mut self, app: &mut App) -> u32 {
        match self.reserved {
            Some(slot) if !SIMPLE => self.containers.get(slot).id.number,
            _ => app.take_number(),
        }
    }

    #[inline(always)]
    fn add_container(
        &mut self,
        state: &mut State,
        placement: &ContainerPlacement<N>,
        placed: &PlacedIn,
    ) {
        let proposal = self.proposal;
        let id = state.apps[placement.app].container(placed.number);
        let requested_partition = placed.requested_partition;
        let slot = match self.sole {
            Some(sole) if SIMPLE => {
                self.add_simple(id, (placement.size, requested_partition), sole)
            }
            sole => {
                let placed = PlacedAs {
                    requested_partition,
                    borrowed: proposal.exclusivity == Exclusivity::Ignore,
                    give_back: match sole {
                        Some(sole) => GiveBack::Anywhere(sole),
                        None => GiveBack::Places(std::mem::take(&mut self.asks).into()),
                    },
                };
                let slot = self.record::<N>(id);
                self.containers.get_mut(slot).set_placed(placed);
                self.placed = Some(slot);
                slot
            }
        };
        match proposal.key.increases() {
            Some(of) if !SIMPLE => self.list_increase(slot, of),
            _ => {
                let list = &mut *self.containers;
                list.list_placed(slot, proposal.app, id.number, proposal.node);
            }
        }
        let allocated = || Event::allocated(state, proposal, id, placement.size.widen(), placed);
        self.outbox.push_allocated(allocated);
    }

    #[inline(always)]
    fn charge(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        partition: PartitionId,
        charge: &Charge<N>,
    ) {
        let Some(charges) = self.deferred_charges.as_deref_mut() else {
            charge_queues(state, leaf, partition, charge);
            return;
        };
        if FastPath::DeferredAncestorCharges.is_taken() {
            // Must equal [`charge_queues`] once the ledger is settled.
            charges.charge_leaf(state, leaf, partition, charge);
        } else {
            charges.settle(state);
            charge_queues(state, leaf, partition, charge);
        }
    }

    #[inline(always)]
    fn reorder(&mut self, state: &mut State, leaf: QueueSlot, app: AppSlot) {
        mark_moved_in(state, leaf, app, FairChange::Use);
    }
}
