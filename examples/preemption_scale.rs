//! How long a round of preemption takes on large clusters.
//!
//! `cargo run --release --example preemption_scale` measures two scenes in three sizes each: up to
//! 130,000 nodes full of work of a queue from which another claims 39,000 slots, and up to 1,000 queues
//! with 100,000 containers. `-- 130000 4` measures the first scene alone, with four slots a node.
//! It fails unless exactly what is claimed is chosen, and unless the claimant has it in the end.
#![expect(
    clippy::print_stdout,
    reason = "results of a command go to standard output"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, Mode, NodeName, NodeReport, NodeSpec,
    PreemptionSettings, Rescheduler, ResourceVector, Sequential,
};
use capsched::config;
use capsched::time::{Clock, SystemClock};

type Done<T> = Result<T, Box<dyn Error>>;

/// Rounds of each scene.
const ROUNDS: usize = 7;

/// An engine over leaves with these shares in per cent, and its settings of preemption.
fn engine(shares: &[f64]) -> Done<(Sequential, PreemptionSettings)> {
    let names: Vec<_> = (0..shares.len()).map(|i| format!("q{i}")).collect();
    let mut keys = BTreeMap::from([
        ("root.queues".to_owned(), names.join(",")),
        ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
        (
            "per-node-heartbeat.maximum-offswitch-assignments".to_owned(),
            "1000".to_owned(),
        ),
    ]);
    for (name, share) in names.iter().zip(shares) {
        keys.insert(format!("root.{name}.capacity"), share.to_string());
        let factor = format!("root.{name}.user-limit-factor");
        keys.insert(factor, "1000".to_owned());
    }
    let keys = keys.into_iter();
    let keys = keys.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value));
    let preemption = "yarn.resourcemanager.monitor.capacity.preemption.";
    let site = BTreeMap::from([
        (
            "yarn.resourcemanager.scheduler.monitor.enable".to_owned(),
            "true".to_owned(),
        ),
        (
            format!("{preemption}natural_termination_factor"),
            "1".to_owned(),
        ),
        (
            format!("{preemption}total_preemption_per_round"),
            "1".to_owned(),
        ),
    ]);
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site, &keys.collect(), &types)
        .map_err(|report| format!("{report:?}"))?;
    let builder = Engine::builder(loaded.settings).mode(Mode::Heartbeat);
    Ok((builder.sequential()?, loaded.preemption))
}

/// An application of a queue with `count` asks of one slot.
fn ask(engine: &mut Sequential, app: u32, queue: usize, count: usize) -> Done<()> {
    let id = ApplicationId::new(app);
    engine.submit(&AppSpec::new(id, &format!("root.q{queue}"), "u"))?;
    let ask = Ask {
        priority: 1,
        request_id: 0,
        place: "*".to_owned(),
        size: ResourceVector::of(&[1024, 1]),
        count: i32::try_from(count)?,
        relax_locality: true,
        partition: None,
    };
    let call = AskCall {
        asks: vec![ask],
        ..AskCall::default()
    };
    engine.ask(id, &call)?;
    Ok(())
}

fn add_nodes(engine: &mut Sequential, nodes: usize, slots: usize) -> Done<Vec<NodeName>> {
    let slots = i64::try_from(slots)?;
    let mut names = Vec::new();
    for i in 0..nodes {
        let name = NodeName::new(&format!("n{i}"), 1)?;
        let size = ResourceVector::of(&[1024 * slots, slots]);
        engine.add_node(&NodeSpec::new(name.clone(), size))?;
        names.push(name);
    }
    Ok(names)
}

fn beat(engine: &mut Sequential, nodes: &[NodeName]) -> Done<()> {
    for node in nodes {
        engine.heartbeat(node, &NodeReport::AsExpected)?;
    }
    drop(engine.take_events());
    Ok(())
}

/// What was measured of a scene.
struct Measured {
    /// The policy that asked back what it chose.
    policy: Rescheduler,
    chosen: usize,
}

/// Some first rounds over the same state; the verdicts of the last one are carried out.
#[expect(clippy::float_arithmetic, reason = "a time for people")]
fn measure(name: &str, engine: &mut Sequential, settings: &PreemptionSettings) -> Measured {
    let clock = SystemClock::new();
    let mut times = Vec::new();
    let mut policy = Rescheduler::default();
    let mut verdicts = None;
    for _ in 0..ROUNDS {
        policy = Rescheduler::new(settings.clone());
        let before = clock.now_ns();
        let round = policy.round(engine.ledger());
        times.push(clock.now_ns() - before);
        verdicts = Some(round);
    }
    times.sort_unstable();
    let ms = |ns: u64| std::time::Duration::from_nanos(ns).as_secs_f64() * 1e3;
    let verdicts = verdicts.unwrap_or_default();
    let before = clock.now_ns();
    let marks = engine.preempt(|_| verdicts).marks;
    let carried_out = clock.now_ns() - before;
    let chosen = marks.iter().collect::<BTreeSet<_>>().len();
    println!(
        "{name}: {chosen} containers chosen; a round takes {:.1} ms (best {:.1}), asking them back \
         {:.1} ms",
        ms(times[ROUNDS / 2]),
        ms(times[0]),
        ms(carried_out)
    );
    Measured { policy, chosen }
}

/// One queue uses everything, one with 30 % claims its share. Once the wait of those who were
/// asked is over, the claimant must have exactly what was claimed.
fn claim(nodes: usize, slots: usize) -> Done<()> {
    let (mut engine, settings) = engine(&[70.0, 30.0])?;
    let names = add_nodes(&mut engine, nodes, slots)?;
    let claim = nodes * slots * 3 / 10;
    ask(&mut engine, 1, 0, nodes * slots)?;
    beat(&mut engine, &names)?;
    ask(&mut engine, 2, 1, claim)?;
    let name = format!("{nodes} nodes x {slots} slots, 2 queues");
    let mut measured = measure(&name, &mut engine, &settings);
    engine.advance_clock(settings.max_wait_before_kill_ms);
    let killed = engine.preempt(|ledger| measured.policy.round(ledger)).kills;
    beat(&mut engine, &names)?;
    let slots_of = |app: u32| {
        let ledger = engine.ledger();
        let app = ledger.app(ApplicationId::new(app));
        app.map_or(0, |app| ledger.live_containers(app).count())
    };
    if [measured.chosen, killed.len(), slots_of(2)] != [claim; 3] {
        let found = [measured.chosen, killed.len(), slots_of(2)];
        return Err(format!("claimed {claim}; chosen, killed and held: {found:?}").into());
    }
    Ok(())
}

/// Every other queue uses twice its share; the others claim theirs.
#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "equal shares in per cent"
)]
fn many_queues(queues: usize, nodes: usize, slots: usize) -> Done<()> {
    let share = 100.0 / queues as f64;
    let (mut engine, settings) = engine(&vec![share; queues])?;
    let names = add_nodes(&mut engine, nodes, slots)?;
    let each = 2 * nodes * slots / queues;
    for queue in (0..queues).step_by(2) {
        ask(&mut engine, u32::try_from(queue)? + 1, queue, each)?;
    }
    beat(&mut engine, &names)?;
    for queue in (1..queues).step_by(2) {
        ask(&mut engine, u32::try_from(queue)? + 1, queue, each)?;
    }
    let name = format!("{nodes} nodes x {slots} slots, {queues} queues");
    let measured = measure(&name, &mut engine, &settings);
    if measured.chosen != nodes * slots / 2 {
        return Err(format!("{} containers chosen of half of all", measured.chosen).into());
    }
    Ok(())
}

/// No two queues have the same share, use, or demand: the water rises queue by queue.
#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "shares in per cent"
)]
fn uneven_queues(queues: usize, nodes: usize, slots: usize) -> Done<()> {
    let parts: Vec<usize> = (0..queues).map(|i| 500 + i * 7919 % 1009).collect();
    let sum: usize = parts.iter().sum();
    let shares = parts.iter().map(|&part| part as f64 * 100.0 / sum as f64);
    let (mut engine, settings) = engine(&shares.collect::<Vec<_>>())?;
    let names = add_nodes(&mut engine, nodes, slots)?;
    let guarantee = |queue: usize| parts[queue] * nodes * slots / sum;
    for queue in 0..queues {
        let part = if queue % 2 == 0 {
            160 + queue % 41
        } else {
            queue * 31 % 37
        };
        let app = u32::try_from(queue)? + 1;
        ask(
            &mut engine,
            app,
            queue,
            (guarantee(queue) * part).div_ceil(100),
        )?;
    }
    beat(&mut engine, &names)?;
    for queue in (1..queues).step_by(2) {
        let app = u32::try_from(queues + queue)? + 1;
        ask(
            &mut engine,
            app,
            queue,
            guarantee(queue) * (50 + queue % 97) / 100,
        )?;
    }
    let name = format!("{nodes} nodes x {slots} slots, {queues} uneven queues");
    measure(&name, &mut engine, &settings);
    Ok(())
}

fn main() -> Done<()> {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    if let Some(&nodes) = arguments.first() {
        return claim(nodes, arguments.get(1).copied().unwrap_or(1));
    }
    for nodes in [1_300, 13_000, 130_000] {
        claim(nodes, 1)?;
    }
    for queues in [10, 100, 1000] {
        many_queues(queues, 10_000, 10)?;
        uneven_queues(queues, 10_000, 10)?;
    }
    Ok(())
}
