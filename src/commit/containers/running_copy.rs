//! What all nodes run, as a rebuild reads it.
//!
//! Tests: `tests/runtime/preemption_turns.rs`, `tests/runtime/whole_state.rs`.

use std::sync::Arc;

use super::container::ContainerState;
use super::in_passes::CopiedRows;
use crate::commit::gangs::members::MembersOfGangs;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NodeSlot};
use crate::queue::RunningContainer;

/// Names of places that are copied as one row.
const NAMES_OF_ROW: usize = 256;

/// A live container with what its node does not report of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveContainer {
    /// The application's slot.
    pub app: AppSlot,
    /// What its node would report.
    pub running: RunningContainer,
    /// Whether its node reported that it was launched.
    pub launched: bool,
    /// Whether it runs on borrowed capacity of its node's partition.
    pub borrowed: bool,
}

/// What was copied of one node.
#[derive(Clone, Debug, Default)]
struct RunningOnNode {
    /// How often it had changed then, and how many containers were launched; nothing before the first copy.
    changes: Option<(u32, u32)>,
    live: Vec<LiveContainer>,
}

/// What nodes run, and the names of hosts and racks.
#[derive(Clone, Debug, Default)]
pub struct RunningCopy {
    of: Vec<RunningOnNode>,
    place_names: Vec<Arc<str>>,
    gangs: MembersOfGangs,
}

impl RunningCopy {
    /// Live containers by node, in no order. Reservations and changes under way are not among them.
    pub fn by_node(&self) -> impl Iterator<Item = (NodeSlot, &[LiveContainer])> {
        let nodes = self.of.iter().enumerate();
        nodes.map(|(at, of)| (NodeSlot::at(at), &*of.live))
    }

    /// The names of hosts and racks, by id.
    #[must_use]
    pub fn place_names(&self) -> &[Arc<str>] {
        &self.place_names
    }

    /// How many gangs have all of their minimum.
    ///
    /// Cost: where there are gangs, a look at each container.
    #[must_use]
    pub fn whole_gangs(&self) -> usize {
        let live = self.of.iter().flat_map(|of| &of.live);
        self.gangs.whole(live.map(|live| live.running.id)).count()
    }

    fn copy_node(&mut self, ledger: &Ledger, node: NodeSlot) -> usize {
        let containers = &ledger.containers;
        let changes = Some((containers.changes_on(node), containers.launches_on(node)));
        let of = &mut self.of[node.index()];
        if of.changes == changes {
            return 0;
        }
        of.changes = changes;
        of.live.clear();
        of.live.extend(ledger.running_on(node));
        of.live.len() + 1
    }

    /// Copies names of a row that are new.
    fn copy_names(&mut self, names: &[Arc<str>], row: usize) -> usize {
        let (from, to) = (self.place_names.len(), (row + 1) * NAMES_OF_ROW);
        let new = names.get(from..to.min(names.len())).unwrap_or_default();
        self.place_names.extend_from_slice(new);
        new.len()
    }
}

impl CopiedRows for RunningCopy {
    /// Nodes and names.
    type Room = (usize, usize);

    fn room(ledger: &Ledger) -> Self::Room {
        (ledger.containers.nodes(), ledger.place_names().len())
    }

    fn grow(&mut self, (nodes, names): Self::Room) -> usize {
        self.of.resize_with(nodes, RunningOnNode::default);
        let new = names.saturating_sub(self.place_names.len());
        self.place_names.reserve(new);
        nodes + names.div_ceil(NAMES_OF_ROW)
    }

    fn copy(&mut self, ledger: &Ledger, row: usize) -> usize {
        match row.checked_sub(self.of.len()) {
            None => self.copy_node(ledger, NodeSlot::at(row)),
            Some(row) => self.copy_names(ledger.place_names(), row),
        }
    }

    /// Cost: a look at each gang.
    fn complete(&mut self, ledger: &Ledger) {
        self.gangs = ledger.gangs.all_members();
    }
}

impl Ledger {
    /// Live containers on a node as it would report them to a scheduler that starts anew, in no order. Changes under way
    /// and reservations are not among them.
    pub fn running_on(&self, node: NodeSlot) -> impl Iterator<Item = LiveContainer> + '_ {
        let placed = self.containers.placed_on(node).iter();
        let rows = placed.map(|&slot| (slot, self.container(slot)));
        let live = rows.filter(|(_, of)| of.state != ContainerState::Done && !of.is_auxiliary());
        live.map(|(slot, of)| {
            let changed = self.containers.changed(slot);
            let running = RunningContainer {
                id: of.id,
                size: self.containers.full_size(slot),
                priority: of.key.priority,
                request_id: of.key.request_id,
                created_ms: of.created_ms,
                version: changed.version,
                opportunistic: changed.opportunistic.is_some(),
            };
            LiveContainer {
                app: of.app,
                running,
                launched: of.state == ContainerState::Running,
                borrowed: of.borrowed,
            }
        })
    }
}
