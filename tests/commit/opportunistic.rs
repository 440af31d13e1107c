//! Opportunistic containers: placed on the least loaded nodes outside of queue limits, queued there, started as room comes,
//! ended where guaranteed containers need it, promoted and demoted.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use crate::trees;
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, ContainerChange, ContainerId,
    ContainerUpdate, Decision, EndCause, Engine, EngineBuilder, HandOut, Mode, NodeName,
    NodeReport, NodeSpec, OpportunisticSettings, OpportunisticStep, PartitionSpec, ResourceVector,
    RunningContainer, Sequential, StateView, TreeSettings,
};
use proptest::prelude::*;

const APP: ApplicationId = ApplicationId::new(1);
const OTHER: ApplicationId = ApplicationId::new(2);

fn size(gib: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[gib * 1024, cores])
}

fn node(number: u8) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

fn settings(opportunistic: Option<OpportunisticSettings>) -> TreeSettings {
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

fn waits(queue_capacity: u32) -> OpportunisticSettings {
    OpportunisticSettings {
        queue_capacity,
        ..OpportunisticSettings::default()
    }
}

/// So many nodes of 8 GiB and 8 cores, two on each rack, and an unmanaged application in each of two leaves.
fn cluster_with(
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

fn add_node(engine: &mut Sequential, number: u8) {
    let spec = NodeSpec {
        rack: format!("/rack-{}", number / 2),
        ..NodeSpec::new(node(number), size(8, 8))
    };
    engine.add_node(&spec).unwrap();
}

fn cluster(nodes: u8, queue_capacity: u32) -> Sequential {
    cluster_with(nodes, Some(waits(queue_capacity)), |builder| builder)
}

fn beat(engine: &mut Sequential, number: u8) -> capsched::api::HeartbeatReply {
    let report = NodeReport::AsExpected;
    engine.heartbeat(&node(number), &report).unwrap()
}

fn asks(count: i32, gib: i64) -> Vec<Ask> {
    vec![Ask::anywhere(size(gib, 1), count)]
}

fn fetch(engine: &mut Sequential, app: ApplicationId) -> AskReply {
    engine.ask(app, &AskCall::default()).unwrap()
}

/// Asks for opportunistic containers and fetches those that were placed: their numbers.
fn place(engine: &mut Sequential, app: ApplicationId, asks: &[Ask]) -> Vec<u32> {
    engine.ask_opportunistic(app, asks).unwrap();
    let granted = fetch(engine, app).allocated;
    assert!(granted.iter().all(|granted| granted.opportunistic));
    granted
        .iter()
        .map(|granted| granted.container.number)
        .collect()
}

/// Has a guaranteed container placed on a node and fetched.
fn guaranteed(engine: &mut Sequential, app: ApplicationId, on: u8, gib: i64) -> ContainerId {
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
fn queue(engine: &Sequential, on: u8) -> (u32, usize, i64) {
    let ledger = engine.ledger();
    let queue = ledger.node_queue(ledger.node(&node(on)).unwrap()).unwrap();
    (queue.length(), queue.started(), queue.used().memory())
}

/// What happened to containers, by number.
type Numbered<T> = Vec<(u32, T)>;

/// What happened to opportunistic containers, and the containers that ended with their causes.
fn news(engine: &mut Sequential) -> (Numbered<OpportunisticStep>, Numbered<EndCause>) {
    let (mut steps, mut ends) = (Vec::new(), Vec::new());
    for event in engine.take_events() {
        match event {
            Decision::Opportunistic(of) => steps.push((of.container.number, of.step)),
            Decision::Ended {
                container, cause, ..
            } => ends.push((container.number, cause)),
            _ => {}
        }
    }
    (steps, ends)
}

const QUEUED: OpportunisticStep = OpportunisticStep::Queued;
const STARTED: OpportunisticStep = OpportunisticStep::Started;

/// Sums of queues and nodes; opportunistic containers change none of them.
fn charged(engine: &Sequential) -> Vec<String> {
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

#[test]
fn they_are_refused_unless_the_settings_enable_them() {
    let mut engine = cluster_with(1, None, |builder| builder);
    let refused = engine.ask_opportunistic(APP, &asks(1, 1));
    let Err(AskError::Opportunistic(reason)) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(reason, "the settings do not enable them");
    assert_eq!(engine.ledger().node_queue_limit(), None);
    assert_eq!(StateView::of(engine.ledger()).nodes[0].opportunistic, None);
}

#[test]
fn they_start_where_there_is_room_and_no_queue_is_charged() {
    let mut engine = cluster(2, 0);
    let before = charged(&engine);
    // The leaf may use half of the cluster, which is 8 GiB; these are 14.
    assert_eq!(place(&mut engine, APP, &asks(7, 2)), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(charged(&engine), before);
    let (steps, ends) = news(&mut engine);
    assert_eq!(steps, (1..=7).map(|n| (n, STARTED)).collect::<Vec<_>>());
    assert!(ends.is_empty());
    // Spread over the nodes in turn.
    assert_eq!(
        [queue(&engine, 0), queue(&engine, 1)],
        [(0, 4, 8192), (0, 3, 6144)]
    );
    assert_eq!(beat(&mut engine, 0).launched.len(), 4);
    // The next report of a node that launched them names none again.
    assert!(beat(&mut engine, 0).launched.is_empty());
}

#[test]
fn guaranteed_decisions_are_the_same_beside_them() {
    let run = |opportunistic: bool| {
        let mut engine = cluster(2, 3);
        if opportunistic {
            place(&mut engine, OTHER, &asks(9, 2));
        }
        let call = AskCall::asking(asks(9, 1));
        engine.ask(APP, &call).unwrap();
        for number in [0, 1, 0, 1, 1, 0, 0, 1, 1, 0] {
            beat(&mut engine, number);
        }
        let placed = engine
            .take_events()
            .into_iter()
            .filter_map(|event| match event {
                Decision::Allocated {
                    container, node, ..
                } => Some((container, node)),
                _ => None,
            });
        placed.collect::<Vec<_>>()
    };
    let plain = run(false);
    assert_eq!(plain.len(), 8, "the leaf is full at its maximum");
    assert_eq!(run(true), plain);
}

#[test]
fn what_does_not_fit_waits_in_the_order_of_the_asks() {
    let mut engine = cluster(1, 2);
    assert_eq!(place(&mut engine, APP, &asks(9, 4)), [1, 2, 3, 4]);
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 5);
    assert_eq!(queue(&engine, 0), (2, 2, 8192));
    let (steps, _) = news(&mut engine);
    assert_eq!(
        steps,
        [(1, STARTED), (2, STARTED), (3, QUEUED), (4, QUEUED)]
    );
    // Only those that started are launched, however often the node reports.
    assert_eq!(beat(&mut engine, 0).launched.len(), 2);
    assert!(beat(&mut engine, 0).launched.is_empty());
    // One ends: the next one starts at once, and its place in the queue is for another one.
    assert!(engine.container_finished(ContainerId::new(APP, 1)));
    assert_eq!(news(&mut engine).0, [(3, STARTED)]);
    assert_eq!(beat(&mut engine, 0).launched, [ContainerId::new(APP, 3)]);
    let granted = fetch(&mut engine, APP).allocated;
    assert_eq!(granted.len(), 1);
    assert_eq!(granted[0].size, size(4, 1));
    assert_eq!(queue(&engine, 0), (2, 2, 8192));
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 4);
}

#[test]
fn a_waiting_container_is_not_overtaken_by_a_smaller_one() {
    let mut engine = cluster(1, 4);
    place(&mut engine, APP, &asks(2, 6));
    assert_eq!(queue(&engine, 0), (1, 1, 6144));
    place(&mut engine, OTHER, &asks(1, 1));
    assert_eq!(queue(&engine, 0), (2, 1, 6144));
}

#[test]
fn the_least_loaded_nodes_come_first() {
    let mut engine = cluster(3, 4);
    guaranteed(&mut engine, APP, 0, 8);
    guaranteed(&mut engine, OTHER, 1, 8);
    place(&mut engine, APP, &asks(2, 4));
    assert_eq!([0, 1, 2].map(|on| queue(&engine, on).1), [0, 0, 2]);
    place(&mut engine, APP, &asks(5, 4));
    let mut lengths = [0, 1, 2].map(|on| queue(&engine, on).0);
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 2, 2]);
}

#[test]
fn as_many_nodes_are_looked_at_as_the_settings_say() {
    let one = OpportunisticSettings {
        nodes_used: 1,
        ..waits(0)
    };
    let mut engine = cluster_with(3, Some(one), |builder| builder);
    guaranteed(&mut engine, APP, 0, 8);
    guaranteed(&mut engine, OTHER, 1, 8);
    // Each call looks at one node: the third one has room.
    engine.ask_opportunistic(APP, &asks(1, 4)).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 1);
    assert!(fetch(&mut engine, APP).allocated.is_empty());
    let granted = fetch(&mut engine, APP).allocated;
    assert_eq!(granted[0].node, node(2));
}

#[test]
fn named_hosts_and_racks_come_before_other_nodes() {
    let mut engine = cluster(4, 0);
    let on = |place: &str, count| Ask {
        place: place.to_owned(),
        ..Ask::anywhere(size(4, 1), count)
    };
    // Two on the host, of which the second is more than its room; one on the rack; one anywhere.
    let wanted = [on("n3", 3), on("/rack-0", 1), on("*", 4)];
    engine.ask_opportunistic(APP, &wanted).unwrap();
    let granted = fetch(&mut engine, APP).allocated;
    let nodes: Vec<_> = granted
        .iter()
        .map(|granted| granted.node.host().to_owned())
        .collect();
    assert_eq!(nodes[..2], ["n3", "n3"]);
    assert!(["n0", "n1"].contains(&nodes[2].as_str()), "{nodes:?}");
    assert_eq!(nodes.len(), 4);
    // Without relaxed locality nothing else will do.
    let strict = [
        on("n3", 1),
        Ask {
            relax_locality: false,
            ..on("*", 1)
        },
    ];
    assert!(place(&mut engine, OTHER, &strict).is_empty());
    assert_eq!(engine.ledger().opportunistic_waiting(OTHER), 1);
}

#[test]
fn excluded_closed_and_small_nodes_take_none() {
    let mut engine = cluster(3, 5);
    let excludes = AskCall {
        blacklist_add: vec!["n0".to_owned()],
        ..AskCall::default()
    };
    engine.ask(APP, &excludes).unwrap();
    engine.decommission_node(&node(1)).unwrap();
    place(&mut engine, APP, &asks(4, 4));
    assert_eq!(
        [0, 1, 2].map(|on| queue(&engine, on)),
        [(0, 0, 0), (0, 0, 0), (2, 2, 8192)]
    );
    engine.resize_node(&node(2), size(2, 2)).unwrap();
    assert!(place(&mut engine, APP, &asks(1, 4)).is_empty());
}

#[test]
fn partitions_are_kept_apart() {
    let label = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let mut engine = cluster_with(1, Some(waits(0)), |builder| {
        builder.partitions(vec![label.clone()])
    });
    engine.relabel_node(&node(0), "gpu").unwrap();
    assert!(place(&mut engine, APP, &asks(1, 1)).is_empty());
    engine.relabel_node(&node(0), "").unwrap();
    assert_eq!(fetch(&mut engine, APP).allocated.len(), 1);
}

#[test]
fn a_guaranteed_container_ends_the_latest_that_it_needs_the_room_of() {
    let mut engine = cluster(1, 3);
    place(&mut engine, OTHER, &asks(5, 2));
    beat(&mut engine, 0);
    news(&mut engine);
    assert_eq!(queue(&engine, 0), (1, 4, 8192));
    let taken = guaranteed(&mut engine, APP, 0, 3);
    // 3 GiB are needed and the two latest give 4.
    let (steps, ends) = news(&mut engine);
    assert_eq!(ends, [(4, EndCause::NodeQueue), (3, EndCause::NodeQueue)]);
    assert!(
        steps.is_empty(),
        "their space is taken until the node stopped them"
    );
    assert_eq!(EndCause::NodeQueue.exit_status(), Some(-108));
    let reply = fetch(&mut engine, OTHER);
    assert_eq!((reply.finished, reply.allocated.len()), (vec![3, 4], 0));
    // With the report that they stopped, 1 GiB is free, which the next one does not fit in.
    let reply = beat(&mut engine, 0);
    assert_eq!(reply.exited.len(), 2);
    assert!(reply.launched.contains(&taken));
    assert_eq!(queue(&engine, 0), (1, 2, 4096));
    engine.container_finished(taken);
    assert_eq!(news(&mut engine).0, [(5, STARTED)]);
}

#[test]
fn a_queue_beyond_the_limit_loses_the_latest() {
    let short = OpportunisticSettings {
        shortest_limit: 1,
        longest_limit: 2,
        ..waits(5)
    };
    let mut engine = cluster_with(1, Some(short), |builder| builder);
    place(&mut engine, APP, &asks(6, 8));
    assert_eq!(queue(&engine, 0).0, 5);
    assert_eq!(engine.ledger().node_queue_limit(), Some(2));
    beat(&mut engine, 0);
    let (_, ends) = news(&mut engine);
    assert_eq!(ends, [4, 5, 6].map(|number| (number, EndCause::NodeQueue)));
    assert_eq!(queue(&engine, 0), (2, 1, 8192));
    // Nobody asks for them again.
    assert!(fetch(&mut engine, APP).allocated.is_empty());
}

fn update(container: u32, change: ContainerChange) -> AskCall {
    AskCall::updating(vec![ContainerUpdate {
        container,
        version: 0,
        change,
    }])
}

#[test]
fn a_waiting_container_that_is_promoted_starts() {
    let mut engine = cluster(1, 3);
    place(&mut engine, APP, &asks(3, 4));
    beat(&mut engine, 0);
    assert_eq!(queue(&engine, 0), (1, 2, 8192));
    news(&mut engine);
    engine
        .ask(APP, &update(3, ContainerChange::Promote))
        .unwrap();
    beat(&mut engine, 0);
    let reply = fetch(&mut engine, APP);
    assert_eq!(reply.updated.len(), 1);
    // It is charged from now on, and the latest of the others ends for it.
    let (_, ends) = news(&mut engine);
    assert!(ends.contains(&(2, EndCause::NodeQueue)), "{ends:?}");
    assert_eq!(queue(&engine, 0).0, 0);
    let view = StateView::of(engine.ledger());
    assert_eq!(view.nodes[0].allocated, [4096, 1]);
    assert!(
        beat(&mut engine, 0)
            .launched
            .contains(&ContainerId::new(APP, 3))
    );
}

#[test]
fn a_promotion_takes_no_more_room_than_the_container_has() {
    let mut engine = cluster(1, 0);
    place(&mut engine, APP, &asks(2, 4));
    beat(&mut engine, 0);
    news(&mut engine);
    engine
        .ask(APP, &update(2, ContainerChange::Promote))
        .unwrap();
    beat(&mut engine, 0);
    beat(&mut engine, 0);
    assert_eq!(fetch(&mut engine, APP).updated.len(), 1);
    beat(&mut engine, 0);
    let ended = |(_, cause): &(u32, EndCause)| *cause == EndCause::NodeQueue;
    assert!(!news(&mut engine).1.iter().any(ended));
    assert_eq!(queue(&engine, 0), (0, 1, 4096));
}

#[test]
fn a_demoted_container_goes_on_beside_the_others_and_may_end_for_a_guaranteed_one() {
    let mut engine = cluster(1, 0);
    let demoted = guaranteed(&mut engine, APP, 0, 4);
    beat(&mut engine, 0);
    place(&mut engine, OTHER, &asks(1, 4));
    engine
        .ask(APP, &update(demoted.number, ContainerChange::Demote))
        .unwrap();
    assert_eq!(queue(&engine, 0), (0, 2, 8192));
    let ended = |(_, cause): &(u32, EndCause)| *cause == EndCause::NodeQueue;
    assert!(!news(&mut engine).1.iter().any(ended));
    guaranteed(&mut engine, OTHER, 0, 1);
    let ends = news(&mut engine).1;
    assert_eq!(ends, [(demoted.number, EndCause::NodeQueue)]);
}

#[test]
fn what_runs_after_a_restart_takes_room() {
    let mut engine = cluster(0, 0);
    let spec = NodeSpec::new(node(0), size(8, 8));
    let running = RunningContainer {
        opportunistic: true,
        ..RunningContainer::new(ContainerId::new(APP, 7), size(6, 1))
    };
    engine.begin_recovery();
    let recovered = engine.register_node(&spec, &[running]).unwrap();
    assert_eq!(recovered.taken.len(), 1);
    assert_eq!(queue(&engine, 0), (0, 1, 6144));
    assert!(place(&mut engine, APP, &asks(1, 4)).is_empty());
}

#[test]
fn what_is_lost_or_ended_leaves_its_node() {
    let mut engine = cluster(2, 3);
    place(&mut engine, APP, &asks(8, 4));
    assert_eq!(queue(&engine, 0).0 + queue(&engine, 1).0, 4);
    engine.remove_node(&node(0)).unwrap();
    assert_eq!(fetch(&mut engine, APP).finished.len(), 4);
    add_node(&mut engine, 0);
    assert_eq!(queue(&engine, 0), (0, 0, 0));
    place(&mut engine, OTHER, &asks(1, 1));
    engine.finish_app(APP).unwrap();
    engine.finish_app(OTHER).unwrap();
    for number in [0, 1, 0, 1] {
        beat(&mut engine, number);
    }
    assert_eq!([queue(&engine, 0), queue(&engine, 1)], [(0, 0, 0); 2]);
}

#[test]
fn what_an_ended_application_asked_for_is_forgotten() {
    let mut engine = cluster(1, 0);
    place(&mut engine, APP, &asks(9, 4));
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 7);
    engine.finish_app(APP).unwrap();
    beat(&mut engine, 0);
    beat(&mut engine, 0);
    engine.submit(&AppSpec::new(APP, "root.a", "ann")).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
    assert!(fetch(&mut engine, APP).allocated.is_empty());
}

#[test]
fn an_ask_replaces_the_earlier_one_and_is_withdrawn_with_none() {
    let mut engine = cluster(0, 0);
    engine.ask_opportunistic(APP, &asks(9, 1)).unwrap();
    engine.ask_opportunistic(APP, &asks(2, 1)).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 2);
    engine.ask_opportunistic(APP, &asks(0, 1)).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
    // A place alone asks for nothing.
    let on_host = Ask {
        place: "n0".to_owned(),
        ..Ask::anywhere(size(1, 1), 3)
    };
    engine.ask_opportunistic(APP, &[on_host]).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
}

#[test]
fn important_keys_come_first() {
    let mut engine = cluster(1, 0);
    let with = |priority, gib| Ask {
        priority,
        ..Ask::anywhere(size(gib, 1), 1)
    };
    engine
        .ask_opportunistic(APP, &[with(7, 6), with(2, 4)])
        .unwrap();
    let granted = fetch(&mut engine, APP).allocated;
    assert_eq!((granted.len(), granted[0].priority), (1, 2));
}

#[test]
fn a_waiting_container_does_not_expire_and_a_started_one_does() {
    let after = Duration::from_secs(1);
    let mut engine = cluster_with(1, Some(waits(1)), |builder| {
        builder.allocation_expiry(after)
    });
    place(&mut engine, APP, &asks(2, 6));
    engine.advance_to(5000);
    let ends = news(&mut engine).1;
    assert_eq!(ends, [(1, EndCause::Expired)]);
    // The node reports, and the other one starts.
    beat(&mut engine, 0);
    assert_eq!(queue(&engine, 0), (0, 1, 6144));
    engine.advance_to(10_000);
    assert_eq!(news(&mut engine).1, [(2, EndCause::Expired)]);
}

#[test]
fn events_may_hand_them_out() {
    let mut engine = cluster_with(1, Some(waits(1)), |builder| {
        builder.hand_out(HandOut::Event)
    });
    engine.ask_opportunistic(APP, &asks(2, 6)).unwrap();
    assert!(fetch(&mut engine, APP).allocated.is_empty());
    assert_eq!(beat(&mut engine, 0).launched, [ContainerId::new(APP, 1)]);
    engine.container_finished(ContainerId::new(APP, 1));
    assert_eq!(beat(&mut engine, 0).launched, [ContainerId::new(APP, 2)]);
}

#[test]
fn wrong_asks_are_refused_and_change_nothing() {
    let mut engine = cluster(1, 1);
    engine
        .submit(&AppSpec::new(ApplicationId::new(3), "root.b", "bob").with_master(size(1, 1)))
        .unwrap();
    let ask = Ask::anywhere(size(1, 1), 1);
    let unknown = ApplicationId::new(99);
    let refused = [
        engine.ask_opportunistic(unknown, &asks(1, 1)),
        engine.ask_opportunistic(ApplicationId::new(3), &asks(1, 1)),
        engine.ask_opportunistic(APP, &asks(-1, 1)),
        engine.ask_opportunistic(APP, &asks(1, -1)),
        engine.ask_opportunistic(APP, &asks(1, 9999)),
        engine.ask_opportunistic(
            APP,
            &[Ask {
                place: String::new(),
                ..ask.clone()
            }],
        ),
        engine.ask_opportunistic(
            APP,
            &[Ask {
                partition: Some("none".to_owned()),
                ..ask.clone()
            }],
        ),
        engine.ask_opportunistic(APP, &vec![ask.clone(); 513]),
        // The second ask of the call is wrong, and the first is not taken over either.
        engine.ask_opportunistic(
            APP,
            &[
                ask.clone(),
                Ask {
                    count: i32::MAX,
                    ..ask
                },
            ],
        ),
    ];
    let codes = refused.map(|refused| refused.unwrap_err().code());
    let expected = [
        "unknown_application",
        "master_not_running",
        "container_count",
        "resource_out_of_range",
        "resource_out_of_range",
        "place",
        "label_access",
        "opportunistic",
        "container_count",
    ];
    assert_eq!(codes, expected);
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 0);
    assert!(news(&mut engine).0.is_empty());
}

#[test]
fn an_application_has_a_bounded_number_of_keys() {
    let mut engine = cluster(0, 0);
    let with = |request_id| Ask {
        request_id,
        ..Ask::anywhere(size(1, 1), 1)
    };
    let calls = (0..30).map(|call| {
        let asks: Vec<_> = (call * 512..(call + 1) * 512).map(with).collect();
        engine.ask_opportunistic(APP, &asks).is_ok()
    });
    let taken = calls.filter(|&taken| taken).count();
    assert!((19..=20).contains(&taken), "{taken}");
}

#[test]
fn a_running_engine_places_them_in_every_mode() {
    for mode in [
        Mode::Heartbeat,
        Mode::Asynchronous { threads: 1 },
        Mode::Global { threads: 1 },
    ] {
        let engine = Engine::builder(settings(Some(waits(2))))
            .mode(mode)
            .start()
            .unwrap();
        engine.add_node(NodeSpec::new(node(0), size(8, 8))).unwrap();
        engine.submit(AppSpec::new(APP, "root.a", "ann")).unwrap();
        engine.ask_opportunistic(APP, asks(5, 2)).unwrap();
        let reply = engine.ask(APP, AskCall::default()).unwrap();
        assert_eq!(reply.allocated.len(), 5);
        let view = engine
            .node(&node(0))
            .unwrap()
            .unwrap()
            .opportunistic
            .unwrap();
        assert_eq!((view.queued, view.started), (1, 4));
        let counts = engine.event_counts().unwrap();
        let counted = (counts.opportunistic_queued, counts.opportunistic_started);
        assert_eq!((counted, counts.allocated), ((1, 4), 0));
    }
}

/// One step of a random run.
#[derive(Clone, Debug)]
enum Step {
    Ask(bool, i32, i64),
    Guaranteed(bool, i64),
    Fetch(bool),
    Beat(u8),
    Finish(bool, u32),
    Change(bool, u32, bool),
    Lose(u8),
    End(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (any::<bool>(), 0..6_i32, 1..7_i64).prop_map(|(a, n, gib)| Step::Ask(a, n, gib)),
        4 => (any::<bool>(), 1..7_i64).prop_map(|(a, gib)| Step::Guaranteed(a, gib)),
        4 => any::<bool>().prop_map(Step::Fetch),
        6 => (0..3_u8).prop_map(Step::Beat),
        3 => (any::<bool>(), 1..20_u32).prop_map(|(a, n)| Step::Finish(a, n)),
        3 => (any::<bool>(), 1..20_u32, any::<bool>()).prop_map(|(a, n, up)| Step::Change(a, n, up)),
        1 => (0..3_u8).prop_map(Step::Lose),
        1 => any::<bool>().prop_map(Step::End),
    ];
    proptest::collection::vec(step, 1..60)
}

fn carry_out(engine: &mut Sequential, step: &Step) {
    let app = |first: bool| if first { APP } else { OTHER };
    match *step {
        Step::Ask(first, count, gib) => {
            let _ = engine.ask_opportunistic(app(first), &asks(count, gib));
        }
        Step::Guaranteed(first, gib) => {
            let _ = engine.ask(app(first), &AskCall::asking(asks(1, gib)));
        }
        Step::Fetch(first) => drop(engine.ask(app(first), &AskCall::default())),
        Step::Beat(number) => drop(engine.heartbeat(&node(number), &NodeReport::AsExpected)),
        Step::Finish(first, number) => {
            engine.container_finished(ContainerId::new(app(first), number));
        }
        Step::Change(first, number, up) => {
            let ledger = engine.ledger();
            let slot = ledger.live_container(ContainerId::new(app(first), number));
            let version = slot.map_or(0, |slot| ledger.container_version(slot));
            let change = if up {
                ContainerChange::Promote
            } else {
                ContainerChange::Demote
            };
            let update = ContainerUpdate {
                container: number,
                version,
                change,
            };
            drop(engine.ask(app(first), &AskCall::updating(vec![update])));
        }
        Step::Lose(number) => {
            if engine.remove_node(&node(number)).is_err() {
                add_node(engine, number);
            }
        }
        Step::End(first) => {
            let queue = if first { "root.a" } else { "root.b" };
            if engine.finish_app(app(first)).is_err() {
                let _ = engine.submit(&AppSpec::new(app(first), queue, "ann"));
            }
        }
    }
}

/// The limit of queues as a look at all nodes finds it, and what is started on each.
fn check(engine: &Sequential) {
    let ledger = engine.ledger();
    let settings = waits(3);
    let queues: Vec<_> = ledger
        .nodes_by_name()
        .map(|(_, node)| (node, ledger.node_queue(node).unwrap()))
        .collect();
    let lengths: Vec<u32> = queues.iter().map(|(_, queue)| queue.length()).collect();
    assert!(
        lengths
            .iter()
            .all(|&length| length <= settings.queue_capacity)
    );
    let limit = ledger.node_queue_limit().unwrap();
    assert!((settings.shortest_limit..=settings.longest_limit).contains(&limit));
    for (_, queue) in queues {
        assert_eq!(queue.started() == 0, queue.used().is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After any steps every node that reports and fetches ends with room for what is guaranteed, and once all
    /// applications ended nothing is left on any node.
    #[test]
    fn queues_follow_what_happens(steps in steps()) {
        let mut engine = cluster(3, 3);
        for step in &steps {
            carry_out(&mut engine, step);
            check(&engine);
        }
        for app in [APP, OTHER] {
            let _ = engine.finish_app(app);
        }
        for number in [0, 1, 2, 0, 1, 2] {
            let _ = engine.heartbeat(&node(number), &NodeReport::AsExpected);
        }
        let ledger = engine.ledger();
        for (_, node) in ledger.nodes_by_name() {
            prop_assert!(ledger.node_queue(node).unwrap().is_empty());
            let row = &ledger.state().nodes[node];
            prop_assert_eq!((row.containers, row.free.get()), (0, size(8, 8)));
        }
    }

    /// Guaranteed decisions do not depend on opportunistic containers, whatever happens to them.
    #[test]
    fn guaranteed_decisions_do_not_depend_on_them(steps in steps()) {
        let decisions = |with: bool| {
            let mut engine = cluster(3, 3);
            let mut placed = Vec::new();
            for step in &steps {
                let plain = matches!(step, Step::Guaranteed(..) | Step::Fetch(_) | Step::Beat(_) | Step::Lose(_));
                if plain || (with && matches!(step, Step::Ask(..))) {
                    carry_out(&mut engine, step);
                }
                for event in engine.take_events() {
                    if let Decision::Allocated { container, node, size, .. } = event {
                        placed.push((container.app, node, size));
                    }
                }
            }
            placed
        };
        prop_assert_eq!(decisions(true), decisions(false));
    }
}
