//! A small cluster with opportunistic containers, and what is asked of it.

use crate::trees;
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskReply, ContainerId, EndCause, Engine, EngineBuilder,
    Event, HeartbeatReply, NodeName, NodeReport, NodeSpec, OpportunisticSettings,
    OpportunisticStep, ResourceVector, Sequential, StateView, TreeSettings,
};

pub(super) const APP: ApplicationId = ApplicationId::new(1);
pub(super) const OTHER: ApplicationId = ApplicationId::new(2);

pub(super) fn size(gib: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[gib * 1024, cores])
}

pub(super) fn node(number: u8) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

pub(super) fn settings(opportunistic: Option<OpportunisticSettings>) -> TreeSettings {
    let mut settings = trees::settings([
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.maximum-capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        (
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
    ]);
    settings.scheduler.opportunistic = opportunistic;
    settings
}

pub(super) fn waits(queue_capacity: u32) -> OpportunisticSettings {
    OpportunisticSettings {
        queue_capacity,
        ..OpportunisticSettings::default()
    }
}

/// So many nodes of 8 GiB and 8 cores, two on each rack, and an unmanaged application in each of two leaves.
pub(super) fn cluster_with(
    nodes: u8,
    opportunistic: Option<OpportunisticSettings>,
    options: impl Fn(EngineBuilder) -> EngineBuilder,
) -> Sequential {
    let builder = options(Engine::builder(settings(opportunistic)));
    let mut engine = builder.sequential().unwrap();
    for number in 0..nodes {
        add_node(&mut engine, number);
    }
    engine.submit(&AppSpec::new(APP, "root.a", "ann")).unwrap();
    engine
        .submit(&AppSpec::new(OTHER, "root.b", "bob"))
        .unwrap();
    engine.take_events();
    engine
}

pub(super) fn add_node(engine: &mut Sequential, number: u8) {
    let spec = NodeSpec {
        rack: format!("/rack-{}", number / 2),
        ..NodeSpec::new(node(number), size(8, 8))
    };
    engine.add_node(&spec).unwrap();
}

pub(super) fn cluster(nodes: u8, queue_capacity: u32) -> Sequential {
    cluster_with(nodes, Some(waits(queue_capacity)), |builder| builder)
}

pub(super) fn beat(engine: &mut Sequential, number: u8) -> HeartbeatReply {
    let report = NodeReport::AsExpected;
    engine.heartbeat(&node(number), &report).unwrap()
}

pub(super) fn asks(count: i32, gib: i64) -> Vec<Ask> {
    vec![Ask::anywhere(size(gib, 1), count)]
}

pub(super) fn fetch(engine: &mut Sequential, app: ApplicationId) -> AskReply {
    engine.ask(app, &AskCall::default()).unwrap()
}

/// Asks for opportunistic containers and fetches those that were placed: their numbers.
pub(super) fn place(engine: &mut Sequential, app: ApplicationId, asks: &[Ask]) -> Vec<u32> {
    engine.ask_opportunistic(app, asks).unwrap();
    let granted = fetch(engine, app).allocated;
    assert!(granted.iter().all(|granted| granted.opportunistic));
    granted
        .iter()
        .map(|granted| granted.container.number)
        .collect()
}

/// Has a guaranteed container placed on a node and fetched.
pub(super) fn guaranteed(
    engine: &mut Sequential,
    app: ApplicationId,
    on: u8,
    gib: i64,
) -> ContainerId {
    engine.ask(app, &AskCall::asking(asks(1, gib))).unwrap();
    beat(engine, on);
    let granted = fetch(engine, app).allocated;
    assert!(
        granted.len() == 1 && !granted[0].opportunistic,
        "{granted:?}"
    );
    granted[0].container
}

/// Waiting and started containers of a node, and what the latter take in MiB.
pub(super) fn queue(engine: &Sequential, on: u8) -> (u32, usize, i64) {
    let ledger = engine.ledger();
    let queue = ledger
        .node_rooms()
        .queue(ledger.node(&node(on)).unwrap())
        .unwrap();
    (queue.length(), queue.started(), queue.used().memory())
}

/// What happened to containers, by number.
pub(super) type Numbered<T> = Vec<(u32, T)>;

/// What happened to opportunistic containers, and the containers that ended with their causes.
pub(super) fn news(engine: &mut Sequential) -> (Numbered<OpportunisticStep>, Numbered<EndCause>) {
    let (mut steps, mut ends) = (Vec::new(), Vec::new());
    for event in engine.take_events() {
        match event {
            Event::Opportunistic(of) => steps.push((of.container.number, of.step)),
            Event::Ended {
                container, cause, ..
            } => ends.push((container.number, cause)),
            _ => {}
        }
    }
    (steps, ends)
}

pub(super) const QUEUED: OpportunisticStep = OpportunisticStep::Queued;
pub(super) const STARTED: OpportunisticStep = OpportunisticStep::Started;

/// Sums of queues and nodes; opportunistic containers change none of them.
pub(super) fn charged(engine: &Sequential) -> Vec<String> {
    let view = StateView::of(engine.ledger());
    let queues = view
        .queues
        .iter()
        .map(|queue| format!("{:?}", queue.labels));
    let nodes = view.nodes.iter();
    queues
        .chain(nodes.map(|node| format!("{:?} {:?}", node.allocated, node.available)))
        .collect()
}
