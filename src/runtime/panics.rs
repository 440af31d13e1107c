//! Panics of the engine's threads: how many there were, and their causes.
//!
//! Tests: `tests/runtime/panics.rs`.

use std::any::Any;
use std::fmt;
use std::sync::PoisonError;

use crate::sync::{Arc, Mutex, MutexGuard, thread_name};

/// A panic: which thread it ended or set back, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PanicCause {
    /// The thread's name.
    pub thread: String,
    /// The panic's message; a placeholder where it has none that is text.
    pub message: String,
}

impl PanicCause {
    /// The cause of a panic of the present thread.
    fn of(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self {
            thread: thread_name().unwrap_or_else(|| "without a name".to_owned()),
            message: text.unwrap_or("a panic without a text").to_owned(),
        }
    }
}

impl fmt::Display for PanicCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} panicked: {}", self.thread, self.message)
    }
}

/// Panics that the engine outlived: of proposers, of the node sorter and of the monitor, each of which
/// started afresh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerPanics {
    /// How many.
    pub count: u64,
    /// The last one.
    pub last: Option<PanicCause>,
}

/// The panics of one engine; clones are the same log.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct PanicLog(Arc<PanicRecord>);

#[derive(Debug)]
struct PanicRecord {
    /// Under one lock, so that whoever sees a panic counted sees its cause.
    workers: Mutex<WorkerPanics>,
    /// What ended the committer.
    fatal: Mutex<Option<PanicCause>>,
}

impl PanicLog {
    pub(in crate::runtime) fn new() -> Self {
        Self(Arc::new(PanicRecord {
            workers: Mutex::new(WorkerPanics::default()),
            fatal: Mutex::new(None),
        }))
    }

    /// Notes a panic of a thread that starts afresh, which is the present one.
    pub(in crate::runtime) fn note_worker(&self, payload: &(dyn Any + Send)) {
        let mut workers = locked(&self.0.workers);
        workers.count += 1;
        workers.last = Some(PanicCause::of(payload));
    }

    /// Notes the panic that ends the engine, of the present thread.
    pub(in crate::runtime) fn note_fatal(&self, payload: &(dyn Any + Send)) {
        let mut fatal = locked(&self.0.fatal);
        fatal.get_or_insert_with(|| PanicCause::of(payload));
    }

    pub(in crate::runtime) fn workers(&self) -> WorkerPanics {
        locked(&self.0.workers).clone()
    }

    /// What ended the committer.
    pub(in crate::runtime) fn fatal(&self) -> PanicCause {
        let fatal = locked(&self.0.fatal).clone();
        fatal.unwrap_or_else(|| PanicCause::of(&"the committer was lost"))
    }
}

fn locked<T>(noted: &Mutex<T>) -> MutexGuard<'_, T> {
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}
