//! What keeps the candidates in the order of a policy that sorts before each use.
//!
//! 1. Whatever changes a node moves it in the order at once, behind the nodes whose keys are smaller.
//! 2. The key of a node is what it has allocated and its name; with several proposers, the own share comes first.
//! 3. Keys are remembered as the order has them: of several nodes that changed, one moves after the other.
//! 4. A node that came, or came to another partition, is not moved. All nodes are sorted then.
//!
//! Sorts at an interval are of another moment: within one, a burst of containers would fill the first nodes.

use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{FitIndex, NodeOrder, use_key};
use crate::queue::{NodePolicy, SchedulerSettings};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// The keys of all nodes.
#[derive(Debug)]
pub(super) struct LiveKeys {
    policy: NodePolicy,
    /// Position among the proposers, and their number.
    share: (usize, usize),
    /// By slot.
    known: Vec<Option<KnownNode>>,
}

/// A node as the order has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownNode {
    partition: PartitionId,
    incarnation: u32,
    used: ResourceVector,
}

impl LiveKeys {
    /// Keys where the policy sorts before each use; nothing where it sorts at an interval.
    pub(super) fn under(settings: &SchedulerSettings, share: (usize, usize)) -> Option<Self> {
        let policy = settings.multi_node.policies.first();
        let policy = policy.filter(|policy| policy.interval_ms == 0)?;
        Some(Self {
            policy: policy.order,
            share,
            known: Vec::new(),
        })
    }

    /// The nodes of each partition in order, which they are known by from now on.
    ///
    /// Cost: a sort of all nodes.
    pub(super) fn sort(&mut self, state: &State) -> Vec<NodeOrder> {
        self.known.clear();
        self.known.resize(state.nodes.len(), None);
        let orders = state.partition_ids().map(|partition| {
            let mut nodes = state.partitions[partition].nodes.clone();
            for &node in &nodes {
                self.known[node.index()] = Some(self.now(state, node));
            }
            nodes
                .sort_unstable_by(|&one, &other| self.key(state, one).cmp(&self.key(state, other)));
            nodes.into()
        });
        orders.collect()
    }

    /// Moves a node of an index to its place by what it has allocated now. Whether it has one.
    ///
    /// Cost: a search, and a look at each place between the old one and the new one.
    pub(super) fn follow(&mut self, state: &State, node: NodeSlot, index: &mut FitIndex) -> bool {
        let now = self.now(state, node);
        let Some(Some(known)) = self.known.get_mut(node.index()) else {
            return false;
        };
        if (known.partition, known.incarnation) != (now.partition, now.incarnation) {
            return false;
        }
        if *known != now {
            *known = now;
            let key = self.key(state, node);
            index.move_behind(node, |other| self.key(state, other) < key);
        }
        true
    }

    fn now(&self, state: &State, node: NodeSlot) -> KnownNode {
        let row = &state.nodes[node];
        KnownNode {
            partition: row.partition,
            incarnation: row.incarnation,
            used: use_key(self.policy, row),
        }
    }

    /// What nodes are sorted by.
    fn key<'a>(&self, state: &'a State, node: NodeSlot) -> impl Ord + use<'a> {
        let (own, of) = self.share;
        let used = self.known[node.index()].map(|known| known.used);
        (node.index() % of != own, used, &state.nodes[node].name)
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::queue::NodePolicySettings;
    use crate::runtime::nodes::node_candidates::NodeCandidates;
    use crate::runtime::testing::fixtures::{Cluster, settings};
    use proptest::prelude::*;

    fn sorted_before_each_use(order: NodePolicy) -> Arc<SchedulerSettings> {
        let mut settings = settings();
        settings.multi_node.enabled = true;
        settings.multi_node.policies.push(NodePolicySettings {
            name: "policy".into(),
            order,
            interval_ms: 0,
        });
        Arc::new(settings)
    }

    #[derive(Clone, Copy, Debug)]
    enum Change {
        Use(usize, i64),
        Place(usize),
        Leave(usize),
        Join(usize, bool),
        Relabel(usize, usize),
        LayOut,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            4 => (any::<usize>(), 0..9_i64).prop_map(|(node, mib)| Change::Use(node, mib)),
            4 => any::<usize>().prop_map(Change::Place),
            1 => any::<usize>().prop_map(Change::Leave),
            1 => (0..2_usize, any::<bool>()).prop_map(|(to, again)| Change::Join(to, again)),
            1 => (any::<usize>(), 0..2_usize).prop_map(|(node, to)| Change::Relabel(node, to)),
            4 => Just(Change::LayOut),
        ]
    }

    /// The nodes of a partition as a sort has them now.
    fn expected(
        state: &State,
        (own, of): (usize, usize),
        policy: NodePolicy,
        partition: PartitionId,
    ) -> Vec<NodeSlot> {
        let mut nodes = state.partitions[partition].nodes.clone();
        nodes.sort_by_key(|&node| {
            let row = &state.nodes[node];
            let theirs = node.index() % of != own;
            (theirs, use_key(policy, row), row.name.clone())
        });
        nodes
    }

    proptest! {
        #[test]
        fn candidates_are_in_the_order_of_a_sort_at_every_layout(
            changes in proptest::collection::vec(change(), 1..200),
            share in prop_oneof![Just((0, 1)), Just((1, 2))],
            policy in prop_oneof![Just(NodePolicy::ResourceUsage), Just(NodePolicy::BestFit)],
        ) {
            let mut cluster = Cluster::of(2);
            cluster.state.settings = sorted_before_each_use(policy);
            let joined = (501..520).map(|name| cluster.join(None, name, PartitionId::DEFAULT, 8));
            let (mut here, mut left): (Vec<_>, Vec<_>) = (joined.collect(), Vec::new());
            let mut candidates = NodeCandidates::new(share, 3);
            candidates.lay_out(&cluster.state, &Arc::default());
            for (i, change) in changes.into_iter().enumerate() {
                let count = here.len().max(1);
                let slot = match change {
                    Change::Use(node, mib) if !here.is_empty() => {
                        cluster.allocate(here[node % count], mib);
                        here[node % count]
                    }
                    Change::Place(node) if !here.is_empty() => {
                        let slot = here[node % count];
                        let used = cluster.state.nodes[slot].allocated.get()[0];
                        cluster.allocate(slot, used + 1);
                        candidates.follow(&cluster.state, slot);
                        continue;
                    }
                    Change::Leave(node) if !here.is_empty() => {
                        let slot = here.swap_remove(node % count);
                        cluster.leave(slot);
                        left.push(slot);
                        slot
                    }
                    Change::Join(to, again) => {
                        let slot = again.then(|| left.pop()).flatten();
                        let name = u16::try_from(i).unwrap() + 1;
                        here.push(cluster.join(slot, name, PartitionId::at(to), 8));
                        here[here.len() - 1]
                    }
                    Change::Relabel(node, to) if !here.is_empty() => {
                        cluster.relabel(here[node % count], PartitionId::at(to));
                        here[node % count]
                    }
                    Change::LayOut => {
                        candidates.lay_out(&cluster.state, &Arc::default());
                        for partition in cluster.state.partition_ids() {
                            let nodes = candidates.of(partition);
                            let open: Vec<_> = nodes.into_iter().flat_map(FitIndex::open).collect();
                            let expected = expected(&cluster.state, share, policy, partition);
                            prop_assert_eq!(open, expected, "after step {}", i);
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
