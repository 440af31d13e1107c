//! The readers' end of delivered events, with the way back for empty buffers.
//!
//! Tests: `tests/runtime/deliveries.rs`.

use std::future::poll_fn;
use std::sync::PoisonError;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::commit::Event;
use crate::runtime::Threaded;
use crate::runtime::committer::idle::look_out;
use crate::runtime::event_batch::{EventBatch, LastBatches};
use crate::runtime::proposer::wait;
use crate::runtime::waiting_events::WaitingEvents;
use crate::sync::{Mutex, MutexGuard, Parked, Parker, Received, RingReceiver, RingSender};
use crate::time::{Clock, SystemClock};

/// A delivery of events to the readers: when it happened, whenever they read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveredEvents {
    /// The moment, in ns of the engine's clock.
    pub at_ns: u64,
    /// Where its events end in the reader's list; they begin where those of the one before end.
    pub end: usize,
}

/// What a wait for events came to.
///
/// ```
/// use std::time::Duration;
///
/// use capsched::api::*;
///
/// let engine = Engine::builder(example::settings()).start()?;
/// let awaited = engine.await_events(&mut Vec::new(), Duration::from_millis(1));
/// assert_eq!(awaited, Awaited::TimedOut);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Awaited {
    /// There were events.
    Some,
    /// There were none in time.
    TimedOut,
    /// The engine ended and all its events were taken, or the stream of events has them.
    Ended,
}

impl Awaited {
    /// Whether there were events.
    #[must_use]
    pub const fn is_some(self) -> bool {
        matches!(self, Self::Some)
    }
}

/// Who takes events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    /// A call of the engine. It gets nothing once the stream is taken.
    Call,
    /// The stream.
    Stream,
}

/// What readers of events share.
#[derive(Debug)]
pub(in crate::runtime) struct EventReader {
    batches: RingReceiver<EventBatch>,
    /// What found no room in the ring when the engine ended; complete once the ring is finished.
    last: LastBatches,
    spent: RingSender<Vec<Event>>,
    /// Whether the stream was taken, which has all events from then on.
    is_taken: bool,
    waiting: WaitingEvents,
}

impl EventReader {
    pub(in crate::runtime) fn new(
        batches: RingReceiver<EventBatch>,
        last: LastBatches,
        spent: RingSender<Vec<Event>>,
        waiting: WaitingEvents,
    ) -> Self {
        Self {
            batches,
            last,
            spent,
            is_taken: false,
            waiting,
        }
    }

    /// Whether there is anything for a taker to take.
    fn serves(&self, taker: Taker) -> bool {
        taker == Taker::Stream || !self.is_taken
    }

    /// Takes over what was delivered. Whether more may come.
    fn append(
        &mut self,
        taker: Taker,
        events: &mut Vec<Event>,
        mut on_batch: impl FnMut(DeliveredEvents),
    ) -> bool {
        if !self.serves(taker) {
            return false;
        }
        let waiting = &self.waiting;
        let mut append = |batch: &mut EventBatch| {
            waiting.note_taken(batch.events.len());
            // It stands behind all others that waited when the first one was dropped.
            if let Some(Event::Lost { count }) = batch.events.last_mut() {
                *count += waiting.take_lost();
            }
            events.append(&mut batch.events);
            on_batch(DeliveredEvents {
                at_ns: batch.at_ns,
                end: events.len(),
            });
        };
        loop {
            match self.batches.try_recv() {
                Received::Item(mut batch) => {
                    append(&mut batch);
                    // The committer uses the buffer again; when it has enough, this one goes.
                    drop(self.spent.try_send(batch.events));
                }
                Received::Empty => return true,
                Received::Finished => break,
            }
        }
        let last = self.last.lock();
        let last = std::mem::take(&mut *last.unwrap_or_else(PoisonError::into_inner));
        for mut batch in last {
            append(&mut batch);
        }
        false
    }
}

/// Delivered events, and where readers wait for them. The engine has it, and the stream that was taken of it.
#[derive(Debug)]
pub(in crate::runtime) struct EventQueue {
    reader: Mutex<EventReader>,
    parker: Parker,
    waiting: WaitingEvents,
    /// How long a reader looks out before it sleeps.
    awake: Duration,
}

impl EventQueue {
    pub(in crate::runtime) fn new(
        (reader, parker): (EventReader, Parker),
        awake: Duration,
    ) -> Self {
        Self {
            waiting: reader.waiting.clone(),
            reader: Mutex::new(reader),
            parker,
            awake,
        }
    }

    fn reader(&self) -> MutexGuard<'_, EventReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the right to all events; whether nobody had it.
    pub(super) fn take(&self) -> bool {
        !std::mem::replace(&mut self.reader().is_taken, true)
    }

    /// Takes over what was delivered, once there is anything.
    pub(super) fn wait(
        &self,
        taker: Taker,
        events: &mut Vec<Event>,
        patience: Duration,
    ) -> Awaited {
        let (before, clock) = (events.len(), SystemClock::new());
        loop {
            let more = self.reader().append(taker, events, |_| {});
            let waited = Duration::from_nanos(clock.now_ns());
            if events.len() > before {
                return Awaited::Some;
            }
            if !more {
                return Awaited::Ended;
            }
            if waited >= patience {
                return Awaited::TimedOut;
            }
            self.sleep_until_news(taker, &clock, patience - waited);
        }
    }

    /// The same for a task, which is woken otherwise.
    pub(super) fn poll(
        &self,
        taker: Taker,
        events: &mut Vec<Event>,
        context: &Context<'_>,
    ) -> Poll<Awaited> {
        let before = events.len();
        loop {
            let more = self.reader().append(taker, events, |_| {});
            if events.len() > before {
                return Poll::Ready(Awaited::Some);
            }
            if !more {
                return Poll::Ready(Awaited::Ended);
            }
            let registered = self
                .parker
                .register(context.waker(), || self.has_news(taker));
            if registered == Parked::NotReady {
                return Poll::Pending;
            }
        }
    }

    /// Whether a taker has a reason to look.
    fn has_news(&self, taker: Taker) -> bool {
        let reader = self.reader();
        !reader.serves(taker) || reader.batches.has_news()
    }

    /// Sleeps until a batch comes, the ring ends, or the time is over.
    fn sleep_until_news(&self, taker: Taker, clock: &SystemClock, left: Duration) {
        // The lock is held for a look alone.
        let ready = || self.has_news(taker);
        if !look_out(clock, self.awake.min(left), || false, ready) {
            wait(&self.parker, Some(left), ready);
        }
    }
}

impl Threaded {
    /// Hands over what happened since the last call, in order. A call may be answered shortly before its events are
    /// delivered; after [`Threaded::quiesce`] they are.
    ///
    /// No event is lost without a limit. They wait in a bounded queue; when it is full, no proposal is committed until they are read.
    /// Calls go on, and what they bring about waits behind it. So the memory of an engine whose events nobody takes
    /// grows with each submission, end and release: [`Self::events_waiting`] has the figure, and
    /// [`EngineBuilder::events_limit`](crate::api::EngineBuilder::events_limit) sets a bound.
    ///
    /// Once the [stream](Self::event_stream) is taken this and the other calls here get no events, and a wait comes
    /// to [`Awaited::Ended`]. One that had begun before notices it with the next delivery.
    pub fn take_events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        self.append_events(&mut events);
        events
    }

    /// How many events wait to be taken. What the [stream](Self::event_stream) has taken does not wait any more.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// engine.submit(AppSpec::new(ApplicationId::new(1), "root.a", "ann"))?;
    /// engine.quiesce();
    /// assert_eq!(engine.events_waiting(), 1);
    /// assert_eq!(engine.take_events().len(), 1);
    /// assert_eq!(engine.events_waiting(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn events_waiting(&self) -> u64 {
        self.events.waiting.count()
    }

    /// The same as [`Threaded::take_events`], added to a list that the caller keeps.
    pub fn append_events(&self, events: &mut Vec<Event>) {
        self.events.reader().append(Taker::Call, events, |_| {});
    }

    /// The same as [`Threaded::append_events`], with the moments at which they were delivered: exact
    /// where a reader looks seldom, or has to wait for a core.
    pub fn append_deliveries(
        &self,
        events: &mut Vec<Event>,
        deliveries: &mut Vec<DeliveredEvents>,
    ) {
        let on_batch = |delivery| deliveries.push(delivery);
        self.events.reader().append(Taker::Call, events, on_batch);
    }

    /// The same as [`Threaded::append_events`], once there are any: waits until something happens,
    /// the engine ends, or `patience` is over. Several readers may wait at once; each event goes to one
    /// of them, and none waits for another.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings())
    ///     .mode(Mode::Global { threads: 1 })
    ///     .start()?;
    /// let name = NodeName::new("n0", 8041)?;
    /// engine.add_node(NodeSpec::new(name, ResourceVector::of(&[8192, 8])))?;
    /// engine.submit(AppSpec::new(ApplicationId::new(1), "root.a", "ann"))?;
    ///
    /// let mut events = Vec::new();
    /// assert_eq!(engine.await_events(&mut events, Duration::from_secs(60)), Awaited::Some);
    /// engine.request_stop();
    /// while engine.await_events(&mut events, Duration::MAX) != Awaited::Ended {}
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn await_events(&self, events: &mut Vec<Event>, patience: Duration) -> Awaited {
        self.events.wait(Taker::Call, events, patience)
    }

    /// Waits as [`Threaded::await_events`], and takes no event: for a reader that has to take them in order with others.
    /// At the end of the engine there may be events left to take.
    pub fn look_for_events(&self, patience: Duration) -> Awaited {
        let clock = SystemClock::new();
        loop {
            if self.events.has_news(Taker::Call) {
                let runs = self.is_running() && self.events.reader().serves(Taker::Call);
                return if runs { Awaited::Some } else { Awaited::Ended };
            }
            let waited = Duration::from_nanos(clock.now_ns());
            if waited >= patience {
                return Awaited::TimedOut;
            }
            self.events
                .sleep_until_news(Taker::Call, &clock, patience - waited);
        }
    }

    /// The same as [`Threaded::append_events`] for a task of an asynchronous host: with nothing to take the task is
    /// woken once something happens or the engine ends. It never comes to [`Awaited::TimedOut`].
    ///
    /// The waker runs on the thread that delivers events; as every waker it only marks the task and calls nothing
    /// of the engine.
    pub fn poll_events(&self, events: &mut Vec<Event>, context: &Context<'_>) -> Poll<Awaited> {
        self.events.poll(Taker::Call, events, context)
    }

    /// [`Threaded::poll_events`] as a future: what a task awaits in a loop until it comes to [`Awaited::Ended`]. A
    /// future that is dropped has taken no event.
    pub fn next_events(&self, events: &mut Vec<Event>) -> impl Future<Output = Awaited> {
        poll_fn(move |context| self.poll_events(events, context))
    }
}
