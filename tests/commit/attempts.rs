//! Applications that start again: their containers have ids of their own, and late reports about earlier
//! attempts do nothing.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppEnd, AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, ContainerId, EndCause,
    Engine, Event, FinishedContainer, GangAsk, ModeKind, NodeName, NodeReport, NodeSpec,
    ResourceVector, Restarts, RunningContainer, Scheduler, Sequential, StateView, Stepped,
    TreeSettings,
};
use capsched::config;

const APP: ApplicationId = ApplicationId::new(1);

const CALCULATOR: &str = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";

fn settings(more: &[(&str, &str)]) -> TreeSettings {
    let pairs = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("maximum-am-resource-percent", "1"),
        ("resource-calculator", CALCULATOR),
    ];
    // The last value of a key holds.
    let pairs = pairs.iter().chain(more);
    let pairs: BTreeMap<String, String> = pairs
        .map(|(key, value)| {
            let key = format!("yarn.scheduler.capacity.{key}");
            (key, (*value).to_owned())
        })
        .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

fn node() -> NodeName {
    NodeName::new("n0", 1).unwrap()
}

fn engine(more: &[(&str, &str)]) -> Sequential {
    let mut engine = Engine::builder(settings(more)).sequential().unwrap();
    let size = ResourceVector::of(&[8192, 8]);
    engine.add_node(&NodeSpec::new(node(), size)).unwrap();
    engine
}

/// Starts the application, whose master gets its container; which one that is.
fn start(engine: &mut Sequential) -> ContainerId {
    let spec = AppSpec::new(APP, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
    engine.submit(&spec).unwrap();
    engine.heartbeat(&node(), &NodeReport::AsExpected).unwrap();
    let events = engine.take_events().into_iter();
    let mut started = events.filter_map(|event| match event {
        Event::MasterStarted { container, .. } => container,
        _ => None,
    });
    started.next().unwrap()
}

#[test]
fn late_reports_about_an_earlier_attempt_do_nothing() {
    let mut engine = engine(&[]);
    let first = start(&mut engine);
    assert_eq!(first, ContainerId::new(APP, 1));
    assert_eq!(first.to_string(), "container_1_0001_01_000001");
    engine.finish_app(APP).unwrap();
    let second = start(&mut engine);
    assert_eq!(second.to_string(), "container_1_0001_02_000001");
    engine.take_events();

    let before = StateView::of(engine.ledger());
    assert!(!engine.container_finished(first));
    assert_eq!(engine.ledger().live_container(first), None);
    let late = NodeReport::Exactly {
        launched: vec![first],
        exited: vec![first],
    };
    let reply = engine.heartbeat(&node(), &late).unwrap();
    assert_eq!(reply.launched, []);
    assert_eq!(before, StateView::of(engine.ledger()));
    assert_eq!(engine.take_events(), []);
    assert!(engine.container_finished(second));
    let lost = |event: &Event| matches!(event, Event::MasterLost { app } if *app == APP);
    assert!(engine.take_events().iter().any(lost));
}

#[test]
fn a_lifetime_that_is_over_sends_an_event_behind_those_of_the_containers() {
    let mut engine = engine(&[("root.a.maximum-application-lifetime", "60")]);
    let master = start(&mut engine);
    assert_eq!(engine.advance_to(60_000), 1);
    let events = engine.take_events();
    let [Event::Ended { container, .. }, ended] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(*container, master);
    let cause = AppEnd::Lifetime;
    assert_eq!(*ended, Event::AppEnded { app: APP, cause });
}

/// The scheduler trait passes on what ends applications.
#[test]
fn schedulers_pass_on_ends_of_applications() {
    let lifetime = [("root.a.maximum-application-lifetime", "60")];
    let mut events = Vec::new();
    for lost in [true, false] {
        let engine = Engine::builder(settings(&lifetime)).sequential().unwrap();
        let mut engine = Stepped::new(engine, ModeKind::Heartbeat);
        let size = ResourceVector::of(&[8192, 8]);
        engine.add_node(NodeSpec::new(node(), size)).unwrap();
        let spec = AppSpec::new(APP, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
        engine.submit(spec).unwrap();
        engine.heartbeat(&node(), NodeReport::AsExpected).unwrap();
        events.clear();
        if lost {
            engine.remove_node(&node()).unwrap();
        } else {
            engine.advance(60_000);
        }
        engine.events(&mut events);
        let cause = AppEnd::Lifetime;
        let last = if lost {
            Event::MasterLost { app: APP }
        } else {
            Event::AppEnded { app: APP, cause }
        };
        assert_eq!(events.last(), Some(&last));
    }
}

/// A refresh never changes the resource types: it is refused as a whole.
#[test]
fn a_refresh_with_other_resource_types_is_refused_whole() {
    let mut engine = engine(&[]);
    let pairs = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("maximum-am-resource-percent", "0.5"),
        ("resource-calculator", CALCULATOR),
    ];
    let pairs = pairs.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let types = ["memory-mb", "vcores", "gpu"].map(str::to_owned);
    let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types);
    let before = StateView::of(engine.ledger());
    let error = engine.reconfigure(loaded.unwrap().settings).unwrap_err();
    assert_eq!(error.code(), "resource_types");
    assert!(
        error.to_string().contains("memory-mb, vcores, gpu"),
        "{error}"
    );
    assert_eq!(before, StateView::of(engine.ledger()));
    assert_eq!(engine.ledger().state().settings.resource_types.len(), 2);
}

/// An application that keeps its containers, whose master runs and which has so many containers that run.
fn keeping(engine: &mut Sequential, containers: i32) -> (ContainerId, Vec<ContainerId>) {
    let spec = AppSpec::new(APP, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
    engine
        .submit(&spec.restarting(Restarts::KeepingContainers))
        .unwrap();
    beat(engine);
    let master = started(engine).unwrap();
    let running = run(engine, containers);
    (master, running)
}

#[test]
fn a_gang_whose_members_are_kept_stays_whole() {
    let mut engine = engine(&[]);
    let (master, _) = keeping(&mut engine, 0);
    let gang = |request_id| GangAsk {
        request_id,
        ..GangAsk::of(2, ResourceVector::of(&[1024, 1]), 1000)
    };
    engine.ask_gang(APP, &gang(1)).unwrap();
    engine.ask(APP, &AskCall::default()).unwrap();
    beat(&mut engine);
    engine.take_events();
    assert!(engine.container_finished(master));
    assert_eq!(engine.start_attempt(APP), Ok(2));
    beat(&mut engine);
    assert!(started(&mut engine).is_some(), "the second attempt runs");
    // With each gang some of those before are looked at, and those that are not whole are forgotten.
    for request_id in 2..40 {
        engine.ask_gang(APP, &gang(request_id)).unwrap();
        let placed = engine.ask(APP, &AskCall::default()).unwrap().allocated;
        assert_eq!(placed.len(), 2, "{request_id}");
        let release = placed.iter().map(|granted| granted.container.number);
        let release = AskCall {
            release: release.collect(),
            ..AskCall::default()
        };
        engine.ask(APP, &release).unwrap();
        beat(&mut engine);
        let whole = engine.ledger().whole_gangs();
        let attempts = whole.map(|members| members[0].attempt);
        assert_eq!(attempts.collect::<Vec<_>>(), [1], "{request_id}");
    }
}

fn beat(engine: &mut Sequential) {
    engine.heartbeat(&node(), &NodeReport::AsExpected).unwrap();
}

/// The container of the master that started since the last look.
fn started(engine: &mut Sequential) -> Option<ContainerId> {
    let events = engine.take_events().into_iter();
    let mut started = events.filter_map(|event| match event {
        Event::MasterStarted { container, .. } => container,
        _ => None,
    });
    started.next()
}

/// Has so many containers placed, fetched and launched.
fn run(engine: &mut Sequential, count: i32) -> Vec<ContainerId> {
    engine.ask(APP, &asking(count)).unwrap();
    for _ in 0..count {
        beat(engine);
    }
    let reply = engine.ask(APP, &AskCall::default()).unwrap();
    beat(engine);
    let allocated = reply.allocated.iter();
    allocated.map(|granted| granted.container).collect()
}

fn asking(count: i32) -> AskCall {
    AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), count)])
}

fn live(engine: &Sequential) -> Vec<ContainerId> {
    let ledger = engine.ledger();
    let app = ledger.app(APP).unwrap();
    ledger.live_containers(app).map(|one| one.id).collect()
}

/// Memory that the queue, the user and the node have in use.
fn used(engine: &Sequential) -> [i64; 3] {
    let view = StateView::of(engine.ledger());
    let queue = view.queues.iter().find(|queue| &*queue.path == "root.a");
    let queue = queue.unwrap();
    let memory = |amounts: Option<&Vec<i64>>| amounts.map_or(0, |amounts| amounts[0]);
    let user = queue.leaf.as_ref().unwrap().users.get("ann");
    [
        memory(queue.labels[""].used.as_ref()),
        memory(user.and_then(|user| user.used.get(""))),
        view.nodes[0].allocated[0],
    ]
}

#[test]
fn containers_that_run_outlive_their_attempt() {
    let mut engine = engine(&[]);
    let (master, running) = keeping(&mut engine, 2);
    // One more is placed and not fetched, one runs and its end is not fetched, and one is asked for.
    engine.ask(APP, &asking(2)).unwrap();
    beat(&mut engine);
    assert!(engine.container_finished(running[0]));
    assert_eq!(live(&engine).len(), 3);
    engine.take_events();

    assert!(engine.container_finished(master));
    let events = engine.take_events();
    let ended = Event::AttemptEnded {
        app: APP,
        attempt: 1,
    };
    assert!(events.contains(&Event::MasterLost { app: APP }));
    assert_eq!(events.last(), Some(&ended));
    assert_eq!(live(&engine), [running[1]]);
    assert_eq!(used(&engine), [1024, 1024, 1024]);
    let view = StateView::of(engine.ledger());
    assert_eq!(view.apps[0].state, "between_attempts");
    assert_eq!(view.apps[0].pending, BTreeMap::new());
    let refused = engine.ask(APP, &asking(1));
    assert_eq!(refused, Err(AskError::MasterNotRunning(APP)));
    assert_eq!(engine.end_attempt(APP), Err(AppError::NoAttempt(APP)));

    assert_eq!(engine.start_attempt(APP), Ok(2));
    assert_eq!(engine.start_attempt(APP), Err(AppError::AttemptRuns(APP)));
    beat(&mut engine);
    let second = started(&mut engine).unwrap();
    // The numbers of attempt 1 go up to 4: its master, two that ran and one that was not fetched.
    assert_eq!(second.to_string(), "container_1_0001_02_000005");
    assert_eq!(used(&engine), [2048, 2048, 2048]);
    // The new master learns what ended, also before it started, and gives back what the old one had.
    let release = AskCall {
        release: vec![running[1].number],
        ..AskCall::default()
    };
    let reply = engine.ask(APP, &release).unwrap();
    let ends = [
        (running[0].number, EndCause::Exited),
        (4, EndCause::ApplicationEnded),
    ];
    let ends = ends.map(|(number, cause)| FinishedContainer::new(number, cause));
    assert_eq!(reply.finished, ends);
    assert!(reply.unknown.is_empty());
    assert_eq!(live(&engine), [second]);
    beat(&mut engine);
    assert_eq!(used(&engine), [1024, 1024, 1024]);
}

#[test]
fn late_reports_name_containers_by_their_attempt() {
    let mut engine = engine(&[]);
    let (master, running) = keeping(&mut engine, 1);
    engine.end_attempt(APP).unwrap();
    engine.start_attempt(APP).unwrap();
    beat(&mut engine);
    let second = started(&mut engine).unwrap();
    let of_second = ContainerId {
        attempt: 2,
        ..running[0]
    };
    assert!(!engine.container_finished(master));
    assert!(!engine.container_finished(of_second));
    assert_eq!(live(&engine), [running[0], second]);
    assert!(engine.container_finished(running[0]));
    assert_eq!(live(&engine), [second]);
}

/// Numbers begin anew where nothing is kept, and the ends of the last attempt are no concern of the next.
#[test]
fn an_attempt_without_the_containers_of_the_last_one_begins_anew() {
    let mut engine = engine(&[("root.a.maximum-application-lifetime", "60")]);
    let spec = AppSpec::new(APP, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
    engine
        .submit(&spec.restarting(Restarts::WithoutContainers))
        .unwrap();
    beat(&mut engine);
    let master = started(&mut engine).unwrap();
    let running = run(&mut engine, 2);
    let shun = AskCall {
        blacklist_add: vec!["n0".to_owned()],
        ..asking(1)
    };
    engine.ask(APP, &shun).unwrap();
    assert!(engine.container_finished(running[0]));
    assert!(engine.container_finished(master));
    assert_eq!(live(&engine), []);
    assert_eq!(engine.start_attempt(APP), Ok(2));
    // The nodes stop what ran.
    beat(&mut engine);
    assert_eq!(used(&engine), [1024, 1024, 1024]);
    let second = started(&mut engine).unwrap();
    assert_eq!(second.to_string(), "container_1_0001_02_000001");
    let reply = engine.ask(APP, &AskCall::default()).unwrap();
    assert!(reply.finished.is_empty());
    assert_eq!(run(&mut engine, 1).len(), 1, "it shuns no node");
    // The lifetime is that of the application.
    engine.take_events();
    assert_eq!(engine.advance_to(60_000), 1);
    let cause = AppEnd::Lifetime;
    let ended = Event::AppEnded { app: APP, cause };
    assert_eq!(engine.take_events().last(), Some(&ended));
}

/// The places that an application does not use are those of the next attempt, once its master runs.
#[test]
fn places_not_to_use_are_kept_with_the_containers() {
    let mut engine = engine(&[]);
    keeping(&mut engine, 1);
    let shun = AskCall {
        blacklist_add: vec!["n0".to_owned()],
        ..AskCall::default()
    };
    engine.ask(APP, &shun).unwrap();
    engine.end_attempt(APP).unwrap();
    engine.start_attempt(APP).unwrap();
    // The list of the application is not that of its master, where hosts of failed masters are avoided.
    beat(&mut engine);
    assert_eq!(started(&mut engine), None);
    let other = NodeName::new("n1", 1).unwrap();
    let size = ResourceVector::of(&[8192, 8]);
    engine
        .add_node(&NodeSpec::new(other.clone(), size))
        .unwrap();
    engine.heartbeat(&other, &NodeReport::AsExpected).unwrap();
    assert!(started(&mut engine).is_some());
    engine.ask(APP, &asking(1)).unwrap();
    beat(&mut engine);
    let reply = engine.ask(APP, &AskCall::default()).unwrap();
    assert_eq!(reply.allocated, []);
}

/// Between two attempts an application moves, ends and is ended like others, and nothing of it is left.
#[test]
fn applications_between_attempts_move_and_end() {
    let more = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
    ];
    for end in 0..3 {
        let mut engine = engine(&more);
        keeping(&mut engine, 2);
        engine.end_attempt(APP).unwrap();
        assert_eq!(engine.change_priority(APP, 0), Ok(0));
        engine.move_app(APP, "root.b").unwrap();
        beat(&mut engine);
        assert_eq!(used(&engine)[..2], [0, 0]);
        let view = StateView::of(engine.ledger());
        let of_b = view.queues.iter().find(|queue| &*queue.path == "root.b");
        let of_b = of_b.unwrap();
        assert_eq!(of_b.labels[""].used, Some(vec![2048, 2]));
        assert_eq!(of_b.leaf.as_ref().unwrap().users["ann"].used[""], [2048, 2]);
        match end {
            0 => engine.finish_app(APP).unwrap(),
            1 => assert_eq!(engine.kill_all_apps("root.b"), Ok(vec![APP])),
            _ => {
                engine.start_attempt(APP).unwrap();
                beat(&mut engine);
                assert!(started(&mut engine).is_some());
                engine.finish_app(APP).unwrap();
            }
        }
        beat(&mut engine);
        let view = StateView::of(engine.ledger());
        assert_eq!((view.apps.len(), view.nodes[0].containers), (0, 0));
        for queue in &view.queues {
            assert_eq!(
                (&queue.labels[""].used, queue.num_apps.unwrap_or(0)),
                (&None, 0)
            );
            let users = queue.leaf.iter().map(|leaf| leaf.users.len());
            assert_eq!(users.sum::<usize>(), 0);
        }
    }
}

/// A queue with an application between two attempts drains, and does not stop.
#[test]
fn a_queue_drains_as_long_as_an_application_may_start_again() {
    let mut engine = engine(&[]);
    keeping(&mut engine, 1);
    engine.end_attempt(APP).unwrap();
    engine.drain_queue("root.a").unwrap();
    let state = |engine: &Sequential| {
        let ledger = engine.ledger();
        ledger.state().queues[ledger.queue("root.a").unwrap()].state
    };
    assert_eq!(format!("{:?}", state(&engine)), "Draining");
    engine.start_attempt(APP).unwrap();
    beat(&mut engine);
    assert!(started(&mut engine).is_some());
    engine.finish_app(APP).unwrap();
    assert_eq!(format!("{:?}", state(&engine)), "Stopped");
}

/// What earlier attempts left running is taken over behind a restart; of others it is stopped.
#[test]
fn recovery_takes_over_what_earlier_attempts_left() {
    for restarts in [Restarts::KeepingContainers, Restarts::WithoutContainers] {
        let builder = Engine::builder(settings(&[]));
        let mut engine = builder.recovering().sequential().unwrap();
        let size = ResourceVector::of(&[1024, 1]);
        let container = |attempt, number| ContainerId {
            attempt,
            ..ContainerId::new(APP, number)
        };
        let ids = [container(1, 3), container(2, 5), container(3, 6)];
        let running = ids.map(|id| RunningContainer::new(id, size));
        let spec = NodeSpec::new(node(), ResourceVector::of(&[8192, 8]));
        engine.register_node(&spec, &running).unwrap();
        let app = AppSpec::new(APP, "root.a", "ann").with_master(size);
        let app = app.restarting(restarts);
        let found = engine.recover_app(&app, 2, Some(5)).unwrap();
        let keeps = restarts == Restarts::KeepingContainers;
        let kept: &[ContainerId] = if keeps { &ids[..2] } else { &ids[1..2] };
        assert_eq!(found.taken, kept);
        assert_eq!(found.to_stop.len(), 3 - kept.len());
        assert_eq!(live(&engine), kept);
        assert_eq!(run(&mut engine, 1), [container(2, 6)]);
    }
}
