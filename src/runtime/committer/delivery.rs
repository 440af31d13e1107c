//! Delivery: events on their way from the ledger to the readers.
//!
//! 1. The ledger collects events in a buffer. The committer exchanges it for an empty one that a reader
//!    gave back, so that no buffer is allocated in the steady state.
//! 2. A batch goes to the readers through a bounded ring.
//! 3. If the ring is full, the batch stays in the backlog and the committer takes no proposals until a reader
//!    makes room. What calls add meanwhile costs each turn a bounded copy, and its memory
//!    grows without a bound; [`WaitingEvents`] has the figure. With a limit, what happens is dropped from then on,
//!    and proposals are taken. [`Event::Lost`] stands where it would; the reader that takes it fills in how many.
//!    Once all are taken, events are kept again.
//! 4. At the end, batches that found no room are left where the reader finds them behind the ring.
//!
//! An event that says a reservation is kept is not delivered: it would come with every look at the node.
//!
//! Tests: `tests/runtime/deliveries.rs`.

use std::num::NonZeroUsize;
use std::sync::PoisonError;

use super::event_backlog::EventBacklog;
use crate::commit::{Event, Unsettled};
use crate::runtime::Sequential;
use crate::runtime::event_batch::{EventBatch, LastBatches};
use crate::runtime::handles::event_reader::EventReader;
use crate::runtime::handles::queue_capacities::QueueCapacities;
use crate::runtime::waiting_events::WaitingEvents;
use crate::sync::{Arc, Parker, Received, RingReceiver, RingSender, TrySendError, Waker, ring};

/// The committer's end of the way of events.
pub(in crate::runtime) struct Delivery {
    ring: RingSender<EventBatch>,
    /// Empty buffers that readers gave back.
    spent: RingReceiver<Vec<Event>>,
    last: LastBatches,
    /// Events that the ring had no room for.
    undelivered: EventBacklog,
    waiting: WaitingEvents,
    /// Events that may wait, if there is a limit.
    limit: Option<NonZeroUsize>,
    /// Whether events are dropped until a reader has taken all that wait.
    drops: bool,
}

impl Delivery {
    /// Both ends; readers sleep by `parker` and are woken by `waker`.
    pub(in crate::runtime) fn new(
        capacities: QueueCapacities,
        limit: Option<NonZeroUsize>,
        (waker, parker): (Waker, Parker),
    ) -> (Self, (EventReader, Parker)) {
        let (sender, batches) = ring(capacities.events);
        let (spent_sender, spent) = ring(capacities.spent);
        let last = LastBatches::default();
        let waiting = WaitingEvents::new();
        let reader = EventReader::new(batches, Arc::clone(&last), spent_sender, waiting.clone());
        let delivery = Self {
            ring: sender.waking(waker),
            spent,
            last,
            undelivered: EventBacklog::default(),
            waiting,
            limit,
            drops: false,
        };
        (delivery, (reader, parker))
    }

    /// Whether everything that was collected is delivered, or nothing is kept any more.
    pub(in crate::runtime) fn is_complete(&self) -> bool {
        self.undelivered.is_empty() || self.drops
    }

    /// Delivers the events of a ledger as far as there is room. Cost: nothing without events.
    pub(in crate::runtime) fn deliver(
        &mut self,
        engine: &mut Unsettled<Sequential>,
        now_ns: impl Fn() -> u64,
    ) {
        let count = engine.event_count();
        if count > 0 {
            self.collect(engine, count);
        }
        while let Some(events) = self.undelivered.take_first() {
            let at_ns = now_ns();
            match self.ring.try_send(EventBatch { at_ns, events }) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(back)) => return self.undelivered.put_back(back.events),
            }
        }
    }

    /// Takes over the events since the last time, in a buffer that was used before.
    fn collect(&mut self, engine: &mut Unsettled<Sequential>, count: usize) {
        let buffer = match self.spent.try_recv() {
            Received::Item(buffer) => buffer,
            // As many as now may come next; a buffer that grows is copied each time.
            Received::Empty | Received::Finished => Vec::with_capacity(count),
        };
        let mut events = engine.exchange_events(buffer);
        events.retain(|event| !matches!(event, Event::Reserved { again: true, .. }));
        if !events.is_empty() {
            self.take_in(events);
        }
    }

    /// Keeps events for the readers, or counts them as lost.
    fn take_in(&mut self, events: Vec<Event>) {
        if self.drops {
            self.keep_again();
        }
        let limit = self.limit.map(|limit| limit.get() as u64);
        if !self.drops && limit.is_some_and(|limit| self.waiting.count() >= limit) {
            self.drops = true;
            self.add(vec![Event::Lost { count: 0 }]);
        }
        if self.drops {
            self.waiting.note_lost(events.len());
        } else {
            self.add(events);
        }
    }

    fn add(&mut self, events: Vec<Event>) {
        self.waiting.note_delivered(events.len());
        self.undelivered.add(events);
    }

    /// Keeps events again if all are taken. Those that were dropped while a reader took the last ones are counted first.
    fn keep_again(&mut self) {
        if self.waiting.count() > 0 {
            return;
        }
        self.drops = false;
        let count = self.waiting.take_lost();
        if count > 0 {
            self.add(vec![Event::Lost { count }]);
        }
    }

    /// Leaves what found no room to the readers, before the ring is finished by dropping this end.
    pub(in crate::runtime) fn finish(&mut self, at_ns: u64) {
        if self.drops {
            self.keep_again();
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(events) = self.undelivered.take_first() {
            last.push(EventBatch { at_ns, events });
        }
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;
    use crate::id::ApplicationId;
    use crate::runtime::handles::start::Mode;
    use crate::sync::parking;

    /// A delivery that drops events while two wait.
    fn limited() -> (Delivery, (EventReader, Parker)) {
        let capacities = QueueCapacities::of(Mode::Heartbeat, None);
        Delivery::new(capacities, NonZeroUsize::new(2), parking())
    }

    fn events(numbers: std::ops::Range<u32>) -> Vec<Event> {
        let started = |number| Event::MasterStarted {
            app: ApplicationId::new(number),
            container: None,
        };
        numbers.map(started).collect()
    }

    /// What is on its way to the readers.
    fn kept(delivery: &mut Delivery) -> Vec<Event> {
        let mut kept = Vec::new();
        while let Some(mut segment) = delivery.undelivered.take_first() {
            kept.append(&mut segment);
        }
        kept
    }

    #[test]
    fn events_that_are_dropped_together_count_each() {
        let (mut delivery, _readers) = limited();
        delivery.take_in(events(0..2));
        delivery.take_in(events(2..5));
        delivery.take_in(events(5..9));
        let mut expected = events(0..2);
        expected.push(Event::Lost { count: 0 });
        assert_eq!(kept(&mut delivery), expected);
        assert_eq!(delivery.waiting.take_lost(), 7);
    }

    /// A reader took all that waited, and looked for lost ones before the last of them were counted.
    #[test]
    fn events_that_are_dropped_while_a_reader_takes_the_last_ones_are_counted_first() {
        for ends in [false, true] {
            let (mut delivery, _readers) = limited();
            delivery.take_in(events(0..2));
            delivery.take_in(events(2..5));
            let taken = kept(&mut delivery).len();
            delivery.waiting.note_taken(taken);
            let mut expected = vec![Event::Lost { count: 3 }];
            if ends {
                let last = Arc::clone(&delivery.last);
                delivery.finish(7);
                let mut last = last.lock().expect("nobody panicked");
                let left = last.drain(..).flat_map(|batch| batch.events);
                assert_eq!(left.collect::<Vec<_>>(), expected);
            } else {
                delivery.take_in(events(5..7));
                expected.extend(events(5..7));
                assert_eq!(kept(&mut delivery), expected);
                assert_eq!(delivery.waiting.count(), 3);
            }
        }
    }
}
