//! A saturated cluster: more is asked than it holds, and the engine places containers until it is full.

use anyhow::{Result, anyhow};
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Latencies, Mode, ModeKind, NodeName, NodeReport,
    ResourceVector, Sequential, Threaded, TreeSettings,
};
use capsched::config::{ConfigSource, Layer, Options, load};
use capsched::id::PartitionId;
use capsched::metrics::{Histogram, Latency, Phase};
use capsched::queue::NodeSpec;

use capsched::simulator::among_all_nodes;
use capsched::snapshot::State;
use capsched::time::{Clock, SystemClock};
use serde_json::{Value, json};

use super::figures::{grouped, rate, time};
use super::table::{Line, aligned, meanings};

const QUEUES: [&str; 4] = ["a", "b", "c", "d"];

/// Applications of each queue.
const APPS: u32 = 5;

/// Containers that a node holds, of 1 GiB and 1 vcore each.
const ON_A_NODE: u32 = 100;

/// Memory of a container in MiB.
const CONTAINER_MIB: i64 = 1024;

/// Time between two sorts of the nodes in global mode, in ms.
const SORT_MS: u64 = 1000;

/// Nodes; few in builds that are not optimised.
const NODES: u32 = if cfg!(debug_assertions) { 20 } else { 2000 };

/// What a mode came to.
#[derive(Clone, Debug)]
pub(crate) struct Saturated {
    mode: ModeKind,
    placed: u64,
    wall_ns: u64,
    /// Of one decision.
    decision: Latency,
}

impl Saturated {
    /// Fills the cluster in a mode, with one thread that decides.
    pub(crate) fn measure(mode: ModeKind) -> Result<Self> {
        let clock = SystemClock::new();
        let (engine, nodes) = cluster(mode)?;
        let engine = Threaded::take_over(engine, threads_of(mode), clock, Latencies::Sampled)?;
        let room = u64::from(NODES * ON_A_NODE);
        let calls = asks();
        let before = clock.now_ns();
        for answer in engine.ask_all(calls) {
            answer?;
        }
        let mut decisions = Histogram::new();
        let mut placed = 0;
        while placed < room {
            let took = match mode {
                ModeKind::Heartbeat => heartbeats(&engine, &nodes, clock)?,
                ModeKind::Asynchronous | ModeKind::Global => Vec::new(),
            };
            engine.quiesce();
            let known = std::mem::replace(&mut placed, placed_by(&engine));
            if placed == known {
                break;
            }
            // The time of a heartbeat is shared among the containers that it places.
            let each = ((placed - known) / u64::from(NODES)).max(1);
            for ns in took {
                decisions.record_n(ns / each, each);
            }
        }
        let wall_ns = clock.now_ns() - before;
        if let Some(proposals) = engine.latencies().get(Phase::Propose) {
            decisions.merge(proposals);
        }
        Ok(Self {
            mode,
            placed,
            wall_ns,
            decision: decisions.latency(),
        })
    }

    /// Containers a second of wall time.
    #[expect(
        clippy::float_arithmetic,
        clippy::cast_precision_loss,
        reason = "a rate for people"
    )]
    fn per_second(&self) -> f64 {
        self.placed as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// As a JSON object.
    pub(crate) fn to_json(&self) -> Value {
        let latency = |of: fn(&Latency) -> u64| (self.decision.n > 0).then(|| of(&self.decision));
        json!({
            "mode": self.mode.name(),
            "placed": self.placed,
            "wall_ns": self.wall_ns,
            "placed_per_second": self.per_second(),
            "decision_ns": {"p50": latency(|l| l.p50), "p99": latency(|l| l.p99)},
        })
    }
}

const fn threads_of(mode: ModeKind) -> Mode {
    match mode {
        ModeKind::Heartbeat => Mode::Heartbeat,
        ModeKind::Asynchronous => Mode::Asynchronous { threads: 1 },
        ModeKind::Global => Mode::Global { threads: 1 },
    }
}

/// One heartbeat of every node; how long each took, in ns.
fn heartbeats(engine: &Threaded, nodes: &[NodeName], clock: SystemClock) -> Result<Vec<u64>> {
    let mut took = Vec::with_capacity(nodes.len());
    for node in nodes {
        let before = clock.now_ns();
        engine.heartbeat(node.clone(), NodeReport::AsExpected)?;
        // The answer comes before the node is scheduled.
        engine.quiesce();
        took.push(clock.now_ns() - before);
    }
    Ok(took)
}

/// Containers that the cluster holds.
fn placed_by(engine: &Threaded) -> u64 {
    let used = engine.inspect(|ledger| {
        let root = &ledger.state().queues[State::ROOT];
        root.part(PartitionId::DEFAULT).used.get()
    });
    let used = used.map_or(0, |used| used.memory() / CONTAINER_MIB);
    u64::try_from(used).unwrap_or(0)
}

/// An engine with nodes and applications; four queues with a quarter each.
fn cluster(mode: ModeKind) -> Result<(Sequential, Vec<NodeName>)> {
    let mut engine = Sequential::new(settings(mode)?, &[])?;
    let size = i64::from(ON_A_NODE);
    let mut nodes = Vec::new();
    for node in 0..NODES {
        let name = NodeName::new(&format!("node-{node}"), 0)?;
        let total = ResourceVector::of(&[size * CONTAINER_MIB, size]);
        engine.add_node(&NodeSpec::new(name.clone(), total))?;
        nodes.push(name);
    }
    let queues = QUEUES.iter().cycle().take(QUEUES.len() * APPS as usize);
    for (app, queue) in (1..).zip(queues) {
        let queue = format!("root.{queue}");
        engine.submit(&AppSpec::new(ApplicationId::new(app), &queue, "user"))?;
    }
    Ok((engine, nodes))
}

fn settings(mode: ModeKind) -> Result<TreeSettings> {
    let key = |name: &str, value: &str| {
        format!(
            "<property><name>yarn.scheduler.capacity.{name}</name><value>{value}</value></property>"
        )
    };
    let mut text = key("root.queues", &QUEUES.join(","));
    text.push_str(&key("maximum-am-resource-percent", "1"));
    for queue in QUEUES {
        text.push_str(&key(&format!("root.{queue}.capacity"), "25"));
        text.push_str(&key(&format!("root.{queue}.user-limit-factor"), "-1"));
    }
    let source = ConfigSource {
        name: "saturated".to_owned(),
        bytes: format!("<configuration>{text}</configuration>").into_bytes(),
        layer: Layer::Scheduler,
    };
    let loaded = load(&[source], &Options::default());
    let mut settings = loaded.map_err(|report| anyhow!("{report:?}"))?.settings;
    if mode == ModeKind::Global {
        settings = among_all_nodes(settings);
        // Each container would move a node through the order. By default YARN sorts once a second.
        for policy in &mut settings.scheduler.multi_node.policies {
            policy.interval_ms = SORT_MS;
        }
    }
    let asynchronous = &mut settings.scheduler.asynchronous;
    asynchronous.name_mode(mode == ModeKind::Heartbeat);
    Ok(settings)
}

/// Each application asks for a tenth more than its share of the cluster.
fn asks() -> Vec<(ApplicationId, AskCall)> {
    let apps = u32::try_from(QUEUES.len()).unwrap_or(1) * APPS;
    let each = NODES * ON_A_NODE / apps * 11 / 10;
    let ask = || {
        let size = ResourceVector::of(&[CONTAINER_MIB, 1]);
        AskCall::asking(vec![Ask::anywhere(
            size,
            i32::try_from(each).unwrap_or(i32::MAX),
        )])
    };
    (1..=apps)
        .map(|app| (ApplicationId::new(app), ask()))
        .collect()
}

/// The runs side by side; `explain`: followed by what each line means.
pub(crate) fn saturated_table(runs: &[Saturated], explain: bool) -> String {
    let lines = saturated_lines(runs);
    let mut out = format!(
        "The engine on a saturated cluster, by the clock on the wall: {} nodes\n\
         with room for {ON_A_NODE} containers each, a tenth more asked; one thread decides,\n\
         one commits\n\n",
        grouped(u64::from(NODES)),
    );
    let meanings = explain.then(|| meanings(lines.iter()));
    out.push_str(&aligned(&[lines]));
    out.push_str(&meanings.unwrap_or_default());
    out
}

fn saturated_lines(runs: &[Saturated]) -> Vec<Line> {
    type Cell<'a> = &'a dyn Fn(&Saturated) -> Option<String>;
    let line = |label: &str, meaning: &'static str, cell: Cell<'_>| Line {
        label: label.to_owned(),
        meaning,
        cells: runs.iter().map(cell).collect(),
    };
    let latency = |of: fn(&Latency) -> u64| {
        move |run: &Saturated| (run.decision.n > 0).then(|| time(of(&run.decision)))
    };
    vec![
        line(
            "scheduling mode",
            "When containers are placed, as in the table above.",
            &|run| Some(run.mode.name().to_owned()),
        ),
        line(
            "containers allocated",
            "Containers that were placed until the cluster was full.",
            &|run| Some(grouped(run.placed)),
        ),
        line(
            "allocated a second",
            "These by the time from the first ask to the last placement. In heartbeat mode every \
             node reports in turn, and each report is awaited.",
            &|run| Some(rate(run.per_second())),
        ),
        line(
            "one decision p50",
            "Time of one decision: of a proposal without its commit in the modes with a thread \
             that decides, of a heartbeat by the containers that it places in heartbeat mode.",
            &latency(|l| l.p50),
        ),
        line("             p99", "", &latency(|l| l.p99)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_fills_the_cluster_and_times_its_decisions() {
        for mode in [
            ModeKind::Heartbeat,
            ModeKind::Asynchronous,
            ModeKind::Global,
        ] {
            let run = Saturated::measure(mode).expect("the configuration is our own");
            assert_eq!(run.placed, u64::from(NODES * ON_A_NODE), "{mode:?}");
            assert!(run.decision.n > 0, "{mode:?}");
        }
    }

    #[test]
    fn the_table_fits_into_a_terminal_and_is_explained() {
        let run = Saturated {
            mode: ModeKind::Asynchronous,
            placed: 200_000,
            wall_ns: 1_000_000_000,
            decision: Latency::default(),
        };
        let runs = [run.clone(), run.clone(), run];
        let plain = saturated_table(&runs, false);
        let explained = saturated_table(&runs, true);
        assert!(explained.starts_with(&plain) && explained.contains("What the lines mean"));
        assert!(
            explained.lines().all(|line| line.len() <= 80),
            "{explained}"
        );
    }
}
