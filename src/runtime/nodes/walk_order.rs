//! The nodes that rounds and heartbeats come to one by one, with what an attempt on each may come to.
//!
//! # Invariants
//!
//! * A node that is no stop takes nothing, or is covered by what is known of nodes of its kind.
//! * Every node that was written since, or has something to report since, was followed.
//!
//! Tests: `tests/simulation/skipping.rs`.

use std::ops::Range;

use super::counted_nodes::CountedNodes;
use super::live_order::free_of;
use super::place_set::PlaceSet;
use super::standstill::Standstill;
use crate::commit::Ledger;
use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{FitIndex, has_room};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// Kinds of nodes that are kept apart; nodes of further kinds are stops.
const KINDS: usize = 64;

/// The place of a slot that is not in the order, and the kind of a node that has none.
const NONE: u32 = u32::MAX;

/// Nodes of one size in one partition.
#[derive(Clone, Debug)]
struct NodeKind {
    partition: PartitionId,
    total: PackedVector,
    /// Those that have room for the smallest allocation, and of which nothing but the room decides.
    open: PlaceSet,
    /// All of them in the order of the walk, with what is free on those that are open.
    room: FitIndex,
}

/// The nodes in the order of the walk.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct WalkOrder {
    /// Counts changes of the lists of nodes, as the order has them.
    lists: u64,
    nodes: Vec<NodeSlot>,
    /// By slot.
    places: Vec<u32>,
    /// By place.
    kind_of: Vec<u32>,
    /// Nodes whose attempt is always carried out: reserved ones, or of no kind.
    single: PlaceSet,
    /// Nodes whose report may bring something about.
    reporting: PlaceSet,
    kinds: Vec<NodeKind>,
}

impl NodeKind {
    /// The first node from a place on that is open and has one of some sizes free; `least` is less than all of them.
    fn first_fit(
        &self,
        places: &[u32],
        from: usize,
        (least, sizes): (&ResourceVector, &[ResourceVector]),
    ) -> Option<usize> {
        if sizes.is_empty() {
            return None;
        }
        let order = self.room.order();
        let place = |node: &NodeSlot| places[node.index()] as usize;
        let start = *order.get(order.partition_point(|node| place(node) < from))?;
        let first = self.room.fit_behind(start, 0, least)?;
        if sizes.len() == 1 {
            return Some(place(&first));
        }
        let found = sizes.iter();
        let found = found.filter_map(|size| self.room.fit_behind(first, 0, size));
        found.map(|node| place(&node)).min()
    }
}

impl WalkOrder {
    /// Some nodes in the order in which they are walked.
    pub(in crate::runtime) fn of(
        ledger: &Ledger,
        nodes: impl Iterator<Item = NodeSlot>,
        lists: u64,
    ) -> Self {
        let state = ledger.state();
        let nodes: Vec<NodeSlot> = nodes.collect();
        let mut order = Self {
            lists,
            places: vec![NONE; state.nodes.len()],
            kind_of: Vec::with_capacity(nodes.len()),
            single: PlaceSet::of(nodes.len()),
            reporting: PlaceSet::of(nodes.len()),
            kinds: Vec::new(),
            nodes,
        };
        order.sort_into_kinds(state);
        for place in 0..order.nodes.len() {
            let node = order.nodes[place];
            order.follow(ledger, node);
        }
        order
    }

    fn sort_into_kinds(&mut self, state: &State) {
        let mut members: Vec<Vec<NodeSlot>> = Vec::new();
        for (place, &node) in (0..).zip(&self.nodes) {
            self.places[node.index()] = place;
            let row = &state.nodes[node];
            let alike =
                |kind: &NodeKind| (kind.partition, &kind.total) == (row.partition, &row.total);
            let known = self.kinds.iter().position(alike);
            let kind = known.or_else(|| {
                (self.kinds.len() < KINDS).then(|| {
                    self.kinds.push(NodeKind {
                        partition: row.partition,
                        total: row.total.clone(),
                        open: PlaceSet::of(self.nodes.len()),
                        room: FitIndex::new(Vec::new(), 1),
                    });
                    members.push(Vec::new());
                    self.kinds.len() - 1
                })
            });
            if let Some(kind) = kind {
                members[kind].push(node);
            }
            let kind = kind.and_then(|kind| u32::try_from(kind).ok());
            self.kind_of.push(kind.unwrap_or(NONE));
        }
        for (kind, members) in self.kinds.iter_mut().zip(members) {
            kind.room = FitIndex::new(members, state.calculator.fitting_types());
        }
    }

    /// Whether the lists of nodes are those of the order.
    pub(in crate::runtime) fn is_of(&self, lists: u64) -> bool {
        self.lists == lists
    }

    /// The nodes in order.
    pub(in crate::runtime) fn nodes(&self) -> &[NodeSlot] {
        &self.nodes
    }

    /// Where a node stands.
    pub(in crate::runtime) fn place(&self, node: NodeSlot) -> Option<usize> {
        let place = self.places.get(node.index()).copied();
        place
            .filter(|&place| place != NONE)
            .map(|place| place as usize)
    }

    /// Takes over what a node is now.
    pub(in crate::runtime) fn follow(&mut self, ledger: &Ledger, node: NodeSlot) {
        self.follow_report(ledger, node);
        self.follow_room(ledger.state(), node);
    }

    fn follow_room(&mut self, state: &State, node: NodeSlot) {
        let Some(place) = self.place(node) else {
            return;
        };
        let (row, roomy) = (&state.nodes[node], has_room(state, node));
        let runs = row.takes_containers();
        let kind = self.kinds.get_mut(self.kind_of[place] as usize);
        let alike = kind
            .as_ref()
            .is_some_and(|kind| (kind.partition, &kind.total) == (row.partition, &row.total));
        let shares_idle =
            row.partition != PartitionId::DEFAULT && !state.partitions[row.partition].exclusive;
        let fits = || state.calculator.fits_in(&state.minimum, &row.free.get());
        let plain = row.reserved.is_none() && row.killable.is_empty();
        let open = alike && runs && roomy && plain && !shares_idle && fits();
        let takes = runs && !open && (roomy || row.reserved.is_some());
        self.single.set(place, takes);
        if let Some(kind) = kind {
            kind.open.set(place, open);
            kind.room
                .set(node, open.then(|| free_of(state, node)).as_ref());
        }
    }

    /// Takes over whether a node has something to report.
    pub(in crate::runtime) fn follow_report(&mut self, ledger: &Ledger, node: NodeSlot) {
        if let Some(place) = self.place(node) {
            self.reporting
                .set(place, !ledger.due_reports().is_nothing(node));
        }
    }

    /// The first node of a range whose report may bring something about.
    pub(in crate::runtime) fn first_report(&self, range: Range<usize>) -> Option<usize> {
        self.reporting.first(range)
    }

    /// The nodes of a range whose reservation is to be looked at, or which are of no kind, in order.
    pub(in crate::runtime) fn singles(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = usize> + '_ {
        self.single.places(range)
    }

    /// The first open node of a range that no known attempt covers.
    ///
    /// Cost: a search for each kind of nodes, and for each size that was looked at.
    pub(in crate::runtime) fn first_open(
        &self,
        range: Range<usize>,
        (known, state): (&Standstill, &State),
    ) -> Option<usize> {
        let Range { start, mut end } = range;
        let mut found = None;
        for kind in &self.kinds {
            let place = match known.sizes_of(state, kind.partition, &kind.total) {
                None => kind.open.first(start..end),
                Some(sizes) => kind.first_fit(&self.places, start, sizes),
            };
            if let Some(place) = place.filter(|&place| place < end) {
                (found, end) = (Some(place), place);
            }
        }
        found
    }

    /// The open nodes of a range that are all covered, by kind, in the order of the last of each.
    pub(in crate::runtime) fn counted(
        &self,
        range: &Range<usize>,
        (known, state): (&Standstill, &State),
        into: &mut Vec<CountedNodes>,
    ) {
        into.clear();
        for kind in &self.kinds {
            let attempt = known.attempt_of(state, kind.partition, &kind.total);
            let counted = attempt.zip(kind.open.count(range.clone()));
            into.extend(counted.map(|(attempt, (count, last))| CountedNodes {
                last,
                attempt,
                count,
            }));
        }
        into.sort_unstable_by_key(|nodes| nodes.last);
    }
}
