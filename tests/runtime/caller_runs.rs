//! The committer at rest works on the thread of whoever calls, and on its own otherwise.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::thread::ThreadId;
use std::time::Duration;

use crate::clocks::FailingClock;
use capsched::api::EngineEnd;
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, Event, Mode, NodeError, NodeReport, NodeSpec,
    Threaded, TreeSettings,
};
use capsched::config;
use capsched::metrics::Phase;
use capsched::resource::ResourceVector;
use capsched::time::{ManualClock, SystemClock};

const MODES: [Mode; 3] = [
    Mode::Heartbeat,
    Mode::Asynchronous { threads: 2 },
    Mode::Global { threads: 2 },
];

/// Times that something is looked for, a millisecond each.
const LOOKS: usize = 60_000;

fn settings(more: &[(&str, &str)]) -> TreeSettings {
    let pairs: BTreeMap<String, String> = [("root.queues", "a"), ("root.a.capacity", "100")]
        .iter()
        .chain(more)
        .map(|(key, value)| {
            (
                format!("yarn.scheduler.capacity.{key}"),
                (*value).to_owned(),
            )
        })
        .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

fn node(number: u32) -> NodeSpec {
    let name = format!("n{number}:1").parse().unwrap();
    NodeSpec::new(name, ResourceVector::of(&[65_536, 64]))
}

fn asking(count: i32) -> AskCall {
    AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), count)])
}

/// The thread that a call is carried out on.
fn thread_of(engine: &Threaded) -> ThreadId {
    engine.inspect(|_| std::thread::current().id()).unwrap()
}

/// Waits until the committer rests, so that a call is carried out on this thread.
fn at_rest(engine: &Threaded) {
    engine.quiesce();
    await_rest(engine);
}

/// The same, without a snapshot that nobody asked for.
fn await_rest(engine: &Threaded) {
    let here = std::thread::current().id();
    for _ in 0..LOOKS {
        // A committer that is called all the time does not come to rest.
        std::thread::sleep(Duration::from_millis(1));
        if thread_of(engine) == here {
            return;
        }
    }
    panic!("the committer never ran on the thread of its caller");
}

/// Reads events until one is found.
fn await_event(engine: &Threaded, wanted: impl Fn(&Event) -> bool) {
    let mut events = Vec::new();
    while !events.iter().any(&wanted) {
        let more = engine
            .await_events(&mut events, Duration::from_mins(1))
            .is_some();
        assert!(more, "the event never came; {events:?}");
    }
}

#[test]
fn a_call_at_rest_is_carried_out_on_the_thread_of_its_caller() {
    for mode in MODES {
        let engine = Engine::builder(settings(&[])).mode(mode).start().unwrap();
        at_rest(&engine);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| at_rest(&engine));
            }
        });
        assert_eq!(engine.stop(), EngineEnd::Stopped, "{mode:?}");
    }
}

#[test]
fn a_committer_that_stays_awake_keeps_to_its_thread() {
    for mode in MODES {
        let builder = Engine::builder(settings(&[])).mode(mode);
        let engine = builder.awake(Duration::MAX).start().unwrap();
        let first = thread_of(&engine);
        assert_ne!(first, std::thread::current().id(), "{mode:?}");
        for _ in 0..100 {
            std::thread::sleep(Duration::from_micros(100));
            assert_eq!(thread_of(&engine), first, "{mode:?}");
        }
        assert_eq!(engine.stop(), EngineEnd::Stopped, "{mode:?}");
    }
}

/// Registers a node and an application at rest and asks for a container, which is placed.
fn one_container(engine: &Threaded, mode: Mode) {
    let app = ApplicationId::new(1);
    at_rest(engine);
    engine.add_node(node(1)).unwrap();
    at_rest(engine);
    engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
    at_rest(engine);
    engine.ask(app, asking(1)).unwrap();
    if mode == Mode::Heartbeat {
        let name = "n1:1".parse().unwrap();
        engine.heartbeat(name, NodeReport::AsExpected).unwrap();
    }
    await_event(
        engine,
        |event| matches!(event, Event::Allocated { container, .. } if container.app == app),
    );
}

/// What a caller's turn leaves to others is done without a further call.
#[test]
fn what_a_call_at_rest_asks_for_is_placed_in_every_mode() {
    for mode in MODES {
        let engine = Engine::builder(settings(&[])).mode(mode).start().unwrap();
        one_container(&engine, mode);
        assert_eq!(engine.stop(), EngineEnd::Stopped, "{mode:?}");
    }
}

/// A caller who never pauses may find the committer with its own thread, as after the start, but not
/// for ever: where nobody proposes that thread looks out for nothing.
#[test]
fn calls_without_a_pause_come_to_find_the_committer_at_rest() {
    let here = std::thread::current().id();
    for _ in 0..10 {
        let builder = Engine::builder(settings(&[])).mode(Mode::Heartbeat);
        let engine = builder.start().unwrap();
        engine.add_node(node(1)).unwrap();
        let found = (0..2000).map(|_| {
            let name = "n1:1".parse().unwrap();
            engine.heartbeat(name, NodeReport::AsExpected).unwrap();
            thread_of(&engine)
        });
        let found: Vec<ThreadId> = found.collect();
        assert!(found[1000..].contains(&here));
        assert_eq!(engine.stop(), EngineEnd::Stopped);
    }
}

/// There is no sorter in heartbeat mode: nobody but who asks for it has the snapshot made.
#[test]
fn a_snapshot_at_rest_shows_what_was_answered() {
    let builder = Engine::builder(settings(&[])).mode(Mode::Heartbeat);
    let engine = builder.start().unwrap();
    for number in 1..=20 {
        at_rest(&engine);
        engine.add_node(node(number)).unwrap();
        let shown = engine.snapshot().nodes.len();
        assert_eq!(shown, number as usize);
    }
}

/// Publications so far.
fn publications(engine: &Threaded) -> u64 {
    let latencies = engine.latencies();
    let publish = latencies.get(Phase::Publish);
    publish.map_or(0, |took| took.latency().n)
}

/// The thread sleeps without a limit when the call comes that gives it one.
#[test]
fn a_lifetime_that_a_call_at_rest_began_ends_though_nobody_calls() {
    std::thread::scope(|scope| {
        for mode in MODES {
            scope.spawn(move || {
                let lifetime = [("root.a.maximum-application-lifetime", "5")];
                let builder = Engine::builder(settings(&lifetime)).mode(mode);
                let engine = builder.clock(SystemClock::new()).start().unwrap();
                one_container(&engine, mode);
                await_event(&engine, |event| matches!(event, Event::Ended { .. }));
                assert_eq!(engine.stop(), EngineEnd::Stopped, "{mode:?}");
            });
        }
    });
}

/// A clock that panics in the midst of a call ends the engine, with its message, and not the caller.
#[test]
fn a_panic_on_the_thread_of_a_caller_ends_the_engine_and_not_the_caller() {
    for mode in MODES {
        let clock = FailingClock::default();
        let builder = Engine::builder(settings(&[])).mode(mode);
        let mut engine = builder.clock(clock.clone()).start().unwrap();
        at_rest(&engine);
        clock.fail();
        assert_eq!(engine.add_node(node(1)), Err(NodeError::Closed), "{mode:?}");
        assert!(!engine.is_running(), "{mode:?}");
        assert_poisoned(engine.end());
    }
}

fn assert_poisoned(end: EngineEnd) {
    match end {
        EngineEnd::Poisoned(cause) => assert_eq!(cause.message, "the clock has failed"),
        EngineEnd::Stopped => panic!("it was not poisoned"),
    }
}

/// Callers who come and go find the committer at rest, at work, or with each other.
#[test]
fn every_call_of_many_is_answered() {
    const CALLERS: u32 = 3;
    const CALLS: u32 = 400;
    for mode in MODES {
        let engine = Engine::builder(settings(&[])).mode(mode).start().unwrap();
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let engine = &engine;
                scope.spawn(move || {
                    for call in 0..CALLS {
                        let number = caller * CALLS + call;
                        engine.add_node(node(number)).unwrap();
                        let pause = u64::from(number % 8) * 20;
                        std::thread::sleep(Duration::from_micros(pause));
                    }
                });
            }
        });
        engine.quiesce();
        let nodes = engine.inspect(|ledger| ledger.state().nodes.len());
        assert_eq!(nodes, Ok((CALLERS * CALLS) as usize), "{mode:?}");
        assert_eq!(engine.stop(), EngineEnd::Stopped, "{mode:?}");
    }
}

/// Whoever asks for a snapshot while another caller has the committer gets an older one; the one that was asked for
/// is there before the committer is released.
#[test]
fn a_snapshot_that_is_asked_for_meanwhile_is_made() {
    let engine = Threaded::start(settings(&[]), &[], Mode::Heartbeat, SystemClock::new()).unwrap();
    // The snapshot that others get while a caller has the committer.
    let shown = || {
        let (entered, was_entered) = std::sync::mpsc::channel();
        let (release, is_released) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let engine = &engine;
            let caller = scope.spawn(move || {
                engine.inspect(move |_| {
                    entered.send(()).unwrap();
                    is_released.recv().unwrap();
                })
            });
            was_entered.recv().unwrap();
            let snapshot = engine.snapshot();
            release.send(()).unwrap();
            caller.join().unwrap().unwrap();
            await_rest(engine);
            snapshot.nodes.len()
        })
    };
    at_rest(&engine);
    engine.add_node(node(1)).unwrap();
    assert_eq!(shown(), 0, "nobody asked for it before");
    assert_eq!(shown(), 1);
}

/// More is asked for than a caller lets the committer decide: neither quiescence nor a snapshot after
/// it comes before the last container.
#[test]
fn quiescence_at_rest_comes_after_all_that_was_asked_for() {
    const COUNT: i32 = 5000;
    let settings = settings(&[("root.a.user-limit-factor", "10")]);
    let builder = Engine::builder(settings).mode(Mode::Global { threads: 1 });
    // By this clock no pass takes long, however slow the machine is.
    let engine = builder.clock(ManualClock::at(0)).start().unwrap();
    let size = ResourceVector::of(&[67_108_864, 65_536]);
    let name = "n1:1".parse().unwrap();
    engine.add_node(NodeSpec::new(name, size)).unwrap();
    let app = ApplicationId::new(1);
    engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
    let mut placed = 0;
    for round in 1..=5 {
        at_rest(&engine);
        engine.ask(app, asking(COUNT)).unwrap();
        engine.quiesce();
        let shown = engine.snapshot();
        let allocated = |event: &&Event| matches!(event, Event::Allocated { .. });
        placed += engine.take_events().iter().filter(allocated).count();
        assert_eq!(placed, COUNT as usize * round);
        let proposed: u64 = shown.taken.iter().sum();
        assert_eq!(shown.served, placed as u64, "proposed: {proposed}");
    }
}

/// Calls that stand in the inbox beside one that panics are lost, and their callers receive that.
#[test]
fn who_calls_beside_a_panic_gets_an_answer() {
    for mode in MODES {
        for _ in 0..20 {
            let clock = FailingClock::default();
            let builder = Engine::builder(settings(&[])).mode(mode);
            let mut engine = builder.clock(clock.clone()).start().unwrap();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| while engine.inspect(|_| ()).is_ok() {});
                }
                std::thread::sleep(Duration::from_micros(200));
                clock.fail();
                while engine.inspect(|_| ()).is_ok() {}
            });
            assert_poisoned(engine.end());
        }
    }
}

/// While events wait for their reader nothing is decided; what was asked for at rest is decided once
/// they are read, without a further call.
#[test]
fn calls_at_rest_are_served_once_their_events_are_read() {
    let settings = settings(&[("root.a.user-limit-factor", "10")]);
    let builder = Engine::builder(settings).mode(Mode::Global { threads: 1 });
    let engine = builder.capacity(NonZeroUsize::MIN).start().unwrap();
    engine.add_node(node(1)).unwrap();
    let app = ApplicationId::new(1);
    engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
    for priority in 1..=4 {
        std::thread::sleep(Duration::from_millis(2));
        let mut ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
        ask.priority = priority;
        engine.ask(app, AskCall::asking(vec![ask])).unwrap();
    }
    let mut events = Vec::new();
    let allocated = |event: &&Event| matches!(event, Event::Allocated { .. });
    while events.iter().filter(allocated).count() < 8 {
        let more = engine
            .await_events(&mut events, Duration::from_mins(1))
            .is_some();
        assert!(more, "the event never came; {events:?}");
    }
    assert_eq!(engine.stop(), EngineEnd::Stopped);
}

/// Reports that write more rows than are copied for a snapshot meanwhile do not put it off for ever.
#[test]
fn a_snapshot_comes_though_rows_are_written_faster_than_they_are_copied() {
    let settings = settings(&[("root.a.user-limit-factor", "10")]);
    let builder = Engine::builder(settings).mode(Mode::Heartbeat);
    let engine = builder.start().unwrap();
    (0..5000).for_each(|number| engine.add_node(node(number)).unwrap());
    let app = ApplicationId::new(1);
    engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
    engine.ask(app, asking(200_000)).unwrap();
    let report = |number: u32| (node(number).name, NodeReport::default());
    let mut events = Vec::new();
    let mut rounds = (0..10).map(|_| {
        for from in (0..5000).step_by(500) {
            let replies = engine.heartbeat_all((from..from + 500).map(report).collect());
            assert!(replies.iter().all(Result::is_ok));
            engine.append_events(&mut events);
        }
        publications(&engine)
    });
    // All nodes have been written to when the first round is over, and what waits then is shown within
    // the next ones, whatever is written meanwhile.
    let first = rounds.next().unwrap();
    let last = rounds.last().unwrap();
    assert!(last > first, "{first} publications, and then {last}");
    assert_eq!(engine.stop(), EngineEnd::Stopped);
}
