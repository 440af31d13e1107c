//! Placing opportunistic containers: which node takes one, and its record.
//!
//! Tests: `tests/commit/opportunistic/placement.rs`.
// As CentralizedOpportunisticContainerAllocator.

use super::load_order::NodeGroup;
use super::node_queue::QueuedContainer;
use super::waiting_asks::WaitingAsk;
use crate::commit::containers::container::{Container, ContainerState};
use crate::commit::containers::updates::ChangedContainer;
use crate::commit::event::OpportunisticStep;
use crate::commit::ledger::Ledger;
use crate::commit::proposals::sink::next_number;
use crate::id::{AppSlot, NodeSlot, SchedulerKey};
use crate::queue::App;
use crate::resource::{PackedVector, ResourceVector};

/// What a node does with a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeFit {
    /// The application excludes it.
    Excluded,
    /// It takes no containers, or none of the partition.
    Closed,
    /// It is smaller than the container.
    TooSmall,
    /// It has neither room nor a place in its queue.
    Full,
    /// It has it wait.
    Queues,
    /// It starts it at once.
    Starts,
}

/// Where a container goes.
#[derive(Clone, Copy, Debug)]
struct ChosenNode {
    node: NodeSlot,
    /// Whether it starts at once.
    starts: bool,
    /// Position of the place that the ask names; nothing where it names none.
    place: Option<usize>,
}

impl Ledger {
    /// Places containers that an application still wants, as many as the budget has; whether no more can be placed
    /// now. Keys come in their order, the most important first.
    ///
    /// Cost: for each container, and for each key that gets none, a look at few nodes (`nodes_used`) in each place
    /// that its ask names.
    pub fn place_opportunistic(&mut self, app: AppSlot, budget: &mut usize) -> bool {
        let Some(mut waiting) = self.take_waiting_asks(app) else {
            return true;
        };
        let done = loop {
            if *budget == 0 {
                break false;
            }
            let Some(key) = waiting.next_key() else {
                break true;
            };
            *budget -= 1;
            let chosen = match waiting.get(key) {
                Some(ask) => self.choose_node(app, ask).map(|chosen| (chosen, ask)),
                None => None,
            };
            match chosen {
                Some((chosen, ask)) => {
                    self.place_on(app, key, ask, chosen);
                    waiting.note_placed(key, chosen.place);
                }
                None => waiting.pass(key),
            }
        };
        self.put_waiting_asks(app, waiting);
        done
    }

    /// The node for the next container of an ask: one of its hosts, else of its racks, else any other.
    fn choose_node(&mut self, app: AppSlot, ask: &WaitingAsk) -> Option<ChosenNode> {
        for (at, wanted) in ask.places.iter().enumerate() {
            let group = NodeGroup::Place(wanted.place);
            if let Some((node, starts)) = self.choose_in(app, ask, group) {
                let place = Some(at);
                return Some(ChosenNode {
                    node,
                    starts,
                    place,
                });
            }
        }
        // Differs: the reference places anywhere even where the ask does not allow it.
        let group = NodeGroup::Partition(ask.partition);
        let anywhere = ask.relax.then(|| self.choose_in(app, ask, group));
        let (node, starts) = anywhere.flatten()?;
        Some(ChosenNode {
            node,
            starts,
            place: None,
        })
    }

    /// The node of a group: of the least loaded ones the first that starts the container at once, else the first that
    /// has it wait. Whether it starts. Nodes that refuse it are looked at later next time.
    fn choose_in(
        &mut self,
        app: AppSlot,
        ask: &WaitingAsk,
        group: NodeGroup,
    ) -> Option<(NodeSlot, bool)> {
        let most = self.opportunistic.settings?.nodes_used;
        let mut waits = None;
        for node in self.opportunistic.order.least_loaded(group, most) {
            match self.fit_on(&self.state.apps[app], ask, node) {
                NodeFit::Starts => return Some((node, true)),
                NodeFit::Queues => waits = waits.or(Some((node, false))),
                _ => self.opportunistic.order.note_look(node),
            }
        }
        waits
    }

    /// What a node does with a container of an ask.
    // As ClusterNode.compareAndIncrementAllocation.
    pub(super) fn fit_on(&self, app: &App, ask: &WaitingAsk, node: NodeSlot) -> NodeFit {
        let row = &self.state.nodes[node];
        let (Some(settings), Some(queue)) = (
            self.opportunistic.settings,
            self.opportunistic.queues.get(&node),
        ) else {
            return NodeFit::Closed;
        };
        let excluded = app.blacklist.contains(&row.host) || app.blacklist.contains(&row.rack);
        let open = row.takes_containers() && row.partition == ask.partition;
        if excluded {
            NodeFit::Excluded
        } else if !open {
            NodeFit::Closed
        } else if !self.fits_beside(&ask.size, &row.total.get()) {
            NodeFit::TooSmall
        } else if queue.length() == 0 && self.has_room_beside(&ask.size, node) {
            NodeFit::Starts
        } else if queue.length() < settings.queue_capacity {
            NodeFit::Queues
        } else {
            NodeFit::Full
        }
    }

    /// Whether a container fits in a room of a node.
    pub(super) fn fits_beside(&self, size: &ResourceVector, room: &ResourceVector) -> bool {
        self.state.calculator.fits_in(size, room) && self.state.has_cores(size, room)
    }

    /// Places a container on a node that takes it.
    // As SchedulerUtils.createOpportunisticRmContainer.
    fn place_on(&mut self, app: AppSlot, key: SchedulerKey, ask: &WaitingAsk, chosen: ChosenNode) {
        let node = chosen.node;
        let row = &mut self.state.apps[app];
        let number = next_number(row);
        let (id, stamp) = (row.container(number), self.containers.next_stamp());
        let stamps = (stamp, self.clock.now_ms());
        let container = Container {
            state: ContainerState::Allocated,
            on_node: true,
            requested_partition: ask.partition,
            ..Container::waiting(id, (app, key), (node, PackedVector::default()), stamps)
        };
        let slot = self.containers.store(|| container);
        let changed = ChangedContainer {
            version: 0,
            opportunistic: Some(ask.size),
        };
        self.containers.set_changed(slot, changed);
        self.containers.list_placed(slot, app, number, node);
        self.state.nodes[node].containers += 1;
        self.opportunistic.order.note_look(node);
        let container = QueuedContainer {
            slot,
            size: ask.size,
        };
        if chosen.starts {
            self.start_on(node, container);
        } else {
            self.opportunistic.enqueue(node, container);
            self.push_opportunistic(slot, OpportunisticStep::Queued);
        }
    }
}
