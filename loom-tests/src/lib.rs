//! Helpers that the loom models share: exploration in both flavours, and witnesses.
//!
//! Everything here exists only under `cfg(capsched_loom)`; `cargo loom` sets it.

#![cfg(capsched_loom)]

use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use capsched::sync::{Flavour, with_flavour};

#[expect(
    clippy::disallowed_types,
    reason = "counts over all executions of a model, where a loom word would start anew each time"
)]
type Count = std::sync::atomic::AtomicU64;

/// The bound on preemptions unless `LOOM_MAX_PREEMPTIONS` says otherwise.
const MAX_PREEMPTIONS: usize = 2;

/// Steps in one execution after which loom gives up; a retry without progress reaches it.
const MAX_BRANCHES: usize = 10_000;

/// Words of stack for threads that run the engine's own turns. The coroutines that loom gives by default have
/// 4,096, and a commit with its events comes close to them.
const DEEP_STACK: usize = 1 << 16;

/// Starts a thread of a model with room for the engine's own turns.
///
/// # Panics
///
/// When loom has no thread left.
pub fn spawn_deep<T: Send + 'static>(
    turns: impl FnOnce() -> T + Send + 'static,
) -> loom::thread::JoinHandle<T> {
    loom::thread::Builder::new()
        .stack_size(DEEP_STACK)
        .spawn(turns)
        .expect("a model has few threads")
}

/// An event that a model must have met in some execution; else the model explores less than its
/// author thought.
#[derive(Debug)]
pub struct Witness {
    event: &'static str,
    seen: Count,
}

impl Witness {
    /// An event that was not met yet.
    #[must_use]
    pub const fn of(event: &'static str) -> Self {
        Self {
            event,
            seen: Count::new(0),
        }
    }

    /// Counts the event when it happened in this execution.
    pub fn met_if(&self, happened: bool) {
        if happened {
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether any execution met the event.
    #[must_use]
    pub fn was_met(&self) -> bool {
        self.seen.load(Ordering::Relaxed) > 0
    }
}

/// Explores a model in both flavours of the facade.
///
/// # Panics
///
/// When an execution fails, or when a witness was never met. With a planted bug only the first
/// counts, so that a mutant is killed by the property of the model and by nothing else.
pub fn explore(witnesses: &[&Witness], model: impl Fn() + Copy + Send + Sync + 'static) {
    for flavour in [Flavour::Plain, Flavour::Rmw] {
        explore_in(flavour, model);
    }
    if std::env::var_os("CAPSCHED_MUTANT").is_some() {
        return;
    }
    for witness in witnesses {
        assert!(
            witness.was_met(),
            "no execution met the event: {}",
            witness.event
        );
    }
}

/// As [`explore`], for models whose first thread runs the engine's own turns.
///
/// # Panics
///
/// As [`explore`].
pub fn explore_engine(witnesses: &[&Witness], model: impl Fn() + Copy + Send + Sync + 'static) {
    explore(witnesses, move || {
        spawn_deep(model)
            .join()
            .expect("a panic ends the model before");
    });
}

thread_local! {
    // All threads of a model are coroutines of one system thread.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a part of a model panics, as it should. Nothing of the scheduler may be called in it.
pub fn panics(part: impl FnOnce()) -> bool {
    EXPECTED.set(true);
    let panicked = catch_unwind(AssertUnwindSafe(part)).is_err();
    EXPECTED.set(false);
    panicked
}

/// Ends the process at the first panic, where a bug is planted: threads of a model that is given up may keep
/// what the test runner waits for at its end.
fn die_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // Panics without words are those by which loom takes its coroutines down after each execution. To
        // die of one would be to notice every bug, and none as well.
        if panic.payload_as_str().is_none() || EXPECTED.get() {
            return;
        }
        // Nobody is left to report that it could not be reported.
        drop(writeln!(std::io::stderr(), "{panic}"));
        std::process::abort();
    }));
}

/// Explores a model in one flavour and says how many executions there were.
pub fn explore_in(flavour: Flavour, model: impl Fn() + Copy + Send + Sync + 'static) -> u64 {
    if std::env::var_os("CAPSCHED_MUTANT").is_some() {
        die_of_panics();
    }
    let executions = std::sync::Arc::new(Count::new(0));
    let counted = std::sync::Arc::clone(&executions);
    let mut builder = loom::model::Builder::new();
    builder.max_branches = MAX_BRANCHES;
    builder.preemption_bound.get_or_insert(MAX_PREEMPTIONS);
    with_flavour(flavour, || {
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            model();
        });
    });
    executions.load(Ordering::Relaxed)
}
