//! The selector for reservations: containers of over-served queues whose end makes reserved ones fit.

use super::quota::Quota;
use super::records::Filling;
use super::round::Round;
use crate::resource::ResourceVector;

/// How one node's reservation is made to fit.
#[derive(Debug)]
struct NodePlan {
    /// Size of the containers, as a ratio to that of the reservation.
    cost: f32,
    containers: Vec<usize>,
}

impl Round<'_> {
    // As ReservedContainerCandidatesSelector.selectCandidates.
    pub(super) fn select_for_reservations(&mut self) {
        self.fill(&Filling {
            include_reserved: true,
            balance: false,
        });
        let mut quotas: Vec<Quota> = (0..self.view.queues.len())
            .map(|queue| self.quota_of(queue))
            .collect();
        let mut plans = Vec::new();
        for node in self.nodes() {
            if let Some(plan) = self.plan_node(node, &mut quotas, false) {
                plans.push((plan.cost, node));
            }
        }
        plans.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, node) in plans {
            if let Some(plan) = self.plan_node(node, &mut quotas, true) {
                for container in plan.containers {
                    self.choose(container);
                }
            }
        }
    }

    fn quota_of(&self, queue: usize) -> Quota {
        if self.view.queues[queue].leaf.is_some() {
            self.quota_by_partition(queue)
        } else {
            Quota::of(self.view.partitions.len())
        }
    }

    /// The containers to end on a node so that its reservation fits; nothing when it fits already
    /// or cannot. `real`: what they take is deducted; a failure restores the quotas of queues, but
    /// not the round's budget.
    fn plan_node(&mut self, node: usize, quotas: &mut [Quota], real: bool) -> Option<NodePlan> {
        let (view, calculator) = (self.view, self.view.calculator);
        let wanted = view.containers[self.reserved_on[node]?].size;
        let row = &view.nodes[node];
        let mut free = row.total - row.allocated + row.killable;
        if calculator.fits_in(&wanted, &free) {
            return None;
        }
        let mut cost = ResourceVector::NONE;
        let mut containers = Vec::new();
        let mut running = row.running.clone();
        running.sort_by_key(|&container| std::cmp::Reverse(view.containers[container].id));
        for container in running {
            let victim = &view.containers[container];
            let quota = &mut quotas[view.apps[victim.app].queue];
            let fits = |most: &ResourceVector| calculator.fits_in(&victim.size, most);
            let mine = quota.get(row.partition).filter(fits);
            let Some(mine) = mine.filter(|_| !victim.killable && !victim.master) else {
                continue;
            };
            if !fits(&self.allowed) {
                continue;
            }
            if real {
                quota.set(row.partition, mine - victim.size);
                self.allowed -= victim.size;
            }
            if !self.is_chosen(container) {
                containers.push(container);
                cost += victim.size;
            }
            free += victim.size;
            if calculator.fits_in(&wanted, &free) {
                let cost = calculator.ratio(&cost, &wanted);
                return Some(NodePlan { cost, containers });
            }
        }
        if real {
            for container in containers {
                let victim = &view.containers[container];
                let quota = &mut quotas[view.apps[victim.app].queue];
                if let Some(mine) = quota.get(row.partition) {
                    quota.set(row.partition, mine + victim.size);
                }
            }
        }
        None
    }
}
