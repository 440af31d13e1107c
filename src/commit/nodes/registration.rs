//! Nodes: registration, loss, new totals, new labels, heartbeats.
//!
//! Tests: `tests/inputs/requests.rs`.

use std::sync::Arc;

use super::description::{attributes_of, check_rack};
use super::known_labels::{check_total, known_label, registered};
use super::node_error::NodeError;
use super::overcommit::kill_overcommitted;
use crate::cluster::{AttributeMapping, Attributes, Node, NodeState, map_attributes};
use crate::commit::containers::container::Container;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::commit::registry::Registry;
use crate::commit::tree::capacity::update_cluster;
use crate::commit::tree::visited_queues::VisitedQueues;
use crate::id::{ContainerId, NodeName, NodeSlot, PartitionId};
use crate::queue::{EndCause, NodeReport, NodeSpec};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;
use crate::sync::{Mutant, injected};

/// What a node's heartbeat reported, ascending by application and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeartbeatReply {
    /// Containers launched since the last heartbeat.
    pub launched: Vec<ContainerId>,
    /// Containers stopped on order, whose space is free again.
    pub exited: Vec<ContainerId>,
    /// Containers that the node is to stop.
    pub to_stop: Vec<ContainerId>,
    /// Containers that the report names though the node has none of that id, ascending. It should stop
    /// them: the scheduler does not count them.
    pub unknown: Vec<ContainerId>,
}

impl Ledger {
    /// Registers a node.
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    pub fn add_node(&mut self, spec: &NodeSpec) -> Result<NodeSlot, NodeError> {
        let slot = self.enter_node(spec)?;
        self.outbox.send_labels(&self.state, slot);
        update_cluster(self);
        Ok(slot)
    }

    /// Registers nodes in order and adds their slots to a list. Before the first application capacities follow from
    /// the totals alone, so that one update of the queues serves all of them.
    ///
    /// # Errors
    ///
    /// As [`Self::add_node`] of the first that is refused; those before it are registered then.
    pub fn add_nodes(
        &mut self,
        specs: &[NodeSpec],
        added: &mut Vec<NodeSlot>,
    ) -> Result<(), NodeError> {
        if self.state.apps.iter().next().is_some() {
            for spec in specs {
                added.push(self.add_node(spec)?);
            }
            return Ok(());
        }
        let result = specs.iter().try_for_each(|spec| {
            added.push(self.enter_node(spec)?);
            Ok(())
        });
        update_cluster(self);
        result
    }

    /// Registers a node; capacities do not follow yet.
    fn enter_node(&mut self, spec: &NodeSpec) -> Result<NodeSlot, NodeError> {
        if self.registry.node(&spec.name).is_some() {
            return Err(NodeError::Duplicate(spec.name.clone()));
        }
        let total = self.state.calculator.known(&spec.total);
        check_total(&self.state, &total, &ResourceVector::NONE)?;
        let partition = known_label(&self.registry, &self.state, &spec.partition)?;
        check_rack(&spec.rack)?;
        let mut node = Node {
            attributes: Arc::new(attributes_of(spec)?),
            ..node_of(&mut self.registry, spec, partition, total)
        };
        node.labelled |= self.history.was_labelled(&spec.name);
        let departed = self.history.come_back(&spec.name);
        if let Some(slot) = departed {
            node.tags = std::mem::take(&mut self.state.nodes[slot].tags);
        }
        let slot = if let Some(slot) = departed.or_else(|| self.registry.take_free_node()) {
            node.incarnation = self.state.nodes[slot].incarnation + 1;
            self.state.nodes[slot] = node;
            slot
        } else {
            self.containers.add_node();
            NodeSlot::at(self.state.nodes.push(node))
        };
        self.history.register(slot);
        self.history.offer(slot, total);
        self.history.largest_mut().enter(&total);
        self.registry.add_node(spec.name.clone(), slot);
        self.state.node_count = self.registry.node_count();
        self.state.cluster += total;
        self.state.epoch += 1;
        self.state.partitions[partition].total += total;
        self.state.partitions[partition].enter(slot);
        self.opportunistic.enter_node(&self.state, slot);
        Ok(slot)
    }

    /// Removes a lost node: its containers are killed in ascending order, then its reservation is
    /// dropped.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn remove_node(&mut self, name: &NodeName) -> Result<(), NodeError> {
        let slot = registered(&self.registry, name)?;
        let row = &mut self.state.nodes[slot];
        row.state = NodeState::Lost;
        let (partition, total) = (row.partition, row.total.get());
        self.state.epoch += 1;
        self.state.partitions[partition].total -= total;
        self.outbox.follow_up(FollowUpEvent::Labels(None));
        for container in self.containers.on_node(slot) {
            if injected(Mutant::LostNodeKeepsContainers) {
                break;
            }
            self.end_container(container, EndCause::NodeLost);
            self.free_space(container);
        }
        if let Some(reserved) = self.containers.reserved_on(slot) {
            self.end_container(reserved, EndCause::NodeLost);
        }
        self.outbox.follow_up(FollowUpEvent::Labels(None));
        self.registry.remove_node(name);
        self.state.node_count = self.registry.node_count();
        self.history.largest_mut().leave(&total);
        self.state.partitions[partition].leave(slot);
        self.opportunistic.leave_node(slot);
        if self.state.nodes[slot].labelled {
            self.history.keep_labelled(name.clone());
        }
        if self.state.nodes[slot].tags.is_empty() {
            self.registry.free_node(slot);
        } else {
            self.history.depart(name.clone(), slot);
        }
        self.state.cluster -= total;
        update_cluster(self);
        Ok(())
    }

    /// Changes a node's total; nothing is killed, and its reservation is dropped.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the total is out of range.
    pub fn resize_node(&mut self, name: &NodeName, total: ResourceVector) -> Result<(), NodeError> {
        let slot = registered(&self.registry, name)?;
        let total = self.state.calculator.known(&total);
        check_total(&self.state, &total, &self.state.nodes[slot].total.get())?;
        let before = self.state.nodes[slot].total.get();
        self.history.offer(slot, total);
        self.set_total(slot, total);
        if total != before {
            for container in self.containers.overcommitted(&self.state, slot) {
                self.pause();
                self.ask_back(self.container(container).id);
            }
        }
        Ok(())
    }

    pub(in crate::commit) fn set_total(&mut self, slot: NodeSlot, total: ResourceVector) {
        let row = &mut self.state.nodes[slot];
        if row.total != total {
            let (before, partition) = (row.total.get(), row.partition);
            row.total.set(total);
            row.free.set(total - row.allocated.get());
            row.default_listed |= partition == PartitionId::DEFAULT;
            self.history.largest_mut().enter(&total);
            self.history.largest_mut().leave(&before);
            self.outbox.follow_up(FollowUpEvent::Labels(None));
            self.outbox.send_labels(&self.state, slot);
            self.state.epoch += 1;
            self.state.partitions[partition].total += total - before;
            self.state.cluster += total - before;
        }
        update_cluster(self);
    }

    /// Moves a node to another partition.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the cluster does not know the label.
    pub fn relabel_node(&mut self, name: &NodeName, label: &str) -> Result<(), NodeError> {
        let slot = registered(&self.registry, name)?;
        let partition = known_label(&self.registry, &self.state, label)?;
        let row = &mut self.state.nodes[slot];
        let (before, total) = (row.partition, row.total.get());
        if before == partition && row.labelled {
            return Ok(());
        }
        row.labelled = true;
        self.state.epoch += 1;
        self.state.partitions[before].total -= total;
        self.state.partitions[partition].total += total;
        let incarnation = self.state.nodes[slot].incarnation;
        self.outbox
            .follow_up(FollowUpEvent::Labels(Some((slot, incarnation, partition))));
        Ok(())
    }

    /// Changes the attributes of a node, each as `prefix/name` and value. What runs there stays.
    ///
    /// # Errors
    ///
    /// When the node is not registered or an attribute is malformed; nothing changed then.
    pub fn map_attributes(
        &mut self,
        name: &NodeName,
        mapping: &AttributeMapping,
        attributes: &[(String, String)],
    ) -> Result<(), NodeError> {
        let slot = registered(&self.registry, name)?;
        let mut changed = Attributes::clone(&self.state.nodes[slot].attributes);
        map_attributes(&mut changed, mapping, attributes).map_err(NodeError::Attribute)?;
        if changed != *self.state.nodes[slot].attributes {
            self.state.nodes[slot].attributes = Arc::new(changed);
            self.state.epoch += 1;
        }
        Ok(())
    }

    /// Takes over what a node reports; scheduling is up to the caller.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn node_reported(
        &mut self,
        name: &NodeName,
        report: &NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        let slot = registered(&self.registry, name)?;
        Ok(self.take_report(slot, report))
    }

    /// Takes over what a registered node reports. Nodes with nothing to report, which most are,
    /// cost no look at their containers.
    pub fn take_report(&mut self, slot: NodeSlot, report: &NodeReport) -> HeartbeatReply {
        if *report == NodeReport::AsExpected {
            self.clock.confirm_increases(slot);
        }
        // Most reports. The empty answer is made where it stays: one that is copied waits for the stores that make it.
        if report.names_nothing() && self.containers.is_nothing_due(slot) {
            self.follow_report(slot);
            return HeartbeatReply::default();
        }
        let unknown = self.containers.unknown_in(slot, report);
        let reply = self.take_due_reports(slot, report);
        self.follow_report(slot);
        HeartbeatReply { unknown, ..reply }
    }

    /// What follows each report of a node, whatever it says.
    #[inline(always)]
    fn follow_report(&mut self, slot: NodeSlot) {
        let row = &self.state.nodes[slot];
        let enforced = row.enforced;
        if row.state == NodeState::Decommissioning && row.total != row.allocated {
            let total = row.allocated.get();
            self.outbox
                .follow_up(FollowUpEvent::NodeTotal(slot, row.incarnation, total));
        }
        if enforced {
            kill_overcommitted(&self.containers, &self.state, &mut self.outbox, slot);
        }
        if !self.opportunistic.is_off() {
            self.settle_node_queue(slot);
            self.shorten_node_queue(slot);
        }
    }

    fn take_due_reports(&mut self, slot: NodeSlot, report: &NodeReport) -> HeartbeatReply {
        let (to_launch, to_stop) = self.containers.due(slot);
        let by_id = |due| self.containers.by_id(due);
        let (launched, exited) = match report {
            NodeReport::AsExpected => (by_id(to_launch), by_id(to_stop)),
            NodeReport::Exactly { launched, exited } => (
                self.containers.reported(to_launch, launched),
                self.containers.reported(to_stop, exited),
            ),
        };
        let ids = |ledger: &Self, slots: &[ContainerSlot]| {
            slots
                .iter()
                .map(|&slot| ledger.container(slot).id)
                .collect()
        };
        let mut reply = HeartbeatReply {
            launched: ids(self, &launched),
            exited: ids(self, &exited),
            ..HeartbeatReply::default()
        };
        for container in launched {
            self.pause();
            self.containers.launch(container);
        }
        for container in exited {
            self.pause();
            let to_launch = self.container(container).to_launch;
            self.containers.set_due(container, to_launch, false);
            self.free_space(container);
        }
        let left = self.containers.by_id(self.containers.due(slot).1);
        reply.to_stop = ids(self, &left);
        reply
    }

    /// A live container by id, reservations excluded.
    #[must_use]
    pub fn live_container(&self, id: ContainerId) -> Option<ContainerSlot> {
        self.containers.by_name(&self.registry, id)
    }

    /// Live containers of an application, by number.
    pub fn live_containers(&self, app: crate::id::AppSlot) -> impl Iterator<Item = &Container> {
        let live = self.containers.live_of(app);
        live.map(|slot| self.container(slot))
    }

    /// A node has the partition that the label manager sent, and capacities follow.
    // As CapacityScheduler.updateNodeLabelsAndQueueResource.
    pub(in crate::commit) fn apply_labels(&mut self, node: Option<(NodeSlot, u32, PartitionId)>) {
        if let Some((slot, incarnation, partition)) = node
            && is_registered(&self.state, slot, incarnation)
        {
            let before = self.state.nodes[slot].partition;
            self.move_node(slot, partition);
            if before != partition {
                self.state.partitions[before].leave(slot);
            }
        }
        update_cluster(self);
    }

    /// Moves a node to another partition, whose list it enters. Running containers stay and their charge moves; a
    /// reservation is dropped.
    // As CapacityScheduler.updateLabelsOnNode.
    pub(super) fn move_node(&mut self, slot: NodeSlot, partition: PartitionId) {
        let before = self.state.nodes[slot].partition;
        for container in self.containers.on_node(slot) {
            self.pause();
            let row = self.containers.get(container);
            if self.registry.app(row.id.app) == Some(row.app) {
                self.leaves
                    .move_charge(&mut self.state, row, (before, partition));
            }
        }
        if let Some(reserved) = self.containers.reserved_on(slot) {
            self.end_container(reserved, EndCause::NodeLost);
        }
        self.state.nodes[slot].partition = partition;
        if before != partition {
            self.state.partitions[partition].enter(slot);
            self.opportunistic.regroup_node(&self.state, slot);
        }
    }
}

pub(in crate::commit) fn is_registered(state: &State, node: NodeSlot, incarnation: u32) -> bool {
    let row = &state.nodes[node];
    row.incarnation == incarnation && row.state != NodeState::Lost
}

/// The row of a node that registers in a partition.
fn node_of(
    registry: &mut Registry,
    spec: &NodeSpec,
    partition: PartitionId,
    total: ResourceVector,
) -> Node {
    Node {
        host: registry.intern(spec.name.host()),
        rack: registry.intern(&spec.rack),
        java_hash: spec.name.java_hash(),
        name: spec.name.clone(),
        incarnation: 0,
        partition,
        state: NodeState::Running,
        total: total.into(),
        allocated: PackedVector::default(),
        free: total.into(),
        reserved: None,
        killable: Vec::new(),
        containers: 0,
        labelled: partition != PartitionId::DEFAULT,
        default_listed: partition == PartitionId::DEFAULT,
        attributes: Arc::default(),
        tags: Vec::new(),
        enforced: false,
    }
}
