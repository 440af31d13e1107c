//! The threaded modes end to end: everything that fits is placed, limits hold, nothing hangs.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::num::NonZeroUsize;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, CommitOutcome, Engine, Event, Latencies, Mode,
    NodeReport, NodeSpec, PartitionSpec, Running, Sequential, Threaded, TreeSettings,
};
use capsched::id::{NodeSlot, PartitionId};
use capsched::metrics::Phase;
use capsched::proposer::{Candidates, FitIndex, Outcome, propose};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;
use capsched::time::SystemClock;

use crate::engines::{MODES, asking, placed, quiet_while_events_are_read, settings, settings_with};

/// Containers placed and reservations made, and what root uses in the end.
fn run(mode: Mode, settings: TreeSettings, cores: i64) -> ([usize; 2], ResourceVector) {
    let engine = Threaded::start(settings, &[], mode, SystemClock::new()).unwrap();
    for i in 0..20 {
        let name = format!("n{i}:1").parse().unwrap();
        engine
            .add_node(NodeSpec::new(name, ResourceVector::of(&[16_384, cores])))
            .unwrap();
    }
    for i in 0..8 {
        let id = ApplicationId::new(i + 1);
        let queue = if i % 2 == 0 { "root.a" } else { "root.b" };
        let user = format!("u{}", i % 3);
        engine.submit(AppSpec::new(id, queue, &user)).unwrap();
        let asks = vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 30)];
        let call = AskCall {
            asks,
            ..AskCall::default()
        };
        engine.ask(id, call).unwrap();
    }
    // Where threads look for nodes, no node has to call.
    let beats = if mode == Mode::Heartbeat { 40 } else { 0 };
    for _ in 0..beats {
        for i in 0..20 {
            let node = format!("n{i}:1").parse().unwrap();
            engine.heartbeat(node, NodeReport::AsExpected).unwrap();
        }
    }
    engine.quiesce();
    let events = engine.take_events();
    let allocated = |event: &&Event| matches!(event, Event::Allocated { .. });
    let placed = events.iter().filter(allocated).count();
    let reserved = |event: &&Event| matches!(event, Event::Reserved { .. });
    let waiting = events.iter().filter(reserved).count();
    let snapshot = engine.snapshot();
    let used = snapshot
        .queues
        .iter()
        .next()
        .unwrap()
        .part(PartitionId::DEFAULT)
        .used
        .get();
    assert_eq!(engine.stop(), capsched::api::EngineEnd::Stopped);
    ([placed, waiting], used)
}

#[test]
fn every_mode_places_everything_that_fits() {
    let all = ResourceVector::of(&[1024 * 240, 240]);
    for mode in MODES {
        assert_eq!(run(mode, settings(), 16), ([240, 0], all), "{mode:?}");
    }
}

#[test]
fn vcores_hold_nothing_up_where_memory_alone_is_compared() {
    let all = ResourceVector::of(&[1024 * 240, 240]);
    for mode in MODES {
        let memory_alone = settings_with("DefaultResourceCalculator", &[]);
        assert_eq!(run(mode, memory_alone, 4), ([240, 0], all), "{mode:?}");
    }
}

/// A policy without an interval sorts before each use: a burst spreads, and fills no node after the other.
#[test]
fn a_policy_that_sorts_before_each_use_spreads_a_burst() {
    let mode = Mode::Global { threads: 1 };
    let always = ("multi-node-sorting.policy.default.sorting-interval.ms", "0");
    let settings = settings_with("DominantResourceCalculator", &[always]);
    let engine = Threaded::start(settings, &[], mode, SystemClock::new()).unwrap();
    for i in 0..8 {
        let name = format!("n{i}:1").parse().unwrap();
        let node = NodeSpec::new(name, ResourceVector::of(&[16_384, 16]));
        engine.add_node(node).unwrap();
    }
    let app = ApplicationId::new(1);
    engine.submit(AppSpec::new(app, "root.a", "u")).unwrap();
    for _ in 0..2 {
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 24);
        engine.ask(app, AskCall::asking(vec![ask])).unwrap();
        engine.quiesce();
    }
    let snapshot = engine.snapshot();
    let used: Vec<i64> = snapshot
        .nodes
        .iter()
        .map(|node| node.allocated.memory())
        .collect();
    assert_eq!(used, [6 * 1024; 8]);
}

/// A proposer knows the nodes of a partition by its last sort, and some may have left since.
#[test]
fn a_partition_is_not_served_from_nodes_that_left_it() {
    let partitions = [PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    }];
    let labels = [
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
    ];
    let settings = settings_with("DominantResourceCalculator", &labels);
    let mut engine = Sequential::new(settings, &partitions).unwrap();
    let size = ResourceVector::of(&[16_384, 16]);
    for (name, label) in [("a:1", ""), ("b:1", "gpu"), ("c:1", "gpu")] {
        let node = NodeSpec::new(name.parse().unwrap(), size);
        let partition = label.to_owned();
        engine.add_node(&NodeSpec { partition, ..node }).unwrap();
    }
    let app = ApplicationId::new(1);
    engine.submit(&AppSpec::new(app, "root.a", "u")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 3);
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    let sorted = vec![NodeSlot(1), NodeSlot(2)];
    engine.relabel_node(&"b:1".parse().unwrap(), "").unwrap();
    let state = engine.ledger().state();
    let mut index = FitIndex::new(sorted, 2);
    assert!(index.set(NodeSlot(2), Some(&state.nodes[NodeSlot(2)].free.get())));
    let candidates = Candidates::indexed(&index, state.nodes[NodeSlot(2)].partition);
    let found = propose(state, &candidates, Exclusivity::Respect, &mut Vec::new());
    assert!(matches!(found, Outcome::Skipped(_)), "{found:?}");
}

fn in_both_modes(check: impl Fn(&Threaded)) {
    for mode in [
        Mode::Asynchronous { threads: 2 },
        Mode::Global { threads: 2 },
    ] {
        let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
        for i in 0..4 {
            let name = format!("n{i}:1").parse().unwrap();
            let node = NodeSpec::new(name, ResourceVector::of(&[4096, 8]));
            engine.add_node(node).unwrap();
        }
        check(&engine);
    }
}

fn reserved_nodes(engine: &Threaded) -> usize {
    let snapshot = engine.snapshot();
    let reserved = snapshot.nodes.iter().filter(|node| node.reserved.is_some());
    reserved.count()
}

#[test]
fn a_reservation_that_waits_leaves_the_engine_quiet() {
    in_both_modes(|engine| {
        let ask = |mib, count| AskCall {
            asks: vec![Ask::anywhere(ResourceVector::of(&[mib, 1]), count)],
            ..AskCall::default()
        };
        let small = asking(engine, 1, &[ask(3072, 4)]);
        let events = quiet_while_events_are_read(engine);
        assert_eq!(placed(&events, small), 4, "{events:?}");
        let large = asking(engine, 2, &[ask(4096, 1)]);
        let events = quiet_while_events_are_read(engine);
        assert_eq!(placed(&events, large), 0, "{events:?}");
        assert!(reserved_nodes(engine) > 0, "{events:?}");
        engine.finish_app(small).unwrap();
        let events = quiet_while_events_are_read(engine);
        assert_eq!(placed(&events, large), 1, "{events:?}");
        assert_eq!(reserved_nodes(engine), 0, "{events:?}");
    });
}

/// Applications in front that ask for nothing are passed over together, as published, until one of
/// them asks again.
#[test]
fn who_asks_nothing_is_passed_over_until_it_asks() {
    in_both_modes(|engine| {
        let ask = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[512, 1]), 2)]);
        let passed_over = || {
            let snapshot = engine.snapshot();
            let mut leaves = snapshot
                .queues
                .iter()
                .filter_map(|queue| queue.leaf.as_ref());
            leaves.next().map(|leaf| leaf.head.next)
        };
        let apps = [1, 2, 3].map(|number| asking(engine, number, &[]));
        for app in apps {
            engine.ask(app, ask.clone()).unwrap();
            let events = quiet_while_events_are_read(engine);
            assert_eq!(placed(&events, app), 2, "{events:?}");
        }
        assert_eq!(passed_over(), Some(3));
        for app in apps {
            let more = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[512, 1]), 3)]);
            engine.ask(app, more).unwrap();
            let events = quiet_while_events_are_read(engine);
            assert_eq!(placed(&events, app), 3, "{events:?}");
            assert_eq!(passed_over(), Some(3));
        }
    });
}

#[test]
fn an_application_that_blacklists_every_node_leaves_the_engine_quiet() {
    in_both_modes(|engine| {
        let call = AskCall {
            asks: vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)],
            blacklist_add: (0..4).map(|i| format!("n{i}")).collect(),
            ..AskCall::default()
        };
        let app = asking(engine, 1, &[call]);
        let events = quiet_while_events_are_read(engine);
        assert_eq!(placed(&events, app), 0, "{events:?}");
        let call = AskCall {
            blacklist_remove: vec!["n1".to_owned()],
            ..AskCall::default()
        };
        engine.ask(app, call).unwrap();
        let events = quiet_while_events_are_read(engine);
        assert_eq!(placed(&events, app), 1, "{events:?}");
    });
}

/// The copy of a proposer still has the reservation until a newer snapshot comes, and a sole proposer
/// that is busy gets one after thousands of decisions.
#[test]
fn a_reservation_is_given_up_once() {
    for mode in [
        Mode::Asynchronous { threads: 1 },
        Mode::Global { threads: 1 },
    ] {
        let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
        for name in ["n0:1", "n1:1"] {
            let size = ResourceVector::of(&[4096, 8]);
            let node = NodeSpec::new(name.parse().unwrap(), size);
            engine.add_node(node).unwrap();
        }
        let ask = |mib, count| {
            let ask = Ask::anywhere(ResourceVector::of(&[mib, 1]), count);
            AskCall::asking(vec![ask])
        };
        asking(&engine, 1, &[ask(3072, 2)]);
        let waiting = asking(&engine, 2, &[ask(2048, 1)]);
        drop(quiet_while_events_are_read(&engine));
        assert_eq!(reserved_nodes(&engine), 1, "{mode:?}");
        let before = engine.outcomes().get(CommitOutcome::Committed);
        engine.ask(waiting, ask(2048, 0)).unwrap();
        drop(quiet_while_events_are_read(&engine));
        assert_eq!(reserved_nodes(&engine), 0, "{mode:?}");
        let since = engine.outcomes().get(CommitOutcome::Committed) - before;
        // Others than the one that gives it up look whether it goes on waiting.
        assert!(since < 100, "{mode:?}: {since} decisions");
    }
}

#[test]
fn an_engine_that_measures_everything_measures_every_proposal() {
    for mode in [
        Mode::Asynchronous { threads: 1 },
        Mode::Global { threads: 2 },
    ] {
        let engine = Engine::builder(settings()).sequential().unwrap();
        let clock = SystemClock::new();
        let engine = Threaded::take_over(engine, mode, clock, Latencies::All).unwrap();
        let size = ResourceVector::of(&[16_384, 16]);
        engine
            .add_node(NodeSpec::new("n0:1".parse().unwrap(), size))
            .unwrap();
        let app = ApplicationId::new(1);
        engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 7);
        engine.ask(app, AskCall::asking(vec![ask])).unwrap();
        engine.quiesce();
        let decided: u64 = engine.outcomes().iter().map(|(_, n)| n).sum();
        let measured = engine.latencies();
        let measured = measured.get(Phase::Propose).unwrap();
        assert!(decided >= 7, "{mode:?}: {decided}");
        assert_eq!(measured.latency().n, decided, "{mode:?}");
        assert_eq!(engine.stop(), capsched::api::EngineEnd::Stopped);
    }
}

#[test]
fn the_steps_of_some_decisions_are_measured() {
    let engine = Engine::builder(settings()).sequential().unwrap();
    let (clock, mode) = (SystemClock::new(), Mode::Global { threads: 1 });
    let engine = Threaded::take_over(engine, mode, clock, Latencies::Sampled).unwrap();
    let size = ResourceVector::of(&[1 << 25, 1 << 15]);
    engine
        .add_node(NodeSpec::new("n0:1".parse().unwrap(), size))
        .unwrap();
    // More than the committer decides by itself: the proposer's bulk placements have measured decisions, too.
    let call = || AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 10_000)]);
    let calls = [(1, "root.a"), (2, "root.b")].map(|(number, queue)| {
        let app = ApplicationId::new(number);
        engine.submit(AppSpec::new(app, queue, "ann")).unwrap();
        (app, call())
    });
    assert!(engine.ask_all(calls.into()).iter().all(Result::is_ok));
    engine.quiesce();
    let measured = engine.latencies();
    let steps = [
        Phase::QueueOrder,
        Phase::AppOrder,
        Phase::Headroom,
        Phase::NodePick,
        Phase::Propose,
    ];
    for step in steps {
        let n = measured
            .get(step)
            .map_or(0, |latencies| latencies.latency().n);
        assert!(n > 0, "{step:?} was not measured");
    }
    let placed = engine.outcomes().iter().map(|(_, n)| n).sum::<u64>();
    assert!(placed >= 20_000, "{placed}");
}

#[test]
fn events_that_nobody_made_room_for_are_delivered_after_the_end() {
    let engine = Engine::builder(settings()).sequential().unwrap();
    let (clock, mode) = (SystemClock::new(), Mode::Global { threads: 1 });
    let running = Running {
        capacity: NonZeroUsize::new(1),
        ..Running::default()
    };
    let mut engine = Threaded::take_over(engine, mode, clock, running).unwrap();
    let apps = [1, 2, 3, 4, 5].map(|number| asking(&engine, number, &[]));
    assert_eq!(engine.end(), capsched::api::EngineEnd::Stopped);
    let started = |event: &Event| match event {
        Event::MasterStarted { app, .. } => Some(*app),
        _ => None,
    };
    let started_apps: Vec<_> = engine.take_events().iter().filter_map(started).collect();
    assert_eq!(started_apps, apps);
    assert_eq!(engine.take_events(), []);
}

/// Neither those on another partition, nor one another.
#[test]
fn more_reservations_than_a_batch_holds_hold_nobody_up() {
    const NODES: u32 = 100;
    let more = [
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.maximum-capacity", "100"),
    ];
    let mut settings = settings_with("DominantResourceCalculator", &more);
    // Otherwise the node that is reserved first is proposed for all that fits nowhere.
    settings.scheduler.skip_reserved_nodes = true;
    settings.scheduler.mends.reserved_last_node = true;
    let gpu = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::start(settings, &[gpu], mode, SystemClock::new()).unwrap();
    for i in 0..=NODES {
        let name = format!("n{i}:1").parse().unwrap();
        let node = NodeSpec::new(name, ResourceVector::of(&[15_360, 8]));
        let partition = if i == NODES { "gpu" } else { "" }.to_owned();
        engine.add_node(NodeSpec { partition, ..node }).unwrap();
    }
    let each = |size| AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[size, 1]), 1)]);
    for i in 0..2 * NODES {
        asking(&engine, i + 1, &[each(8192)]);
    }
    engine.quiesce();
    let shown = engine.snapshot();
    let reserved = shown.nodes.iter().filter(|node| node.reserved.is_some());
    let reserved = reserved.count();
    assert!(reserved > 64, "{reserved} reserved");
    let containers = |event: &Event| match event {
        Event::Allocated { container, .. } => Some(*container),
        _ => None,
    };
    let first: Vec<_> = engine.take_events().iter().filter_map(containers).collect();
    assert_eq!(first.len(), NODES as usize);

    let ask = Ask {
        partition: Some("gpu".to_owned()),
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)
    };
    let labelled = asking(&engine, 1000, &[AskCall::asking(vec![ask])]);
    engine.quiesce();
    let placed: Vec<_> = engine.take_events().iter().filter_map(containers).collect();
    assert!(placed.iter().any(|container| container.app == labelled));

    for container in first {
        assert!(engine.container_finished(container));
    }
    engine.quiesce();
    let then = engine.take_events();
    assert_eq!(then.iter().filter_map(containers).count(), NODES as usize);
}
