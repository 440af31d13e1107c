//! What goes on beside a loop: heartbeats of the nodes by the clock, and looks at the memory.

use anyhow::Result;
use capsched::api::{NodeName, NodeReport};
use serde::Serialize;

use crate::churn::Driven;
use crate::conserve::Totals;
use crate::rounds::{self, How};
use crate::shape::Shape;
use crate::{ModeName, machine};

/// Most heartbeats that are handed over together.
const TOGETHER: u64 = 256;

/// Heartbeats gather for so long before they are handed over.
const GATHER_NS: u64 = 1_000_000;

/// A heartbeat that has been due for longer is overdue.
const GRACE_NS: u64 = 100_000_000;

/// What goes on beside a loop of some length.
#[derive(Debug)]
pub(crate) struct Beside {
    beats: Option<Beats>,
    how: How,
    began_ns: u64,
    /// A tenth of the length.
    tenth_ns: u64,
    rss_tenth_kib: Option<u64>,
}

/// What went on, as a part of a record.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Aside {
    /// None where the workload has no heartbeats of its own.
    #[serde(flatten)]
    pace: Option<Pace>,
    /// Resident after a tenth of the loop, when everything that is kept has been needed once.
    rss_tenth_kib: u64,
    /// Resident at its end; memory is flat where this is no more.
    rss_end_kib: u64,
    /// Nodes with a container at rest after it, and most containers on one.
    used_nodes: u64,
    most_on_node: u32,
    /// Containers at rest after it; on the used nodes, their mean of these.
    containers_at_rest: u64,
    /// Nodes beyond the fewest that could hold it all, in a million of those; the gap to a sequential
    /// best fit is no more.
    packing_gap_ppm: u64,
}

/// What became of the heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Pace {
    heartbeats: u64,
    heartbeats_per_second: u64,
    /// Due for more than a tenth of a second in the end; some mean that the pace was not kept.
    heartbeats_overdue: u64,
}

impl Beside {
    /// Begins now.
    pub(crate) fn new(shape: &Shape, how: How, began_ns: u64, length_ns: u64) -> Result<Self> {
        let interval = shape.heartbeat_interval_ms();
        let beats = interval.map(|ms| Beats::new(shape, u64::from(ms) * 1_000_000));
        Ok(Self {
            beats: beats.transpose()?,
            how,
            began_ns,
            tenth_ns: length_ns / 10,
            rss_tenth_kib: None,
        })
    }

    /// Does what is due at a moment; at most one hand-over.
    pub(crate) fn tend(&mut self, engine: &mut Driven, now_ns: u64) -> Result<()> {
        let elapsed_ns = now_ns - self.began_ns;
        if self.rss_tenth_kib.is_none() && elapsed_ns >= self.tenth_ns {
            self.rss_tenth_kib = Some(machine::status_kib("VmRSS"));
        }
        if let Some(beats) = &mut self.beats {
            let batch = beats.take(elapsed_ns);
            if !batch.is_empty() {
                deliver(engine, self.how.mode, batch)?;
            }
        }
        Ok(())
    }

    /// What went on until the loop ended.
    pub(crate) fn finish(self, now_ns: u64, rss_end_kib: u64, totals: &Totals) -> Aside {
        Aside {
            pace: self.beats.map(|beats| beats.pace(now_ns - self.began_ns)),
            rss_tenth_kib: self.rss_tenth_kib.unwrap_or(rss_end_kib),
            rss_end_kib,
            used_nodes: totals.used_nodes,
            most_on_node: totals.most_on_node,
            containers_at_rest: totals.containers,
            packing_gap_ppm: totals.packing_gap_ppm(),
        }
    }
}

/// In heartbeat mode the nodes are scheduled, in the others they report and no more.
fn deliver(engine: &mut Driven, mode: ModeName, batch: Vec<(NodeName, NodeReport)>) -> Result<()> {
    match engine {
        Driven::Stepped(engine) => {
            for (node, report) in &batch {
                match mode {
                    ModeName::Heartbeat => engine.heartbeat(node, report)?,
                    _ => engine.node_reported(node, report)?,
                };
            }
        }
        Driven::Threaded(engine) => {
            for reply in engine.heartbeat_all(batch) {
                reply?;
            }
        }
    }
    Ok(())
}

/// A schedule on which every node reports once in an interval, the first one first.
#[derive(Debug)]
struct Beats {
    nodes: Vec<NodeName>,
    interval_ns: u64,
    /// How many were handed over; the next one is of the node with this number, round robin.
    delivered: u64,
    /// When the next ones may be handed over.
    next_ns: u64,
}

impl Beats {
    fn new(shape: &Shape, interval_ns: u64) -> Result<Self> {
        Ok(Self {
            nodes: shape.node_names()?,
            interval_ns,
            delivered: 0,
            next_ns: 0,
        })
    }

    /// Heartbeats that are due some time after the beginning.
    fn due(&self, elapsed_ns: u64) -> u64 {
        let due = self.nodes.len() as u128 * u128::from(elapsed_ns) / u128::from(self.interval_ns);
        u64::try_from(due).unwrap_or(u64::MAX)
    }

    /// What is to be handed over now. Where there is more than a hand-over takes, the rest need
    /// not gather.
    fn take(&mut self, elapsed_ns: u64) -> Vec<(NodeName, NodeReport)> {
        if elapsed_ns < self.next_ns {
            return Vec::new();
        }
        let waiting = self.due(elapsed_ns).saturating_sub(self.delivered);
        if waiting <= TOGETHER {
            self.next_ns = elapsed_ns + GATHER_NS;
        }
        let from = self.delivered;
        self.delivered += waiting.min(TOGETHER);
        let nodes = self.nodes.len() as u64;
        let node = |n: u64| {
            let at = usize::try_from(n % nodes).unwrap_or(0);
            (self.nodes[at].clone(), rounds::silence())
        };
        (from..self.delivered).map(node).collect()
    }

    fn pace(&self, elapsed_ns: u64) -> Pace {
        let overdue = self.due(elapsed_ns.saturating_sub(GRACE_NS));
        Pace {
            heartbeats: self.delivered,
            heartbeats_per_second: rounds::rate(self.delivered, elapsed_ns),
            heartbeats_overdue: overdue.saturating_sub(self.delivered),
        }
    }
}

impl std::fmt::Display for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(pace) = self.pace {
            write!(f, "{} heartbeats/s", pace.heartbeats_per_second)?;
            if pace.heartbeats_overdue > 0 {
                write!(f, " (out of pace: {} overdue)", pace.heartbeats_overdue)?;
            }
            f.write_str(", ")?;
        }
        let [tenth, end] = [self.rss_tenth_kib, self.rss_end_kib].map(|kib| kib / 1024);
        write!(
            f,
            "resident {tenth} MiB after a tenth, {end} MiB at the end, {} nodes used, {} containers \
             on one at most",
            self.used_nodes, self.most_on_node
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(nodes: u32) -> Beats {
        let mut shape = Shape::named("W12-1000").unwrap();
        shape.cluster.nodes = nodes;
        Beats::new(&shape, 1_000_000_000).unwrap()
    }

    fn numbers(batch: &[(NodeName, NodeReport)]) -> Vec<String> {
        let name = |(node, _): &(NodeName, NodeReport)| node.host().to_owned();
        batch.iter().map(name).collect()
    }

    #[test]
    fn nodes_report_in_turn_as_they_fall_due() {
        let mut beats = beats(3);
        assert!(beats.take(333_000_000).is_empty());
        assert_eq!(numbers(&beats.take(700_000_000)), ["host0", "host1"]);
        // Nothing is handed over again until more could have gathered.
        assert!(beats.take(700_999_999).is_empty());
        assert_eq!(numbers(&beats.take(1_400_000_000)), ["host2", "host0"]);
        let pace = Pace {
            heartbeats: 4,
            heartbeats_per_second: 2,
            heartbeats_overdue: 0,
        };
        assert_eq!(beats.pace(1_400_000_000).heartbeats, pace.heartbeats);
        assert_eq!(beats.pace(1_700_000_000), pace);
    }

    #[test]
    fn a_churn_tells_of_its_heartbeats_in_every_mode() {
        let mut shape = Shape::named("W12-1000").unwrap();
        shape.cluster.nodes = 100;
        for (mode, threads) in [
            (ModeName::Heartbeat, 0),
            (ModeName::Heartbeat, 1),
            (ModeName::Asynchronous, 0),
            (ModeName::Global, 1),
        ] {
            let how = How::of(mode, threads);
            let has_all = |seconds| {
                let round = crate::churn::run(&shape, how, seconds).unwrap();
                let record = crate::record::Record::new(&shape, how, 1, &round);
                let record = serde_json::to_value(record).unwrap();
                ["heartbeats", "rss_tenth_kib", "rss_end_kib"]
                    .iter()
                    .all(|field| crate::results::number(&record, field) > Some(0))
            };
            // On a busy machine the thread of the heartbeats may get no time in a short run.
            assert!([1, 4, 16].into_iter().any(has_all), "{}", mode.name());
        }
    }

    #[test]
    fn what_is_late_comes_in_full_hand_overs_and_what_is_left_is_overdue() {
        let mut beats = beats(1000);
        for _ in 0..2 {
            assert_eq!(beats.take(1_000_000_000).len() as u64, TOGETHER);
        }
        assert_eq!(beats.pace(1_000_000_000).heartbeats_overdue, 900 - 512);
        for left in [256, 232, 0] {
            assert_eq!(beats.take(1_000_000_000).len(), left);
        }
        assert_eq!(beats.pace(1_000_000_000).heartbeats_overdue, 0);
    }
}
