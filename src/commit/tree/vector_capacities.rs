//! Capacities outside legacy mode: each resource type is shared out on its own, absolute amounts
//! first, then percentages of what they left, then weights of the rest. All in `f64`.
//!
//! Tests: the recordings of `tests/parity`, which `cli/tests/parity.rs` plays on the engine.
#![expect(
    clippy::float_arithmetic,
    clippy::float_cmp,
    reason = "the driver of the reference computes in doubles, with exact tests for 0 and 1"
)]

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::commit::tree::fractions::{derive_fractions, update_absolute};
use crate::commit::tree::visited_queues::VisitedQueues;
use crate::id::{PartitionId, QueueSlot};
use crate::queue::{QueueKind, VectorEntry};
use crate::resource::{MEMORY, ResourceUnit, ResourceVector, share};
use crate::snapshot::State;

/// What is shared out among the children of one parent on one partition.
struct Pot {
    cluster: ResourceVector,
    guaranteed: ResourceVector,
    limit: ResourceVector,
    /// Whether amounts are not scaled down, and who wants more than is left gets nothing.
    // As AbsoluteResourceCapacityCalculator and ResourceCalculationDriver below managed parents.
    all_or_nothing: bool,
}

/// One child while its parent's resources are shared out.
struct Child {
    queue: QueueSlot,
    capacity: Vec<VectorEntry>,
    maximum: Vec<VectorEntry>,
    /// Position of its guarantee, which leaves of a managed parent may share.
    guarantee: usize,
    limit: ResourceVector,
}

/// The children of one parent on one partition, and what they are guaranteed.
struct Children {
    all: Vec<Child>,
    guarantees: Vec<ResourceVector>,
}

/// The phases in which a type is shared out.
#[derive(Clone, Copy, PartialEq)]
enum VectorPhase {
    Absolute,
    Percent,
    Weight,
}

impl VectorPhase {
    const ALL: [Self; 3] = [Self::Absolute, Self::Percent, Self::Weight];
}

fn entry(vector: &[VectorEntry], i: usize) -> VectorEntry {
    vector.get(i).copied().unwrap_or(VectorEntry::Unset)
}

/// What the amounts of all children sum to, each cut to a whole number.
fn absolute_sum(children: &[Child], i: usize) -> i64 {
    let amount = |child: &Child| match entry(&child.capacity, i) {
        VectorEntry::Absolute(amount) => share::to_i64(amount),
        _ => 0,
    };
    children.iter().map(amount).sum()
}

/// What the weights of all children sum to.
fn weight_sum(children: &[Child], i: usize) -> f64 {
    let mut sum = 0.0;
    for child in children {
        if let VectorEntry::Weight(weight) = entry(&child.capacity, i) {
            sum += weight;
        }
    }
    sum
}

/// Shares out one type; absolute amounts count `ratio` times.
fn share_out(pot: &Pot, children: &mut Children, i: usize, ratio: f64) {
    let own = share::to_f64(pot.guaranteed[i]);
    let (mut overall, mut batch) = (own, own);
    let Children { all, guarantees } = children;
    let weights = weight_sum(all, i);
    for phase in VectorPhase::ALL {
        let mut spent = 0.0;
        for child in all.iter_mut() {
            let left = batch / own;
            let of_cluster = own / share::to_f64(pot.cluster[i]);
            let cluster = share::to_f64(pot.cluster[i]);
            let wanted = match (phase, entry(&child.capacity, i)) {
                (VectorPhase::Absolute, VectorEntry::Absolute(amount)) => ratio * left * amount,
                (VectorPhase::Percent, VectorEntry::Percent(percent)) => {
                    cluster * (of_cluster * left * percent / 100.0)
                }
                (VectorPhase::Weight, VectorEntry::Weight(weight)) => {
                    let normalized = weight / weights;
                    if normalized == 1.0 {
                        batch
                    } else {
                        cluster * (of_cluster * left * normalized)
                    }
                }
                _ => continue,
            };
            let wanted = rounded(wanted, phase);
            let guarantee = &mut guarantees[child.guarantee];
            let granted = grant(pot, (child, guarantee), i, wanted, overall);
            if !granted.is_nan() {
                overall -= granted;
                spent += granted;
            }
        }
        batch -= spent;
    }
}

/// Bounds what a child gets of a type by its maximum and by what is left; notes and returns it.
fn grant(
    pot: &Pot,
    (child, guarantee): (&mut Child, &mut ResourceVector),
    i: usize,
    wanted: f64,
    overall: f64,
) -> f64 {
    let cluster = share::to_f64(pot.cluster[i]);
    let limit = share::to_f64(pot.limit[i]);
    let most = match entry(&child.maximum, i) {
        VectorEntry::Absolute(amount) => rounded(amount, VectorPhase::Absolute),
        VectorEntry::Percent(percent) => rounded(
            cluster * ((limit / cluster) * percent / 100.0),
            VectorPhase::Percent,
        ),
        VectorEntry::Unset | VectorEntry::Weight(_) => 0.0,
    };
    let mut granted = if i > 0 && guarantee.memory() == 0 {
        0.0
    } else {
        wanted
    };
    let most = if most == 0.0 || most > limit {
        limit
    } else {
        most
    };
    if most < granted {
        granted = most;
    }
    if granted > overall {
        granted = if pot.all_or_nothing { 0.0 } else { overall };
    }
    guarantee.set(i, share::to_i64(granted));
    child.limit.set(i, share::to_i64(most));
    granted
}

/// Weighted shares are rounded to the nearest unit, others down.
///
/// The fraction decides, not the sum with one half: that sum is 1 for the number just below one half.
// As DefaultQueueResourceRoundingStrategy with Math.round.
fn rounded(amount: f64, phase: VectorPhase) -> f64 {
    let whole = amount.floor();
    if phase == VectorPhase::Weight && amount - whole >= 0.5 {
        whole + 1.0
    } else {
        whole
    }
}

/// The root has all of each partition. Its fractions stay as they are configured: a maximum below
/// 100 % shows, and bounds nothing.
// As RootQueueCapacityCalculator with RootCalculationDriver.
pub(super) fn set_root_capacity(state: &mut State) {
    state.epoch += 1;
    for partition in state.queues[State::ROOT].partitions() {
        let total = state.total(partition);
        let part = state.queues[State::ROOT].part_mut(partition);
        if part.configured || partition == PartitionId::DEFAULT {
            part.known = true;
            part.guaranteed.set(total);
            part.limit.set(total);
            part.absolute_capacity = 1.0;
        }
        // As RootQueueCapacityCalculator.updateCapacitiesAfterCalculation, which compares so.
        if part.configured && part.weight.to_bits() == 1.0_f32.to_bits() {
            part.normalized_weight = 1.0;
        }
    }
}

/// Guaranteed and largest resources of all children of a parent, and their fractions.
// As CapacitySchedulerQueueCapacityHandler with ResourceCalculationDriver.
pub(super) fn distribute(visited: &mut impl VisitedQueues, parent: QueueSlot) {
    let (state, _) = visited.rows();
    let managed = state.queues[parent].settings.kind == QueueKind::ManagedParent;
    for partition in state.partition_ids() {
        if !state.queues[parent].part(partition).configured {
            continue;
        }
        let part = state.queues[parent].part(partition);
        let pot = Pot {
            cluster: state.total(partition),
            guaranteed: part.guaranteed.get(),
            limit: part.limit.get(),
            all_or_nothing: managed,
        };
        let mut children = children_on(state, parent, partition);
        let ratios = ratios(state, &pot, &children.all);
        for (i, ratio) in ratios.into_iter().enumerate() {
            share_out(&pot, &mut children, i, ratio);
        }
        for child in children.all {
            let part = state.queues[child.queue].part_mut(partition);
            part.guaranteed.set(children.guarantees[child.guarantee]);
            part.limit.set(child.limit);
        }
        state.epoch += 1;
    }
    for child in state.queues[parent].children.clone() {
        visited.pause();
        let (state, _) = visited.rows();
        for partition in state.partition_ids() {
            if state.queues[child].part(partition).configured {
                derive_fractions(state, child, parent, partition);
                // Of all partitions, also of those whose turn is yet to come.
                update_absolute(state, child);
            }
        }
    }
}

/// By how much the amounts of the children are scaled down, one factor for each type.
///
/// The sum is converted from no unit to the unit of the type, as if amounts had none. Where it
/// comes to 0, the amounts count in full, unless another type has a factor: then they are lost.
// As AbsoluteResourceCapacityCalculator.setNormalizedResourceRatio.
fn ratios(state: &State, pot: &Pot, children: &[Child]) -> Vec<f64> {
    let types = state.calculator.types();
    if pot.all_or_nothing {
        return vec![1.0; types];
    }
    let units = &state.settings.resource_units;
    let factor = |i: usize| {
        let absolute = absolute_sum(children, i);
        let unit = units.get(i).copied().unwrap_or_default();
        let converted = match (absolute, i) {
            (0, _) | (_, MEMORY) => absolute,
            _ => ResourceUnit::ONE
                .convert(absolute, unit)
                .unwrap_or(i64::MAX),
        };
        let least = absolute.min(pot.guaranteed[i]);
        (converted != 0).then(|| f64::from(share::safe_div(least, converted)))
    };
    let factors: Vec<Option<f64>> = (0..types).map(factor).collect();
    let missing = if factors.iter().all(Option::is_none) {
        1.0
    } else {
        0.0
    };
    let factors = factors.into_iter();
    factors.map(|factor| factor.unwrap_or(missing)).collect()
}

/// The children of a parent on a partition. Leaves that share a guarantee get what the last of them gets, of each
/// type.
fn children_on(state: &State, parent: QueueSlot, partition: PartitionId) -> Children {
    let (mut all, mut guarantees) = (Vec::new(), Vec::new());
    let mut shared: BTreeMap<NonZeroU64, usize> = BTreeMap::new();
    for &queue in &state.queues[parent].children {
        let part = state.queues[queue].part(partition);
        if !part.configured {
            continue;
        }
        let (child, guaranteed) = child_on(state, queue, partition, guarantees.len());
        let reading = part.shares_guarantee;
        let known = reading.and_then(|reading| shared.get(&reading).copied());
        let guarantee = known.unwrap_or_else(|| {
            guarantees.push(guaranteed);
            child.guarantee
        });
        shared.extend(reading.map(|reading| (reading, guarantee)));
        all.push(Child { guarantee, ..child });
    }
    Children { all, guarantees }
}

/// A child with its guarantee, which will stand at a position.
fn child_on(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
    guarantee: usize,
) -> (Child, ResourceVector) {
    let settings = &state.queues[queue].settings.partitions;
    let entries = settings.get(state.partitions[partition].name.as_ref());
    let capacity = entries.map_or(Vec::new(), |of| of.capacity.vector.clone());
    // Where no type is given, none is visited: what there was remains.
    let empty = capacity.iter().all(|entry| *entry == VectorEntry::Unset);
    let part = state.queues[queue].part(partition);
    let none = (ResourceVector::NONE, ResourceVector::NONE);
    let (guaranteed, limit) = if empty {
        (part.guaranteed.get(), part.limit.get())
    } else {
        none
    };
    let maximum = entries.map_or(Vec::new(), |of| of.maximum.vector.clone());
    let child = Child {
        queue,
        capacity,
        maximum,
        guarantee,
        limit,
    };
    (child, guaranteed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weighted_share_just_below_one_half_is_nothing() {
        let below = 0.499_999_999_999_999_94;
        assert_eq!(below + 0.5, 1.0);
        assert_eq!(rounded(below, VectorPhase::Weight), 0.0);
        assert_eq!(rounded(0.5, VectorPhase::Weight), 1.0);
        assert_eq!(rounded(2.49, VectorPhase::Weight), 2.0);
        assert_eq!(rounded(2.99, VectorPhase::Percent), 2.0);
    }
}
