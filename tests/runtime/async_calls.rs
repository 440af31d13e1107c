//! Calls of tasks, and the stream of events: answers wake tasks, refusals are values, and events come once.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "test code: threads of callers"
)]

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, Awaited, Engine, EngineEnd, Event,
    HandOut, NodeError, NodeReport, NodeSpec, ResourceVector, StreamTimeout, SubmitError,
};

use crate::engines::{MODES, settings};

fn app(number: u32) -> ApplicationId {
    ApplicationId::new(number)
}

fn size() -> ResourceVector {
    ResourceVector::of(&[1024, 1])
}

fn block_on<F: Future>(future: F) -> F::Output {
    let host = tokio::runtime::Builder::new_current_thread().build();
    host.unwrap().block_on(future)
}

/// Has the committer wait inside a closure until the sender is dropped; returns once it does.
fn hold(engine: &Arc<Engine>, until: Receiver<()>) -> std::thread::JoinHandle<()> {
    let (began, begun) = channel();
    let engine = Arc::clone(engine);
    let held = std::thread::spawn(move || {
        let look = move |_: &_| {
            began.send(()).unwrap();
            until.recv().unwrap_err();
        };
        engine.inspect(look).unwrap();
    });
    begun.recv().unwrap();
    held
}

/// One application as a task: it asks, fetches until it has everything, and ends.
async fn master(engine: Arc<Engine>, number: u32, count: usize) -> usize {
    let app = app(number);
    let spec = AppSpec::new(app, "root.a", "u");
    engine.submit_async(spec).await.unwrap();
    let ask = Ask::anywhere(size(), i32::try_from(count).unwrap());
    let first = engine.ask_async(app, AskCall::asking(vec![ask])).await;
    let mut got = first.unwrap().allocated.len();
    while got < count {
        let node = "n0:1".parse().unwrap();
        let report = engine.heartbeat_async(node, NodeReport::AsExpected);
        report.await.unwrap();
        let reply = engine.ask_async(app, AskCall::default()).await.unwrap();
        got += reply.allocated.len();
        tokio::task::yield_now().await;
    }
    engine.finish_app_async(app).await.unwrap();
    got
}

#[test]
fn tasks_of_one_thread_get_their_answers_in_every_mode() {
    for mode in MODES {
        let engine = Arc::new(Engine::builder(settings()).mode(mode).start().unwrap());
        let total = ResourceVector::of(&[1 << 20, 1 << 10]);
        let node = NodeSpec::new("n0:1".parse().unwrap(), total);
        engine.add_node(node).unwrap();
        let got = block_on(async {
            let tasks = (1..=8).map(|number| tokio::spawn(master(Arc::clone(&engine), number, 5)));
            let tasks: Vec<_> = tasks.collect();
            let mut got = 0;
            for task in tasks {
                got += task.await.unwrap();
            }
            got
        });
        assert_eq!(got, 40, "{mode:?}");
        assert_eq!(engine.inspect(|ledger| ledger.apps_by_id().len()), Ok(0));
    }
}

#[test]
fn a_task_sleeps_until_its_answer_comes() {
    let engine = Arc::new(Engine::builder(settings()).start().unwrap());
    let (held, until) = channel();
    let holder = hold(&engine, until);
    let mut call = pin!(engine.submit_async(AppSpec::new(app(1), "root.a", "u")));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    assert!(call.as_mut().poll(&mut context).is_pending());
    let releaser = std::thread::spawn(move || drop(held));
    let submitted = block_on(call);
    assert_eq!(&*submitted.unwrap().queue, "root.a");
    releaser.join().unwrap();
    holder.join().unwrap();
}

/// A future that nobody polled asked for nothing; one that is dropped later leaves its call behind.
#[test]
fn a_future_asks_with_its_first_poll() {
    let engine = Arc::new(Engine::builder(settings()).start().unwrap());
    drop(engine.submit_async(AppSpec::new(app(1), "root.a", "u")));
    let (held, until) = channel();
    let holder = hold(&engine, until);
    {
        let mut call = pin!(engine.submit_async(AppSpec::new(app(2), "root.a", "u")));
        let mut context = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    drop(held);
    holder.join().unwrap();
    let apps = engine.inspect(|ledger| ledger.apps_by_id().len());
    assert_eq!(apps, Ok(1));
    assert!(engine.app(app(2)).unwrap().is_some());
}

#[test]
fn tasks_wait_for_room_in_a_full_inbox() {
    let builder = Engine::builder(settings()).capacity(NonZeroUsize::MIN);
    let engine = Arc::new(builder.start().unwrap());
    let (held, until) = channel();
    let holder = hold(&engine, until);
    let submitted = block_on(async {
        let submit = |number| {
            let engine = Arc::clone(&engine);
            tokio::spawn(async move {
                let spec = AppSpec::new(app(number), "root.a", "u");
                engine.submit_async(spec).await.is_ok()
            })
        };
        let tasks: Vec<_> = (1..=20).map(submit).collect();
        tokio::task::yield_now().await;
        drop(held);
        let mut submitted = 0;
        for task in tasks {
            submitted += usize::from(task.await.unwrap());
        }
        submitted
    });
    holder.join().unwrap();
    assert_eq!(submitted, 20);
}

#[test]
fn refusals_are_values() {
    let engine = Arc::new(Engine::builder(settings()).start().unwrap());
    let nobody = block_on(engine.ask_async(app(9), AskCall::default()));
    assert_eq!(nobody, Err(AskError::UnknownApplication(app(9))));
    let node = || "n9:1".parse().unwrap();
    let lost = block_on(engine.heartbeat_async(node(), NodeReport::AsExpected));
    assert_eq!(lost, Err(NodeError::Unknown(node())));
    let inside = Arc::clone(&engine);
    let nested = engine.inspect(move |_| block_on(inside.finish_app_async(app(9))));
    assert_eq!(nested, Ok(Err(AppError::Reentrant)));
    let mut engine = Arc::into_inner(engine).unwrap();
    assert_eq!(engine.end(), EngineEnd::Stopped);
    let late = block_on(engine.submit_async(AppSpec::new(app(1), "root.a", "u")));
    assert_eq!(late, Err(SubmitError::Closed));
    let late = block_on(engine.ask_async(app(1), AskCall::default()));
    assert_eq!(late, Err(AskError::Closed));
}

#[test]
fn the_stream_is_taken_once_and_has_every_event() {
    let engine = Engine::builder(settings())
        .hand_out(HandOut::Event)
        .start()
        .unwrap();
    let started = |number| Event::MasterStarted {
        app: app(number),
        container: None,
    };
    engine.submit(AppSpec::new(app(1), "root.a", "u")).unwrap();
    engine.quiesce();
    let mut stream = engine.event_stream().unwrap();
    assert!(engine.event_stream().is_none());
    assert_eq!(stream.next_within(Duration::MAX), Ok(Some(started(1))));
    assert_eq!(stream.next_within(Duration::ZERO), Err(StreamTimeout));
    engine.submit(AppSpec::new(app(2), "root.a", "u")).unwrap();
    engine.quiesce();
    // Others get nothing, and do not wait for it.
    assert!(engine.take_events().is_empty());
    let mut events = Vec::new();
    let awaited = engine.await_events(&mut events, Duration::MAX);
    assert_eq!((awaited, events.len()), (Awaited::Ended, 0));
    assert_eq!(engine.look_for_events(Duration::MAX), Awaited::Ended);
    assert_eq!(block_on(engine.next_events(&mut events)), Awaited::Ended);
    assert_eq!(block_on(stream.next_event()), Some(started(2)));
    engine.submit(AppSpec::new(app(3), "root.a", "u")).unwrap();
    assert_eq!(engine.stop(), EngineEnd::Stopped);
    assert_eq!(stream.next(), Some(started(3)));
    assert_eq!(stream.next(), None);
    assert_eq!(block_on(stream.next_event()), None);
    assert_eq!(stream.next_within(Duration::ZERO), Ok(None));
}

/// A call that waits for events when the stream is taken leaves them to the stream.
#[test]
fn a_call_that_waits_gets_nothing_once_the_stream_is_taken() {
    let engine = Arc::new(Engine::builder(settings()).start().unwrap());
    let (waits, other) = (Arc::clone(&engine), Arc::clone(&engine));
    let waiting = std::thread::spawn(move || {
        let mut events = Vec::new();
        let awaited = waits.await_events(&mut events, Duration::MAX);
        (awaited, events)
    });
    let looking = std::thread::spawn(move || other.look_for_events(Duration::MAX));
    let mut stream = engine.event_stream().unwrap();
    engine.submit(AppSpec::new(app(1), "root.a", "u")).unwrap();
    assert_eq!(waiting.join().unwrap(), (Awaited::Ended, Vec::new()));
    assert_eq!(looking.join().unwrap(), Awaited::Ended);
    let started = Event::MasterStarted {
        app: app(1),
        container: None,
    };
    assert_eq!(stream.next(), Some(started));
}

#[test]
fn a_task_at_the_stream_is_woken_by_an_event_and_by_the_end() {
    let engine = Engine::builder(settings()).start().unwrap();
    let mut stream = engine.event_stream().unwrap();
    let context = Context::from_waker(Waker::noop());
    assert_eq!(stream.poll_event(&context), Poll::Pending);
    let read = std::thread::spawn(move || {
        block_on(async {
            let mut seen = 0;
            while stream.next_event().await.is_some() {
                seen += 1;
            }
            seen
        })
    });
    for number in 1..=5 {
        engine
            .submit(AppSpec::new(app(number), "root.a", "u"))
            .unwrap();
    }
    assert_eq!(engine.stop(), EngineEnd::Stopped);
    assert_eq!(read.join().unwrap(), 5);
}
