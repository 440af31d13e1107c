//! The selector for queues of higher priority: their reservations get room on their nodes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::order;
use super::round::Round;
use super::settings::QueuePrioritySettings;
use super::view::RoundQueue;
use crate::id::java_order;
use crate::resource::ResourceVector;

impl Round<'_> {
    /// Neither protected queues nor guarantees are respected here, as in the reference.
    // As QueuePriorityContainerCandidateSelector.selectCandidates.
    pub(super) fn select_for_priority(&mut self, settings: &QueuePrioritySettings) {
        let view = self.view;
        let nodes = self.nodes();
        let dominating = self.dominating();
        let leaf_of = |container: usize| view.apps[view.containers[container].app].queue;
        let mut waiting: Vec<_> = nodes
            .iter()
            .filter_map(|&node| self.reserved_on[node])
            .filter(|&held| dominating[leaf_of(held)])
            .collect();
        order::sort_by(&mut waiting, |&a, &b| self.by_age(a, b));
        let mut touched = BTreeSet::new();
        let mut marked: BTreeMap<(usize, usize), ResourceVector> = BTreeMap::new();
        for held in waiting {
            let row = &view.containers[held];
            let age = self.now_ms.saturating_sub(row.created_ms);
            let (leaf, node) = (leaf_of(held), self.node_of(held));
            let partition = view.nodes[node].partition;
            let for_leaf = marked.entry((leaf, partition)).or_default();
            if age < settings.reserved_container_delay_ms
                || self.is_satisfied(leaf, partition, for_leaf)
            {
                continue;
            }
            if let Some(found) = self.enough(held, node, false, &touched) {
                touched.insert(node);
                *for_leaf += row.size;
                for container in found {
                    self.choose(container);
                    self.allowed -= view.containers[container].size;
                }
            } else if settings.may_move_reservations && row.may_move {
                self.try_moves(held, &nodes, &mut touched);
            }
        }
    }

    /// Moves a reservation to nodes where it would fit; the walk goes on after a move, so that it
    /// may move again.
    fn try_moves(&mut self, held: usize, nodes: &[usize], touched: &mut BTreeSet<usize>) {
        for &target in nodes {
            let source = self.node_of(held);
            let partition = |node: usize| self.view.nodes[node].partition;
            if partition(source) == partition(target)
                && self.enough(held, target, true, touched).is_some()
            {
                self.reserved_on[source] = None;
                self.reserved_on[target] = Some(held);
                self.place[held] = target;
                self.moves.push((held, target));
                touched.insert(target);
            }
        }
    }

    /// Whether a leaf has its guarantee, counting what was marked on its behalf.
    fn is_satisfied(&self, leaf: usize, partition: usize, marked: &ResourceVector) -> bool {
        let part = &self.view.queues[leaf].parts[partition];
        let have = part.used - part.reserved + *marked;
        !self.more(&part.guaranteed, &have)
    }

    /// The containers to take on a node so that a reservation fits; nothing when it cannot.
    fn enough(
        &self,
        held: usize,
        node: usize,
        moving: bool,
        touched: &BTreeSet<usize>,
    ) -> Option<Vec<usize>> {
        if touched.contains(&node) || (moving && self.reserved_on[node].is_some()) {
            return None;
        }
        let (view, none) = (self.view, ResourceVector::NONE);
        let (row, demander) = (&view.nodes[node], &view.containers[held]);
        let leaf = view.apps[demander.app].queue;
        let mut lacking = demander.size - (row.total - row.allocated);
        let mut running = row.running.clone();
        java_order::sort(&mut running, 0, |&container| {
            let id = view.containers[container].id;
            java_order::container_hash(id)
        });
        order::sort_by(&mut running, |&a, &b| self.by_age(a, b));
        for &container in running.iter().filter(|&&c| self.is_chosen(c)) {
            lacking -= view.containers[container].size;
        }
        let mut found = Vec::new();
        if view.calculator.fits_in(&lacking, &none) {
            return Some(found);
        }
        let mut allowed = self.allowed;
        for container in running {
            let victim = &view.containers[container];
            let other = view.apps[victim.app].queue;
            if self.is_chosen(container) || victim.master || !self.dominates(leaf, other) {
                continue;
            }
            if !self.more(&victim.size, &allowed) {
                allowed -= victim.size;
                lacking -= victim.size;
                found.push(container);
            }
            if view.calculator.fits_in(&lacking, &none) {
                return Some(found);
            }
        }
        None
    }

    /// Containers of a dominating queue first, then the oldest first; not transitive.
    fn by_age(&self, a: usize, b: usize) -> Ordering {
        let view = self.view;
        let (x, y) = (&view.containers[a], &view.containers[b]);
        let (first, second) = (view.apps[x.app].queue, view.apps[y.app].queue);
        if self.dominates(first, second) {
            Ordering::Less
        } else if self.dominates(second, first) {
            Ordering::Greater
        } else {
            x.stamp.cmp(&y.stamp)
        }
    }

    /// Leaves that dominate some other one.
    fn dominating(&self) -> Vec<bool> {
        let mut known = vec![false; self.view.queues.len()];
        let unlike = |parent: &RoundQueue| {
            let mut children = parent
                .children
                .iter()
                .map(|&child| &self.view.queues[child]);
            let first = children.next().map(|child| child.priority);
            children.any(|child| Some(child.priority) != first)
        };
        // Without different priorities under one parent there is nothing to look for.
        if self.view.queues.iter().any(unlike) {
            for &leaf in &self.leaves {
                known[leaf] = self.leaves.iter().any(|&other| self.dominates(leaf, other));
            }
        }
        known
    }

    /// Whether of the two ancestors just below the lowest common one the first has the higher
    /// priority.
    fn dominates(&self, a: usize, b: usize) -> bool {
        let queues = &self.view.queues;
        let up = |queue: usize| queues[queue].parent;
        let depth = |leaf: usize| std::iter::successors(up(leaf), |&queue| up(queue)).count();
        let lift = |queue: usize, by: usize| (0..by).try_fold(queue, |queue, _| up(queue));
        let (of_a, of_b) = (depth(a), depth(b));
        let least = of_a.min(of_b);
        let (mut x, mut y) = (lift(a, of_a - least), lift(b, of_b - least));
        while let (Some(first), Some(second)) = (x, y) {
            if first == second {
                return false;
            }
            if up(first) == up(second) {
                return queues[first].priority > queues[second].priority;
            }
            (x, y) = (up(first), up(second));
        }
        false
    }
}
