//! The idle committer: awake for a while, asleep, and the answer to those who wait for quiescence.
//!
//! 1. When a turn brings nothing, the committer notes what its thread may sleep for: a call, the end of an
//!    application's lifetime, or a reader of events, who makes room without waking anybody.
//! 2. If it is to stay awake, its thread looks for work for that long before it sleeps.
//! 3. Whoever has the committer compares what the thread sleeps for with what it would sleep for now, and
//!    wakes the thread if that differs or there is work.
//! 4. A caller who waits for quiescence is answered when every proposer has looked at the last news and no
//!    queue holds anything; or when events wait for their reader, since nothing can happen before.
//!
//! Tests: `tests/runtime/caller_runs.rs`.

use std::time::Duration;

use super::Committer;
use crate::runtime::handles::reply::{Reply, answer};
use crate::sync::{Parker, SPINS, spin_loop};
use crate::time::Clock;

/// How long the committer waits for a reader of events before it looks again.
const PATIENCE: Duration = Duration::from_millis(1);

/// What the committer's thread sleeps for, besides work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    /// For nothing else.
    ForCall,
    /// Until an application's lifetime ends, in ms.
    Until(u64),
    /// Until the reader of events makes room, which it does without waking anybody.
    ForReader,
}

/// What the committer keeps about its sleep and those who wait for it.
pub(in crate::runtime) struct Idle {
    parker: Parker,
    /// How long it looks out for commands before it sleeps.
    awake: Duration,
    /// What its thread sleeps for while the committer is released.
    sleep: Sleep,
    /// Whether a call came while its thread slept, which is to stay awake for the next one.
    visited: bool,
    /// Whether the next turn goes on with inline scheduling: the last one ended at a limit.
    goes_on: bool,
    /// Those who wait for quiescence.
    waiting: Vec<Reply<()>>,
}

impl Idle {
    /// Of a thread that sleeps by `parker`, and looks out for so long before.
    pub(in crate::runtime) fn new(parker: Parker, awake: Duration) -> Self {
        Self {
            parker,
            awake,
            sleep: Sleep::ForCall,
            visited: false,
            goes_on: false,
            waiting: Vec::new(),
        }
    }

    pub(super) fn parker(&self) -> &Parker {
        &self.parker
    }

    /// Whether the last turn wanted the next one to go on.
    pub(super) fn take_goes_on(&mut self) -> bool {
        std::mem::take(&mut self.goes_on)
    }

    pub(super) fn set_goes_on(&mut self, goes_on: bool) {
        self.goes_on = goes_on;
    }

    /// Notes a turn on the thread of a caller.
    pub(super) fn note_visit(&mut self) {
        self.visited = !self.awake.is_zero();
    }

    /// Whether somebody waits for quiescence.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Somebody waits for quiescence.
    pub(super) fn await_quiet(&mut self, reply: Reply<()>) {
        self.waiting.push(reply);
    }

    /// Answers everybody who waits for quiescence.
    pub(super) fn answer_all(&mut self) {
        for reply in self.waiting.drain(..) {
            answer(reply, ());
        }
    }
}

impl<C: Clock> Committer<C> {
    /// Whether every proposer has seen all that happened, and is idle.
    pub(super) fn is_quiet(&self) -> bool {
        !self.publication.has_news() && self.are_proposers_idle()
    }

    /// Whether every proposer has seen all that snapshots show, and is idle.
    pub(super) fn are_proposers_idle(&self) -> bool {
        self.proposers.are_idle(self.publication.snapshot().news)
    }

    /// What its thread may sleep for, as things stand.
    fn sleep(&self) -> Sleep {
        if !self.delivery.is_complete() {
            return Sleep::ForReader;
        }
        match self.engine.next_deadline() {
            Some(deadline_ms) => Sleep::Until(deadline_ms),
            None => Sleep::ForCall,
        }
    }

    /// Notes what its thread is going to sleep for.
    pub(super) fn prepare_sleep(&mut self) {
        self.idle.sleep = self.sleep();
        self.idle.visited = false;
    }

    /// Whether its thread has something to do, or has to sleep otherwise than it does.
    pub(super) fn has_work(&self) -> bool {
        let Idle {
            sleep,
            visited,
            goes_on,
            ..
        } = self.idle;
        if goes_on
            || visited
            || !self.unfinished.is_empty()
            || self.sleep() != sleep
            || self.publication.is_wanted()
            || self.publication.is_preparing()
        {
            return true;
        }
        if self.inbox.has_news() || self.engine.has_fetches() || self.shutdown.is_requested() {
            return true;
        }
        // While events wait for their reader no proposal is taken.
        sleep != Sleep::ForReader
            && (self.proposers.has_news() || (self.idle.is_awaited() && self.are_proposers_idle()))
    }

    /// Looks out for something to do for as long as it is to stay awake; whether there is any.
    pub(super) fn stays_awake(&self) -> bool {
        let Idle { sleep, awake, .. } = self.idle;
        let due = || matches!(sleep, Sleep::Until(ms) if ms <= self.clock.now_ms());
        sleep != Sleep::ForReader && look_out(&self.clock, awake, due, || self.has_work())
    }

    /// How long its thread sleeps at most though nobody wakes it; nothing for no limit.
    pub(super) fn sleep_limit(&self) -> Option<Duration> {
        match self.idle.sleep {
            Sleep::ForCall => None,
            Sleep::ForReader => Some(PATIENCE),
            Sleep::Until(ms) => Some(Duration::from_millis(
                ms.saturating_sub(self.clock.now_ms()),
            )),
        }
    }

    /// Answers those who wait for quiescence: when nothing is to be done, or nothing can be done
    /// before somebody reads the events. A snapshot that is made ready comes first.
    pub(super) fn answer_quiet(&mut self) {
        if !self.idle.is_awaited() || self.publication.is_preparing() {
            return;
        }
        let shown = self.publication.snapshot();
        debug_assert!(
            !self.publication.has_news(),
            "what is awaited was published before"
        );
        let quiet = self.proposers.is_quiet(shown.news);
        let empty = self.unfinished.is_empty() && !self.inbox.has_news();
        let empty = empty && !self.engine.has_fetches();
        let done = quiet && !self.idle.goes_on && empty;
        if done || !self.delivery.is_complete() {
            self.idle.answer_all();
        }
    }
}

/// Waits awake, for some time; whether something is ready, or due by a clock that is asked seldom.
pub(in crate::runtime) fn look_out(
    clock: &impl Clock,
    awake: Duration,
    due: impl Fn() -> bool,
    mut ready: impl FnMut() -> bool,
) -> bool {
    if awake.is_zero() {
        return false;
    }
    let began_ns = clock.now_ns();
    loop {
        for _ in 0..SPINS {
            if ready() {
                return true;
            }
            spin_loop();
        }
        if due() {
            return true;
        }
        let waited = clock.now_ns().saturating_sub(began_ns);
        if u128::from(waited) >= awake.as_nanos() {
            return false;
        }
    }
}
