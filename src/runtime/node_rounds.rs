//! Rounds and heartbeats that come to the nodes one by one; those that surely come to nothing are counted.
//!
//! Tests: `tests/simulation/skipping.rs`.

use std::ops::Range;

use super::nodes::counted_nodes::{CountedNodes, Stretch};
use super::nodes::walk_order::WalkOrder;
use super::sequential::Sequential;
use crate::id::{NodeName, NodeSlot};

impl Sequential {
    /// One attempt on every node of a list that runs, from the one at a position on and round it.
    ///
    /// Cost: an attempt on each node on which something may come of it, and a few searches for each of them.
    pub(crate) fn walk_round(&mut self, nodes: &[(NodeName, NodeSlot)], start: usize) {
        let start = start.min(nodes.len());
        let Some(mut walk) = self.take_walk(nodes) else {
            let (before, behind) = nodes.split_at(start);
            for &(_, slot) in behind.iter().chain(before) {
                self.schedule_slot(slot);
            }
            return;
        };
        self.standstill.begin_kept(&mut self.ledger);
        for range in [start..nodes.len(), 0..start] {
            walk = self.walk_range(walk, range);
        }
        self.standstill.apply_counted(&mut self.ledger);
        self.standstill.end_attempts(&mut self.ledger);
        self.orders.put_walk(walk);
    }

    /// The nodes in the order of a list; nothing where every attempt is carried out.
    fn take_walk(&mut self, nodes: &[(NodeName, NodeSlot)]) -> Option<WalkOrder> {
        if self.standstill.is_plain() || self.ledger.state().settings.multi_node.enabled {
            return None;
        }
        let slots = nodes.iter().map(|&(_, slot)| slot);
        let watched = (&mut self.ledger, &mut self.standstill);
        self.orders.take_walk(watched, slots)
    }

    fn walk_range(&mut self, mut walk: WalkOrder, range: Range<usize>) -> WalkOrder {
        let Range { mut start, end } = range;
        let mut stretch = std::mem::take(&mut self.stretch);
        while start < end {
            let stop = self.pass_range(&walk, start..end, &mut stretch);
            if stop == end {
                break;
            }
            self.standstill.apply_counted(&mut self.ledger);
            self.schedule_slot(walk.nodes()[stop]);
            let watched = (&mut self.ledger, &mut self.standstill);
            walk = self.orders.follow_walk(watched, walk);
            start = stop + 1;
        }
        self.stretch = stretch;
        walk
    }

    /// Counts attempts on the nodes of a range up to the first that has to be carried out; where that stands. What
    /// is counted is applied by the caller.
    fn pass_range(
        &mut self,
        walk: &WalkOrder,
        range: Range<usize>,
        stretch: &mut Stretch,
    ) -> usize {
        let known = (&self.standstill, self.ledger.state());
        let open = walk.first_open(range.clone(), known).unwrap_or(range.end);
        let mut until = open;
        for place in walk.singles(range.start..open) {
            let node = walk.nodes()[place];
            if !self.standstill.count_kept(&mut self.ledger, node) {
                until = place;
                break;
            }
        }
        let known = (&self.standstill, self.ledger.state());
        walk.counted(&(range.start..until), known, stretch);
        for nodes in stretch.iter() {
            let last = walk.nodes()[nodes.last];
            let state = self.ledger.state();
            self.standstill.count_up_to(state, nodes, last);
        }
        until
    }

    /// Takes heartbeats of nodes in the order of a list, from one of them on and round it, as long as each surely
    /// brings nothing about, but at most so many; how many. `schedules`: a heartbeat is an attempt.
    pub(crate) fn pass_heartbeats(
        &mut self,
        nodes: &[(NodeName, NodeSlot)],
        first: &NodeName,
        most: u64,
        schedules: bool,
    ) -> u64 {
        let first = self.ledger.node(first);
        let Some((mut walk, first)) = self.take_walk(nodes).zip(first) else {
            return 0;
        };
        let attempts = schedules && !self.ledger.state().settings.asynchronous.enabled;
        let mut passed = 0;
        if let Some(first) = walk.place(first) {
            let mut start = first;
            while passed < most {
                let left = usize::try_from(most - passed).unwrap_or(usize::MAX);
                let end = start.saturating_add(left).min(nodes.len());
                self.standstill.begin_kept(&mut self.ledger);
                let stop = self.pass_reports(&mut walk, start..end, attempts);
                passed += u64::try_from(stop - start).unwrap_or(0);
                if (start, stop) == (0, nodes.len()) {
                    passed += self.repeat_cycle(&walk, most - passed, attempts);
                }
                self.standstill.apply_counted(&mut self.ledger);
                if stop < end {
                    break;
                }
                start = stop % nodes.len();
            }
        }
        self.standstill.end_attempts(&mut self.ledger);
        self.orders.put_walk(walk);
        passed
    }

    /// After a heartbeat of each node that brought nothing about: counts further ones of all nodes, each of which comes
    /// to the same, but at most so many; how many. None where reservations are kept, which may do so often enough.
    ///
    /// Cost: that of the attempts that are known.
    fn repeat_cycle(&mut self, walk: &WalkOrder, most: u64, attempts: bool) -> u64 {
        let nodes = walk.nodes().len();
        let beats = u64::try_from(nodes).unwrap_or(u64::MAX).max(1);
        let cycles = most / beats;
        if !attempts {
            return cycles * beats;
        }
        if walk.singles(0..nodes).next().is_some() {
            return 0;
        }
        for counted in &self.stretch {
            let count = counted.count.saturating_mul(cycles);
            self.standstill
                .count_many(&CountedNodes { count, ..*counted });
        }
        cycles * beats
    }

    /// Takes heartbeats of a range of nodes up to the first that may bring something about; where that stands.
    fn pass_reports(&mut self, walk: &mut WalkOrder, range: Range<usize>, attempts: bool) -> usize {
        let Range { start, end } = range;
        let mut until = end;
        while let Some(place) = walk.first_report(start..end) {
            let node = walk.nodes()[place];
            walk.follow_report(&self.ledger, node);
            if walk.first_report(place..place + 1).is_some() {
                until = place;
                break;
            }
        }
        if !attempts {
            return until;
        }
        let mut stretch = std::mem::take(&mut self.stretch);
        let stop = self.pass_range(walk, start..until, &mut stretch);
        self.stretch = stretch;
        stop
    }
}
