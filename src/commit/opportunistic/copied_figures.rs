//! A copy of the figures of the queues of all nodes.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use super::node_queue::{NodeQueue, NodeQueueFigures};
use crate::commit::containers::in_passes::CopiedRows;
use crate::commit::ledger::Ledger;
use crate::id::NodeSlot;

/// The figures of the queues of all nodes, by slot.
#[derive(Clone, Debug, Default)]
pub struct AllNodeQueues {
    /// How often each had changed when it was copied.
    changes: Vec<u32>,
    /// Nothing of nodes without a queue.
    figures: Vec<Option<NodeQueueFigures>>,
}

impl AllNodeQueues {
    /// The figures of the queue of a registered node, if it has one.
    #[must_use]
    pub fn of(&self, node: NodeSlot) -> Option<NodeQueueFigures> {
        self.figures.get(node.index()).copied().flatten()
    }
}

impl CopiedRows for AllNodeQueues {
    type Room = usize;

    fn room(ledger: &Ledger) -> usize {
        ledger.opportunistic.changes.all().len()
    }

    fn grow(&mut self, rows: usize) -> usize {
        self.changes.resize(rows, 0);
        self.figures.resize(rows, None);
        rows
    }

    fn copy(&mut self, ledger: &Ledger, row: usize) -> usize {
        let changes = ledger.opportunistic.changes.all()[row];
        if self.changes[row] == changes {
            return 0;
        }
        self.changes[row] = changes;
        let queue = ledger.opportunistic.queues.get(&NodeSlot::at(row));
        self.figures[row] = queue.map(NodeQueue::figures);
        1
    }
}
