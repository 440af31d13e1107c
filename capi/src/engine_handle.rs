//! What the handle of an engine stands for.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process;
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker as TaskWaker};
use std::time::Duration;

use capsched::api::{Awaited, Engine, EngineEnd, Event, NodeName};
use capsched::id::QueuePath;
use capsched::sync::{Mutex, Parker, Waker, parking};
use rustix::event::{EventfdFlags, eventfd};

use crate::abi::{self, FlatRecord};
use crate::convert;
use crate::fault::{Answer, Fault};
use crate::handles::Handles;
use crate::names::Names;

static ENGINES: Handles<Arc<Held>> = Handles::new(1);

/// A started engine with what its callers share.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) engine: Engine,
    pub(crate) nodes: Names<NodeName>,
    pub(crate) queues: Names<QueuePath>,
    /// Events that a reader took from the engine and had no room for.
    untaken: Mutex<VecDeque<Event>>,
    bell: OnceLock<(Arc<Bell>, TaskWaker)>,
    process: u32,
    /// Wakes who waits for the end of calls that are under way.
    returned: (Waker, Parker),
}

/// A descriptor that can be read while events wait.
#[derive(Debug)]
struct Bell(OwnedFd);

impl Bell {
    fn ring(&self) {
        // The counter is full at worst, and then the descriptor can be read.
        let _full = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn clear(&self) {
        // Nothing to read is what is wanted.
        let _empty = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

/// An engine during a call. Its fields are dropped in their order.
#[derive(Debug)]
pub(crate) struct Lease {
    held: Arc<Held>,
    _returned: Returned,
}

impl std::ops::Deref for Lease {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

/// Wakes who waits for the end of calls, at the end of one.
#[derive(Debug)]
struct Returned(Waker);

impl Drop for Returned {
    fn drop(&mut self) {
        self.0.wake();
    }
}

fn forked() -> Fault {
    let text = "the engine was built by the parent of this process; its threads are not here";
    Fault::new(abi::CAPSCHED_ERR_FORKED, "forked", text)
}

/// Puts an engine under a handle.
pub(crate) fn hold(engine: Engine) -> Answer<u64> {
    ENGINES.add(Arc::new(Held {
        engine,
        nodes: Names::new(),
        queues: Names::new(),
        untaken: Mutex::new(VecDeque::new()),
        bell: OnceLock::new(),
        process: process::id(),
        returned: parking(),
    }))
}

/// The engine of a handle.
pub(crate) fn engine(handle: u64) -> Answer<Lease> {
    let held = ENGINES.get(handle)?;
    if held.process != process::id() {
        return Err(forked());
    }
    let _returned = Returned(held.returned.0.clone());
    Ok(Lease { held, _returned })
}

/// Ends an engine: its handle is refused from now on, and calls that are under way return.
pub(crate) fn end(handle: u64) -> Answer<EngineEnd> {
    drop(engine(handle)?);
    let held = ENGINES.take(handle)?;
    held.engine.request_stop();
    let returned = held.returned.1.clone();
    returned.park_until(|| Arc::strong_count(&held) == 1);
    let last = Arc::into_inner(held).ok_or_else(|| {
        let text = "a call about the engine is under way";
        Fault::new(abi::CAPSCHED_ERR_REFUSED, "busy", text)
    })?;
    Ok(last.engine.stop())
}

impl Held {
    /// The node of a number.
    pub(crate) fn node(&self, number: u32) -> Answer<NodeName> {
        self.nodes.name(number).ok_or_else(|| {
            let text = format_args!("no node has the number {number}");
            Fault::new(abi::CAPSCHED_ERR_UNKNOWN, "unknown_node", text)
        })
    }

    /// The descriptor that can be read while events wait; the engine keeps it.
    pub(crate) fn wake_fd(&self) -> Answer<i32> {
        if self.bell.get().is_none() {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            // It can be read at first, so that the first look registers for the next events.
            let made = eventfd(1, flags)
                .map_err(|error| Fault::new(abi::CAPSCHED_ERR_SYSTEM, "eventfd", error))?;
            let bell = Arc::new(Bell(made));
            let waker = TaskWaker::from(Arc::clone(&bell));
            drop(self.bell.set((bell, waker)));
        }
        let bell = self.bell.get();
        bell.map(|(bell, _)| bell.0.as_raw_fd())
            .ok_or_else(|| Fault::new(abi::CAPSCHED_ERR_SYSTEM, "eventfd", "no descriptor"))
    }

    /// Takes at most so many events; waits for the first one. Nothing when the time is over.
    pub(crate) fn events(&self, most: usize, patience: Duration) -> Answer<Vec<FlatRecord>> {
        let mut found = Vec::new();
        let mut ended = false;
        if self.take_over(&mut found, &mut ended, most) == 0 && !ended && !patience.is_zero() {
            ended = self.engine.await_events(&mut found, patience) == Awaited::Ended;
        }
        let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
        untaken.extend(found);
        let number = untaken.len().min(most);
        let taken = untaken.drain(..number);
        let records: Vec<_> = taken.map(|event| convert::event(self, &event)).collect();
        if !untaken.is_empty() || ended {
            self.ring();
        }
        if ended && records.is_empty() && untaken.is_empty() {
            let text = "the engine has shut down, and every event was taken";
            return Err(Fault::new(abi::CAPSCHED_ERR_CLOSED, "closed", text));
        }
        Ok(records)
    }

    /// How many events wait to be taken, here and in the engine.
    pub(crate) fn events_waiting(&self) -> u64 {
        let untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
        self.engine.events_waiting() + untaken.len() as u64
    }

    /// Takes what the engine has delivered, and registers the descriptor for the next events. How many wait.
    fn take_over(&self, found: &mut Vec<Event>, ended: &mut bool, most: usize) -> usize {
        let waiting = self
            .untaken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        if waiting >= most {
            return waiting;
        }
        match self.bell.get() {
            None => {
                *ended = self.engine.await_events(found, Duration::ZERO) == Awaited::Ended;
            }
            Some((bell, waker)) => {
                bell.clear();
                let context = Context::from_waker(waker);
                while let Poll::Ready(awaited) = self.engine.poll_events(found, &context) {
                    if awaited == Awaited::Ended {
                        *ended = true;
                        break;
                    }
                }
            }
        }
        waiting + found.len()
    }

    fn ring(&self) {
        if let Some((bell, _)) = self.bell.get() {
            bell.ring();
        }
    }
}
