//! The stream of events: taken once from an engine, it has all of them in order, also behind the engine's end.
//!
//! Tests: `tests/runtime/async_calls.rs`.

use std::future::poll_fn;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use super::event_reader::{Awaited, EventQueue, Taker};
use crate::commit::Event;
use crate::runtime::Threaded;

/// All events of an engine in order, each once. A thread iterates over it; a task awaits
/// [`next_event`](Self::next_event). It ends behind the last event of an engine that ended.
///
/// No event is lost: those that nobody takes stay in memory, without a bound where calls bring them about
/// ([`Threaded::events_waiting`]), unless the builder sets one
/// ([`EngineBuilder::events_limit`](crate::api::EngineBuilder::events_limit)).
///
/// ```
/// use capsched::api::*;
///
/// let engine = Engine::builder(example::settings()).start()?;
/// let events = engine.event_stream().expect("it was not taken before");
/// assert!(engine.event_stream().is_none());
/// let app = ApplicationId::new(1);
/// engine.submit(AppSpec::new(app, "root.a", "ann"))?;
/// assert_eq!(engine.stop(), EngineEnd::Stopped);
/// let started = Event::MasterStarted { app, container: None };
/// assert_eq!(events.collect::<Vec<_>>(), [started]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "once the queue of events is full, the engine waits until they are read"]
pub struct EventStream {
    queue: StdArc<EventQueue>,
    /// Taken from the queue, and not yet passed on.
    taken: vec::IntoIter<Event>,
}

impl EventStream {
    /// The next event; waits for it at most so long. Nothing behind the last one.
    ///
    /// # Errors
    ///
    /// The time was over, and more may come.
    pub fn next_within(&mut self, patience: Duration) -> Result<Option<Event>, StreamTimeout> {
        if let Some(event) = self.taken.next() {
            return Ok(Some(event));
        }
        let mut events = Vec::new();
        let awaited = self.queue.wait(Taker::Stream, &mut events, patience);
        self.taken = events.into_iter();
        match awaited {
            Awaited::Some => Ok(self.taken.next()),
            Awaited::Ended => Ok(None),
            Awaited::TimedOut => Err(StreamTimeout),
        }
    }

    /// The next event; nothing behind the last one. With none to take the task is woken once there is one.
    pub fn poll_event(&mut self, context: &Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.taken.next() {
            return Poll::Ready(Some(event));
        }
        let mut events = Vec::new();
        let polled = self.queue.poll(Taker::Stream, &mut events, context);
        self.taken = events.into_iter();
        polled.map(|_| self.taken.next())
    }

    /// [`Self::poll_event`] as a future. A future that is dropped has taken no event.
    pub fn next_event(&mut self) -> impl Future<Output = Option<Event>> {
        poll_fn(|context| self.poll_event(context))
    }
}

impl Iterator for EventStream {
    type Item = Event;

    /// Waits for the next event; nothing behind the last one.
    fn next(&mut self) -> Option<Event> {
        self.next_within(Duration::MAX).ok().flatten()
    }
}

/// No event came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTimeout;

impl std::fmt::Display for StreamTimeout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no event came in time")
    }
}

impl std::error::Error for StreamTimeout {}

impl Threaded {
    /// Takes the stream of events, once: what was not read before, and everything from now on. Nothing when it was
    /// taken already.
    pub fn event_stream(&self) -> Option<EventStream> {
        let taken = self.events.take();
        taken.then(|| EventStream {
            queue: StdArc::clone(&self.events),
            taken: Vec::new().into_iter(),
        })
    }
}
