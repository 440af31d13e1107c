//! Queues of nodes take, start and launch opportunistic containers; none ends here.
//!
//! Tests: `tests/commit/opportunistic/placement.rs`, `tests/commit/opportunistic/node_queues.rs`.
// As CentralizedOpportunisticContainerAllocator and ContainerScheduler.

use super::Opportunistic;
use super::load_order::NodeGroup;
use super::node_queue::QueuedContainer;
use super::rooms::{NodeFit, NodeRooms};
use super::waiting_asks::{WaitingAsk, WaitingAsks};
use crate::commit::apps::clock::LedgerClock;
use crate::commit::containers::container::{Container, ContainerState};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::containers::store::Containers;
use crate::commit::containers::updates::ChangedContainer;
use crate::commit::event::{Event, OpportunisticEvent, OpportunisticStep};
use crate::commit::outbox::Outbox;
use crate::id::{AppSlot, NodeSlot, SchedulerKey};
use crate::resource::PackedVector;
use crate::snapshot::State;

/// Budget that a placed container takes besides the looks at nodes, in items.
const PLACED: usize = 3;

/// Where a container goes.
#[derive(Clone, Copy, Debug)]
struct ChosenNode {
    node: NodeSlot,
    /// Whether it starts at once.
    starts: bool,
    /// Position of the place that the ask names; nothing where it names none.
    place: Option<usize>,
}

/// Queues of nodes, and what a container that enters one changes besides.
#[derive(Debug)]
pub(in crate::commit) struct NodeQueues<'a> {
    opportunistic: &'a mut Opportunistic,
    containers: &'a mut Containers,
    state: &'a mut State,
    outbox: &'a mut Outbox,
    clock: &'a mut LedgerClock,
}

impl<'a> NodeQueues<'a> {
    /// Of the parts of a ledger.
    #[inline]
    pub(in crate::commit) fn new(
        opportunistic: &'a mut Opportunistic,
        (containers, state): (&'a mut Containers, &'a mut State),
        (outbox, clock): (&'a mut Outbox, &'a mut LedgerClock),
    ) -> Self {
        Self {
            opportunistic,
            containers,
            state,
            outbox,
            clock,
        }
    }

    /// The same, to be read.
    fn rooms(&self) -> NodeRooms<'_> {
        NodeRooms::new(self.opportunistic, self.containers, self.state)
    }

    /// Places containers that an application still wants, as many as the budget has; whether no more can be placed
    /// now. Keys come in their order, the most important first. Each key that is tried, each look at a node and each
    /// container takes of the budget.
    ///
    /// Cost: for each container, and for each key that gets none, a look at few nodes (`nodes_used`) in each place
    /// that its ask names.
    pub(in crate::commit) fn place_waiting(mut self, app: AppSlot, budget: &mut usize) -> bool {
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
                Some(ask) => self.choose_node(app, ask, budget).map(|node| (node, ask)),
                None => None,
            };
            match chosen {
                Some((chosen, ask)) => {
                    *budget = budget.saturating_sub(PLACED);
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
    fn choose_node(
        &mut self,
        app: AppSlot,
        ask: &WaitingAsk,
        budget: &mut usize,
    ) -> Option<ChosenNode> {
        for (at, wanted) in ask.places.iter().enumerate() {
            let group = NodeGroup::Place(wanted.place);
            if let Some((node, starts)) = self.choose_in(app, ask, group, budget) {
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
        let anywhere = ask.relax.then(|| self.choose_in(app, ask, group, budget));
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
        budget: &mut usize,
    ) -> Option<(NodeSlot, bool)> {
        let most = self.opportunistic.settings?.nodes_used;
        let mut waits = None;
        for node in self.opportunistic.order.least_loaded(group, most) {
            *budget = budget.saturating_sub(1);
            match self.rooms().fit_on(&self.state.apps[app], ask, node) {
                NodeFit::Starts => return Some((node, true)),
                NodeFit::Queues => waits = waits.or(Some((node, false))),
                _ => self.opportunistic.order.note_look(node),
            }
        }
        waits
    }

    /// Takes what an application still wants out, to be put back.
    fn take_waiting_asks(&mut self, app: AppSlot) -> Option<WaitingAsks> {
        let waiting = self.opportunistic.waiting.remove(&app)?;
        let row = &self.state.apps[app];
        (waiting.is_of(row.generation) && !row.stage.is_over()).then_some(waiting)
    }

    /// Puts back what an application still wants.
    fn put_waiting_asks(&mut self, app: AppSlot, waiting: WaitingAsks) {
        if waiting.key_count() > 0 {
            self.opportunistic.waiting.insert(app, waiting);
        }
    }

    /// Places a container on a node that takes it.
    // As SchedulerUtils.createOpportunisticRmContainer.
    fn place_on(&mut self, app: AppSlot, key: SchedulerKey, ask: &WaitingAsk, chosen: ChosenNode) {
        let node = chosen.node;
        let row = &mut self.state.apps[app];
        let number = row.take_number();
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

    /// Starts containers that wait, the earliest first, as long as the next one has room.
    // As ContainerScheduler.startPendingContainers.
    pub(super) fn start_waiting_on(&mut self, node: NodeSlot) {
        while let Some(next) = self.rooms().next_to_start(node) {
            self.opportunistic.take_next(node);
            self.start_on(node, next);
        }
    }

    /// Starts a container on a node, which launches it once its application has it.
    fn start_on(&mut self, node: NodeSlot, container: QueuedContainer) {
        self.opportunistic.add_started(node, container);
        let slot = container.slot;
        self.push_opportunistic(slot, OpportunisticStep::Started);
        if self.containers.get(slot).handed {
            self.launch_next(slot);
        }
    }

    /// The node of a container that its application has launches it next.
    fn launch_next(&mut self, slot: ContainerSlot) {
        let container = self.containers.get(slot);
        let (id, to_stop) = (container.id, container.to_stop);
        self.containers.set_due(slot, true, to_stop);
        self.clock.note_handed_out(id);
    }

    fn push_opportunistic(&mut self, slot: ContainerSlot, step: OpportunisticStep) {
        let container = self.containers.get(slot);
        let event = OpportunisticEvent {
            container: container.id,
            node: self.state.nodes[container.node].name.clone(),
            size: self.containers.full_size(slot),
            priority: container.key.priority,
            request_id: container.key.request_id,
            step,
        };
        self.outbox.push(Event::Opportunistic(event));
    }

    /// A container that runs on a node is opportunistic from now on.
    pub(in crate::commit) fn note_opportunistic(&mut self, slot: ContainerSlot) {
        let node = self.containers.get(slot).node;
        let known = self.opportunistic.queues.contains_key(&node);
        let size = self.containers.changed(slot).opportunistic;
        if let Some(size) = size.filter(|_| known) {
            let container = QueuedContainer { slot, size };
            self.opportunistic.add_started(node, container);
        }
    }

    /// The promotion of a container is asked for.
    pub(in crate::commit) fn note_promoting(&mut self, slot: ContainerSlot) {
        let node = self.containers.get(slot).node;
        if let Some(queue) = self.opportunistic.queues.get_mut(&node) {
            queue.note_promoting(slot);
        }
    }

    /// A container of a node is guaranteed from now on; one that waited starts.
    pub(super) fn leave_for_promotion(&mut self, slot: ContainerSlot, node: NodeSlot) {
        if self.opportunistic.take_off(node, slot) == Some(true) {
            self.launch_next(slot);
        }
    }
}
