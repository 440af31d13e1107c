//! Gangs are placed whole or not at all, hold nodes for a bounded time, and never block each other.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, Closeness, Engine, EngineEnd, Event, GangAsk,
    GangStep, GangWait, Mode, NodeName, NodeReport, NodeSpec, NodeState, PartitionSpec,
    ResourceVector, Sequential,
};
use capsched::config;
use capsched::id::PartitionId;

const FIRST: ApplicationId = ApplicationId::new(1);
const SECOND: ApplicationId = ApplicationId::new(2);

fn settings(more: &[(&str, &str)]) -> capsched::api::TreeSettings {
    let mut pairs = BTreeMap::new();
    let given = [
        (
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
    ];
    for (key, value) in given.iter().chain(more) {
        pairs.insert(
            format!("yarn.scheduler.capacity.{key}"),
            (*value).to_owned(),
        );
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    loaded.settings
}

/// Nodes of 4 GiB and 4 vcores, two on each rack, and two applications that may ask.
fn cluster(nodes: u32, more: &[(&str, &str)]) -> Sequential {
    let labels = [PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    }];
    let mut engine = Sequential::new(settings(more), &labels).unwrap();
    for i in 0..nodes {
        let spec = NodeSpec {
            rack: format!("/rack-{}", i / 2),
            attributes: vec![("site/hall".to_owned(), format!("h{}", i % 2))],
            ..NodeSpec::new(node(i), size(4))
        };
        engine.add_node(&spec).unwrap();
    }
    engine
        .submit(&AppSpec::new(FIRST, "root.a", "ann"))
        .unwrap();
    engine
        .submit(&AppSpec::new(SECOND, "root.b", "bob"))
        .unwrap();
    engine.take_events();
    engine
}

fn node(i: u32) -> NodeName {
    format!("n{i}:1").parse().unwrap()
}

fn size(units: i64) -> ResourceVector {
    ResourceVector::of(&[1024 * units, units])
}

fn gang(minimum: u32, units: i64, within_ms: u64) -> GangAsk {
    GangAsk::of(minimum, size(units), within_ms)
}

/// The nodes of the containers placed, and what happened to gangs.
fn news(engine: &mut Sequential) -> (Vec<String>, Vec<(ApplicationId, GangStep)>) {
    let (mut placed, mut gangs) = (Vec::new(), Vec::new());
    for event in engine.take_events() {
        match event {
            Event::Allocated { node, .. } => placed.push(node.to_string()),
            Event::Gang(gang) => gangs.push((gang.app, gang.step)),
            _ => {}
        }
    }
    (placed, gangs)
}

fn beat_all(engine: &mut Sequential, nodes: u32) {
    for i in 0..nodes {
        engine.heartbeat(&node(i), &NodeReport::AsExpected).unwrap();
    }
}

fn ask(engine: &mut Sequential, app: ApplicationId, units: i64, count: i32) {
    let call = AskCall::asking(vec![Ask::anywhere(size(units), count)]);
    engine.ask(app, &call).unwrap();
}

fn held(engine: &Sequential) -> usize {
    let nodes = engine.ledger().state().nodes.iter();
    nodes.filter(|row| row.state == NodeState::Held).count()
}

fn used(engine: &Sequential) -> ResourceVector {
    let root = engine.ledger().state().queues.iter().next().unwrap();
    root.part(PartitionId::DEFAULT).used.get()
}

fn end_all_of(engine: &mut Sequential, app: ApplicationId) {
    let slot = engine.ledger().app(app).unwrap();
    let live = engine.ledger().live_containers(slot);
    let live: Vec<_> = live.map(|container| container.id).collect();
    for id in live {
        assert!(engine.container_finished(id));
    }
}

#[test]
fn a_gang_that_fits_is_placed_by_the_call_itself() {
    let mut engine = cluster(2, &[]);
    engine.ask_gang(FIRST, &gang(3, 2, 1000)).unwrap();
    let (placed, gangs) = news(&mut engine);
    assert_eq!(placed, ["n0:1", "n0:1", "n1:1"]);
    assert_eq!(gangs, [(FIRST, GangStep::Placed { waited_ms: 0 })]);
    assert_eq!(used(&engine), size(6));
    assert_eq!(engine.ledger().next_deadline(), None);
    let reply = engine.ask(FIRST, &AskCall::default()).unwrap();
    assert_eq!(reply.allocated.len(), 3);
}

#[test]
fn a_gang_that_does_not_fit_holds_nodes_and_is_given_up_whole_at_its_deadline() {
    let mut engine = cluster(3, &[]);
    ask(&mut engine, SECOND, 3, 3);
    beat_all(&mut engine, 3);
    news(&mut engine);
    engine.advance_to(500);
    engine.ask_gang(FIRST, &gang(2, 4, 1000)).unwrap();
    let (placed, gangs) = news(&mut engine);
    let (nodes, until_ms) = (2, 1500);
    assert!(placed.is_empty());
    assert_eq!(gangs, [(FIRST, GangStep::Holds { nodes, until_ms })]);
    assert_eq!(held(&engine), 2);
    assert_eq!(
        engine.ledger().waiting_gangs()[0].wait,
        GangWait::Room { found: 0 }
    );
    // Others are served on the third node alone.
    ask(&mut engine, SECOND, 1, 3);
    beat_all(&mut engine, 3);
    assert_eq!(news(&mut engine).0, ["n2:1"]);
    assert_eq!(engine.ledger().next_deadline(), Some(1500));
    engine.advance_to(1499);
    assert_eq!(held(&engine), 2);
    engine.advance_to(1500);
    let wait = GangWait::Room { found: 0 };
    assert_eq!(news(&mut engine).1, [(FIRST, GangStep::Expired { wait })]);
    assert_eq!(
        (held(&engine), engine.ledger().waiting_gangs().len()),
        (0, 0)
    );
    beat_all(&mut engine, 3);
    assert_eq!(news(&mut engine).0, ["n0:1", "n1:1"]);
}

#[test]
fn a_held_gang_takes_what_becomes_free_though_others_wait_for_less() {
    let mut engine = cluster(2, &[]);
    ask(&mut engine, SECOND, 1, 100);
    for _ in 0..4 {
        beat_all(&mut engine, 2);
    }
    engine.ask_gang(FIRST, &gang(2, 4, 10_000)).unwrap();
    assert_eq!((news(&mut engine).0.len(), held(&engine)), (8, 2));
    let slot = engine.ledger().app(SECOND).unwrap();
    let live = engine.ledger().live_containers(slot);
    let live: Vec<_> = live.map(|container| container.id).collect();
    for (i, id) in (1..).zip(live) {
        assert!(engine.container_finished(id));
        beat_all(&mut engine, 2);
        let (placed, _) = news(&mut engine);
        let expected: &[&str] = if i < 8 { &[] } else { &["n0:1", "n1:1"] };
        assert_eq!(placed, expected, "after {i} containers ended");
    }
    assert_eq!(held(&engine), 0);
    assert!(engine.ledger().waiting_gangs().is_empty());
}

#[test]
fn of_two_gangs_that_together_do_not_fit_one_gets_all_and_then_the_other() {
    let mut engine = cluster(4, &[]);
    ask(&mut engine, SECOND, 4, 4);
    beat_all(&mut engine, 4);
    engine.ask_gang(FIRST, &gang(3, 4, 10_000)).unwrap();
    let other = GangAsk {
        request_id: 7,
        ..gang(3, 4, 10_000)
    };
    engine.ask_gang(SECOND, &other).unwrap();
    let holds: Vec<_> = news(&mut engine)
        .1
        .into_iter()
        .map(|(app, _)| app)
        .collect();
    assert_eq!(holds, [FIRST], "one at a time");
    end_all_of(&mut engine, SECOND);
    let (placed, gangs) = news(&mut engine);
    assert_eq!(placed.len(), 3);
    assert!(matches!(
        gangs[..],
        [
            (FIRST, GangStep::Placed { .. }),
            (SECOND, GangStep::Holds { .. })
        ]
    ));
    end_all_of(&mut engine, FIRST);
    let (placed, gangs) = news(&mut engine);
    assert_eq!(placed.len(), 3);
    assert!(matches!(gangs[..], [(SECOND, GangStep::Placed { .. })]));
    assert_eq!(held(&engine), 0);
}

#[test]
fn after_a_hold_no_gang_holds_for_as_long() {
    let mut engine = cluster(2, &[]);
    ask(&mut engine, SECOND, 4, 2);
    beat_all(&mut engine, 2);
    engine.ask_gang(FIRST, &gang(2, 4, 1000)).unwrap();
    let other = GangAsk {
        request_id: 7,
        ..gang(2, 4, 3000)
    };
    engine.ask_gang(SECOND, &other).unwrap();
    news(&mut engine);
    engine.advance_to(1000);
    assert_eq!(held(&engine), 0, "the first one held for a second");
    assert_eq!(engine.ledger().next_deadline(), Some(2000));
    engine.advance_to(1999);
    assert_eq!(held(&engine), 0);
    engine.advance_to(2000);
    assert_eq!(held(&engine), 2);
    assert_eq!(engine.ledger().next_deadline(), Some(3000));
    engine.advance_to(3000);
    assert_eq!((held(&engine), engine.ledger().next_deadline()), (0, None));
}

#[test]
fn members_stand_on_one_rack_or_on_one_value_of_an_attribute() {
    let mut engine = cluster(6, &[]);
    // Room for three on each rack but the last, which has more.
    ask(&mut engine, SECOND, 1, 2);
    for i in [0, 2] {
        engine.heartbeat(&node(i), &NodeReport::AsExpected).unwrap();
    }
    news(&mut engine);
    let on_a_rack = GangAsk {
        close: Closeness::Rack,
        ..gang(3, 2, 1000)
    };
    engine.ask_gang(FIRST, &on_a_rack).unwrap();
    assert_eq!(
        news(&mut engine).0,
        ["n1:1", "n1:1", "n0:1"],
        "the rack with the least room"
    );
    let attribute = Closeness::Attribute("site/hall".to_owned());
    let in_a_hall = GangAsk {
        close: attribute,
        ..gang(5, 2, 1000)
    };
    engine.ask_gang(FIRST, &in_a_hall).unwrap();
    let (placed, gangs) = news(&mut engine);
    assert!(placed.is_empty(), "{placed:?}");
    assert_eq!(gangs.len(), 1, "it holds the nodes of one hall");
    assert_eq!(
        engine.ledger().waiting_gangs()[0].wait,
        GangWait::Room { found: 4 }
    );
    end_all_of(&mut engine, SECOND);
    let (placed, _) = news(&mut engine);
    let halls: Vec<_> = placed.iter().map(|name| name.as_bytes()[1] % 2).collect();
    assert_eq!(
        (halls.len(), halls.iter().all(|&hall| hall == halls[0])),
        (5, true),
        "{placed:?}"
    );
}

#[test]
fn what_a_gang_waits_for_follows_every_change_of_nodes() {
    let mut engine = cluster(2, &[]);
    ask(&mut engine, SECOND, 1, 4);
    beat_all(&mut engine, 2);
    beat_all(&mut engine, 2);
    let wait = |engine: &Sequential| engine.ledger().waiting_gangs()[0].wait.clone();
    let room = |found| GangWait::Room { found };
    let cluster = |found| GangWait::Cluster { found };
    engine.ask_gang(FIRST, &gang(10, 1, 100_000)).unwrap();
    assert_eq!(wait(&engine), cluster(8));
    let third = NodeSpec::new(node(2), size(4));
    engine.add_node(&third).unwrap();
    assert_eq!(wait(&engine), room(8));
    let slot = engine.ledger().app(SECOND).unwrap();
    let first = engine.ledger().live_containers(slot).next().unwrap().id;
    assert!(engine.container_finished(first));
    assert_eq!(wait(&engine), room(9));

    engine.relabel_node(&node(2), "gpu").unwrap();
    assert_eq!(wait(&engine), cluster(8));
    engine.relabel_node(&node(2), "").unwrap();
    assert_eq!(wait(&engine), room(9));
    let exclude = AskCall {
        blacklist_add: vec!["n1".to_owned()],
        ..AskCall::default()
    };
    engine.ask(FIRST, &exclude).unwrap();
    assert_eq!(wait(&engine), cluster(8));
    let include = AskCall {
        blacklist_remove: vec!["n1".to_owned()],
        ..AskCall::default()
    };
    engine.ask(FIRST, &include).unwrap();
    assert_eq!(wait(&engine), room(9));
    engine.resize_node(&node(2), size(2)).unwrap();
    assert_eq!(wait(&engine), room(7));
    engine.resize_node(&node(2), size(4)).unwrap();
    assert_eq!(wait(&engine), room(9));
    engine.remove_node(&node(1)).unwrap();
    assert_eq!(wait(&engine), cluster(8));
    news(&mut engine);
    engine.add_node(&NodeSpec::new(node(1), size(4))).unwrap();
    let (placed, _) = news(&mut engine);
    assert_eq!(placed.len(), 10, "what ran on the lost node is gone");
}

#[test]
fn elastic_members_are_asked_for_once_the_minimum_is_placed() {
    let mut engine = cluster(2, &[]);
    let elastic = GangAsk {
        elastic: 5,
        ..gang(2, 2, 1000)
    };
    engine.ask_gang(FIRST, &elastic).unwrap();
    assert_eq!(news(&mut engine).0.len(), 2);
    for _ in 0..4 {
        beat_all(&mut engine, 2);
    }
    assert_eq!(news(&mut engine).0.len(), 2, "two more fit");
    let slot = engine.ledger().app(FIRST).unwrap();
    let row = &engine.ledger().state().apps[slot];
    assert_eq!(
        row.part(PartitionId::DEFAULT).pending.get(),
        size(6),
        "three wait"
    );
}

#[test]
fn limits_of_queues_and_users_hold_for_the_whole_minimum_and_hold_no_nodes() {
    let mut engine = cluster(
        4,
        &[
            ("root.a.maximum-capacity", "50"),
            ("root.b.user-limit-factor", "1"),
        ],
    );
    engine.ask_gang(FIRST, &gang(5, 2, 1000)).unwrap();
    let over_user = GangAsk {
        request_id: 7,
        ..gang(6, 2, 1000)
    };
    engine.ask_gang(SECOND, &over_user).unwrap();
    let (placed, gangs) = news(&mut engine);
    assert_eq!((placed.len(), gangs.len(), held(&engine)), (0, 0, 0));
    let waits: Vec<_> = engine
        .ledger()
        .waiting_gangs()
        .iter()
        .map(|gang| gang.wait.clone())
        .collect();
    let queue = "root.a".into();
    assert_eq!(waits, [GangWait::QueueLimit { queue }, GangWait::UserLimit]);
    let slot = engine.ledger().app(SECOND).unwrap();
    let row = &engine.ledger().state().apps[slot];
    assert!(row.part(PartitionId::DEFAULT).pending.get() == ResourceVector::NONE);
    // As single containers, a user gets one beyond the limit at most.
    let within = GangAsk {
        request_id: 7,
        ..gang(5, 2, 1000)
    };
    engine.ask_gang(SECOND, &within).unwrap();
    assert_eq!(news(&mut engine).0.len(), 5);
    engine.reconfigure(settings(&[])).unwrap();
    assert_eq!(
        engine.ledger().waiting_gangs()[0].wait,
        GangWait::Room { found: 3 }
    );
}

#[test]
fn a_gang_that_no_empty_cluster_can_take_holds_nothing() {
    let mut engine = cluster(2, &[]);
    engine.ask_gang(FIRST, &gang(3, 4, 1000)).unwrap();
    assert_eq!(
        engine.ledger().waiting_gangs()[0].wait,
        GangWait::Cluster { found: 2 }
    );
    assert_eq!(held(&engine), 0);
    let total = size(4);
    engine.add_node(&NodeSpec::new(node(9), total)).unwrap();
    assert_eq!(news(&mut engine).0.len(), 3);
}

#[test]
fn a_hold_ends_with_its_gang_its_application_or_its_nodes() {
    let waiting = || {
        let mut engine = cluster(2, &[]);
        ask(&mut engine, SECOND, 4, 2);
        beat_all(&mut engine, 2);
        engine.ask_gang(FIRST, &gang(2, 4, 5000)).unwrap();
        assert_eq!(held(&engine), 2);
        engine
    };
    let mut engine = waiting();
    engine.ask_gang(FIRST, &gang(0, 4, 0)).unwrap();
    assert_eq!(
        (held(&engine), engine.ledger().waiting_gangs().len()),
        (0, 0)
    );
    let mut engine = waiting();
    engine.finish_app(FIRST).unwrap();
    assert_eq!(
        (held(&engine), engine.ledger().waiting_gangs().len()),
        (0, 0)
    );
    for change in [
        (|engine: &mut Sequential| engine.remove_node(&node(0)).unwrap()) as fn(&mut Sequential),
        |engine| engine.decommission_node(&node(0)).unwrap(),
        |engine| engine.relabel_node(&node(0), "gpu").unwrap(),
        |engine| engine.resize_node(&node(0), size(2)).unwrap(),
    ] {
        let mut engine = waiting();
        change(&mut engine);
        // Decommissioning alone is no call that anything follows from.
        engine.advance_to(1);
        beat_all(&mut engine, 0);
        ask(&mut engine, SECOND, 1, 1);
        assert_eq!(held(&engine), 0);
        assert_eq!(
            engine.ledger().waiting_gangs()[0].wait,
            GangWait::Cluster { found: 1 }
        );
    }
}

#[test]
fn asks_for_gangs_out_of_range_change_nothing() {
    let mut engine = cluster(2, &[]);
    ask(&mut engine, FIRST, 1, 1);
    let key = GangAsk {
        request_id: 5,
        ..gang(2, 1, 1000)
    };
    let with = |change: fn(&mut GangAsk)| {
        let mut gang = key.clone();
        change(&mut gang);
        gang
    };
    let refused = [
        (with(|gang| gang.minimum = 10_001), "gang"),
        (with(|gang| gang.minimum = u32::MAX), "gang"),
        (with(|gang| gang.elastic = u32::MAX), "container_count"),
        (with(|gang| gang.elastic = 1_000_000), "container_count"),
        (with(|gang| gang.within_ms = 0), "gang"),
        (with(|gang| gang.within_ms = 3_600_001), "gang"),
        (with(|gang| gang.size = size(-1)), "resource_out_of_range"),
        (with(|gang| gang.size = size(5)), "resource_out_of_range"),
        (
            with(|gang| gang.partition = Some("none".to_owned())),
            "label_access",
        ),
        (
            with(|gang| gang.partition = Some("a&&b".to_owned())),
            "label_expression",
        ),
        (
            with(|gang| gang.close = Closeness::Attribute(String::new())),
            "gang",
        ),
        (
            with(|gang| gang.close = Closeness::Attribute("no prefix".to_owned())),
            "gang",
        ),
        (
            with(|gang| gang.close = Closeness::Attribute("a/b\n".to_owned())),
            "gang",
        ),
        (with(|gang| gang.request_id = 0), "gang"),
    ];
    for (gang, code) in refused {
        let error = engine.ask_gang(FIRST, &gang).unwrap_err();
        assert_eq!(error.code(), code, "{gang:?}: {error}");
        assert!(engine.ledger().waiting_gangs().is_empty());
    }
    let unknown = ApplicationId::new(9);
    assert_eq!(
        engine.ask_gang(unknown, &key),
        Err(AskError::UnknownApplication(unknown))
    );
    for i in 0..100 {
        let waiting = GangAsk {
            request_id: 10 + i,
            ..gang(3, 4, 1000)
        };
        engine.ask_gang(FIRST, &waiting).unwrap();
    }
    let one_more = GangAsk {
        request_id: 5,
        ..gang(3, 4, 1000)
    };
    assert_eq!(
        engine.ask_gang(FIRST, &one_more).unwrap_err().code(),
        "gang"
    );
    assert_eq!(engine.ledger().waiting_gangs().len(), 100);
    assert_eq!(news(&mut engine).0.len(), 0);
}

#[test]
fn a_key_that_is_asked_under_meanwhile_keeps_the_gang_waiting() {
    let mut engine = cluster(1, &[]);
    ask(&mut engine, SECOND, 4, 1);
    beat_all(&mut engine, 1);
    engine.ask_gang(FIRST, &gang(2, 2, 5000)).unwrap();
    ask(&mut engine, FIRST, 1, 1);
    assert_eq!(engine.ledger().waiting_gangs()[0].wait, GangWait::KeyInUse);
    assert_eq!(held(&engine), 0);
    ask(&mut engine, FIRST, 1, 0);
    engine.advance_to(1);
    end_all_of(&mut engine, SECOND);
    assert_eq!(
        news(&mut engine).0.len(),
        3,
        "that of the other application and two members"
    );
}

#[test]
fn threads_place_gangs_whole_in_every_mode_and_give_them_up_in_time() {
    for mode in [
        Mode::Heartbeat,
        Mode::Asynchronous { threads: 2 },
        Mode::Global { threads: 2 },
    ] {
        let engine = Engine::builder(settings(&[])).mode(mode).start().unwrap();
        for i in 0..4 {
            engine.add_node(NodeSpec::new(node(i), size(4))).unwrap();
        }
        engine.submit(AppSpec::new(FIRST, "root.a", "ann")).unwrap();
        engine.ask_gang(FIRST, gang(5, 2, 60_000)).unwrap();
        let reply = engine.ask(FIRST, AskCall::default()).unwrap();
        assert_eq!(reply.allocated.len(), 5, "{mode:?}");
        let never = GangAsk {
            request_id: 1,
            ..gang(4, 4, 50)
        };
        engine.ask_gang(FIRST, never).unwrap();
        let waits = || {
            engine
                .inspect(|ledger| ledger.waiting_gangs().len())
                .unwrap()
        };
        while waits() > 0 {
            std::thread::yield_now();
        }
        engine.quiesce();
        let events = engine.take_events();
        let steps = events.iter().filter_map(|event| match event {
            Event::Gang(gang) => Some(&gang.step),
            _ => None,
        });
        let steps: Vec<_> = steps.collect();
        assert!(
            matches!(
                steps[..],
                [
                    GangStep::Placed { .. },
                    GangStep::Holds { .. },
                    GangStep::Expired { .. }
                ]
            ),
            "{mode:?}: {steps:?}"
        );
        assert!(matches!(engine.stop(), EngineEnd::Stopped));
    }
}
