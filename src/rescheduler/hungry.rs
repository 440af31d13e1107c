//! The children of a queue that still want something while its share is handed out.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use super::view::{RoundInput, RoundQueue};
use crate::resource::{MAX_TYPES, ResourceVector, share};

/// How much a queue needs: less is served first, and of equal ones the first in its parent's list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Its ideal share as a part of its guarantee.
    part: f32,
    priority: Reverse<i32>,
    queue: usize,
}

impl Need {
    pub(super) fn new(queue: usize, priority: i32, part: f32) -> Self {
        Self {
            part,
            priority: Reverse(priority),
            queue,
        }
    }

    pub(super) fn queue(&self) -> usize {
        self.queue
    }

    /// Which of two needs is served first, whatever the queue: who is below the guarantee, then by
    /// priority, then by how much is there.
    // As AbstractPreemptableResourceCalculator.TQComparator.
    fn urgency(&self, other: &Self) -> Ordering {
        let has_guarantee = |need: &Self| need.part.partial_cmp(&1.0) != Some(Ordering::Less);
        let by_part = || self.part.partial_cmp(&other.part);
        has_guarantee(self)
            .cmp(&has_guarantee(other))
            .then(self.priority.cmp(&other.priority))
            .then_with(|| by_part().unwrap_or(Ordering::Equal))
    }
}

impl Ord for Need {
    fn cmp(&self, other: &Self) -> Ordering {
        self.urgency(other).then(self.queue.cmp(&other.queue))
    }
}

impl PartialOrd for Need {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Need {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Need {}

/// The queues of one level that want more, with sums of what they are guaranteed.
#[derive(Debug)]
pub(super) struct Hungry<'a> {
    view: &'a RoundInput,
    partition: usize,
    sorted: BTreeSet<Need>,
    /// New ones, and those that were served and want more, in this order; their needs are not
    /// known yet.
    unsorted: Vec<usize>,
    guaranteed: ResourceVector,
    /// How many have a capacity.
    capable: usize,
    /// How many have a capacity, but nothing of a type that their guarantee could be counted in.
    starved: [usize; MAX_TYPES],
}

/// The part of what is left that a queue is offered, by what all hungry queues are guaranteed.
#[derive(Debug)]
pub(super) struct Offers {
    count: i64,
    guaranteed: ResourceVector,
    /// Sum of the capacities; needed only where some type is starved.
    capacity: f32,
    equal: bool,
    starved: [bool; MAX_TYPES],
}

impl<'a> Hungry<'a> {
    pub(super) fn new(view: &'a RoundInput, partition: usize) -> Self {
        Self {
            view,
            partition,
            sorted: BTreeSet::new(),
            unsorted: Vec::new(),
            guaranteed: ResourceVector::NONE,
            capable: 0,
            starved: [0; MAX_TYPES],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty() && self.unsorted.is_empty()
    }

    /// Lets a queue wait for more.
    pub(super) fn add(&mut self, queue: usize) {
        self.unsorted.push(queue);
        let (view, partition) = (self.view, self.partition);
        let part = &view.queues[queue].parts[partition];
        self.guaranteed += part.guaranteed;
        if part.absolute_capacity != 0.0 {
            self.capable += 1;
            for i in starved_types(view, queue, partition) {
                self.starved[i] += 1;
            }
        }
    }

    /// Sorts in the queues whose needs have changed.
    pub(super) fn sort(&mut self, need: impl Fn(usize) -> Need) {
        self.sorted.extend(self.unsorted.drain(..).map(need));
    }

    /// The queue that is served next.
    pub(super) fn first(&self) -> Option<&Need> {
        self.sorted.first()
    }

    /// Takes out the queue that is served next, if its need is as urgent as another.
    pub(super) fn take_like(&mut self, other: Option<&Need>) -> Option<Need> {
        let first = *self.sorted.first()?;
        if other.is_some_and(|other| first.urgency(other).is_ne()) {
            return None;
        }
        self.sorted.pop_first();
        let (view, partition) = (self.view, self.partition);
        let part = &view.queues[first.queue].parts[partition];
        self.guaranteed -= part.guaranteed;
        if part.absolute_capacity != 0.0 {
            self.capable -= 1;
            for i in starved_types(view, first.queue, partition) {
                self.starved[i] -= 1;
            }
        }
        Some(first)
    }

    /// All that wait, most urgent first.
    pub(super) fn into_sorted(self) -> impl Iterator<Item = usize> {
        self.sorted.into_iter().map(|need| need.queue)
    }

    /// What queues are offered while these are hungry. To be asked before they are sorted: sums of
    /// fractions depend on the order.
    // As AbstractPreemptableResourceCalculator.resetCapacity.
    pub(super) fn offers(&self, ignore_guarantee: bool) -> Offers {
        let count = self.sorted.len() + self.unsorted.len();
        let types = 0..self.view.calculator.types();
        let mut starved = [false; MAX_TYPES];
        for i in types {
            starved[i] = self.starved[i] > 0 && self.guaranteed[i] != 0;
        }
        let mut capacity = 0.0;
        if starved.contains(&true) {
            let sorted = self.sorted.iter().map(|need| need.queue);
            for queue in sorted.chain(self.unsorted.iter().copied()) {
                let part = &self.view.queues[queue].parts[self.partition];
                capacity = share::sum(capacity, part.absolute_capacity);
            }
        }
        Offers {
            count: i64::try_from(count).expect("queues are bounded"),
            guaranteed: self.guaranteed,
            capacity,
            equal: ignore_guarantee || self.capable == 0,
            starved,
        }
    }
}

impl Offers {
    /// The part that a queue is offered, by resource type.
    pub(super) fn of(
        &self,
        queue: &RoundQueue,
        partition: usize,
        types: usize,
    ) -> [f64; MAX_TYPES] {
        let part = &queue.parts[partition];
        let mut offered = [0.0; MAX_TYPES];
        for (i, offered) in offered.iter_mut().enumerate().take(types) {
            *offered = f64::from(if self.equal {
                share::safe_div(1, self.count)
            } else if self.starved[i] {
                share::quotient(part.absolute_capacity, self.capacity)
            } else if self.guaranteed[i] == 0 {
                share::safe_div(1, self.count)
            } else {
                share::safe_div(part.guaranteed[i], self.guaranteed[i])
            });
        }
        offered
    }
}

/// The types of which a queue is guaranteed nothing.
fn starved_types(view: &RoundInput, queue: usize, partition: usize) -> impl Iterator<Item = usize> {
    let guaranteed = view.queues[queue].parts[partition].guaranteed;
    (0..view.calculator.types()).filter(move |&i| guaranteed[i] == 0)
}
