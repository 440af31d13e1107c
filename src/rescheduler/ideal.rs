//! Ideal shares: water filling over the queue tree, partition by partition.

use super::hungry::{Hungry, Need};
use super::records::Filling;
use super::round::Round;
use crate::resource::{Calculator, MAX_TYPES, ResourceVector, share};

/// The children that still want something at one level.
struct Level<'a> {
    parent: usize,
    partition: usize,
    total: ResourceVector,
    filling: &'a Filling,
}

impl Round<'_> {
    /// What is not to be touched of what a queue uses above its guarantee, children first.
    // As AbstractPreemptableResourceCalculator.updatePreemptableExtras.
    pub(super) fn set_extras(&mut self, partition: usize) {
        let calculator = self.view.calculator;
        let total = self.view.partitions[partition];
        let none = ResourceVector::NONE;
        for queue in (0..self.view.queues.len()).rev() {
            let row = &self.view.queues[queue];
            let part = &row.parts[partition];
            let mut extra = part.used - part.guaranteed;
            if calculator.compare(&total, &none, &extra).is_gt() {
                extra = none;
            }
            let (untouchable, preemptable) = if row.leaf.is_some() {
                if row.preemption_disabled {
                    (extra, none)
                } else {
                    (none, extra)
                }
            } else {
                let below = row.children.iter().fold(none, |sum, &child| {
                    sum + self.figures[child][partition].preemptable
                });
                let rest = if calculator.compare(&total, &below, &extra).is_lt() {
                    extra - below
                } else {
                    none
                };
                (rest, calculator.min(&total, &below, &extra))
            };
            let figures = &mut self.figures[queue][partition];
            figures.untouchable = untouchable;
            figures.preemptable = preemptable;
        }
    }

    /// Computes the ideal share of every queue, and the quota of every leaf.
    // As PreemptableResourceCalculator.computeIdealAllocation.
    pub(super) fn fill(&mut self, filling: &Filling) {
        for partition in 0..self.view.partitions.len() {
            let root = self.view.queues[0].parts[partition].guaranteed;
            self.figures[0][partition].ideal = root;
            for queue in 0..self.view.queues.len() {
                self.distribute(queue, partition, filling);
            }
        }
        self.set_quotas(filling.include_reserved);
    }

    /// Shares a parent's ideal among its children.
    fn distribute(&mut self, parent: usize, partition: usize, filling: &Filling) {
        let view = self.view;
        let children = &view.queues[parent].children;
        if children.is_empty() {
            return;
        }
        let calculator = view.calculator;
        let total = self.figures[parent][partition].ideal;
        let level = Level {
            parent,
            partition,
            total,
            filling,
        };
        let guaranteed = |&child: &usize| {
            calculator.above_none(&total, &view.queues[child].parts[partition].guaranteed)
        };
        let (some, rest): (Vec<_>, Vec<_>) = children.iter().copied().partition(guaranteed);
        let left = self.fixpoint(&level, &some, total, false);
        if !rest.is_empty() && calculator.above_none(&total, &left) {
            self.fixpoint(&level, &rest, left, true);
        }
        self.set_to_preempt(&level);
    }

    /// What each child is to give back, scaled down to the round's budget.
    // As TempQueuePerPartition.assignPreemption.
    fn set_to_preempt(&mut self, level: &Level<'_>) {
        let (view, partition, total) = (self.view, level.partition, &level.total);
        let (calculator, none) = (view.calculator, ResourceVector::NONE);
        let children = &view.queues[level.parent].children;
        let mut need = none;
        for &child in children {
            let used = view.queues[child].parts[partition].used;
            let ideal = self.figures[child][partition].ideal;
            if calculator.compare(total, &used, &ideal).is_gt() {
                need += used - ideal;
            }
        }
        let mut scale = 1.0;
        if calculator.compare(total, &need, &self.allowed).is_gt() {
            scale = calculator.divide(total, &self.allowed, &need);
        }
        for &child in children {
            let part = &view.queues[child].parts[partition];
            let figures = &mut self.figures[child][partition];
            let used = part.used - part.killable;
            let wanted = calculator.min(total, &(used + part.pending), &part.guaranteed);
            let keep = calculator.max(total, &wanted, &figures.ideal);
            figures.to_preempt = if calculator.compare(total, &used, &keep).is_gt() {
                share::times(&(used - keep), f64::from(scale))
            } else {
                none
            };
        }
    }

    /// Gives to the most underserved queues until nothing is left or nobody takes any more.
    /// Returns what the caller believes to be left: the reference's caller sees the first grant
    /// of the call only.
    // As AbstractPreemptableResourceCalculator.computeFixpointAllocation.
    fn fixpoint(
        &mut self,
        level: &Level<'_>,
        queues: &[usize],
        mut left: ResourceVector,
        ignore_guarantee: bool,
    ) -> ResourceVector {
        let (view, partition, total) = (self.view, level.partition, &level.total);
        let (calculator, none) = (view.calculator, ResourceVector::NONE);
        let mut hungry = Hungry::new(view, partition);
        for &queue in queues {
            let part = &view.queues[queue].parts[partition];
            let figures = &mut self.figures[queue][partition];
            figures.ideal = if calculator
                .compare(total, &part.used, &part.guaranteed)
                .is_gt()
            {
                part.guaranteed.component_min(&part.used) + figures.untouchable
            } else {
                part.used
            };
            left -= figures.ideal;
            let wanted = part.used + part.pending;
            if calculator.compare(total, &wanted, &figures.ideal).is_gt() {
                hungry.add(queue);
            }
        }
        let mut believed_left = left;
        let mut granted = false;
        while !hungry.is_empty() && calculator.above_none(total, &left) {
            let served = self.most_underserved(&mut hungry, level, ignore_guarantee);
            let offered = left;
            for queue in served {
                if !calculator.any_above_zero(&left) {
                    break;
                }
                let share = self.figures[queue][partition].share;
                let offer = times_by_type(calculator, &offered, &share).component_min(&left);
                let taken = self.offer(queue, &offer, level);
                if calculator.above_none(total, &taken) {
                    hungry.add(queue);
                }
                left -= taken;
                if !granted {
                    (believed_left, granted) = (left, true);
                }
                left = left.component_max(&none);
            }
        }
        hungry.sort(|queue| self.need(queue, level));
        for queue in hungry.into_sorted() {
            self.note_underserved(queue, partition);
        }
        believed_left
    }

    /// Takes out the queues that are equally far from their guarantees and most underserved, and
    /// sets the parts of what is left that they are offered.
    fn most_underserved(
        &mut self,
        hungry: &mut Hungry<'_>,
        level: &Level<'_>,
        ignore_guarantee: bool,
    ) -> Vec<usize> {
        let (view, partition) = (self.view, level.partition);
        let types = view.calculator.types();
        let offers = hungry.offers(ignore_guarantee);
        hungry.sort(|queue| self.need(queue, level));
        let (mut served, mut first) = (Vec::new(), None);
        while let Some(next) = hungry.first() {
            self.note_underserved(next.queue(), partition);
            let Some(need) = hungry.take_like(first.as_ref()) else {
                break;
            };
            let queue = need.queue();
            self.figures[queue][partition].share = offers.of(&view.queues[queue], partition, types);
            served.push(queue);
            first = first.or(Some(need));
        }
        served
    }

    fn note_underserved(&mut self, queue: usize, partition: usize) {
        let known = &mut self.figures[queue][partition].underserved;
        if !*known {
            *known = true;
            self.underserved[partition].push(queue);
        }
    }

    fn need(&self, queue: usize, level: &Level<'_>) -> Need {
        let calculator = self.view.calculator;
        let row = &self.view.queues[queue];
        let guaranteed = &row.parts[level.partition].guaranteed;
        let part = if calculator.above_none(&level.total, guaranteed) {
            let ideal = &self.figures[queue][level.partition].ideal;
            calculator.divide(&level.total, ideal, guaranteed)
        } else {
            share::to_f32(i64::from(i32::MAX))
        };
        Need::new(queue, row.priority, part)
    }

    /// Offers a queue something; returns what it takes.
    // As TempQueuePerPartition.offer.
    fn offer(
        &mut self,
        queue: usize,
        available: &ResourceVector,
        level: &Level<'_>,
    ) -> ResourceVector {
        let (view, total, none) = (self.view, &level.total, ResourceVector::NONE);
        let calculator = view.calculator;
        let row = &view.queues[queue];
        let part = &row.parts[level.partition];
        let figures = &mut self.figures[queue][level.partition];
        let ideal = figures.ideal;
        let room = (part.maximum - ideal).component_max(&none);
        let pending = if level.filling.include_reserved {
            part.pending
        } else {
            part.pending_without_reserved
        };
        let wanted = part.used + pending - ideal;
        let mut take = room.component_min(&calculator.min(total, available, &wanted));
        if !level.filling.balance && row.leaf.is_some() {
            let most = calculator.max(total, &part.used, &part.guaranteed);
            let cap = calculator.max(total, &(most - ideal), &none);
            take = calculator.min(total, &take, &cap);
        }
        let take = take.component_max(&none).component_min(available);
        figures.ideal += take;
        take
    }

    /// The quota of each leaf in this round: outside of the dead zone, and no more than the natural
    /// termination factor says.
    // As AbstractPreemptableResourceCalculator.calculateResToObtainByPartitionForLeafQueues.
    fn set_quotas(&mut self, include_reserved: bool) {
        let view = self.view;
        let ignored = share::one_and(self.settings.max_ignored_over_capacity);
        let factor = self.settings.natural_termination_factor;
        let one = ResourceVector::splat(1, view.calculator.types());
        for &leaf in &self.leaves {
            if view.queues[leaf].preemption_disabled {
                continue;
            }
            for (partition, figures) in self.figures[leaf].iter_mut().enumerate() {
                let part = &view.queues[leaf].parts[partition];
                figures.quota = ResourceVector::NONE;
                let most = share::times(&part.guaranteed, ignored);
                let compare = |a, b| view.calculator.compare(&view.cluster, a, b);
                if compare(&part.used, &most).is_le() {
                    continue;
                }
                let quota = figures.to_preempt;
                figures.quota = quota;
                if !include_reserved && compare(&quota, &ResourceVector::NONE).is_gt() {
                    figures.quota = view.calculator.times_up(&quota, factor, &one);
                }
            }
        }
    }
}

/// A product with one factor per type, rounded up as the calculator does.
// As ResourceCalculator.multiplyAndNormalizeUp with an array of factors.
fn times_by_type(
    calculator: Calculator,
    amount: &ResourceVector,
    by: &[f64; MAX_TYPES],
) -> ResourceVector {
    match calculator {
        Calculator::MemoryOnly { types } => {
            calculator.times_up(amount, by[0], &ResourceVector::splat(1, types))
        }
        Calculator::Dominant { types } => ResourceVector::build(|i| {
            if i < types {
                share::ceil_times(amount[i], by[i])
            } else {
                0
            }
        }),
    }
}
