//! The node index: the nodes of every partition in the order of the policy, sorted periodically.

use std::sync::Arc;

use crate::cluster::{Node, Partition};
use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{NodeOrder, use_key};
use crate::queue::NodePolicy;
use crate::resource::with_width;
use crate::runtime::time_slicing::Runs;
use crate::snapshot::{Frozen, Snapshot, State};

/// The place of a slot whose name has none yet.
const NOWHERE: u32 = u32::MAX;

/// Nodes by partition, sorted at one moment; it may lag behind the state.
#[derive(Clone, Debug, Default)]
pub(in crate::runtime) struct NodeIndex {
    partitions: Vec<Sorted>,
}

/// The nodes of a partition, as its list was at a count of its changes.
#[derive(Clone, Debug)]
struct Sorted {
    changes: u64,
    order: NodeOrder,
}

/// Sorts nodes, and remembers the order of their names, which changes only as nodes come and go.
#[derive(Debug, Default)]
pub(in crate::runtime) struct NodeSorter {
    /// Changes of the list of each partition when the names were last compared.
    changes: Vec<u64>,
    /// The registration of each slot whose name was compared.
    incarnations: Vec<Option<u32>>,
    /// The slots in the order of the names, and the position of each.
    by_name: Vec<NodeSlot>,
    ranks: Vec<u32>,
}

impl NodeSorter {
    /// Sorts the nodes of a snapshot; `did` is called with what was done, a few items at a time, and may make
    /// a pause.
    pub(in crate::runtime) fn sort(
        &mut self,
        snapshot: Arc<Snapshot>,
        did: &mut impl FnMut(usize),
    ) -> NodeIndex {
        let settings = Arc::clone(&snapshot.settings);
        with_width!(settings.calculator, N => self.sort_by::<N>(snapshot, did))
    }

    /// The same with keys of so many resource types.
    fn sort_by<const N: usize>(
        &mut self,
        snapshot: Arc<Snapshot>,
        did: &mut impl FnMut(usize),
    ) -> NodeIndex {
        let policies = &snapshot.settings.multi_node.policies;
        let policy = policies
            .first()
            .map_or(NodePolicy::ResourceUsage, |policy| policy.order);
        let nodes: Vec<&Node> = snapshot.nodes.iter_in_turns(&mut *did).collect();
        self.learn_names(&snapshot.partitions, &nodes, did);
        let partitions = snapshot.partitions.iter().map(|partition| {
            let keys = partition.nodes.iter().map(|slot| {
                let at = slot.index();
                (use_key(policy, nodes[at]).narrow::<N>(), self.ranks[at])
            });
            (partition.changes, Runs::of(keys, did))
        });
        let partitions: Vec<_> = partitions.collect();
        if let Some(snapshot) = Arc::into_inner(snapshot) {
            snapshot.forget(&mut *did);
        }
        let sorted = partitions.into_iter().map(|(changes, keys)| {
            let slots = keys.merge(did).into_iter();
            let slots = slots.map(|(_, rank)| self.by_name[rank as usize]);
            Sorted {
                changes,
                order: slots.collect::<Vec<_>>().into(),
            }
        });
        NodeIndex {
            partitions: sorted.collect(),
        }
    }

    /// Puts the slots that were taken since it last did where their names belong.
    fn learn_names(
        &mut self,
        partitions: &Frozen<Partition>,
        nodes: &[&Node],
        did: &mut impl FnMut(usize),
    ) {
        let changes = partitions.iter().map(|partition| partition.changes);
        let changes: Vec<u64> = changes.collect();
        if changes == self.changes {
            return;
        }
        self.changes = changes;
        let taken = self.take_note(nodes, did);
        let name_of = |slot: NodeSlot| (&nodes[slot.index()].name, slot);
        let taken = Runs::of(taken.into_iter().map(name_of), did).merge(did);
        let mut by_name = Vec::with_capacity(nodes.len());
        let mut known = self.by_name.as_slice();
        for (name, slot) in taken {
            let place = known.partition_point(|&known| name_of(known) < (name, slot));
            let (before, behind) = known.split_at(place);
            by_name.extend_from_slice(before);
            by_name.push(slot);
            known = behind;
            did(1);
        }
        by_name.extend_from_slice(known);
        self.by_name = by_name;
        for (rank, slot) in (0..).zip(&self.by_name) {
            self.ranks[slot.index()] = rank;
            did(1);
        }
    }

    /// The slots that are new, or taken by another node than before; these lose their places.
    fn take_note(&mut self, nodes: &[&Node], did: &mut impl FnMut(usize)) -> Vec<NodeSlot> {
        let mut taken = Vec::new();
        self.incarnations.resize(nodes.len(), None);
        self.ranks.resize(nodes.len(), NOWHERE);
        for (i, node) in nodes.iter().enumerate() {
            let incarnation = Some(node.incarnation);
            if self.incarnations[i] != incarnation {
                self.incarnations[i] = incarnation;
                self.ranks[i] = NOWHERE;
                taken.push(NodeSlot::at(i));
            }
            did(1);
        }
        self.by_name
            .retain(|slot| self.ranks[slot.index()] != NOWHERE);
        taken
    }
}

impl NodeIndex {
    /// The nodes of a partition: those that were sorted as they were, and behind them in order of arrival
    /// those that were not yet. A node that took the slot of another stands in its place until the next sort.
    ///
    /// Cost: where none came or went since, that of sharing the order; else some looks at each, and a copy.
    pub(in crate::runtime) fn order(&self, state: &State, partition: PartitionId) -> NodeOrder {
        let arrived = &state.partitions[partition];
        match self.partitions.get(partition.index()) {
            Some(sorted) if sorted.changes == arrived.changes => sorted.order.clone(),
            Some(sorted) => sorted.order.following(&arrived.nodes),
            None => arrived.nodes.clone().into(),
        }
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;
    use crate::id::Set;
    use crate::runtime::testing::fixtures::Cluster;
    use crate::runtime::time_slicing::RUN;
    use proptest::prelude::*;

    /// What becomes of the nodes; numbers are taken for whichever are there.
    #[derive(Clone, Copy, Debug)]
    enum Change {
        Use(u16, i64),
        Leave(u16),
        /// A name, a partition, and whether a slot that was left is taken.
        Join(u16, bool, bool),
        Sort,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            4 => (any::<u16>(), 0..5_i64).prop_map(|(node, mib)| Change::Use(node, mib)),
            1 => any::<u16>().prop_map(Change::Leave),
            1 => (1..2000_u16, any::<bool>(), any::<bool>())
                .prop_map(|(name, partition, again)| Change::Join(name, partition, again)),
            1 => Just(Change::Sort),
        ]
    }

    fn partition(second: bool) -> PartitionId {
        PartitionId::at(usize::from(second))
    }

    /// The nodes of a partition as a plain sort puts them.
    fn plainly(state: &State, partition: PartitionId) -> Vec<NodeSlot> {
        let mut nodes = state.partitions[partition].nodes.clone();
        nodes.sort_by_key(|&slot| {
            let node = &state.nodes[slot];
            (node.allocated.get(), node.name.clone(), slot)
        });
        nodes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Names come and go between sorts, slots are taken again, and more than one node has had a name.
        #[test]
        fn the_order_is_that_of_a_plain_sort_and_outlives_joins_and_leaves(
            changes in proptest::collection::vec(change(), 1..100),
            nodes in prop_oneof![0..5_u16, 1200..1500_u16],
        ) {
            let mut cluster = Cluster::of(2);
            let mut here: Vec<NodeSlot> = (0..nodes)
                .map(|i| cluster.join(None, i.wrapping_mul(7919) % nodes + 1, partition(i % 3 == 0), 8192))
                .collect();
            let mut left = Vec::new();
            let mut sorter = NodeSorter::default();
            let mut index = NodeIndex::default();
            let mut known = [false, true].map(|_| Vec::new());
            for change in changes {
                let chosen = |i: u16| usize::from(i) % here.len().max(1);
                match change {
                    Change::Use(node, mib) if !here.is_empty() => {
                        cluster.allocate(here[chosen(node)], mib);
                    }
                    Change::Leave(node) if !here.is_empty() => {
                        let slot = here.swap_remove(chosen(node));
                        cluster.leave(slot);
                        left.push(slot);
                    }
                    Change::Join(name, second, again) => {
                        let slot = again.then(|| left.pop()).flatten();
                        here.push(cluster.join(slot, name, partition(second), 8192));
                    }
                    Change::Sort => {
                        let shown = cluster.show();
                        let mut dealt = 0;
                        index = sorter.sort(shown, &mut |items| dealt += items);
                        // Of every row, and of every node as its run is sorted and when runs are merged.
                        let several = [false, true].map(|second| {
                            let nodes = cluster.state.partitions[partition(second)].nodes.len();
                            if nodes > RUN { nodes } else { 0 }
                        });
                        let least = 2 * here.len() + several.iter().sum::<usize>();
                        prop_assert!(dealt >= least, "{} of {}", dealt, least);
                        known = [false, true].map(|second| plainly(&cluster.state, partition(second)));
                        for (second, known) in [false, true].into_iter().zip(&known) {
                            let sorted = &index.partitions[usize::from(second)].order;
                            prop_assert_eq!(sorted.nodes(), known);
                        }
                    }
                    Change::Use(..) | Change::Leave(_) => {}
                }
                for (second, known) in [false, true].into_iter().zip(&known) {
                    let arrived = &cluster.state.partitions[partition(second)].nodes;
                    let (here, sorted): (Set<_>, Set<_>) =
                        (arrived.iter().collect(), known.iter().collect());
                    let stays = known.iter().filter(|slot| here.contains(slot));
                    let comes = arrived.iter().filter(|slot| !sorted.contains(slot));
                    let order = index.order(&cluster.state, partition(second));
                    prop_assert!(order.nodes().iter().eq(stays.chain(comes)));
                }
            }
        }
    }
}
