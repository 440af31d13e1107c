//! What callers see of an engine with threads: answers, events, and its end.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, CommitOutcome, Engine, Event, Mode, NodeName,
    NodeReport, NodeSpec, SubmitError, Threaded,
};
use capsched::resource::ResourceVector;
use capsched::time::{ManualClock, SystemClock};

use crate::engines::{MODES, asking, placed, quiet_while_events_are_read, settings, settings_with};

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

/// Whoever waits until the engine is quiet finds every change in the snapshot that was answered before.
#[test]
fn a_quiet_engine_shows_what_was_answered() {
    for mode in MODES {
        let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
        for number in 1..=30_u32 {
            let name: NodeName = format!("n{number}:1").parse().unwrap();
            let node = NodeSpec::new(name.clone(), ResourceVector::of(&[1024, 1]));
            engine.add_node(node).unwrap();
            let larger = ResourceVector::of(&[2048, 2]);
            engine.resize_node(name, larger).unwrap();
            engine.quiesce();
            let snapshot = engine.snapshot();
            let totals: Vec<_> = snapshot.nodes.iter().map(|node| node.total.get()).collect();
            assert_eq!(totals, vec![larger; number as usize], "{mode:?}");
        }
    }
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
            assert!(
                engine
                    .await_events(&mut events, Duration::from_mins(1))
                    .is_some()
            );
        }
        assert_eq!(placed(&events, app), 5, "{events:?}");
    }
    engine.quiesce();
    assert_eq!(decided(&engine), before, "a proposer did it");
    assert_eq!(engine.snapshot().served, 15);
    assert_eq!(engine.outcomes().get(CommitOutcome::Committed), 15);

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
fn who_waits_for_events_hears_of_them_of_the_end_and_of_the_time() {
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
    let mut events = Vec::new();
    assert!(
        !engine
            .await_events(&mut events, Duration::from_millis(1))
            .is_some()
    );
    assert!(events.is_empty());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut events = Vec::new();
            let any = engine.await_events(&mut events, Duration::MAX).is_some();
            (any, events)
        });
        asking(&engine, 1, &[]);
        let (any, events) = reader.join().unwrap();
        assert!(any && !events.is_empty());
    });
    engine.quiesce();
    drop(engine.take_events());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            engine
                .await_events(&mut Vec::new(), Duration::MAX)
                .is_some()
        });
        engine.request_stop();
        assert!(!reader.join().unwrap());
    });
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
        assert_eq!(engine.stop(), capsched::api::EngineEnd::Stopped);
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
        let name: NodeName = "n0:1".parse().unwrap();
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
        assert!(
            engine
                .await_events(&mut events, Duration::from_mins(1))
                .is_some()
        );
        let ended =
            |event: &Event| matches!(event, Event::Ended { container, .. } if container.app == app);
        assert!(events.iter().any(ended), "{mode:?}: {events:?}");
        let known = engine.inspect(move |ledger| ledger.app(app).is_some());
        assert_eq!(known, Ok(false), "{mode:?}");
        assert_eq!(engine.stop(), capsched::api::EngineEnd::Stopped);
    }
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
        match engine.submit(AppSpec::new(id, "root.a", "u")) {
            Ok(_) => answered += 1,
            Err(SubmitError::TooManyInQueue { .. } | SubmitError::TooManyOfUser { .. }) => {}
            Err(SubmitError::Closed) => return (answered, 1),
            Err(other) => panic!("{other}"),
        }
    }
}

/// An engine that is ended in the middle of its work has delivered all that its last state shows.
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
        let mut events = Vec::new();
        while events.is_empty() {
            engine.append_events(&mut events);
        }
        assert_eq!(engine.end(), capsched::api::EngineEnd::Stopped);
        engine.append_events(&mut events);
        let placed = |event: &&Event| matches!(event, Event::Allocated { .. });
        let snapshot = engine.snapshot();
        let shown: i64 = snapshot
            .nodes
            .iter()
            .map(|node| i64::from(node.containers))
            .sum();
        let events = i64::try_from(events.iter().filter(placed).count()).unwrap();
        assert_eq!(events, shown, "{mode:?}");
        assert!(
            shown < i64::from(ASKED),
            "{mode:?}: all was done before the end"
        );
    }
}
