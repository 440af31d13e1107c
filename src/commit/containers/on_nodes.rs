//! Containers on nodes: those that a node reports, those to kill, those that are free to be killed.
//!
//! Tests: `tests/preemption/rounds.rs`.

use std::collections::BTreeSet;

use super::container::ContainerState;
use super::slot::ContainerSlot;
use super::store::Containers;
use crate::cluster::Killable;
use crate::id::{AppSlot, ContainerId, NodeSlot, Set};
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Containers {
    /// Containers whose space on a node is taken, by application and number.
    pub(in crate::commit) fn on_node(&self, node: NodeSlot) -> Vec<ContainerSlot> {
        self.by_id(self.placed_on(node))
    }

    /// Those of some containers that a node reports, by id.
    pub(in crate::commit) fn reported(
        &self,
        due: &[ContainerSlot],
        said: &[ContainerId],
    ) -> Vec<ContainerSlot> {
        if said.is_empty() {
            return Vec::new();
        }
        let said: Set<_> = said.iter().copied().collect();
        let mut reported = self.by_id(due);
        reported.retain(|&slot| said.contains(&self.get(slot).id));
        reported
    }

    /// Containers whose end makes room for the others, where the total of their node is enforced.
    #[inline]
    pub(in crate::commit) fn overcommitted(
        &self,
        state: &State,
        slot: NodeSlot,
    ) -> Vec<ContainerSlot> {
        if state.nodes[slot].enforced {
            self.beyond_total(state, slot)
        } else {
            Vec::new()
        }
    }

    /// The newest first, masters last.
    // As AbstractYarnScheduler.signalContainersIfOvercommitted, SchedulerNode.getContainersToKill.
    fn beyond_total(&self, state: &State, slot: NodeSlot) -> Vec<ContainerSlot> {
        let row = &state.nodes[slot];
        let calculator = state.calculator;
        let enough = |free: &ResourceVector| calculator.fits_in(&ResourceVector::NONE, free);
        let mut free = row.free.get();
        if enough(&free) {
            return Vec::new();
        }
        let mut held = self.on_node(slot);
        held.sort_by_key(|&container| {
            let container = self.get(container);
            (container.master, std::cmp::Reverse(container.stamp))
        });
        let mut chosen = Vec::new();
        for container in held {
            chosen.push(container);
            free += self.get(container).size.get();
            if enough(&free) {
                break;
            }
        }
        chosen
    }

    /// Marks a container that takes space on its node as free to be killed for others.
    // As FiCaSchedulerNode.markContainerToKillable.
    pub(in crate::commit) fn make_killable(
        &self,
        state: &mut State,
        node: NodeSlot,
        id: ContainerId,
    ) {
        let mut on_node = self.placed_on(node).iter();
        let found = on_node.find(|&&slot| self.get(slot).id == id);
        let Some(&slot) = found else { return };
        let container = self.get(slot);
        let killable = Killable {
            container: container.id,
            app: container.app,
            leaf: state.apps[container.app].leaf,
            size: container.size.get(),
            ended: container.state == ContainerState::Done,
        };
        let known = &mut state.nodes[node].killable;
        if known
            .iter()
            .all(|other| other.container != killable.container)
        {
            known.push(killable);
        }
    }

    /// Killable containers of an application count for the leaf that it moved to, on nodes with a live one.
    ///
    /// Cost: a look at each of its containers or at each node, whichever are fewer, and at the containers of nodes that
    /// have a killable one.
    pub(in crate::commit) fn move_killable(&self, state: &mut State, app: AppSlot) {
        let marked = |killable: &Killable| killable.app == app;
        let has_marked = |&node: &NodeSlot| state.nodes[node].killable.iter().any(marked);
        let nodes: BTreeSet<_> = if self.live_lists().of(app).places() < state.nodes.len() {
            let nodes = self.live_of(app).map(|slot| self.get(slot).node);
            nodes.filter(has_marked).collect()
        } else {
            let nodes = (0..state.nodes.len()).map(NodeSlot::at);
            let nodes = nodes.filter(has_marked);
            nodes.filter(|&node| self.has_live(node, app)).collect()
        };
        let leaf = state.apps[app].leaf;
        for node in nodes {
            let killable = state.nodes[node].killable.iter_mut();
            for killable in killable.filter(|killable| marked(killable)) {
                killable.leaf = leaf;
            }
        }
    }

    /// Whether a node has a live container of an application.
    fn has_live(&self, node: NodeSlot, app: AppSlot) -> bool {
        self.placed_on(node).iter().any(|&slot| {
            let container = self.get(slot);
            container.app == app && self.live(app, container.id.number) == Some(slot)
        })
    }
}
