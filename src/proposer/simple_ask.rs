//! Simple asks: the fast path to a container that may be anywhere, which most asks are for.
//!
//! It is valid for a key with one ask for `*` and no constraint, no blacklist and no reservation, where the
//! index finds a node with room. It skips the steps of locality and reservation. Builds with assertions
//! compare each answer with the slow path; the cost is one look in the index.
//!
//! Tests: `tests/commit/simple_asks.rs`, `tests/simulation/fast_paths.rs`.

use super::assignment::{Alternate, Outcome, Proposal};
use super::fit::FitIndex;
use super::walk::{NOTHING_YET, Pass, WalkStep};
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId};
use crate::policy::Limits;
use crate::queue::{App, Exclusivity, KeyAsks, PlaceAsk};
use crate::resource::{ResourceVector, with_calculator};
use crate::snapshot::State;

impl<const N: usize> Pass<'_, N> {
    /// What [`Self::key`] comes to for containers that are asked anywhere and nothing else, where
    /// the index knows a node that has room. Whether it is that, and noted; otherwise there is more
    /// to look at.
    // Must equal [`Pass::key`].
    pub(super) fn simple_ask(&mut self, slot: AppSlot, asks: &KeyAsks, limits: &Limits<N>) -> bool {
        let state = self.state;
        let app = &state.apps[slot];
        let (Some(index), Some(ask)) = (self.candidates.index(), simple_ask_of(state, app, asks))
        else {
            return false;
        };
        let unhindered = limits.must_unreserve.is_none() && state.node_count > 0;
        let (size, cluster) = (ask.size.narrow::<N>(), state.cluster.narrow());
        let is_something = with_calculator!(state.calculator, calculator => {
            calculator.above_none(&cluster, &size)
        });
        let within =
            size.fits_in(&limits.headroom) || is_planted(PlantedFlaw::SimpleAskIgnoresHeadroom);
        if !(self.depends_on_room_alone(app, asks, ask) && unhindered && is_something && within) {
            return false;
        }
        let Some(node) = simple_node(state, index, self.partition, &size) else {
            return false;
        };
        *self.outcome = Outcome::Proposed(Proposal {
            counted: !is_planted(PlantedFlaw::SimpleAskDropsCounter),
            ..Proposal::anywhere(state, slot, asks, node, size.into())
        });
        debug_assert!(self.decides_alike(slot, asks, limits));
        true
    }

    /// Whether the counters of a key move with a container that is asked anywhere, when it is committed.
    /// Otherwise they move with the look at the node, whatever the commit answers.
    // As RegularContainerAllocator.doAllocation, where there is an index of nodes and looks are made on copies.
    #[inline]
    pub(super) fn counts_when_placed(&self, slot: AppSlot, asks: &KeyAsks) -> bool {
        let app = &self.state.apps[slot];
        self.candidates.index().is_some()
            && simple_ask_of(self.state, app, asks)
                .is_some_and(|ask| self.depends_on_room_alone(app, asks, ask))
    }

    /// Whether nothing but the room of a node decides about a simple ask, on this partition.
    #[inline(always)]
    fn depends_on_room_alone(&self, app: &App, asks: &KeyAsks, ask: &PlaceAsk) -> bool {
        ask.count > 0
            && asks.known
            && asks.opportunities < i32::MAX
            && asks.partition == self.partition
            && self.exclusivity == Exclusivity::Respect
            && asks.reserved.is_empty()
            && app.part(self.partition).reserved.is_none()
    }

    /// Whether the slow path finds the same as [`Self::simple_ask`].
    fn decides_alike(&self, slot: AppSlot, asks: &KeyAsks, limits: &Limits<N>) -> bool {
        let (mut observations, mut outcome) = (Vec::new(), NOTHING_YET);
        let mut pass = self.fork(&mut observations, &mut outcome);
        let (answer, node) = pass.key(slot, asks, limits, None);
        let found = pass.convert(slot, asks, answer, node, None);
        let (Outcome::Proposed(long), Outcome::Proposed(plain)) = (outcome, &*self.outcome) else {
            return false;
        };
        matches!(found, WalkStep::Proposal) && long == *plain && observations.is_empty()
    }
}

/// The ask of a key for containers anywhere, where nothing of a node but its room decides.
#[inline]
pub(super) fn simple_ask_of<'a>(
    state: &State,
    app: &App,
    asks: &'a KeyAsks,
) -> Option<&'a PlaceAsk> {
    let ask = asks.places.only()?;
    let plain = ask.place == NameId::ANY
        && ask.relax
        && asks.constrained.is_none()
        && app.blacklist.is_empty()
        && !state.settings.lazy_preemption;
    plain.then_some(ask)
}

/// The node that gets a container of a size that may be anywhere, where the index knows one with room
/// and there is nothing more to look at.
#[inline]
pub(super) fn simple_node<const N: usize>(
    state: &State,
    index: &FitIndex,
    partition: PartitionId,
    size: &ResourceVector<N>,
) -> Option<NodeSlot> {
    let node = index.first_fit(size)?;
    takes_simple(state, node, partition, size).then_some(node)
}

/// A node some places behind that of a container which may be anywhere, and which state and index show
/// already: where it may go should another proposer have taken the room; it may stand in another one's
/// share. Nothing near the end of the order.
///
/// Cost: as [`FitIndex::fit_behind`].
#[must_use]
pub fn second_node<const N: usize>(
    state: &State,
    index: &FitIndex,
    (first, size): (NodeSlot, &ResourceVector<N>),
    distance: usize,
) -> Option<Alternate> {
    let partition = state.nodes[first].partition;
    let node = index.fit_behind(first, distance, size)?;
    takes_simple(state, node, partition, size).then(|| Alternate {
        node,
        incarnation: state.nodes[node].incarnation,
    })
}

/// Whether a node of which the index says that it has room takes a container that may be anywhere.
#[inline(always)]
fn takes_simple<const N: usize>(
    state: &State,
    node: NodeSlot,
    partition: PartitionId,
    size: &ResourceVector<N>,
) -> bool {
    let row = &state.nodes[node];
    // Nodes whose label or name is not what it should be, and reserved ones, are left to the slow path.
    let as_expected = row.partition == partition
        && ![row.host, row.rack].contains(&NameId::ANY)
        && row.reserved.is_none();
    let holds = with_calculator!(state.calculator, calculator => {
        calculator.fits_in(size, &row.total.narrow())
            && calculator.holds_one(&row.free.narrow(), size)
            && state.has_cores(size, &row.free.narrow())
    });
    as_expected && holds
}
