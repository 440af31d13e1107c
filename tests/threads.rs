//! The threaded modes end to end: everything that fits is placed, limits hold, nothing hangs.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::time::Duration;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, Conflict, Decision, Engine, Fate,
    HeartbeatReply, Latencies, Mode, NodeError, NodeName, NodeReport, NodeSpec, PartitionSpec,
    Sequential, StateView, SubmitError, Threaded, TreeSettings,
};
use capsched::config;
use capsched::id::{NodeSlot, PartitionId};
use capsched::metrics::Phase;
use capsched::proposer::{Candidates, FitIndex, Outcome, propose};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;
use capsched::time::{ManualClock, SystemClock};

fn settings() -> TreeSettings {
    settings_with("DominantResourceCalculator", &[])
}

fn settings_with(calculator: &str, more: &[(&str, &str)]) -> TreeSettings {
    let p = "yarn.scheduler.capacity.";
    let calculator = format!("org.apache.hadoop.yarn.util.resource.{calculator}");
    let pairs: BTreeMap<String, String> = [
        ("resource-calculator", calculator.as_str()),
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "1"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy", "default"),
        ("multi-node-sorting.policy.names", "default"),
        (
            "multi-node-sorting.policy.default.class",
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy",
        ),
    ]
    .iter()
    .chain(more)
    .map(|(key, value)| (format!("{p}{key}"), (*value).to_owned()))
    .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

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
        let spec = AppSpec {
            id,
            user: format!("u{}", i % 3),
            queue: if i % 2 == 0 { "root.a" } else { "root.b" }.to_owned(),
            placement_parent: None,
            priority: None,
            master: None,
            master_partition: None,
            partition: None,
            tags: Vec::new(),
        };
        engine.submit(spec).unwrap();
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
    let allocated = |event: &&Decision| matches!(event, Decision::Allocated { .. });
    let placed = events.iter().filter(allocated).count();
    let reserved = |event: &&Decision| matches!(event, Decision::Reserved { .. });
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
    assert_eq!(engine.stop(), capsched::sync::Ended::Stopped);
    ([placed, waiting], used)
}

const MODES: [Mode; 5] = [
    Mode::Heartbeat,
    Mode::Asynchronous { threads: 1 },
    Mode::Asynchronous { threads: 3 },
    Mode::Global { threads: 1 },
    Mode::Global { threads: 2 },
];

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

/// An application that may ask at once.
fn asking(engine: &Threaded, number: u32, calls: &[AskCall]) -> ApplicationId {
    let id = ApplicationId::new(number);
    let spec = AppSpec {
        id,
        user: "u".to_owned(),
        queue: "root.a".to_owned(),
        placement_parent: None,
        priority: None,
        master: None,
        master_partition: None,
        partition: None,
        tags: Vec::new(),
    };
    engine.submit(spec).unwrap();
    for call in calls {
        engine.ask(id, call.clone()).unwrap();
    }
    id
}

/// Waits for quiescence while the events are read; a hang here is the failure.
fn quiet_while_events_are_read(engine: &Threaded) -> Vec<Decision> {
    let mut events = Vec::new();
    std::thread::scope(|scope| {
        let quiet = scope.spawn(|| engine.quiesce());
        while !quiet.is_finished() {
            events.extend(engine.take_events());
            std::thread::yield_now();
        }
    });
    events.extend(engine.take_events());
    events
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

fn placed(events: &[Decision], app: ApplicationId) -> usize {
    let of_app = |event: &&Decision| matches!(event, Decision::Allocated { container, .. } if container.app == app);
    events.iter().filter(of_app).count()
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
            leaves.next().map(|leaf| leaf.prefix.next)
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

/// A reservation on lent capacity that the commit refuses is proposed again whenever the state
/// changes, but two refusals in a row do not keep committer and proposer awake for ever.
#[test]
fn a_proposal_that_is_always_refused_lets_the_engine_come_to_rest() {
    for mode in [
        Mode::Global { threads: 1 },
        Mode::Global { threads: 3 },
        Mode::Asynchronous { threads: 2 },
    ] {
        let lent = [PartitionSpec {
            name: "gpu".to_owned(),
            exclusive: false,
        }];
        let engine = Threaded::start(labelled(), &lent, mode, SystemClock::new()).unwrap();
        let node = NodeSpec::new("n:1".parse().unwrap(), ResourceVector::of(&[8192, 8]));
        let partition = "gpu".to_owned();
        engine.add_node(NodeSpec { partition, ..node }).unwrap();
        for (id, leaf, memory) in [(1, "root.a", 3072), (2, "root.b", 8192)] {
            let app = ApplicationId::new(id);
            engine.submit(AppSpec::new(app, leaf, "u")).unwrap();
            let ask = Ask::anywhere(ResourceVector::of(&[memory, 1]), 1);
            engine.ask(app, AskCall::asking(vec![ask])).unwrap();
        }
        engine.quiesce();
        let refused = engine.fates().get(Fate::Refused(Conflict::OverQueueLimit));
        engine.quiesce();
        assert_eq!(
            engine.fates().get(Fate::Refused(Conflict::OverQueueLimit)),
            refused,
            "{mode:?}"
        );
        assert_eq!(engine.stop(), capsched::sync::Ended::Stopped);
    }
}

fn labelled() -> TreeSettings {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    };
    set("root.queues", "a,b");
    set("multi-node-placement-enabled", "true");
    set("root.accessible-node-labels", "*");
    set("root.accessible-node-labels.gpu.capacity", "100");
    for leaf in ["a", "b"] {
        for prefix in ["", "accessible-node-labels.gpu."] {
            set(&format!("root.{leaf}.{prefix}capacity"), "50");
            set(&format!("root.{leaf}.{prefix}maximum-capacity"), "100");
        }
        set(&format!("root.{leaf}.user-limit-factor"), "10");
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

/// Calls into an engine that is ending either work or are refused as closed; none hangs.
#[test]
fn every_call_has_an_answer_when_the_engine_ends_under_it() {
    for round in 0..20 {
        let mode = Mode::Global { threads: 2 };
        let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
        let name = "n:1".parse().unwrap();
        engine
            .add_node(NodeSpec::new(name, ResourceVector::of(&[65_536, 64])))
            .unwrap();
        let (answered, refused) = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..2u32)
                .map(|caller| {
                    scope.spawn({
                        let engine = &engine;
                        move || submit_until_closed(engine, caller * 10_000)
                    })
                })
                .collect();
            for _ in 0..round {
                std::hint::black_box(engine.snapshot());
            }
            engine.request_stop();
            let counts = callers.into_iter().map(|caller| caller.join().unwrap());
            counts.fold((0, 0), |sum, (a, r)| (sum.0 + a, sum.1 + r))
        });
        assert_eq!(refused, 2, "each caller stopped at its first refusal");
        let apps = || engine.snapshot().apps.iter().count();
        // The committer answers first and publishes the last snapshot afterwards.
        for _ in 0..1_000_000 {
            if apps() >= answered {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!(
            apps(),
            answered,
            "an answered submission was carried out, another was not"
        );
    }
}

fn submit_until_closed(engine: &Threaded, first: u32) -> (usize, usize) {
    let mut answered = 0;
    loop {
        let id = ApplicationId::new(first + u32::try_from(answered).unwrap() + 1);
        let spec = AppSpec {
            id,
            user: "u".to_owned(),
            queue: "root.a".to_owned(),
            priority: None,
            master: None,
            master_partition: None,
            partition: None,
            placement_parent: None,
            tags: Vec::new(),
        };
        match engine.submit(spec) {
            Ok(_) => answered += 1,
            Err(SubmitError::TooManyInQueue { .. } | SubmitError::TooManyOfUser { .. }) => {}
            Err(SubmitError::Closed) => return (answered, 1),
            Err(other) => panic!("{other}"),
        }
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
        let decided: u64 = engine.fates().iter().map(|(_, n)| n).sum();
        let measured = engine.latencies();
        let measured = measured.get(Phase::Propose).unwrap();
        assert!(decided >= 7, "{mode:?}: {decided}");
        assert_eq!(measured.latency().n, decided, "{mode:?}");
        assert_eq!(engine.stop(), capsched::sync::Ended::Stopped);
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
    // More than the committer decides by itself: the proposer's waves have measured decisions, too.
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
    let placed = engine.fates().iter().map(|(_, n)| n).sum::<u64>();
    assert!(placed >= 20_000, "{placed}");
}

/// Calls that are handed over together are answered in their order, each for itself.
#[test]
fn calls_together_are_answered_one_by_one() {
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
    let (known, unknown) = (ApplicationId::new(1), ApplicationId::new(2));
    engine.submit(AppSpec::new(known, "root.a", "u")).unwrap();
    let call = || AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 3)]);
    let replies = engine.ask_all(vec![(known, call()), (unknown, call()), (known, call())]);
    let fine: Vec<bool> = replies.iter().map(Result::is_ok).collect();
    assert_eq!(fine, [true, false, true]);
    assert_eq!(replies[1], Err(AskError::UnknownApplication(unknown)));
    engine.request_stop();
    while engine.ask(known, call()) != Err(AskError::Closed) {}
    let late = engine.ask_all(vec![(known, call()), (known, call())]);
    assert_eq!(late, vec![Err(AskError::Closed); 2]);
}

/// An engine that is ended in the middle of its work tells all that its last state shows.
#[test]
fn what_was_decided_up_to_an_end_in_full_work_stays_readable() {
    /// So many that an end right after the first ones comes in the middle.
    const ASKED: i32 = 200_000;
    for mode in [
        Mode::Asynchronous { threads: 1 },
        Mode::Global { threads: 1 },
        Mode::Global { threads: 2 },
    ] {
        let mut engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
        for i in 0..200 {
            let name = format!("n{i}:1").parse().unwrap();
            let node = NodeSpec::new(name, ResourceVector::of(&[1_048_576, 1024]));
            engine.add_node(node).unwrap();
        }
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), ASKED);
        asking(&engine, 1, &[AskCall::asking(vec![ask])]);
        let mut told = Vec::new();
        while told.is_empty() {
            engine.append_events(&mut told);
        }
        assert_eq!(engine.end(), capsched::sync::Ended::Stopped);
        engine.append_events(&mut told);
        let placed = |event: &&Decision| matches!(event, Decision::Allocated { .. });
        let snapshot = engine.snapshot();
        let shown: i64 = snapshot
            .nodes
            .iter()
            .map(|node| i64::from(node.containers))
            .sum();
        let told = i64::try_from(told.iter().filter(placed).count()).unwrap();
        assert_eq!(told, shown, "{mode:?}");
        assert!(
            shown < i64::from(ASKED),
            "{mode:?}: all was done before the end"
        );
    }
}

/// Four containers are placed, launched, and all but one given back and stopped; reports of the
/// nodes are handed over together or one by one, with that of a lost node among them. All answers,
/// everything that happened, and the state in the end.
fn reports(mode: Mode, together: bool) -> (Vec<Reported>, Vec<Decision>, StateView) {
    let engine = Threaded::start(settings(), &[], mode, ManualClock::at(0)).unwrap();
    let names: Vec<NodeName> = (0..4).map(|i| format!("n{i}:1").parse().unwrap()).collect();
    for name in &names {
        let node = NodeSpec::new(name.clone(), ResourceVector::of(&[4096, 8]));
        engine.add_node(node).unwrap();
    }
    engine.remove_node(names[2].clone()).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 4);
    let app = asking(&engine, 1, &[AskCall::asking(vec![ask])]);
    let beat = |what: &dyn Fn(usize) -> NodeReport| -> Vec<Reported> {
        let all = names.iter().cloned().enumerate();
        let all = all.map(|(i, name)| (name, what(i)));
        let replies = if together {
            engine.heartbeat_all(all.collect())
        } else {
            all.map(|(name, report)| engine.heartbeat(name, report))
                .collect()
        };
        engine.quiesce();
        replies
    };
    let expected = |_: usize| NodeReport::AsExpected;
    let mut replies = [beat(&expected), beat(&expected)].concat();
    let allocated = engine.ask(app, AskCall::default()).unwrap().allocated;
    replies.extend(beat(&expected));
    let release = allocated.iter().skip(1).map(|got| got.container.number);
    let call = AskCall {
        release: release.collect(),
        ..AskCall::default()
    };
    engine.ask(app, call).unwrap();
    let nothing = |_: usize| NodeReport::Exactly {
        launched: Vec::new(),
        exited: Vec::new(),
    };
    let told = beat(&nothing);
    let stopped = |i: usize| NodeReport::Exactly {
        launched: Vec::new(),
        exited: told[i].clone().unwrap_or_default().to_stop,
    };
    replies.extend(told.iter().cloned());
    replies.extend(beat(&stopped));
    let state = engine.state().unwrap();
    (replies, engine.take_events(), state)
}

type Reported = Result<HeartbeatReply, NodeError>;

#[test]
fn reports_together_are_answered_in_order_and_do_what_each_does_alone() {
    let lost = Err(NodeError::Unknown("n2:1".parse().unwrap()));
    for mode in MODES {
        let (replies, _, state) = reports(mode, true);
        for (i, reply) in replies.iter().enumerate() {
            assert_eq!(*reply == lost, i % 4 == 2, "{mode:?} {i} {reply:?}");
            assert!(reply.is_ok() || *reply == lost, "{mode:?} {i} {reply:?}");
        }
        let sum = |of: &dyn Fn(&HeartbeatReply) -> usize| -> usize {
            replies.iter().flatten().map(of).sum()
        };
        let [launched, ordered, exited] = [
            sum(&|reply| reply.launched.len()),
            sum(&|reply| reply.to_stop.len()),
            sum(&|reply| reply.exited.len()),
        ];
        assert_eq!([launched, ordered, exited], [4, 3, 3], "{mode:?}");
        assert_eq!(state.apps[0].live.len(), 1, "{mode:?}");
        let containers = state.nodes.iter().map(|node| node.containers);
        assert_eq!(containers.sum::<u32>(), 1, "{mode:?}");
    }
    let one_by_one = reports(Mode::Heartbeat, false);
    assert_eq!(reports(Mode::Heartbeat, true), one_by_one);
}

/// Nothing is left for the proposers to find when nodes report, and the space that containers free
/// then is used on the spot.
#[test]
fn reports_at_rest_let_the_proposers_sleep_on() {
    // By this clock no pass takes long, however slow the machine is.
    let mode = Mode::Global { threads: 2 };
    let engine = Threaded::start(settings(), &[], mode, ManualClock::at(0)).unwrap();
    let name: NodeName = "n0:1".parse().unwrap();
    let node = NodeSpec::new(name.clone(), ResourceVector::of(&[4096, 8]));
    engine.add_node(node).unwrap();
    let ask = |count| AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), count)]);
    let app = asking(&engine, 1, &[ask(4)]);
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 4, "{events:?}");
    let beat = || engine.heartbeat_all(vec![(name.clone(), NodeReport::AsExpected)]);
    let got = engine.ask(app, AskCall::default()).unwrap().allocated;
    assert!(beat().iter().all(Result::is_ok));
    engine.quiesce();
    let before = engine.snapshot();
    assert!(beat().iter().all(Result::is_ok));
    while engine.snapshot().version == before.version {
        std::thread::yield_now();
    }
    assert_eq!(engine.snapshot().news, before.news, "a proposer was woken");

    // The container stops when its node is told to, and then there is room for another one.
    let call = AskCall {
        release: vec![got[0].container.number],
        ..ask(1)
    };
    engine.ask(app, call).unwrap();
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 0, "{events:?}");
    assert_eq!(beat().len(), 1);
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 1, "{events:?}");
}

#[test]
fn reports_that_come_after_the_end_are_refused_each() {
    let engine = Engine::builder(settings()).start().unwrap();
    let report = || ("n0:1".parse().unwrap(), NodeReport::AsExpected);
    assert_eq!(engine.heartbeat_all(Vec::new()), []);
    engine.request_stop();
    while engine.heartbeat(report().0, report().1) != Err(NodeError::Closed) {}
    let late = engine.heartbeat_all(vec![report(), report()]);
    assert_eq!(late, vec![Err(NodeError::Closed); 2]);
}

/// A few containers are placed by the committer itself while the proposers sleep on; many are left
/// to the proposers.
#[test]
fn calls_at_rest_are_served_on_the_spot() {
    let mode = Mode::Global { threads: 2 };
    // By this clock no pass takes long, however slow the machine is.
    let engine = Threaded::start(settings(), &[], mode, ManualClock::at(0)).unwrap();
    let size = ResourceVector::of(&[16_777_216, 16_384]);
    engine
        .add_node(NodeSpec::new("n0:1".parse().unwrap(), size))
        .unwrap();
    let app = asking(&engine, 1, &[]);
    engine.quiesce();
    let decided = |engine: &Threaded| engine.snapshot().taken.iter().sum::<u64>();
    let before = decided(&engine);
    let ask = |count| AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), count)]);
    for _ in 0..3 {
        engine.ask(app, ask(5)).unwrap();
        let mut events = Vec::new();
        while placed(&events, app) < 5 {
            assert!(engine.await_events(&mut events, Duration::from_mins(1)));
        }
        assert_eq!(placed(&events, app), 5, "{events:?}");
    }
    engine.quiesce();
    assert_eq!(decided(&engine), before, "a proposer did it");
    assert_eq!(engine.snapshot().served, 15);
    assert_eq!(engine.fates().get(Fate::Committed), 15);

    // More than a turn may have, and still by the committer alone.
    engine.ask(app, ask(600)).unwrap();
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 600);
    assert_eq!(decided(&engine), before, "a proposer did it");
    assert_eq!(engine.snapshot().served, 615);

    engine.ask(app, ask(9000)).unwrap();
    let events = quiet_while_events_are_read(&engine);
    assert_eq!(placed(&events, app), 9000);
    assert!(decided(&engine) > before, "no proposer did anything");
}

#[test]
fn a_committer_that_stays_awake_answers_comes_to_rest_and_ends() {
    for mode in MODES {
        let builder = Engine::builder(settings()).mode(mode);
        let engine = builder.awake(Duration::MAX).start().unwrap();
        let size = ResourceVector::of(&[16_384, 16]);
        let node = NodeSpec::new("n0:1".parse().unwrap(), size);
        engine.add_node(node).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 3);
        let app = asking(&engine, 1, &[AskCall::asking(vec![ask])]);
        engine
            .heartbeat("n0:1".parse().unwrap(), NodeReport::AsExpected)
            .unwrap();
        engine.quiesce();
        assert!(placed(&engine.take_events(), app) > 0, "{mode:?}");
        assert_eq!(engine.stop(), capsched::sync::Ended::Stopped);
    }
}

/// The committer, which never sleeps, looks at the clock as well as at its callers.
#[test]
fn a_lifetime_ends_on_time_while_the_committer_is_awake_and_nobody_calls() {
    for mode in MODES {
        let lifetime = [("root.a.maximum-application-lifetime", "60")];
        let settings = settings_with("DominantResourceCalculator", &lifetime);
        let clock = ManualClock::at(0);
        let builder = Engine::builder(settings).mode(mode).clock(clock.clone());
        let engine = builder.awake(Duration::MAX).start().unwrap();
        let name: capsched::api::NodeName = "n0:1".parse().unwrap();
        let size = ResourceVector::of(&[16_384, 16]);
        engine.add_node(NodeSpec::new(name.clone(), size)).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 1);
        let app = asking(&engine, 1, &[AskCall::asking(vec![ask])]);
        engine.heartbeat(name, NodeReport::AsExpected).unwrap();
        engine.quiesce();
        assert_eq!(placed(&engine.take_events(), app), 1, "{mode:?}");
        clock.advance_to_ms(59_999);
        engine.quiesce();
        assert_eq!(engine.take_events(), [], "{mode:?}");
        clock.advance_to_ms(60_000);
        let mut events = Vec::new();
        assert!(engine.await_events(&mut events, Duration::from_mins(1)));
        let ended = |event: &Decision| matches!(event, Decision::Ended { container, .. } if container.app == app);
        assert!(events.iter().any(ended), "{mode:?}: {events:?}");
        let known = engine.inspect(move |ledger| ledger.app(app).is_some());
        assert_eq!(known, Some(false), "{mode:?}");
        assert_eq!(engine.stop(), capsched::sync::Ended::Stopped);
    }
}

#[test]
fn who_waits_for_events_hears_of_them_of_the_end_and_of_the_time() {
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
    let mut events = Vec::new();
    assert!(!engine.await_events(&mut events, Duration::from_millis(1)));
    assert!(events.is_empty());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut events = Vec::new();
            let any = engine.await_events(&mut events, Duration::MAX);
            (any, events)
        });
        asking(&engine, 1, &[]);
        let (any, events) = reader.join().unwrap();
        assert!(any && !events.is_empty());
    });
    engine.quiesce();
    drop(engine.take_events());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| engine.await_events(&mut Vec::new(), Duration::MAX));
        engine.request_stop();
        assert!(!reader.join().unwrap());
    });
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
    let settings = settings_with("DominantResourceCalculator", &more);
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
    let containers = |event: &Decision| match event {
        Decision::Allocated { container, .. } => Some(*container),
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
