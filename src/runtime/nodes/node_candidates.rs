//! Node candidates: where the nodes of each partition have room, in the order of a sort.
//!
//! 1. Each partition has a `FitIndex`: its nodes in order, with the largest free amounts of ranges of them, so that the first
//!    node that fits is found in logarithmic time. A proposer puts its own share first.
//! 2. Every change of a node updates its entry. A container that is placed only lessens it.
//! 3. A newer sort is taken over in parts, so that no call waits for all nodes; until it is whole, the former order
//!    holds. Only when a node joins is it finished at once.
//! 4. If a partition offers less than before, the nodes are looked at again with one layout in sixteen: the largest
//!    node may have gone, and until then what no node holds is tried in vain.
//! 5. Where the policy sorts before each use, no sort is taken over: every change of a node moves it in the order.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::index::NodeIndex;
use super::live_keys::LiveKeys;
use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{Alternate, FitIndex, NodeOrder, Proposal, second_node};
use crate::queue::SchedulerSettings;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// One layout in so many looks at the nodes again, if the largest of them may have become smaller.
const AFRESH: u32 = 16;

/// Nodes that the committer puts in the order of a new sort at once, some 10 ns each: a call waits for it.
pub(in crate::runtime) const PLACES: usize = 4096;

/// The nodes of one state, by partition; every change of a node is reported to it.
#[derive(Debug)]
pub(in crate::runtime) struct NodeCandidates {
    /// Nodes of each partition, the own share first; only where asks look for nodes.
    by_partition: Vec<FitIndex>,
    /// The sort whose order they are in, or are being put in.
    sorted: Option<Arc<NodeIndex>>,
    /// Whether a node runs that the order does not know, or the one to be.
    stranger: bool,
    /// Those of the last layout.
    settings: Option<Arc<SchedulerSettings>>,
    /// What the nodes of each partition offered in all then.
    offered: Vec<ResourceVector>,
    layouts: u32,
    /// Whether that became less since the nodes were looked at.
    shrunk: bool,
    /// Reserved nodes.
    reserved: BTreeSet<NodeSlot>,
    /// Position among the proposers, and their number.
    share: (usize, usize),
    /// Nodes that are put in a new order at once.
    places: usize,
    /// What keeps the order live, where the policy sorts before each use.
    live: Option<LiveKeys>,
}

impl NodeCandidates {
    pub(in crate::runtime) fn new(share: (usize, usize), places: usize) -> Self {
        Self {
            places,
            by_partition: Vec::new(),
            sorted: None,
            stranger: false,
            settings: None,
            offered: Vec::new(),
            layouts: 0,
            shrunk: false,
            reserved: BTreeSet::new(),
            share,
            live: None,
        }
    }

    /// Notes what a node offers in all.
    fn note_total(&mut self, state: &State, node: NodeSlot) {
        let row = &state.nodes[node];
        if let Some(nodes) = self.by_partition.get_mut(row.partition.index()) {
            nodes.note_total(&row.total.get());
        }
    }

    /// Notes what a node has free now, and whether it is reserved. A reserved node is closed only if proposals skip
    /// such nodes.
    // As RegularContainerAllocator.allocate.
    pub(in crate::runtime) fn look_at(&mut self, state: &State, node: NodeSlot) {
        let row = &state.nodes[node];
        let reserved = row.reserved.is_some();
        if reserved {
            self.reserved.insert(node);
        } else if !self.reserved.is_empty() {
            self.reserved.remove(&node);
        }
        let runs = state.is_candidate(node);
        let skipped = reserved && state.settings.skip_reserved_nodes;
        let free = (runs && !skipped).then(|| row.free.get());
        if runs && row.partition.index() >= self.by_partition.len() {
            self.stranger = true;
        }
        for (i, nodes) in self.by_partition.iter_mut().enumerate() {
            let here = row.partition.index() == i;
            let known = nodes.set(node, free.as_ref().filter(|_| here));
            if here && runs && !known {
                self.stranger = true;
            }
        }
        let placed = self.place_live(state, node);
        self.stranger |= runs && !placed;
    }

    /// Moves a node to its place where the order is live; whether it has one, or needs none.
    fn place_live(&mut self, state: &State, node: NodeSlot) -> bool {
        let Some(live) = &mut self.live else {
            return true;
        };
        let partition = state.nodes[node].partition.index();
        let nodes = self.by_partition.get_mut(partition);
        nodes.is_some_and(|nodes| live.follow(state, node, nodes))
    }

    /// Whether every change of a node moves it in the order.
    pub(in crate::runtime) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// The same for a node that got a container, and nothing else happened to it.
    pub(in crate::runtime) fn follow(&mut self, state: &State, node: NodeSlot) {
        let row = &state.nodes[node];
        if let Some(nodes) = self.by_partition.get_mut(row.partition.index()) {
            nodes.lessen(node, &row.free);
        }
        let _known = self.place_live(state, node);
    }

    /// Rebuilds the indexes when nodes joined; else puts some more nodes in the order of a new sort. An
    /// order under way is finished before a newer one is begun: with few calls it takes a while.
    ///
    /// Cost: a look at some places, and with the last of them one at each; where a newer sort is begun, some looks
    /// at each if nodes came or went since.
    pub(in crate::runtime) fn lay_out(&mut self, state: &State, index: &Arc<NodeIndex>) {
        if !self.stranger {
            let sorted = self.sorted.as_ref();
            let is_known = sorted.is_some_and(|sorted| Arc::ptr_eq(sorted, index));
            if self.go_on(self.places) > 0 || is_known {
                return;
            }
        }
        self.sorted = Some(Arc::clone(index));
        let settings = self.settings.replace(Arc::clone(&state.settings));
        // Whatever changed since was looked at: the nodes are merely put in another order.
        let same_rules = settings.is_some_and(|known| Arc::ptr_eq(&known, &state.settings));
        if !same_rules {
            self.live = LiveKeys::under(&state.settings, self.share);
        }
        self.note_offers(state);
        self.layouts = self.layouts.wrapping_add(1);
        let due = self.shrunk && self.layouts.is_multiple_of(AFRESH);
        let stranger = std::mem::take(&mut self.stranger);
        let afresh = due || !same_rules || state.partitions.len() != self.by_partition.len();
        if self.is_live() && !afresh && !stranger {
            return;
        }
        let orders = self.orders(state, index);
        if afresh {
            return self.rebuild(state, orders);
        }
        let mut unseen = Vec::new();
        for (nodes, order) in self.by_partition.iter_mut().zip(orders) {
            if stranger {
                let listed = order.nodes().iter();
                unseen.extend(listed.filter(|&&node| !nodes.knows(node)));
            }
            nodes.reorder(order);
        }
        self.go_on(if stranger { usize::MAX } else { self.places });
        unseen.into_iter().for_each(|node| self.see(state, node));
    }

    /// The nodes of each partition in the order of a sort, the own share first.
    fn orders(&mut self, state: &State, index: &NodeIndex) -> Vec<NodeOrder> {
        if let Some(live) = &mut self.live {
            return live.sort(state);
        }
        let (own, of) = self.share;
        let orders = state.partition_ids().map(|partition| {
            let sorted = index.order(state, partition);
            if of == 1 {
                return sorted;
            }
            let nodes = sorted.nodes().iter();
            let (mine, others): (Vec<_>, Vec<_>) = nodes.partition(|node| node.index() % of == own);
            [mine, others].concat().into()
        });
        orders.collect()
    }

    /// Builds the indexes from the nodes as they are.
    fn rebuild(&mut self, state: &State, orders: Vec<NodeOrder>) {
        self.shrunk = false;
        let types = state.fitting_types();
        let rebuilt = orders.into_iter().map(|order| FitIndex::new(order, types));
        self.by_partition = rebuilt.collect();
        let nodes = state.partitions.iter().flat_map(|p| &p.nodes);
        nodes.for_each(|&node| self.see(state, node));
    }

    /// Puts at most so many more nodes in their places in the order to be; how many.
    fn go_on(&mut self, most: usize) -> usize {
        let mut left = most;
        for nodes in &mut self.by_partition {
            left -= nodes.go_on(left);
        }
        most - left
    }

    /// Notes everything of a node.
    pub(in crate::runtime) fn see(&mut self, state: &State, node: NodeSlot) {
        self.note_total(state, node);
        self.look_at(state, node);
    }

    /// Notes whether some partition offers less than at the last layout. While a node becomes smaller and
    /// others make up for it, that is not noticed: what no node holds any more is tried in vain until it is.
    fn note_offers(&mut self, state: &State) {
        let offered = state.partitions.iter().map(|partition| partition.total);
        let before = std::mem::replace(&mut self.offered, offered.collect());
        let mut pairs = before.iter().zip(&self.offered);
        self.shrunk |= pairs.any(|(before, now)| before.component_max(now) != *now);
    }

    /// The nodes of a partition that has any.
    pub(in crate::runtime) fn of(&self, partition: PartitionId) -> Option<&FitIndex> {
        let nodes = self.by_partition.get(partition.index());
        nodes.filter(|nodes| !nodes.order().is_empty())
    }

    /// Where else a container may go that the state shows already; nothing where nobody else takes room, and
    /// for containers that may not be anywhere.
    pub(in crate::runtime) fn second(
        &self,
        state: &State,
        proposal: &Proposal,
    ) -> Option<Alternate> {
        let (first, size) = (proposal.node, proposal.size.get());
        let partition = state.nodes[first].partition;
        let distance = self.distance(partition).filter(|_| proposal.counted)?;
        second_node(state, self.of(partition)?, (first, &size), distance)
    }

    /// How far behind the first choice a second one stands in the nodes of a partition; nothing where nobody
    /// else takes room.
    pub(in crate::runtime) fn distance(&self, partition: PartitionId) -> Option<usize> {
        let (_, of) = self.share;
        let nodes = self.of(partition).filter(|_| of > 1)?;
        // Half a share away. What is on its way counts on the very next nodes: a container that lands there
        // moves those after it on, and so for ever.
        Some((nodes.order().len() / (2 * of)).max(1))
    }

    /// The nodes of a partition that has any, to be updated by what is placed on them.
    pub(in crate::runtime) fn of_mut(&mut self, partition: PartitionId) -> Option<&mut FitIndex> {
        let nodes = self.by_partition.get_mut(partition.index());
        nodes.filter(|nodes| !nodes.order().is_empty())
    }

    /// Reserved nodes of the own share.
    pub(in crate::runtime) fn reserved(&self) -> Vec<NodeSlot> {
        let (own, of) = self.share;
        let mine = |node: &&NodeSlot| node.index() % of == own;
        self.reserved.iter().filter(mine).copied().collect()
    }

    /// Reserved nodes of the shares of the other proposers.
    pub(in crate::runtime) fn reserved_by_others(&self) -> Vec<NodeSlot> {
        let (own, of) = self.share;
        let theirs = |node: &&NodeSlot| node.index() % of != own;
        self.reserved.iter().filter(theirs).copied().collect()
    }

    /// Whether any node is reserved.
    pub(in crate::runtime) fn is_reserved_anywhere(&self) -> bool {
        !self.reserved.is_empty()
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;
    use crate::runtime::nodes::index::NodeSorter;
    use crate::runtime::testing::fixtures::{Cluster, settings};
    use proptest::prelude::*;

    /// Lays the candidates out as often as it takes until one layout may look at the nodes again.
    fn lay_out(candidates: &mut NodeCandidates, cluster: &Cluster) {
        (0..AFRESH).for_each(|_| candidates.lay_out(&cluster.state, &Arc::default()));
    }

    fn largest(candidates: &NodeCandidates) -> i64 {
        candidates.by_partition[0].largest()[0]
    }

    /// Where the candidates find 8 GiB.
    fn first_fit(candidates: &NodeCandidates) -> Option<NodeSlot> {
        candidates.by_partition[0].first_fit(&ResourceVector::of(&[8192, 1]))
    }

    #[test]
    fn the_nodes_are_looked_at_again_only_when_the_largest_may_be_smaller() {
        let mut cluster = Cluster::of(1);
        let small = cluster.join(None, 1, PartitionId::DEFAULT, 8192);
        let mut candidates = NodeCandidates::new((0, 1), PLACES);
        lay_out(&mut candidates, &cluster);
        assert_eq!((largest(&candidates), candidates.shrunk), (8192, false));
        let large = cluster.join(None, 2, PartitionId::DEFAULT, 12_288);
        candidates.see(&cluster.state, large);
        candidates.layouts = 0;
        candidates.lay_out(&cluster.state, &Arc::default());
        assert_eq!((largest(&candidates), candidates.shrunk), (12_288, false));
        // What is not reported to the candidates would be seen by a look.
        cluster.allocate(small, 8192);
        lay_out(&mut candidates, &cluster);
        assert_eq!(first_fit(&candidates), Some(small));
        cluster.leave(large);
        candidates.look_at(&cluster.state, large);
        candidates.layouts = 0;
        candidates.lay_out(&cluster.state, &Arc::default());
        assert_eq!(
            (largest(&candidates), candidates.shrunk),
            (12_288, true),
            "a look is due"
        );
        lay_out(&mut candidates, &cluster);
        assert_eq!(
            (largest(&candidates), candidates.shrunk),
            (8192, false),
            "it was made"
        );
        assert_eq!(first_fit(&candidates), None);
    }

    /// A node that comes is looked at, and of the others everything stays known.
    #[test]
    fn a_node_that_comes_is_looked_at_alone() {
        let mut cluster = Cluster::of(1);
        let first = cluster.join(None, 1, PartitionId::DEFAULT, 8192);
        let mut candidates = NodeCandidates::new((0, 1), PLACES);
        let index = Arc::default();
        candidates.lay_out(&cluster.state, &index);
        // The candidates get no report.
        cluster.allocate(first, 8192);
        let second = cluster.join(None, 2, PartitionId::DEFAULT, 4096);
        candidates.look_at(&cluster.state, second);
        candidates.lay_out(&cluster.state, &index);
        let nodes = candidates.of(PartitionId::DEFAULT).unwrap();
        assert_eq!(nodes.order(), [first, second]);
        assert!(nodes.open().eq([first, second]));
        assert_eq!(first_fit(&candidates), Some(first));
    }

    #[test]
    fn a_new_order_is_taken_a_part_at_a_time_and_nothing_is_missed() {
        let mut cluster = Cluster::of(1);
        let nodes: Vec<_> = (1..=3 * PLACES)
            .map(|i| cluster.join(None, u16::try_from(i).unwrap(), PartitionId::DEFAULT, 8192))
            .collect();
        let mut candidates = NodeCandidates::new((0, 1), PLACES);
        candidates.lay_out(&cluster.state, &Arc::default());
        assert_eq!(candidates.by_partition[0].order(), nodes);
        let mut sorter = NodeSorter::default();
        let mut sort = |cluster: &mut Cluster| {
            let sorted = sorter.sort(cluster.show(), &mut |_| {});
            let order = sorted.order(&cluster.state, PartitionId::DEFAULT);
            (Arc::new(sorted), order)
        };
        cluster.allocate(nodes[0], 1024);
        candidates.see(&cluster.state, nodes[0]);
        let first = sort(&mut cluster);
        assert_eq!(first.1.nodes().last(), Some(&nodes[0]));
        cluster.allocate(nodes[1], 2048);
        candidates.see(&cluster.state, nodes[1]);
        let second = sort(&mut cluster);
        assert_eq!(second.1.nodes().last(), Some(&nodes[1]));
        // The next sort is there when the order of the first one is half done.
        let orders = [&nodes, first.1.nodes(), second.1.nodes()];
        for (step, order) in [0, 0, 1, 1, 1, 2]
            .map(|i| orders[i])
            .into_iter()
            .enumerate()
        {
            let newest = if step == 0 { &first.0 } else { &second.0 };
            candidates.lay_out(&cluster.state, newest);
            assert!(
                candidates.by_partition[0].order() == order,
                "in step {step}"
            );
            // Nodes in all parts fill up, the first ones among them.
            for &node in order.iter().skip(step).step_by(1000) {
                cluster.allocate(node, 8192);
                candidates.see(&cluster.state, node);
            }
            for &node in nodes.iter().skip(step).step_by(999) {
                cluster.allocate(node, 0);
                candidates.see(&cluster.state, node);
            }
            let free = |node: &&NodeSlot| cluster.state.nodes[**node].free.get()[0] == 8192;
            assert_eq!(
                first_fit(&candidates),
                order.iter().find(free).copied(),
                "in step {step}"
            );
        }
        // Who joins is not kept waiting, not by an order that is half done either.
        candidates.lay_out(&cluster.state, &first.0);
        assert!(candidates.by_partition[0].is_reordering());
        let joined = cluster.join(None, 1, PartitionId::DEFAULT, 8192);
        candidates.see(&cluster.state, joined);
        candidates.lay_out(&cluster.state, &first.0);
        let (last, others) = candidates.by_partition[0].order().split_last().unwrap();
        assert!(*last == joined && others == first.1.nodes());
        assert!(candidates.by_partition[0].is_open(joined) && !candidates.stranger);
    }

    /// The order that is half done does not have it, though the present one does.
    #[test]
    fn a_node_that_comes_back_while_an_order_is_half_done_stays_known() {
        let mut cluster = Cluster::of(1);
        let joined = (1..=7).map(|name| cluster.join(None, name, PartitionId::DEFAULT, 8192));
        let nodes: Vec<_> = joined.collect();
        let mut candidates = NodeCandidates::new((0, 1), 3);
        candidates.lay_out(&cluster.state, &Arc::default());
        cluster.leave(nodes[2]);
        candidates.see(&cluster.state, nodes[2]);
        let index = Arc::new(NodeSorter::default().sort(cluster.show(), &mut |_| {}));
        candidates.lay_out(&cluster.state, &index);
        assert!(candidates.by_partition[0].is_reordering());
        cluster.join(Some(nodes[2]), 9, PartitionId::DEFAULT, 8192);
        candidates.see(&cluster.state, nodes[2]);
        (0..3).for_each(|_| candidates.lay_out(&cluster.state, &index));
        assert!(candidates.by_partition[0].is_open(nodes[2]));
    }

    #[derive(Clone, Copy, Debug)]
    enum Change {
        Use(usize, i64),
        Leave(usize),
        Join(usize, bool),
        Relabel(usize, usize),
        Rules,
        Sort,
        LayOut,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            2 => (any::<usize>(), 0..9_i64).prop_map(|(node, mib)| Change::Use(node, mib)),
            2 => any::<usize>().prop_map(Change::Leave),
            2 => (0..3_usize, any::<bool>()).prop_map(|(to, again)| Change::Join(to, again)),
            2 => (any::<usize>(), 0..3_usize).prop_map(|(node, to)| Change::Relabel(node, to)),
            1 => Just(Change::Rules),
            2 => Just(Change::Sort),
            9 => Just(Change::LayOut),
        ]
    }

    proptest! {
        /// Orders are half done nearly always, while nodes come, go and come back.
        #[test]
        fn the_candidates_know_what_is_free_on_every_node(
            changes in proptest::collection::vec(change(), 1..200),
            share in prop_oneof![Just((0, 1)), Just((1, 2))],
            places in 1..4_usize,
        ) {
            let mut cluster = Cluster::of(2);
            let joined = (501..520).map(|name| cluster.join(None, name, PartitionId::DEFAULT, 8));
            let (mut here, mut left): (Vec<_>, Vec<_>) = (joined.collect(), Vec::new());
            let mut candidates = NodeCandidates::new(share, places);
            let (mut sorter, mut index) = (NodeSorter::default(), Arc::default());
            for (i, change) in changes.into_iter().enumerate() {
                let known = cluster.state.partitions.len();
                let count = here.len().max(1);
                let slot = match change {
                    Change::Use(node, mib) if !here.is_empty() => {
                        cluster.allocate(here[node % count], mib);
                        here[node % count]
                    }
                    Change::Leave(node) if !here.is_empty() => {
                        let slot = here.swap_remove(node % count);
                        cluster.leave(slot);
                        left.push(slot);
                        slot
                    }
                    Change::Join(to, again) => {
                        if to == known {
                            cluster.add_partition();
                        }
                        let slot = again.then(|| left.pop()).flatten();
                        let name = u16::try_from(i).unwrap() + 1;
                        let slot = cluster.join(slot, name, PartitionId::at(to), 8);
                        here.push(slot);
                        slot
                    }
                    Change::Relabel(node, to) if !here.is_empty() && to < known => {
                        cluster.relabel(here[node % count], PartitionId::at(to));
                        here[node % count]
                    }
                    Change::Rules => {
                        cluster.state.settings = Arc::new(settings());
                        continue;
                    }
                    Change::Sort => {
                        index = Arc::new(sorter.sort(cluster.show(), &mut |_| {}));
                        continue;
                    }
                    Change::LayOut => {
                        candidates.lay_out(&cluster.state, &index);
                        for partition in cluster.state.partition_ids() {
                            let index = &candidates.by_partition[partition.index()];
                            let open: BTreeSet<_> = index.open().collect();
                            let nodes = &cluster.state.partitions[partition].nodes;
                            prop_assert_eq!(&open, &nodes.iter().copied().collect());
                            for mib in 0..9 {
                                let size = ResourceVector::of(&[mib, 1]);
                                let fits = |node: &NodeSlot| {
                                    open.contains(node)
                                        && size.fits_in(&cluster.state.nodes[*node].free.get())
                                };
                                let first = index.order().iter().copied().find(fits);
                                prop_assert_eq!(index.first_fit(&size), first);
                            }
                        }
                        continue;
                    }
                    _ => continue,
                };
                candidates.see(&cluster.state, slot);
            }
        }
    }
}
