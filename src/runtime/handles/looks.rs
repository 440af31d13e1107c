//! Looks of callers at the live ledger. A closure of a caller runs on whichever thread has the committer:
//! a call of the engine from inside would wait for itself, and is refused.
//!
//! Tests: `tests/runtime/looks.rs`.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use super::reply::{Reply, answer};
use crate::commit::{AppError, AskError, Ledger, NodeError, RefreshError, SubmitError};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, ThreadId, thread_id};

/// Why a call of the engine was not carried out, whatever it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The engine has shut down.
    Closed,
    /// The call came from inside a closure that looks at the ledger.
    Reentrant,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the engine has shut down",
            Self::Reentrant => "a call from inside a closure that looks at the ledger",
        })
    }
}

impl std::error::Error for CallError {}

macro_rules! refusals {
    ($($error:ident),*) => {
        $(impl From<CallError> for $error {
            fn from(error: CallError) -> Self {
                match error {
                    CallError::Closed => Self::Closed,
                    CallError::Reentrant => Self::Reentrant,
                }
            }
        })*
    };
}

refusals!(NodeError, SubmitError, AskError, AppError, RefreshError);

/// Which thread runs a closure of a caller now; there is one at most. Clones belong to one engine.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Looks(Arc<RunningLook>);

#[derive(Debug)]
struct RunningLook {
    running: AtomicBool,
    thread: Mutex<Option<ThreadId>>,
}

impl Looks {
    pub(in crate::runtime) fn new() -> Self {
        Self(Arc::new(RunningLook {
            running: AtomicBool::new(false),
            thread: Mutex::new(None),
        }))
    }

    /// Whether the present thread runs a closure of a caller.
    ///
    /// Cost: one read while none runs.
    pub(in crate::runtime) fn is_inside(&self) -> bool {
        // Relaxed: only what this thread wrote itself counts.
        self.0.running.load(Ordering::Relaxed) && *self.thread() == Some(thread_id())
    }

    fn thread(&self) -> crate::sync::MutexGuard<'_, Option<ThreadId>> {
        self.0.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, thread: Option<ThreadId>) {
        let runs = thread.is_some();
        *self.thread() = thread;
        // Relaxed: as in `is_inside`.
        self.0.running.store(runs, Ordering::Relaxed);
    }
}

/// What a closure came to: its value, or the payload of its panic.
pub(in crate::runtime) type Looked<T> = Result<T, Box<dyn Any + Send>>;

/// A query of the ledger that answers by itself.
pub(in crate::runtime) struct LedgerQuery(Box<dyn FnOnce(&Ledger) + Send>);

impl LedgerQuery {
    /// A query by a closure of a caller. A panic of the closure changes nothing, since it only reads, and goes
    /// to the caller.
    pub(in crate::runtime) fn new<T: Send + 'static>(
        looks: Looks,
        reply: Reply<Looked<T>>,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Self {
        Self(Box::new(move |ledger| {
            looks.set(Some(thread_id()));
            let looked = catch_unwind(AssertUnwindSafe(|| look(ledger)));
            looks.set(None);
            answer(reply, looked);
        }))
    }

    pub(in crate::runtime) fn run(self, ledger: &Ledger) {
        (self.0)(ledger);
    }
}

impl fmt::Debug for LedgerQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LedgerQuery")
    }
}
