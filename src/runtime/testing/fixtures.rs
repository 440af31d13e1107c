//! Nodes without queues, for tests of what looks at nodes alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::{Node, NodeState, Partition};
use crate::id::{NameId, NodeName, NodeSlot, PartitionId};
use crate::queue::{
    AsynchronousSettings, ConstraintHandler, HeartbeatSettings, MultiNodeSettings,
    SchedulerSettings, UserParallelSettings,
};
use crate::resource::{Calculator, PackedVector, ResourceVector};
use crate::snapshot::{Snapshot, State};

/// Settings of no queues.
pub(in crate::runtime) fn settings() -> SchedulerSettings {
    SchedulerSettings {
        corrects_asks: false,
        mends: Default::default(),
        failed_master_threshold: None,
        opportunistic: None,
        rules: Default::default(),
        resource_types: Vec::new(),
        resource_units: Vec::new(),
        calculator: Calculator::Dominant { types: 2 },
        minimum_allocation: ResourceVector::of(&[1024, 1]),
        maximum_allocation: ResourceVector::of(&[8192, 4]),
        legacy_queue_mode: true,
        maximum_applications: 10_000,
        global_queue_maximum_applications: None,
        maximum_application_priority: 0,
        continue_looking: true,
        skip_reserved_nodes: false,
        master_non_exclusive: false,
        lazy_preemption: false,
        heartbeat: HeartbeatSettings {
            maximum_offswitch: 1,
            multiple_assignments: true,
            maximum_assignments: -1,
        },
        asynchronous: AsynchronousSettings {
            enabled: false,
            threads: 1,
            interval_ms: 5,
            maximum_backlog: 100,
        },
        multi_node: MultiNodeSettings::default(),
        user_parallel: UserParallelSettings {
            default: i32::MAX,
            by_user: BTreeMap::new(),
        },
        node_labels: false,
        constraint_handler: ConstraintHandler::Disabled,
    }
}

/// Partitions of nodes that come and go.
#[derive(Debug)]
pub(in crate::runtime) struct Cluster {
    pub(in crate::runtime) state: State,
    snapshot: Snapshot,
}

impl Cluster {
    /// So many partitions without nodes.
    pub(in crate::runtime) fn of(partitions: usize) -> Self {
        let settings = Arc::new(settings());
        let mut state = State::new(Arc::clone(&settings));
        state.track();
        let mut cluster = Self {
            state,
            snapshot: Snapshot::empty(settings),
        };
        (0..partitions).for_each(|_| cluster.add_partition());
        cluster
    }

    pub(in crate::runtime) fn add_partition(&mut self) {
        let name = Arc::from(format!("p{}", self.state.partitions.len()));
        let partition = Partition::new(name, true, true);
        self.state.partitions.push(partition);
    }

    /// A node of so many MiB, with a name of its number, comes to a partition; to a slot that another one had,
    /// if there is one to be taken.
    pub(in crate::runtime) fn join(
        &mut self,
        slot: Option<NodeSlot>,
        name: u16,
        partition: PartitionId,
        mib: i64,
    ) -> NodeSlot {
        let total = ResourceVector::of(&[mib, 8]);
        let before = slot.map(|slot| self.state.nodes[slot].incarnation);
        let node = Node {
            host: NameId(0),
            rack: NameId(0),
            incarnation: before.map_or(0, |before| before + 1),
            partition,
            state: NodeState::Running,
            free: total.into(),
            allocated: PackedVector::default(),
            total: total.into(),
            containers: 0,
            reserved: None,
            name: NodeName::new("node", name).expect("a host and a port"),
            java_hash: 0,
            killable: Vec::new(),
            attributes: Arc::default(),
            tags: Vec::new(),
            enforced: false,
            labelled: false,
            default_listed: true,
        };
        let slot = match slot {
            Some(slot) => {
                self.state.nodes[slot] = node;
                slot
            }
            None => NodeSlot::at(self.state.nodes.push(node)),
        };
        let partition = &mut self.state.partitions[partition];
        partition.enter(slot);
        partition.total += total;
        slot
    }

    /// A node leaves.
    pub(in crate::runtime) fn leave(&mut self, slot: NodeSlot) {
        let node = &mut self.state.nodes[slot];
        node.state = NodeState::Lost;
        let partition = &mut self.state.partitions[node.partition];
        partition.leave(slot);
        partition.total -= node.total.get();
    }

    /// A node changes its partition.
    pub(in crate::runtime) fn relabel(&mut self, slot: NodeSlot, to: PartitionId) {
        let node = &mut self.state.nodes[slot];
        let total = node.total.get();
        let from = &mut self.state.partitions[std::mem::replace(&mut node.partition, to)];
        from.leave(slot);
        from.total -= total;
        let to = &mut self.state.partitions[to];
        to.enter(slot);
        to.total += total;
    }

    /// So many MiB of a node are allocated.
    pub(in crate::runtime) fn allocate(&mut self, slot: NodeSlot, mib: i64) {
        let node = &mut self.state.nodes[slot];
        let allocated = ResourceVector::of(&[mib, 1]);
        node.allocated = allocated.into();
        node.free = (node.total.get() - allocated).into();
    }

    /// The state as it is shown now.
    pub(in crate::runtime) fn show(&mut self) -> Arc<Snapshot> {
        self.snapshot = self.snapshot.next(&mut self.state);
        Arc::new(self.snapshot.clone())
    }
}
