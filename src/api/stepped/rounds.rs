//! Rounds of the modes that do not wait for heartbeats, whole or in parts.

use std::ops::Bound;

use super::Stepped;
use crate::api::scheduler::RoundPart;
use crate::runtime::Attempt;

impl Stepped {
    /// One attempt on every node, from a start that moves on with each round.
    pub(super) fn walk_nodes(&mut self) {
        self.engine.walk_round(&self.nodes, self.start);
        self.start = (self.start + 1) % self.nodes.len().max(1);
    }

    /// The next nodes of a walk in parts.
    pub(super) fn walk_on(&mut self, steps: u64) -> RoundPart {
        let mut part = RoundPart::default();
        let count = self.nodes.len();
        while part.steps < steps && self.walked < count {
            let (_, slot) = self.nodes[(self.start + self.walked) % count];
            self.engine.schedule_slot(slot);
            self.walked += 1;
            part.steps += 1;
            part.visited += 1;
        }
        part.ended = self.walked >= count;
        if part.ended {
            self.walked = 0;
            self.start = (self.start + 1) % count.max(1);
        }
        part
    }

    /// The next attempts of a round in parts, on one partition after the other.
    pub(super) fn attempt_on(&mut self, steps: u64) -> RoundPart {
        let mut part = RoundPart::default();
        let mut partition = self
            .within
            .take()
            .or_else(|| self.partitions.first().cloned());
        while part.steps < steps
            && let Some(label) = partition
        {
            let attempt = self.engine.schedule_partition(&label, 1);
            part.steps += 1;
            part.visited += attempt.map_or(0, |_| self.engine.nodes_in(&label));
            self.walked += 1;
            let more = attempt.is_some_and(goes_on);
            partition = if more && self.walked < self.nodes.len().max(1) {
                Some(label)
            } else {
                self.walked = 0;
                let after = (Bound::Excluded(label), Bound::Unbounded);
                self.partitions.range(after).next().cloned()
            };
        }
        part.ended = partition.is_none();
        self.within = partition;
        part
    }

    /// Attempts on every partition until one brings nothing.
    pub(super) fn walk_partitions(&mut self) {
        for partition in &self.partitions {
            for _ in 0..self.nodes.len().max(1) {
                let attempt = self.engine.schedule_partition(partition, 1);
                if !attempt.is_some_and(goes_on) {
                    break;
                }
            }
        }
    }
}

/// Whether a round goes on behind an attempt. What the commit refuses is no progress: the same state would propose
/// it again.
fn goes_on(attempt: Attempt) -> bool {
    attempt.proposed && !attempt.reserving && attempt.refused.is_none()
}
