//! When the scheduler is free: with costs, virtual time passes while it works.
//!
//! 1. A heartbeat or a part of a round that is due while the scheduler works waits until it is free.
//! 2. What is carried out is decided on the state of the moment at which the work begins.
//! 3. Each decision is seen after its share of the work; the scheduler is free after all of it.
//!
//! Times within a millisecond count: what is due in a millisecond begins within it as long as the
//! work before it ends there. Heartbeats that carry nothing while nothing waits cost no time.

use super::costs::{CostPoint, Costs, Work};
use super::record::Waits;
use crate::api::RoundPart;
use crate::simulator::statistics::Tally;

/// Longest work of a part of a round, where one step is not longer.
const PART_NS: u64 = 1_000_000;

const NS_A_MS: u64 = 1_000_000;

/// A scheduler whose work takes time.
#[derive(Debug)]
pub(super) struct Pace {
    costs: Costs,
    /// Whether rounds make attempts at all nodes rather than walk them one by one.
    all_nodes: bool,
    /// What the last work cost.
    last_ns: u64,
    /// Number of nodes that `point` is for.
    nodes: u64,
    point: CostPoint,
    /// When the work so far is done, in virtual ns.
    free_ns: u64,
    busy_ns: u64,
    /// Work that was begun and whose decisions are not counted yet, with its beginning.
    begun: Option<(u64, Work)>,
    /// How late heartbeats and rounds began, in ms.
    late: Tally,
    /// Whether the next part continues a round.
    within_round: bool,
    /// Attempts left in this round.
    attempts: Option<u64>,
}

/// How the scheduler kept up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerLoad {
    /// Virtual ns in which it worked.
    pub busy_ns: u64,
    /// How late heartbeats and rounds began.
    pub late: Waits,
}

/// The time that some decisions take, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkSpan {
    start_ns: u64,
    cost_ns: u64,
    decisions: u64,
}

impl WorkSpan {
    /// When decision `n` (from 1) is seen, in virtual us.
    pub(super) fn seen_us(&self, n: u64) -> u64 {
        let share = u128::from(self.cost_ns) * u128::from(n) / u128::from(self.decisions.max(1));
        let share = u64::try_from(share).unwrap_or(self.cost_ns);
        self.start_ns.saturating_add(share) / 1000
    }
}

impl Pace {
    /// A scheduler at rest; `all_nodes`: its rounds make attempts at all nodes rather than walk them.
    pub(super) fn new(costs: Costs, all_nodes: bool) -> Self {
        Self {
            point: costs.at(1),
            costs,
            all_nodes,
            last_ns: 0,
            nodes: 1,
            free_ns: 0,
            busy_ns: 0,
            begun: None,
            late: Tally::default(),
            within_round: false,
            attempts: None,
        }
    }

    /// The cluster has another number of nodes.
    pub(super) fn resize(&mut self, nodes: u64) {
        if self.nodes != nodes {
            self.nodes = nodes;
            self.point = self.costs.at(nodes);
        }
    }

    /// The millisecond in which the scheduler is free, at `now_ms` or later.
    pub(super) fn free_ms(&self, now_ms: u64) -> u64 {
        now_ms.max(self.free_ns / NS_A_MS)
    }

    /// How far its work reaches beyond `now_ms`.
    pub(super) fn late_ms(&self, now_ms: u64) -> u64 {
        self.free_ms(now_ms) - now_ms
    }

    /// A heartbeat that was due at `due_ms` begins.
    pub(super) fn begin_heartbeat(&mut self, now_ms: u64, due_ms: u64) {
        self.late.record(now_ms.saturating_sub(due_ms), 1);
        let work = Work {
            heartbeats: 1,
            on_one_thread: true,
            ..Work::default()
        };
        self.begun = Some((self.start_ns(now_ms), work));
    }

    /// Steps of the next part of a round: nodes visited one by one, or attempts that look at all.
    pub(super) fn steps(&mut self) -> u64 {
        if !self.all_nodes {
            let most = self.point.visit_ns + self.point.decision_ns + self.point.commit_ns;
            return (PART_NS / most.max(1)).max(1);
        }
        let attempts = self.costs.attempts_a_round().map(u64::from);
        if !self.within_round {
            self.attempts = attempts;
        }
        let one = self.attempt_ns();
        let steps = (PART_NS / one.max(1)).max(1);
        self.attempts.map_or(steps, |left| left.min(steps))
    }

    /// What an attempt at all nodes costs.
    fn attempt_ns(&self) -> u64 {
        let sorting = self.point.sort_ns.saturating_mul(self.nodes);
        sorting
            .saturating_add(self.point.decision_ns)
            .saturating_add(self.point.commit_ns)
    }

    /// A part of a round begins, with what it will come to beside its decisions.
    pub(super) fn begin_part(&mut self, now_ms: u64, part: RoundPart) {
        if let Some(left) = &mut self.attempts {
            *left = left.saturating_sub(part.steps);
        }
        self.within_round = !part.ended && self.attempts != Some(0);
        let work = Work {
            visited: if self.all_nodes { 0 } else { part.visited },
            sorted: if self.all_nodes { part.visited } else { 0 },
            ..Work::default()
        };
        self.begun = Some((self.start_ns(now_ms), work));
    }

    /// When the next part or round begins: parts at once, rounds after a pause.
    pub(super) fn next_round_ms(&self, now_ms: u64, pause_ms: u64) -> u64 {
        let free = self.free_ms(now_ms);
        if self.within_round {
            free
        } else {
            // A round that cost nothing would otherwise follow itself for ever.
            let least = u64::from(self.last_ns == 0);
            free.saturating_add(pause_ms.max(least))
        }
    }

    /// Ends the work that was begun, which made so many decisions.
    pub(super) fn end(&mut self, decisions: u64) -> Option<WorkSpan> {
        let (start_ns, mut work) = self.begun.take()?;
        work.decisions = decisions;
        let cost_ns = self.costs.of(&self.point, &work);
        self.free_ns = start_ns.saturating_add(cost_ns);
        self.busy_ns = self.busy_ns.saturating_add(cost_ns);
        self.last_ns = cost_ns;
        Some(WorkSpan {
            start_ns,
            cost_ns,
            decisions,
        })
    }

    pub(super) fn load(&self) -> SchedulerLoad {
        SchedulerLoad {
            busy_ns: self.busy_ns,
            late: Waits::of(&self.late),
        }
    }

    fn start_ns(&self, now_ms: u64) -> u64 {
        self.free_ns.max(now_ms.saturating_mul(NS_A_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::driver::costs::CommitOverlap;

    fn pace(nodes: u64, all_nodes: bool) -> Pace {
        let point = CostPoint {
            nodes: 1,
            heartbeat_ns: 200_000,
            visit_ns: 100_000,
            decision_ns: 300_000,
            commit_ns: 100_000,
            sort_ns: 10_000,
            in_turn_ns: 0,
        };
        let costs = Costs::new(vec![point], 1, CommitOverlap::Waits, Some(3)).unwrap();
        let mut pace = Pace::new(costs, all_nodes);
        pace.resize(nodes);
        pace
    }

    #[test]
    fn work_that_is_due_while_the_scheduler_works_waits_for_its_end() {
        let mut pace = pace(1, false);
        pace.begin_heartbeat(10, 10);
        let span = pace.end(2).unwrap();
        // 200 us for the heartbeat, 400 us for each decision.
        assert_eq!((span.seen_us(1), span.seen_us(2)), (10_500, 11_000));
        assert_eq!((pace.free_ms(10), pace.late_ms(10)), (11, 1));
        pace.begin_heartbeat(11, 10);
        assert_eq!(pace.end(0).unwrap().seen_us(1), 11_200);
        assert_eq!(pace.free_ms(11), 11, "another one begins in the same ms");
        assert_eq!(pace.load().busy_ns, 1_200_000);
        assert_eq!(pace.load().late.max_ms, 1);
        assert!(pace.end(1).is_none(), "nothing was begun");
    }

    #[test]
    fn rounds_come_in_parts_and_pause_between_them() {
        let mut pace = pace(60, true);
        // One attempt looks at all 60 nodes: 600 us, and 400 us for what it places.
        assert_eq!(pace.steps(), 1);
        let part = RoundPart {
            steps: 1,
            visited: 60,
            ..RoundPart::default()
        };
        for begun in [0, 1] {
            pace.begin_part(begun, part);
            pace.end(1);
            assert_eq!(pace.next_round_ms(begun, 5), begun + 1, "the round goes on");
            assert_eq!(pace.steps(), 1);
        }
        pace.begin_part(2, part);
        pace.end(1);
        assert_eq!(pace.next_round_ms(2, 5), 8, "three attempts, then a pause");
        assert_eq!(pace.steps(), 1, "another round has its own attempts");
        let last = RoundPart {
            ended: true,
            ..part
        };
        pace.begin_part(8, last);
        pace.end(0);
        assert_eq!(pace.next_round_ms(8, 5), 13);
    }

    #[test]
    fn a_walk_comes_in_parts_of_a_millisecond() {
        let mut pace = pace(60, false);
        assert_eq!(pace.steps(), 2, "nodes that a millisecond is enough for");
        let part = RoundPart {
            steps: 2,
            visited: 2,
            ..RoundPart::default()
        };
        pace.begin_part(0, part);
        assert_eq!(pace.end(2).unwrap().seen_us(2), 1000);
        assert_eq!(pace.next_round_ms(0, 0), 1);
    }
}
