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
//! Rounds of the shapes take turns, and begin when no JVM becomes faster any more.
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
use crate::stats::{Spread, grouped};
use crate::{ModeName, results};

/// Shapes that take turns: costs come from those named first, and the others are predicted. Those of a group are of a
/// like size, so that the largest does not keep the others waiting.
const GROUPS: [Group; 2] = [
    Group {
        sizes: &["K500", "K2000"],
        predicted: &["S1"],
        warm_up: 16,
    },
    Group {
        sizes: &["K20000"],
        predicted: &["S2", "S3"],
        warm_up: 6,
    },
];

/// Shapes of like size.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Shapes that costs come from.
    sizes: &'static [&'static str],
    /// Shapes that are predicted.
    predicted: &'static [&'static str],
    /// Rounds of warming up at most.
    warm_up: usize,
}

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
    /// Two sizes and one prediction, with few and short rounds: some minutes.
    Brief,
}

impl Extent {
    /// The shapes that are measured.
    fn groups(self) -> &'static [Group] {
        match self {
            Self::Whole => &GROUPS,
            Self::Brief => &GROUPS[..1],
        }
    }

    /// Rounds of warming up at most, and those that are measured.
    fn rounds(self, group: &Group) -> (usize, usize) {
        match self {
            Self::Whole => (group.warm_up, 3),
            Self::Brief => (group.warm_up / 2, 3),
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

/// The longest round of a brief calibration in s.
const BRIEF_ROUND_S: u32 = 8;

/// A JVM is warm when its last two rounds were at most so many percent faster than all before.
const STEADY_PERCENT: u64 = 105;

/// What was measured of a shape in one mode.
struct Measured {
    shape: Shape,
    variant: Variant,
    /// The middle one of the measured rounds by rate.
    line: PeerLine,
    /// Rates of the measured rounds.
    rates: Spread,
}

/// Measures, prints costs as a file of `--costs`, and predicts.
pub(crate) fn run(extent: Extent, record: bool) -> Result<()> {
    let (mut points, mut targets) = (Vec::new(), Vec::new());
    for group in extent.groups() {
        let names = group.sizes.iter().chain(group.predicted);
        let shapes = names.map(|name| Shape::named(name));
        let shapes = shapes.collect::<Result<Vec<_>>>()?;
        let mut by_shape: Vec<Vec<Measured>> = shapes.iter().map(|_| Vec::new()).collect();
        for variant in variants() {
            let found = in_turn(&shapes, &variant, extent.rounds(group), extent)?;
            for (modes, measured) in by_shape.iter_mut().zip(found) {
                modes.push(measured);
            }
        }
        let predicted = by_shape.split_off(group.sizes.len());
        points.extend(by_shape.iter().map(|modes| point(modes)));
        targets.extend(predicted.into_iter().flatten());
    }
    say!("{}", file(&points));
    let costs = Costs::new(points, 1, CommitOverlap::Waits, None)?;
    predict(&targets, &costs, record)
}

/// Predicts what was measured, and prints both.
fn predict(targets: &[Measured], costs: &Costs, record: bool) -> Result<()> {
    say!(
        "| shape | mode | Hadoop a second (min to max) | attempts a container | predicted | attempts a container | ratio | within 20 % |"
    );
    say!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for target in targets {
        let found = predicted(target, costs)?;
        say!(
            "| {} | {} | {} ({} to {}) | {} | {} | {} | {:.2} | {} |",
            found.shape,
            found.mode,
            grouped(found.hadoop_per_second),
            grouped(target.rates.min),
            grouped(target.rates.max),
            in_thousandths(found.hadoop_attempts_permille),
            grouped(found.predicted_per_second),
            in_thousandths(found.predicted_attempts_permille),
            found.ratio,
            if is_close(found.ratio) { "yes" } else { "no" }
        );
        if record {
            results::append(&results::of_this_machine(), &found)?;
        }
    }
    Ok(())
}

/// A number of thousandths as a decimal.
fn in_thousandths(permille: u64) -> String {
    format!("{}.{:03}", permille / 1000, permille % 1000)
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

/// Hadoop on one shape, in a JVM of its own.
struct Side {
    peer: Peer,
    /// Rates of the rounds of warming up.
    warming: Vec<u64>,
    lines: Vec<PeerLine>,
}

impl Side {
    /// Starts a JVM that nothing is warm in.
    fn start(shape: &Shape, variant: &Variant, rounds: usize, extent: Extent) -> Result<Self> {
        let longest_s = extent.longest_s();
        let peer = Peer::start_bounded(shape, variant, (0, rounds), PeerClock::Threads, longest_s)?;
        Ok(Self {
            peer,
            warming: Vec::new(),
            lines: Vec::new(),
        })
    }

    /// The middle one of its measured rounds, and the rates of all.
    fn middle(mut self) -> Result<(PeerLine, Spread)> {
        let rates: Vec<u64> = self.lines.iter().map(|line| line.per_second).collect();
        let spread = Spread::of(&rates).context("a round was measured")?;
        self.lines.sort_by_key(|line| line.per_second);
        let middle = self.lines.len() / 2;
        Ok((self.lines.swap_remove(middle), spread))
    }
}

/// Whether rates rise no more: the last two are hardly above all before.
fn is_steady(rates: &[u64]) -> bool {
    let Some((last, before)) = rates
        .split_last_chunk::<2>()
        .map(|(before, last)| (last, before))
    else {
        return false;
    };
    let best = before.iter().max().copied().unwrap_or(0);
    before.len() > 1 && last.iter().all(|&rate| 100 * rate <= STEADY_PERCENT * best)
}

/// Rounds of several shapes in one mode, one after the other and again: a minute in which the machine is slow is one
/// for all of them. Every JVM warms up until none becomes faster, or for so many rounds at most.
fn in_turn(
    shapes: &[Shape],
    variant: &Variant,
    (warm_up, rounds): (usize, usize),
    extent: Extent,
) -> Result<Vec<Measured>> {
    let start = |shape| Side::start(shape, variant, warm_up + rounds, extent);
    let mut sides = shapes.iter().map(start).collect::<Result<Vec<_>>>()?;
    for round in 1..=warm_up {
        aside!("{} mode, warming up: round {round}", variant.mode.name());
        for side in &mut sides {
            side.warming.push(side.peer.round()?.per_second);
        }
        if sides.iter().all(|side| is_steady(&side.warming)) {
            break;
        }
    }
    for round in 1..=rounds {
        aside!("{} mode, measuring: round {round}", variant.mode.name());
        for side in &mut sides {
            side.lines.push(side.peer.round()?);
        }
    }
    let measured = shapes.iter().zip(sides).map(|(shape, side)| {
        let (line, rates) = side.middle()?;
        Ok(Measured {
            shape: shape.clone(),
            variant: *variant,
            line,
            rates,
        })
    });
    measured.collect()
}

/// The costs at one size, of its rounds in heartbeat, asynchronous and global mode.
fn point(modes: &[Measured]) -> CostPoint {
    let nodes = modes
        .first()
        .map_or(0, |measured| measured.shape.cluster.nodes);
    let nodes = u64::from(nodes);
    let mut point = CostPoint {
        nodes,
        ..CostPoint::default()
    };
    for Measured { variant, line, .. } in modes {
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
                point.sort_ns = attempt_ns.saturating_sub(point.decision_ns) / nodes.max(1);
            }
        }
    }
    point
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

fn predicted(target: &Measured, costs: &Costs) -> Result<Prediction> {
    let Measured {
        shape,
        variant,
        line,
        ..
    } = target;
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
    fn a_jvm_is_warm_when_two_rounds_bring_no_more_speed() {
        for (rates, steady) in [
            (&[][..], false),
            (&[9_000, 9_000, 9_000], false),
            (&[5_000, 9_000, 9_300, 9_100], true),
            (&[5_000, 9_000, 9_300, 9_500], false),
            (&[5_000, 9_000, 9_900, 9_100], false),
            (&[5_000, 9_000, 9_900, 9_100, 9_000], true),
        ] {
            assert_eq!(is_steady(rates), steady, "{rates:?}");
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
