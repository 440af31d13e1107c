//! Engines of the largest sizes, for the scenes.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, ensure};
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, EngineBuilder, Latencies, Mode, NodeName,
    NodeReport, NodeSpec, ResourceVector, Threaded, TreeSettings,
};
use capsched::config;

use super::hold::FETCHES;
use super::processor_clock::ProcessorClock;

/// How large things are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) nodes: u32,
    /// Asks, releases, containers of one call.
    pub(super) items: i32,
    /// Applications of a queue.
    pub(super) apps: u32,
    /// Leaves of the large tree.
    pub(super) leaves: u32,
    /// Containers of one node.
    pub(super) on_a_node: i32,
    pub(super) mode: Mode,
}

impl Sizes {
    pub(super) const fn of(small: bool, mode: Mode) -> Self {
        if small {
            return Self {
                nodes: 100,
                items: 1_000,
                apps: 20,
                leaves: 30,
                on_a_node: 30,
                mode,
            };
        }
        Self {
            nodes: 10_000,
            items: 100_000,
            apps: 2_000,
            leaves: 3_000,
            on_a_node: 3_000,
            mode,
        }
    }
}

/// One of the applications of a scene.
pub(super) const fn app(number: u32) -> ApplicationId {
    ApplicationId::new(number + 1)
}

/// One GiB and one core.
pub(super) fn container() -> ResourceVector {
    ResourceVector::of(&[1024, 1])
}

pub(super) fn asks(count: i32) -> AskCall {
    AskCall::asking(vec![Ask::anywhere(container(), count)])
}

/// As many containers under each of the most request ids that one call may have.
pub(super) fn asks_by_id(sizes: &Sizes, count: i32) -> AskCall {
    let with_id = |request_id| Ask {
        request_id,
        ..Ask::anywhere(container(), count)
    };
    AskCall::asking((0..i64::from(sizes.items)).map(with_id).collect())
}

pub(super) fn node(number: u32) -> Result<NodeName> {
    NodeName::new(&format!("n{number}"), 1).map_err(|error| anyhow!("{error}"))
}

/// A node with room for so many containers.
pub(super) fn node_for(number: u32, containers: i32) -> Result<NodeSpec> {
    let containers = i64::from(containers);
    let total = ResourceVector::of(&[containers * 1024, containers]);
    Ok(NodeSpec {
        rack: format!("/rack-{}", number / 40),
        ..NodeSpec::new(node(number)?, total)
    })
}

/// Two queues, and so many leaves beside them.
pub(super) fn settings(leaves: u32) -> Result<TreeSettings> {
    let key = |key: &str| format!("yarn.scheduler.capacity.{key}");
    let mut names = vec!["a".to_owned(), "b".to_owned()];
    names.extend((0..leaves).map(|leaf| format!("leaf{leaf}")));
    let mut queues = BTreeMap::from([(key("root.queues"), names.join(","))]);
    for (at, name) in names.iter().enumerate() {
        let (capacity, factor) = (
            key(&format!("root.{name}.capacity")),
            key(&format!("root.{name}.user-limit-factor")),
        );
        queues.insert(capacity, if at < 2 { "50" } else { "0" }.to_owned());
        queues.insert(factor, "1000".to_owned());
    }
    let further = [
        ("maximum-am-resource-percent", "1"),
        ("per-node-heartbeat.maximum-container-assignments", "100000"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100000"),
    ];
    queues.extend(further.map(|(name, value)| (key(name), value.to_owned())));
    let site = [
        ("yarn.node-labels.enabled", "true"),
        // Otherwise the configuration disables preemption of every queue, and rounds ask for nothing back. It
        // starts no monitor: a scene does that by itself.
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        ("yarn.scheduler.maximum-allocation-mb", "1048576"),
        (
            "yarn.nodemanager.opportunistic-containers-max-queue-length",
            "100",
        ),
        (
            "yarn.resourcemanager.opportunistic-container-allocation.enabled",
            "true",
        ),
    ];
    let site = site.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site.into(), &queues, &types);
    Ok(loaded.map_err(|report| anyhow!("{report}"))?.settings)
}

/// An engine with the application that fetches.
pub(super) fn started(
    sizes: &Sizes,
    leaves: u32,
    change: impl FnOnce(EngineBuilder) -> EngineBuilder,
) -> Result<Threaded> {
    over(sizes.mode, leaves, Vec::new(), change)
}

/// The same with nodes that have room for so many containers each.
pub(super) fn with_nodes(sizes: &Sizes, leaves: u32, containers: i32) -> Result<Threaded> {
    let nodes = (0..sizes.nodes).map(|number| node_for(number, containers));
    let nodes = nodes.collect::<Result<_>>()?;
    over(sizes.mode, leaves, nodes, |builder| builder)
}

/// Nodes come all at once: capacities of all queues follow each of them otherwise.
fn over(
    mode: Mode,
    leaves: u32,
    nodes: Vec<NodeSpec>,
    change: impl FnOnce(EngineBuilder) -> EngineBuilder,
) -> Result<Threaded> {
    let builder = Engine::builder(settings(leaves)?).partition("gpu", true);
    let mut engine = change(builder).sequential()?;
    engine.add_nodes(&nodes, &mut Vec::new())?;
    let clock = ProcessorClock::new();
    let engine = Threaded::take_over(engine, mode, clock, Latencies::All)?;
    engine.submit(AppSpec::new(FETCHES, "root.b", "bob"))?;
    Ok(engine)
}

/// Submits an application that runs its master itself.
pub(super) fn submit(engine: &Threaded, number: u32) -> Result<()> {
    engine.submit(AppSpec::new(app(number), "root.a", "ann"))?;
    Ok(())
}

/// Has nodes report, all at once.
pub(super) fn beat(engine: &Threaded, nodes: u32) -> Result<()> {
    let named = (0..nodes).map(|number| Ok((node(number)?, NodeReport::AsExpected)));
    for reply in engine.heartbeat_all(named.collect::<Result<_>>()?) {
        reply?;
    }
    Ok(())
}

/// Has containers of an application placed, of which it fetches none.
pub(super) fn fill(engine: &Threaded, number: u32, nodes: u32, count: i32) -> Result<()> {
    engine.ask(app(number), asks(count))?;
    beat(engine, nodes)?;
    engine.quiesce();
    Ok(())
}

/// The numbers of the containers that an application has and has not fetched yet.
pub(super) fn fetched(engine: &Threaded, number: u32, count: i32) -> Result<Vec<u32>> {
    let reply = engine.ask(app(number), AskCall::default())?;
    let numbers = reply.allocated.iter().map(|got| got.container.number);
    let numbers: Vec<u32> = numbers.collect();
    let wanted = usize::try_from(count)?;
    ensure!(
        numbers.len() == wanted,
        "{} placed of {count}",
        numbers.len()
    );
    Ok(numbers)
}
