//! Events come with the moment at which they were handed over, however late they are read.

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Awaited, DeliveredEvents, Engine, EngineEnd, Event, Mode,
    NodeSpec, Threaded,
};
use capsched::resource::ResourceVector;
use capsched::sync::{AtomicU32, Ordering};
use capsched::time::ManualClock;

#[test]
fn each_event_is_delivered_as_it_was_when_it_happened() {
    let settings = crate::trees::settings([
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
    ]);
    let clock = ManualClock::at(0);
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::start(settings, &[], mode, clock.clone()).unwrap();
    let size = ResourceVector::of(&[8192, 8]);
    engine
        .add_node(NodeSpec::new("n:1".parse().unwrap(), size))
        .unwrap();
    let app = ApplicationId::new(1);
    engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
    for containers in 1..=2 {
        clock.advance(Duration::from_nanos(100));
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), containers);
        engine.ask(app, AskCall::asking(vec![ask])).unwrap();
        engine.quiesce();
    }
    clock.advance(Duration::from_nanos(100));

    let (mut events, mut delivered) = (Vec::new(), Vec::new());
    engine.append_deliveries(&mut events, &mut delivered);
    let mut placed = Vec::new();
    let mut from = 0;
    for DeliveredEvents { at_ns, end } in delivered {
        assert!(from < end, "nothing is no event");
        let here = events[from..end].iter();
        let allocated = |event: &&Event| matches!(event, Event::Allocated { .. });
        placed.extend(here.filter(allocated).map(|_| at_ns));
        from = end;
    }
    assert_eq!(placed, [100, 200, 200]);
    assert_eq!(from, events.len(), "each event has its moment");
}

/// Counts how often a task is woken.
#[derive(Debug, Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_task_is_woken_once_events_come_and_at_the_end() {
    let settings = crate::trees::settings([("root.queues", "a"), ("root.a.capacity", "100")]);
    let clock = ManualClock::at(0);
    let mut engine = Threaded::start(settings, &[], Mode::Heartbeat, clock).unwrap();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let woken = || wakes.0.load(Ordering::Relaxed);
    let (mut events, mut context) = (Vec::new(), Context::from_waker(&waker));
    assert_eq!(engine.poll_events(&mut events, &context), Poll::Pending);
    assert_eq!(woken(), 0);
    let app = ApplicationId::new(1);
    engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
    engine.quiesce();
    assert_eq!(woken(), 1);
    let next = pin!(engine.next_events(&mut events)).poll(&mut context);
    assert_eq!(next, Poll::Ready(Awaited::Some));
    let started = |event: &Event| matches!(event, Event::MasterStarted { .. });
    assert!(events.iter().any(started));
    assert_eq!(engine.poll_events(&mut events, &context), Poll::Pending);
    assert_eq!(engine.end(), EngineEnd::Stopped);
    assert_eq!(woken(), 2);
    let ended = engine.poll_events(&mut events, &context);
    assert_eq!(ended, Poll::Ready(Awaited::Ended));
}

/// Calls go on while nobody reads. What they leave comes in order, in deliveries of bounded length.
#[test]
fn events_that_wait_for_a_reader_come_in_parts() {
    const APPS: u32 = 3000;
    let settings = crate::trees::settings([("root.queues", "a"), ("root.a.capacity", "100")]);
    let engine = Engine::builder(settings).capacity(NonZeroUsize::MIN);
    let mut engine = engine.start().unwrap();
    for number in 0..APPS {
        let app = ApplicationId::new(number);
        engine.submit(AppSpec::new(app, "root.a", "ann")).unwrap();
        engine.finish_app(app).unwrap();
    }
    engine.request_stop();
    assert_eq!(engine.end(), EngineEnd::Stopped);
    let (mut events, mut delivered) = (Vec::new(), Vec::new());
    let waiting = engine.events_waiting();
    engine.append_deliveries(&mut events, &mut delivered);
    assert_eq!(waiting, events.len() as u64);
    assert_eq!(engine.events_waiting(), 0);
    let started = events.iter().filter_map(|event| match event {
        Event::MasterStarted { app, .. } => Some(*app),
        _ => None,
    });
    assert!(started.eq((0..APPS).map(ApplicationId::new)));
    let mut from = 0;
    for DeliveredEvents { end, .. } in delivered {
        assert!(end - from <= 1024, "{}", end - from);
        from = end;
    }
}

/// An engine that drops events while so many wait.
fn limited(most: usize) -> Engine {
    let settings = crate::trees::settings([("root.queues", "a"), ("root.a.capacity", "100")]);
    let most = NonZeroUsize::new(most).expect("above 0");
    let engine = Engine::builder(settings).mode(Mode::Heartbeat);
    engine.events_limit(most).start().expect("it starts")
}

/// An application comes, which is one event, and goes, which is none.
fn come_and_go(engine: &Engine, number: u32) {
    let app = ApplicationId::new(number);
    engine
        .submit(AppSpec::new(app, "root.a", "ann"))
        .expect("it is accepted");
    engine.finish_app(app).expect("it lives");
}

#[test]
fn beyond_a_limit_events_are_dropped_and_counted_where_they_would_stand() {
    let engine = limited(100);
    for round in 0..3 {
        for number in 0..300 {
            come_and_go(&engine, number);
            engine.quiesce();
        }
        assert_eq!(engine.events_waiting(), 101, "round {round}");
        let events = engine.take_events();
        let (last, kept) = events.split_last().unwrap();
        assert_eq!(*last, Event::Lost { count: 200 });
        let started = |number| Event::MasterStarted {
            app: ApplicationId::new(number),
            container: None,
        };
        assert!(kept.iter().cloned().eq((0..100).map(started)));
        assert_eq!(engine.events_waiting(), 0);
        assert!(engine.take_events().is_empty());
    }
    come_and_go(&engine, 300);
    engine.quiesce();
    assert_eq!(engine.take_events().len(), 1, "nothing is dropped any more");
}

/// Whatever the reader takes while events are dropped, each one comes or is counted.
#[test]
fn no_event_is_dropped_without_being_counted() {
    const APPS: u32 = 20_000;
    let mut engine = limited(3);
    let seen = |events: Vec<Event>| {
        let count = |event| match event {
            Event::Lost { count } => count,
            _ => 1,
        };
        events.into_iter().map(count).sum::<u64>()
    };
    let mut all = std::thread::scope(|scope| {
        let calls = scope.spawn(|| (0..APPS).for_each(|number| come_and_go(&engine, number)));
        let mut all = 0;
        while !calls.is_finished() {
            all += seen(engine.take_events());
        }
        all
    });
    engine.request_stop();
    assert_eq!(engine.end(), EngineEnd::Stopped);
    all += seen(engine.take_events());
    assert_eq!(all, u64::from(APPS));
}
