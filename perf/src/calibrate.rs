//! `perf peers --calibrate`: what Hadoop's work costs by the size of the cluster, and how well these
//! costs predict what it does on other shapes in the same run.
//!
//! Costs come from shapes K500, K2000 and K20000:
//!
//! 1. `heartbeat_ns` is the time of a heartbeat without applications.
//! 2. `visit_ns` is the same: such a heartbeat is a look at one node that finds nothing, and little else.
//! 3. `decision_ns` is what an attempt takes beyond a visit in asynchronous mode, on the thread that decides. Each
//!    attempt visits one node there.
//! 4. `commit_ns` is the time of the thread that commits in that mode, for each verdict.
//! 5. `in_turn_ns` is what an attempt takes beyond all of these in heartbeat mode.
//! 6. `sort_ns` is what an attempt in global mode takes beyond a decision, for each node.
//!
//! The driver of the simulator then plays S1 to S3 with them, with the same attempts. Times are processor times
//! of the threads that decide and commit, so that other programs on the machine count less. Whoever decides waits for
//! the locks of a commit, so that these times add up. Collections of garbage are not in them.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use capsched::api::{Event, ModeKind, Stepped};
use capsched::simulator::{
    CommitOverlap, CostPoint, Costs, Driver, DriverSettings, Job, Ready, Run, RunWatch, TaskGroup,
};
use serde::Serialize;

use crate::hadoop::{Peer, PeerClock, PeerLine, VARIANTS, Variant};
use crate::output::{aside, say};
use crate::record::Origin;
use crate::shape::Shape;
use crate::{ModeName, results};

/// Shapes that costs come from, with rounds of warming up in the modes without global attempts.
const SIZES: [(&str, usize); 3] = [("K500", 12), ("K2000", 5), ("K20000", 2)];

/// Shapes that are predicted, with such rounds.
const PREDICTED: [(&str, usize); 3] = [("S1", 6), ("S2", 2), ("S3", 1)];

/// A prediction is good within this share.
const CLOSE: f64 = 0.2;

/// Longest time that is simulated, in virtual ms.
const UNTIL_MS: u64 = 60_000;

/// The same for attempts at all nodes, which are few.
const UNTIL_GLOBAL_MS: u64 = 2_000;

/// A prediction beside what was measured.
#[derive(Debug, Serialize)]
struct Prediction {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    shape: String,
    mode: &'static str,
    hadoop_per_second: u64,
    /// Proposals that Hadoop judged for each container.
    hadoop_attempts_permille: u64,
    predicted_per_second: u64,
    /// Proposals that the simulation made for each container.
    predicted_attempts_permille: u64,
    ratio: f64,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// All sizes and all predictions: an hour or more.
    Whole,
    /// Two sizes and one prediction, with few and short rounds: some minutes. The compiler of the JVM is not done then,
    /// so that Hadoop is slower than in the whole one.
    Brief,
}

impl Extent {
    /// Shapes that costs come from.
    fn sizes(self) -> &'static [(&'static str, usize)] {
        match self {
            Self::Whole => &SIZES,
            Self::Brief => &SIZES[..2],
        }
    }

    /// Shapes that are predicted.
    fn predicted(self) -> &'static [(&'static str, usize)] {
        match self {
            Self::Whole => &PREDICTED,
            Self::Brief => &PREDICTED[..1],
        }
    }

    /// Rounds of warming up and those that are measured in one mode.
    fn rounds(self, mode: ModeName, warmup: usize) -> (usize, usize) {
        match (mode, self) {
            (ModeName::Global, _) => (1, 1),
            (_, Self::Whole) => (warmup, if warmup > 3 { 3 } else { 2 }),
            (_, Self::Brief) => (BRIEF_WARMUP, 1),
        }
    }

    /// The longest round that fills a cluster, in s; nothing for the usual bound.
    fn longest_s(self) -> Option<u32> {
        match self {
            Self::Whole => None,
            Self::Brief => Some(BRIEF_ROUND_S),
        }
    }
}

/// Rounds of warming up, and the longest round in s, of a brief calibration.
const BRIEF_WARMUP: usize = 2;
const BRIEF_ROUND_S: u32 = 8;

/// Measures, prints costs as a file of `--costs`, and predicts.
pub(crate) fn run(extent: Extent, record: bool) -> Result<()> {
    let mut points = Vec::new();
    for &(name, warmup) in extent.sizes() {
        let shape = Shape::named(name)?;
        points.push(point(&shape, warmup, extent)?);
    }
    say!("{}", file(&points));
    let costs = Costs::new(points, 1, CommitOverlap::Waits, None)?;
    say!("| shape | mode | Hadoop a second | predicted | ratio | within 20 % |");
    say!("| --- | --- | --- | --- | --- | --- |");
    for &(name, warmup) in extent.predicted() {
        let shape = Shape::named(name)?;
        for variant in variants() {
            let line = measured(&shape, &variant, warmup, extent)?;
            let found = predicted(&shape, &variant, &line, &costs)?;
            let close = is_close(found.ratio);
            say!(
                "| {name} | {} | {} | {} | {:.2} | {} |",
                found.mode,
                found.hadoop_per_second,
                found.predicted_per_second,
                found.ratio,
                if close { "yes" } else { "no" }
            );
            if record {
                results::append(&results::of_this_machine(), &found)?;
            }
        }
    }
    Ok(())
}

/// One way to run Hadoop in each mode: one thread, one container a heartbeat.
fn variants() -> impl Iterator<Item = Variant> {
    let modes = [
        ModeName::Heartbeat,
        ModeName::Asynchronous,
        ModeName::Global,
    ];
    modes.into_iter().filter_map(|mode| {
        VARIANTS
            .iter()
            .copied()
            .find(|variant| variant.mode == mode)
    })
}

/// The middle one of some rounds by rate.
fn measured(shape: &Shape, variant: &Variant, warmup: usize, extent: Extent) -> Result<PeerLine> {
    aside!("measuring {} in {} mode", shape.name, variant.mode.name());
    let rounds = extent.rounds(variant.mode, warmup);
    let longest_s = extent.longest_s();
    let mut peer = Peer::start_bounded(shape, variant, rounds, PeerClock::Threads, longest_s)?;
    let rounds = rounds.1;
    let lines: Result<Vec<PeerLine>> = (0..rounds).map(|_| peer.round()).collect();
    let mut lines = lines?;
    lines.sort_by_key(|line| line.per_second);
    let middle = lines.len() / 2;
    Ok(lines.swap_remove(middle))
}

/// The costs at one size.
fn point(shape: &Shape, warmup: usize, extent: Extent) -> Result<CostPoint> {
    let nodes = u64::from(shape.cluster.nodes);
    let mut point = CostPoint {
        nodes,
        ..CostPoint::default()
    };
    for variant in variants() {
        let line = measured(shape, &variant, warmup, extent)?;
        let verdicts = (line.accepted + line.rejected).max(1);
        // Time of one attempt on the threads that decide: rejected ones take theirs too.
        let attempt_ns = line.deciding_ns / verdicts;
        match variant.mode {
            ModeName::Heartbeat => {
                point.heartbeat_ns = line.idle_heartbeat_ns;
                point.visit_ns = line.idle_heartbeat_ns;
                point.in_turn_ns = attempt_ns;
            }
            ModeName::Asynchronous => {
                let container_ns = 1_000_000_000 / line.per_second.max(1);
                let whole_ns = container_ns * line.accepted / verdicts;
                point.commit_ns = whole_ns.saturating_sub(attempt_ns);
                point.decision_ns = attempt_ns.saturating_sub(point.visit_ns);
                let rest = point.heartbeat_ns + point.commit_ns + point.decision_ns;
                point.in_turn_ns = point.in_turn_ns.saturating_sub(rest);
            }
            ModeName::Global => {
                point.sort_ns = attempt_ns.saturating_sub(point.decision_ns) / nodes;
            }
        }
    }
    Ok(point)
}

/// The costs as a file that `--costs` reads.
fn file(points: &[CostPoint]) -> String {
    let mut out = String::from("threads = 1\ncommits = \"waits\"\nattempts_a_round = 2\n");
    for point in points {
        let _ = write!(
            out,
            "\n[[size]]\nnodes = {}\nheartbeat_ns = {}\nvisit_ns = {}\ndecision_ns = {}\n\
             commit_ns = {}\nsort_ns = {}\nin_turn_ns = {}\n",
            point.nodes,
            point.heartbeat_ns,
            point.visit_ns,
            point.decision_ns,
            point.commit_ns,
            point.sort_ns,
            point.in_turn_ns
        );
    }
    out
}

fn predicted(
    shape: &Shape,
    variant: &Variant,
    line: &PeerLine,
    costs: &Costs,
) -> Result<Prediction> {
    let simulated = simulate(shape, variant.mode, costs)?;
    let permille = |n: u64, of: u64| n * 1000 / of.max(1);
    Ok(Prediction {
        origin: Origin::now(),
        kind: "calibration",
        shape: shape.name.clone(),
        mode: variant.mode.name(),
        hadoop_per_second: line.per_second,
        hadoop_attempts_permille: permille(line.accepted + line.rejected, line.accepted),
        predicted_per_second: simulated.per_second(),
        predicted_attempts_permille: permille(simulated.attempts, simulated.placed),
        ratio: ratio(simulated.per_second(), line.per_second),
    })
}

/// Whether a ratio is near 1.
#[expect(clippy::float_arithmetic, reason = "a ratio of two rates")]
fn is_close(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= CLOSE
}

#[expect(
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    reason = "a ratio of two rates"
)]
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other.max(1) as f64
}

/// What the simulation placed, and when, in virtual ms.
#[derive(Debug, Default)]
struct Simulated {
    placed: u64,
    attempts: u64,
    target: u64,
    first_ms: u64,
    last_ms: u64,
}

impl Simulated {
    /// As Hadoop's driver counts: from the first container to that of the target.
    fn per_second(&self) -> u64 {
        let ms = self.last_ms.saturating_sub(self.first_ms).max(1);
        self.placed.saturating_sub(1) * 1000 / ms
    }
}

impl RunWatch for Simulated {
    fn decision(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::Allocated { .. } if self.placed < self.target => {
                if self.placed == 0 {
                    self.first_ms = at_ms;
                }
                self.placed += 1;
                self.attempts += 1;
                self.last_ms = at_ms;
            }
            Event::Reserved { .. } if self.placed < self.target => self.attempts += 1,
            _ => {}
        }
    }
}

/// Plays a shape with costs: heartbeats or rounds without a pause.
fn simulate(shape: &Shape, mode: ModeName, costs: &Costs) -> Result<Simulated> {
    let kind = match mode {
        ModeName::Heartbeat => ModeKind::Heartbeat,
        ModeName::Asynchronous => ModeKind::Asynchronous,
        ModeName::Global => ModeKind::Global,
    };
    let engine = capsched::api::Engine::builder(shape.settings(mode)?).sequential()?;
    let rounds = mode != ModeName::Heartbeat;
    let until = if mode == ModeName::Global {
        UNTIL_GLOBAL_MS
    } else {
        UNTIL_MS
    };
    let settings = DriverSettings {
        heartbeat_ms: if rounds { UNTIL_MS } else { 1 },
        round_ms: rounds.then_some(0),
        rounds_look_at_all: mode == ModeName::Global,
        costs: Some(costs.clone()),
        call_ms: 0,
        quiet_ms: Some(100),
        patience_ms: 100,
        until_ms: Some(until),
        sample_ms: UNTIL_MS,
        ..DriverSettings::default()
    };
    let mut driver = Driver::new(Stepped::new(engine, kind), settings);
    for node in shape.node_specs()? {
        driver.node_arrives(0, node);
    }
    let mut simulated = Simulated {
        target: u64::from(shape.target()),
        ..Simulated::default()
    };
    let mut jobs = Ready::new(jobs(shape)?);
    driver
        .run(&mut jobs, &mut simulated)
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(simulated)
}

/// The applications of a shape as jobs that come at once and never end.
fn jobs(shape: &Shape) -> Result<Vec<Job>> {
    let job = |plan: crate::shape::AppPlan| {
        let count = u32::try_from(plan.count).context("an application asks for containers")?;
        Ok(Job {
            at_ms: 1,
            user: plan.spec.user,
            queue: plan.spec.queue,
            name: plan.spec.id.to_string(),
            priority: None,
            master: None,
            partition: plan.spec.partition,
            tags: Vec::new(),
            tasks: vec![TaskGroup::new(plan.size, count, Run::Forever)],
            line: 0,
        })
    };
    shape.app_plans().into_iter().map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> Costs {
        let point = CostPoint {
            nodes: 1,
            heartbeat_ns: 4_000,
            visit_ns: 1_000,
            decision_ns: 10_000,
            commit_ns: 6_000,
            sort_ns: 100,
            in_turn_ns: 0,
        };
        Costs::new(vec![point], 1, CommitOverlap::Overlaps, None).unwrap()
    }

    #[test]
    fn a_saturated_scheduler_is_as_fast_as_its_costs_let_it_be() {
        let mut shape = Shape::named("K500").unwrap();
        // With a heartbeat a millisecond, fewer nodes would not keep the scheduler busy.
        (shape.cluster.nodes, shape.load.apps) = (100, 10);
        for (mode, ns) in [
            (ModeName::Heartbeat, 20_000),
            (ModeName::Asynchronous, 11_000),
            (ModeName::Global, 20_000),
        ] {
            let simulated = simulate(&shape, mode, &costs()).unwrap();
            let ratio = ratio(simulated.per_second(), 1_000_000_000 / ns);
            assert!((0.95..1.05).contains(&ratio), "{mode:?}: {simulated:?}");
            assert_eq!(simulated.placed, u64::from(shape.target()));
        }
    }

    #[test]
    fn costs_are_printed_as_they_are_read() {
        let text = file(&[costs().at(1)]);
        let read: toml::Value = toml::from_str(&text).unwrap();
        assert_eq!(read["size"][0]["decision_ns"].as_integer(), Some(10_000));
        assert_eq!(read["commits"].as_str(), Some("waits"));
    }
}
