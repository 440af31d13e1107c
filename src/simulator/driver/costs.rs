//! What the work of a scheduler costs in virtual time, by the size of the cluster.

use std::fmt;

/// Longest time of one piece of work, an hour in ns: beyond it a number is no cost.
const MAX_NS: u64 = 3_600_000_000_000;

/// Most scheduler threads.
const MAX_THREADS: u32 = 1024;

/// Costs at one size of cluster, each in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostPoint {
    /// Number of nodes at which these were measured; at least 1.
    pub nodes: u64,
    /// Taking one heartbeat in, whatever it places.
    pub heartbeat_ns: u64,
    /// Looking at one node in a walk (asynchronous mode), whatever it places.
    pub visit_ns: u64,
    /// Proposing one container or reservation.
    pub decision_ns: u64,
    /// Validating and applying one proposal.
    pub commit_ns: u64,
    /// Gathering and ordering one node for an attempt at all nodes (global mode).
    pub sort_ns: u64,
    /// What a proposal takes longer where one thread proposes and commits in turn, as at a heartbeat: neither finds
    /// its data in the caches.
    pub in_turn_ns: u64,
}

impl CostPoint {
    fn fields(&self) -> [(&'static str, u64); 6] {
        [
            ("heartbeat_ns", self.heartbeat_ns),
            ("visit_ns", self.visit_ns),
            ("decision_ns", self.decision_ns),
            ("commit_ns", self.commit_ns),
            ("sort_ns", self.sort_ns),
            ("in_turn_ns", self.in_turn_ns),
        ]
    }

    /// Whether these can be costs.
    fn check(&self) -> Result<(), CostsError> {
        let nodes = self.nodes;
        let mut fields = self.fields().into_iter();
        if let Some((field, value)) = fields.find(|(_, value)| *value > MAX_NS) {
            return Err(CostsError::TooLong {
                field,
                nodes,
                value,
            });
        }
        if self.fields().iter().all(|(_, value)| *value == 0) {
            return Err(CostsError::Free(nodes));
        }
        Ok(())
    }
}

/// Whether proposers work while a proposal is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOverlap {
    /// They wait: a commit takes the write lock of the scheduler.
    // As CapacityScheduler.tryCommit.
    Waits,
    /// They go on.
    Overlaps,
}

/// The costs of one scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// By number of nodes, smallest first; never empty.
    points: Vec<CostPoint>,
    threads: u32,
    commits: CommitOverlap,
    attempts_a_round: Option<u32>,
}

/// Why costs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostsError {
    /// There is no size of cluster.
    NoPoint,
    /// A size is of no node, or two are of equally many nodes.
    Nodes(u64),
    /// A time is longer than an hour.
    TooLong {
        /// Which.
        field: &'static str,
        /// Number of nodes of its size.
        nodes: u64,
        /// The value in ns.
        value: u64,
    },
    /// All times of a size are 0, so that work would never end.
    Free(u64),
    /// The number of threads is not between 1 and 1024.
    Threads(u32),
    /// A round makes no attempt.
    Attempts,
}

impl fmt::Display for CostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPoint => f.write_str("no size of cluster is given"),
            Self::Nodes(nodes) => write!(
                f,
                "nodes = {nodes}: each size is of 1 node or more, and of another number of nodes"
            ),
            Self::TooLong {
                field,
                nodes,
                value,
            } => write!(f, "{field} = {value} at {nodes} nodes: more than an hour"),
            Self::Free(nodes) => write!(f, "all costs at {nodes} nodes are 0"),
            Self::Threads(threads) => {
                write!(f, "threads = {threads}: there are 1 to {MAX_THREADS}")
            }
            Self::Attempts => f.write_str("attempts_a_round = 0: a round makes at least one"),
        }
    }
}

impl std::error::Error for CostsError {}

/// Work that was done between two looks at the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) heartbeats: u64,
    pub(super) visited: u64,
    /// Proposals made, and as many commits.
    pub(super) decisions: u64,
    /// Nodes sorted.
    pub(super) sorted: u64,
    /// Whether one thread does all of it, as at a heartbeat.
    pub(super) on_one_thread: bool,
}

impl Costs {
    /// Costs at some sizes of cluster. `attempts_a_round`: attempts in global mode between two
    /// pauses; nothing: until one finds nothing.
    ///
    /// # Errors
    ///
    /// As [`CostsError`].
    pub fn new(
        mut points: Vec<CostPoint>,
        threads: u32,
        commits: CommitOverlap,
        attempts_a_round: Option<u32>,
    ) -> Result<Self, CostsError> {
        points.sort_by_key(|point| point.nodes);
        let first = points.first().ok_or(CostsError::NoPoint)?;
        if first.nodes == 0 {
            return Err(CostsError::Nodes(0));
        }
        if let Some(pair) = points
            .windows(2)
            .find(|pair| pair[0].nodes == pair[1].nodes)
        {
            return Err(CostsError::Nodes(pair[0].nodes));
        }
        for point in &points {
            point.check()?;
        }
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(CostsError::Threads(threads));
        }
        if attempts_a_round == Some(0) {
            return Err(CostsError::Attempts);
        }
        Ok(Self {
            points,
            threads,
            commits,
            attempts_a_round,
        })
    }

    /// The same costs with another number of scheduler threads.
    ///
    /// # Errors
    ///
    /// When the number is not between 1 and 1024.
    pub fn with_threads(self, threads: u32) -> Result<Self, CostsError> {
        Self::new(self.points, threads, self.commits, self.attempts_a_round)
    }

    /// Threads that propose in the modes that have several.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.threads
    }

    /// Attempts in global mode between two pauses.
    #[must_use]
    pub const fn attempts_a_round(&self) -> Option<u32> {
        self.attempts_a_round
    }

    /// The costs on a cluster of so many nodes: between two sizes on a line over the logarithm of
    /// the number of nodes, beyond them as at the nearest.
    #[must_use]
    pub fn at(&self, nodes: u64) -> CostPoint {
        let above = self.points.partition_point(|point| point.nodes < nodes);
        let last = self.points.len() - 1;
        let high = self.points[above.min(last)];
        let low = self.points[above.saturating_sub(1)];
        if high.nodes <= low.nodes || nodes <= low.nodes || nodes >= high.nodes {
            let nearest = if nodes >= high.nodes { high } else { low };
            return CostPoint { nodes, ..nearest };
        }
        between(&low, &high, nodes)
    }

    /// What work costs at a point, in ns.
    pub(super) fn of(&self, point: &CostPoint, work: &Work) -> u64 {
        let times = |n: u64, ns: u64| n.saturating_mul(ns);
        let looking = times(work.visited, point.visit_ns)
            .saturating_add(times(work.decisions, point.decision_ns))
            .saturating_add(times(work.sorted, point.sort_ns));
        let committing = times(work.decisions, point.commit_ns);
        let placing = if work.on_one_thread {
            looking
                .saturating_add(committing)
                .saturating_add(times(work.decisions, point.in_turn_ns))
        } else {
            let looking = looking.div_ceil(u64::from(self.threads));
            match self.commits {
                CommitOverlap::Waits => looking.saturating_add(committing),
                CommitOverlap::Overlaps => looking.max(committing),
            }
        };
        placing.saturating_add(times(work.heartbeats, point.heartbeat_ns))
    }
}

#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of two measured costs, both below 2^42"
)]
fn between(low: &CostPoint, high: &CostPoint, nodes: u64) -> CostPoint {
    let log = |n: u64| (n as f64).ln();
    let share = (log(nodes) - log(low.nodes)) / (log(high.nodes) - log(low.nodes));
    let mean =
        |low: u64, high: u64| (low as f64 + (high as f64 - low as f64) * share).round() as u64;
    CostPoint {
        nodes,
        heartbeat_ns: mean(low.heartbeat_ns, high.heartbeat_ns),
        visit_ns: mean(low.visit_ns, high.visit_ns),
        decision_ns: mean(low.decision_ns, high.decision_ns),
        commit_ns: mean(low.commit_ns, high.commit_ns),
        sort_ns: mean(low.sort_ns, high.sort_ns),
        in_turn_ns: mean(low.in_turn_ns, high.in_turn_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(nodes: u64, ns: u64) -> CostPoint {
        CostPoint {
            nodes,
            heartbeat_ns: ns,
            visit_ns: 2 * ns,
            decision_ns: 3 * ns,
            commit_ns: 4 * ns,
            sort_ns: 5 * ns,
            in_turn_ns: 6 * ns,
        }
    }

    fn costs(points: &[CostPoint]) -> Result<Costs, CostsError> {
        Costs::new(points.to_vec(), 1, CommitOverlap::Waits, None)
    }

    #[test]
    fn costs_lie_between_those_of_the_sizes_around_a_cluster() {
        let costs = costs(&[point(10_000, 300), point(100, 100)]).unwrap();
        for (nodes, ns) in [
            (1, 100),
            (100, 100),
            (1000, 200),
            (10_000, 300),
            (99_999, 300),
        ] {
            assert_eq!(costs.at(nodes), point(nodes, ns), "{nodes}");
        }
        assert!(costs.at(200).visit_ns > 200 && costs.at(200).visit_ns < 400);
    }

    #[test]
    fn threads_share_the_looking_and_never_the_commits() {
        let work = Work {
            visited: 10,
            decisions: 2,
            sorted: 4,
            ..Work::default()
        };
        let looking = 10 * 20 + 2 * 30 + 4 * 50;
        let of = |threads, commits, work: &Work| {
            let costs = Costs::new(vec![point(1, 10)], threads, commits, None).unwrap();
            costs.of(&costs.at(1), work)
        };
        assert_eq!(of(1, CommitOverlap::Waits, &work), looking + 80);
        assert_eq!(of(4, CommitOverlap::Waits, &work), looking / 4 + 80);
        assert_eq!(of(1, CommitOverlap::Overlaps, &work), looking);
        assert_eq!(of(100, CommitOverlap::Overlaps, &work), 80);
        let beat = Work {
            heartbeats: 1,
            on_one_thread: true,
            ..work
        };
        let in_turn = 2 * 60;
        assert_eq!(
            of(4, CommitOverlap::Overlaps, &beat),
            looking + 80 + in_turn + 10
        );
    }

    #[test]
    fn what_cannot_be_a_cost_is_refused() {
        assert_eq!(costs(&[]), Err(CostsError::NoPoint));
        assert_eq!(costs(&[point(0, 1)]), Err(CostsError::Nodes(0)));
        assert_eq!(
            costs(&[point(7, 1), point(7, 2)]),
            Err(CostsError::Nodes(7))
        );
        assert_eq!(costs(&[point(7, 0)]), Err(CostsError::Free(7)));
        let error = costs(&[point(7, MAX_NS / 5)]).unwrap_err();
        assert!(error.to_string().contains("in_turn_ns"), "{error}");
        let threads = |n| Costs::new(vec![point(1, 1)], n, CommitOverlap::Waits, None);
        assert_eq!(threads(0), Err(CostsError::Threads(0)));
        assert!(threads(1024).is_ok() && threads(1025).is_err());
        let rounds = Costs::new(vec![point(1, 1)], 1, CommitOverlap::Waits, Some(0));
        assert_eq!(rounds, Err(CostsError::Attempts));
    }
}
