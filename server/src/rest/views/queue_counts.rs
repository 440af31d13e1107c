//! Containers of queues, as the metrics of queues count them.

use capsched::commit::Ledger;
use capsched::id::{AppSlot, Map, NameId, PartitionId, QueueSlot};
use capsched::queue::KeyAsks;

/// Containers of one queue and everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::rest) struct Counts {
    /// Running on the default partition.
    pub(in crate::rest) allocated: i64,
    /// Reserved on the default partition.
    pub(in crate::rest) reserved: i64,
    /// Asked for on the default partition.
    pub(in crate::rest) pending: i64,
    /// Running and reserved, on every partition.
    pub(in crate::rest) all: i64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.allocated += other.allocated;
        self.reserved += other.reserved;
        self.pending += other.pending;
        self.all += other.all;
    }
}

/// The counts of every queue that has containers or asks.
///
/// Cost: a look at every live container and every ask.
// As QueueMetrics, which know the default partition alone, and LeafQueue.getNumContainers.
pub(in crate::rest) fn counts(ledger: &Ledger) -> Map<QueueSlot, Counts> {
    let state = ledger.state();
    let mut counts: Map<QueueSlot, Counts> = Map::default();
    for (_, slot) in ledger.apps_by_id() {
        let of_app = counts_of(ledger, slot);
        for queue in state.chain(state.apps[slot].leaf) {
            counts.entry(queue).or_default().add(of_app);
        }
    }
    counts
}

/// The counts of one application.
pub(in crate::rest) fn counts_of(ledger: &Ledger, slot: AppSlot) -> Counts {
    let state = ledger.state();
    let mut counts = Counts::default();
    for container in ledger.live_containers(slot) {
        counts.all += 1;
        // That of the node when the container was placed: later labels of the node change no metrics.
        let partition = if container.borrowed {
            state.nodes[container.node].partition
        } else {
            container.requested_partition
        };
        counts.allocated += i64::from(partition == PartitionId::DEFAULT);
    }
    for asks in &state.apps[slot].keys {
        for held in &asks.reserved {
            counts.all += 1;
            let partition = state.nodes[held.node].partition;
            counts.reserved += i64::from(partition == PartitionId::DEFAULT);
        }
        if asks.partition == PartitionId::DEFAULT {
            counts.pending += i64::from(outstanding(asks));
        }
    }
    counts
}

/// Containers that a key still asks for anywhere.
fn outstanding(asks: &KeyAsks) -> i32 {
    if asks.is_outstanding() {
        asks.count(NameId::ANY)
    } else {
        0
    }
}
