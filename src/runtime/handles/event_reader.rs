//! The readers' end of the events, with the way back for empty buffers.

use std::sync::PoisonError;
use std::time::Duration;

use crate::commit::Event;
use crate::runtime::Threaded;
use crate::runtime::committer::idle::look_out;
use crate::runtime::proposer::worker::wait;
use crate::sync::{Arc, Mutex, MutexGuard, Parker, Received, RingReceiver, RingSender};
use crate::time::{Clock, SystemClock};

/// Events that the committer handed over together.
#[derive(Debug)]
pub(in crate::runtime) struct Telling {
    pub(in crate::runtime) at_ns: u64,
    pub(in crate::runtime) events: Vec<Event>,
}

/// When events were handed over to readers, whenever these read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The moment, in ns of the engine's clock.
    pub at_ns: u64,
    /// Where they end in the reader's list; they begin where the ones before them end.
    pub end: usize,
}

/// Where the committer leaves, at its end, what finds no room in the ring.
pub(in crate::runtime) type Rest = Arc<Mutex<Option<Telling>>>;

/// What readers of events share.
#[derive(Debug)]
pub(in crate::runtime) struct EventReader {
    pub(in crate::runtime) told: RingReceiver<Telling>,
    /// What found no room in the ring when the engine ended; complete once the ring is finished.
    pub(in crate::runtime) rest: Rest,
    pub(in crate::runtime) spent: RingSender<Vec<Event>>,
    pub(in crate::runtime) parker: Parker,
}

impl EventReader {
    /// Takes over what there is. Whether there may be more some time.
    fn append(&mut self, events: &mut Vec<Event>, mut heard: impl FnMut(Told)) -> bool {
        loop {
            match self.told.try_recv() {
                Received::Item(mut telling) => {
                    events.append(&mut telling.events);
                    heard(Told {
                        at_ns: telling.at_ns,
                        end: events.len(),
                    });
                    // The committer uses the buffer again; when it has enough, this one goes.
                    drop(self.spent.try_send(telling.events));
                }
                Received::Empty => return true,
                Received::Finished => break,
            }
        }
        let rest = self
            .rest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(mut telling) = rest {
            events.append(&mut telling.events);
            heard(Told {
                at_ns: telling.at_ns,
                end: events.len(),
            });
        }
        false
    }
}

impl Threaded {
    fn event_reader(&self) -> MutexGuard<'_, EventReader> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over what happened since the last call, in order. Events wait in a bounded queue;
    /// when it is full, no proposal is committed until they are read.
    pub fn take_events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        self.append_events(&mut events);
        events
    }

    /// The same as [`Threaded::take_events`], added to a list that the caller keeps.
    pub fn append_events(&self, events: &mut Vec<Event>) {
        self.event_reader().append(events, |_| {});
    }

    /// The same as [`Threaded::append_events`], with the moments at which they were handed over: exact
    /// where a reader looks seldom, or has to wait for a core.
    pub fn append_told(&self, events: &mut Vec<Event>, told: &mut Vec<Told>) {
        self.event_reader().append(events, |batch| told.push(batch));
    }

    /// The same as [`Threaded::append_events`], once there are any: waits until something happens,
    /// the engine ends, or `patience` is over. Whether there were any. Other readers wait meanwhile.
    ///
    /// ```
    /// # use std::{collections::BTreeMap, time::Duration};
    /// # use capsched::{api::*, config};
    /// # let pairs = [("root.queues", "a"), ("root.a.capacity", "100")]
    /// #     .map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()));
    /// # let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    /// # let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types)
    /// #     .expect("a valid tree");
    /// let engine = Engine::builder(loaded.settings)
    ///     .mode(Mode::Global { threads: 1 })
    ///     .start()?;
    /// let name = NodeName::new("n0", 8041)?;
    /// engine.add_node(NodeSpec::new(name, ResourceVector::of(&[8192, 8])))?;
    /// engine.submit(AppSpec::new(ApplicationId::new(1), "root.a", "ann"))?;
    ///
    /// let mut events = Vec::new();
    /// assert!(engine.await_events(&mut events, Duration::from_secs(60)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn await_events(&self, events: &mut Vec<Event>, patience: Duration) -> bool {
        let (before, clock) = (events.len(), SystemClock::new());
        let mut reader = self.event_reader();
        loop {
            let more = reader.append(events, |_| {});
            let waited = Duration::from_nanos(clock.now_ns());
            if events.len() > before || !more || waited >= patience {
                return events.len() > before;
            }
            let EventReader { told, parker, .. } = &*reader;
            let left = patience - waited;
            if !look_out(&clock, self.awake.min(left), || false, || told.has_news()) {
                wait(parker, Some(left), || told.has_news());
            }
        }
    }
}
