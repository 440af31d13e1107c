//! How long a round of preemption takes on large clusters.
//!
//! `cargo run --release --example preemption_scale` measures two scenes: 130,000 nodes full of
//! work of a queue that owes 39,000 slots to another, and 1,000 queues with 100,000 containers.
//! `-- 130000 4` has four slots a node.
#![expect(
    clippy::print_stdout,
    reason = "results of a command go to standard output"
)]

use std::collections::BTreeMap;
use std::error::Error;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeReport, NodeSpec, PreemptionSettings,
    Rescheduler, ResourceVector, Sequential,
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
    Ok((Sequential::new(loaded.settings, &[])?, loaded.preemption))
}

/// An application of a queue with `count` asks of one slot.
fn ask(engine: &mut Sequential, app: u32, queue: usize, count: usize) -> Done<()> {
    let id = ApplicationId::new(app);
    engine.submit(&AppSpec {
        placement_parent: None,
        id,
        user: "u".to_owned(),
        queue: format!("root.q{queue}"),
        priority: None,
        master: None,
        master_partition: None,
        partition: None,
        tags: Vec::new(),
    })?;
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

/// The best of some first rounds over the same state, and how many containers it chose.
#[expect(clippy::float_arithmetic, reason = "a time for people")]
fn measure(name: &str, engine: &mut Sequential, settings: &PreemptionSettings) {
    let clock = SystemClock::new();
    let mut times = Vec::new();
    let mut verdicts = None;
    for _ in 0..ROUNDS {
        let mut policy = Rescheduler::new(settings.clone());
        let before = clock.now_ns();
        let round = policy.round(engine.ledger());
        times.push(clock.now_ns() - before);
        verdicts = Some(round);
    }
    times.sort_unstable();
    let ms = |ns: u64| std::time::Duration::from_nanos(ns).as_secs_f64() * 1e3;
    let verdicts = verdicts.unwrap_or_default();
    let before = clock.now_ns();
    let marks = engine.preempt(|_| verdicts).marks.len();
    println!(
        "{name}: {marks} containers chosen; a round takes {:.1} ms (best {:.1}), asking them back \
         {:.1} ms",
        ms(times[ROUNDS / 2]),
        ms(times[0]),
        ms(clock.now_ns() - before)
    );
}

/// One queue uses everything, one with 30 % claims its share.
fn claim(nodes: usize, slots: usize) -> Done<()> {
    let (mut engine, settings) = engine(&[70.0, 30.0])?;
    let names = add_nodes(&mut engine, nodes, slots)?;
    let all = nodes * slots;
    ask(&mut engine, 1, 0, all)?;
    beat(&mut engine, &names)?;
    ask(&mut engine, 2, 1, all * 3 / 10)?;
    let name = format!("{nodes} nodes x {slots} slots, 2 queues");
    measure(&name, &mut engine, &settings);
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
    measure(&name, &mut engine, &settings);
    Ok(())
}

fn main() -> Done<()> {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let nodes = arguments.first().copied().unwrap_or(130_000);
    let slots = arguments.get(1).copied().unwrap_or(1);
    claim(nodes, slots)?;
    many_queues(1000, 10_000, 10)
}
