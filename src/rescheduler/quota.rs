//! The remaining quota by partition, and taking containers against it.

use super::round::Round;
use crate::resource::{Calculator, ResourceVector};

/// Quotas by partition; a partition leaves once its quota is nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Quota(Vec<Option<ResourceVector>>);

impl Quota {
    pub(super) fn of(partitions: usize) -> Self {
        Self(vec![None; partitions])
    }

    pub(super) fn set(&mut self, partition: usize, amount: ResourceVector) {
        self.0[partition] = Some(amount);
    }

    pub(super) fn get(&self, partition: usize) -> Option<ResourceVector> {
        self.0[partition]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

/// Whether a type that the calculator looks at is zero or less.
pub(super) fn any_exhausted(calculator: Calculator, amount: &ResourceVector) -> bool {
    match calculator {
        Calculator::MemoryOnly { .. } => amount.memory() <= 0,
        Calculator::Dominant { types } => amount.values(types).iter().any(|&value| value <= 0),
    }
}

impl Round<'_> {
    /// Selects a container if that reduces the quota and the round's budget has room for it.
    // As CapacitySchedulerPreemptionUtils.tryPreemptContainerAndDeductResToObtain.
    pub(super) fn take(&mut self, quota: &mut Quota, container: usize, conservative: bool) -> bool {
        if self.is_chosen(container) {
            return false;
        }
        let row = &self.view.containers[container];
        let partition = self.view.nodes[self.node_of(container)].partition;
        let Some(amount) = quota.get(partition) else {
            return false;
        };
        let calculator = self.view.calculator;
        let types = calculator.types();
        // A satisfied type must not look as if nothing were wanted of it.
        let amount = ResourceVector::build(|i| match amount[i] {
            0 if i < types => -1,
            value => value,
        });
        quota.set(partition, amount);
        if !calculator.any_above_zero(&amount) || !calculator.fits_in(&row.size, &self.allowed) {
            return false;
        }
        let none = ResourceVector::NONE;
        let left = amount - row.size;
        let helps = if conservative {
            !any_exhausted(calculator, &amount)
        } else {
            self.more(&amount.component_max(&none), &left.component_max(&none))
        };
        if !helps {
            return false;
        }
        quota.0[partition] = self.more(&left, &none).then_some(left);
        self.allowed -= row.size;
        self.choose(container);
        true
    }

    /// Takes off what earlier selectors chose from the quotas of their queues and applications.
    // As CapacitySchedulerPreemptionUtils.deductPreemptableResourcesBasedSelectedCandidates: strictly
    // greater, so that the last container of an exact amount is not taken off.
    pub(super) fn deduct(&mut self) {
        let calculator = self.view.calculator;
        for &(container, _) in &self.chosen {
            let row = &self.view.containers[container];
            let queue = self.view.apps[row.app].queue;
            let partition = self.view.nodes[self.place[container]].partition;
            let total = self.view.partitions[partition];
            let figures = &mut self.figures[queue][partition];
            let records = figures.apps.iter_mut().map(|record| &mut record.quota);
            for quota in std::iter::once(&mut figures.quota).chain(records) {
                if calculator.compare(&total, quota, &row.size).is_gt() {
                    *quota -= row.size;
                }
                *quota = calculator.max(&total, quota, &ResourceVector::NONE);
            }
        }
    }

    /// The quota of a leaf by partition.
    pub(super) fn quota_by_partition(&self, leaf: usize) -> Quota {
        let mut quota = Quota::of(self.view.partitions.len());
        if !self.view.queues[leaf].preemption_disabled {
            for (partition, figures) in self.figures[leaf].iter().enumerate() {
                if self.more(&figures.quota, &ResourceVector::NONE) {
                    quota.set(partition, figures.quota);
                }
            }
        }
        quota
    }

    /// Live containers of an application: least important request first, youngest first.
    // As FifoCandidatesSelector.sortContainers.
    pub(super) fn victims(&self, app: usize) -> Vec<usize> {
        let mut live = self.view.apps[app].live.clone();
        live.sort_by_key(|&container| {
            let row = &self.view.containers[container];
            std::cmp::Reverse((row.key, row.id))
        });
        live
    }
}
