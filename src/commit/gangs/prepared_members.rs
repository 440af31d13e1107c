//! Where the members of a gang go, their containers and their events, worked out in parts before the gang is asked for.
//!
//! It holds while the sites that the gang was planned on are the same, and the application has placed nothing since. What
//! does not hold is worked out anew, in one piece.
//!
//! Tests: `tests/runtime/gang_turns.rs`.

use super::plan::members;
use super::sites::{GangSites, GroupRoom};
use super::waiting::WaitingGang;
use crate::commit::event::Event;
use crate::id::{ContainerId, NodeSlot, QueuePath, SchedulerKey};
use crate::policy::Locality;
use crate::snapshot::State;

/// What is worked out ahead of the members of a gang.
#[derive(Clone, Debug)]
pub(super) struct PreparedMembers {
    /// The changes of the sites when they were planned.
    changes: u64,
    /// The container of the first member.
    first: ContainerId,
    key: SchedulerKey,
    /// The leaf.
    queue: QueuePath,
    /// The node of each; members of one node come together.
    nodes: Vec<NodeSlot>,
    /// Those of the first members, in order.
    written: WrittenMembers,
}

/// The containers of members and their events, in the same order.
#[derive(Clone, Debug)]
pub(super) struct WrittenMembers {
    pub(super) containers: Vec<ContainerId>,
    pub(super) events: Vec<Event>,
}

impl PreparedMembers {
    /// Plans members on a group of sites that is enough.
    pub(super) fn plan(
        state: &State,
        gang: &WaitingGang,
        sites: &GangSites,
        room: GroupRoom,
    ) -> Self {
        let row = &state.apps[gang.slot];
        let nodes = members(sites, room, gang.minimum);
        Self {
            changes: sites.changes(),
            first: row.container(row.next_container),
            key: gang.key,
            queue: state.queues[row.leaf].settings.path.clone(),
            written: WrittenMembers {
                containers: Vec::with_capacity(nodes.len()),
                // That of the gang comes behind them.
                events: Vec::with_capacity(nodes.len() + 1),
            },
            nodes,
        }
    }

    /// Goes on with members, as many as the budget has.
    pub(super) fn go_on(&mut self, state: &State, gang: &WaitingGang, budget: &mut usize) {
        let WrittenMembers { containers, events } = &mut self.written;
        let left = &self.nodes[events.len()..];
        let part = &left[..left.len().min(*budget)];
        let behind = (self.first.number..).skip(events.len());
        for (&node, number) in part.iter().zip(behind) {
            let id = ContainerId {
                number,
                ..self.first
            };
            containers.push(id);
            events.push(event(state, gang, (id, node), &self.queue));
        }
        *budget -= part.len();
    }

    /// Whether all is worked out.
    pub(super) fn are_whole(&self) -> bool {
        self.written.events.len() == self.nodes.len()
    }

    /// Whether they would be worked out alike now, by the sites as they are.
    pub(super) fn hold(&self, state: &State, gang: &WaitingGang, sites: &GangSites) -> bool {
        let row = &state.apps[gang.slot];
        self.are_whole()
            && self.key == gang.key
            && self.nodes.len() == gang.minimum as usize
            && self.changes == sites.changes()
            && self.first == row.container(row.next_container)
            && self.queue == state.queues[row.leaf].settings.path
    }

    /// The nodes, and what is written of their members.
    pub(super) fn into_parts(self) -> (Vec<NodeSlot>, WrittenMembers) {
        (self.nodes, self.written)
    }
}

/// The event of a member on its node.
pub(super) fn event(
    state: &State,
    gang: &WaitingGang,
    (id, node): (ContainerId, NodeSlot),
    queue: &QueuePath,
) -> Event {
    let place = (state.nodes[node].name.clone(), queue.clone());
    let asked = (gang.key, Some(Locality::Any), gang.partition);
    Event::allocated_anywhere(id, place, gang.size, asked)
}
