//! Caller-runs: a committer that its thread released takes its turns on the thread of whoever calls.
//!
//! Waking the committer's thread and being woken by it takes far longer than most calls. Instead:
//!
//! 1. With nothing to do, the committer's thread releases the committer ([`Handoff`]) and sleeps.
//! 2. A caller puts its command into the inbox and asks for the committer. If it is free, the caller owns it,
//!    runs a few turns, and releases it. Otherwise its owner is signalled and carries the command out.
//! 3. If more is left than a few turns bring, the committer is released to its own thread, which is woken. A caller
//!    goes on with long commands only while it waits for its own answer.
//! 4. An owner that panics drops the committer: the engine ends, and every call that waits returns.
//!
//! It is valid because there is one committer, and its owner is the only writer; commands stay in the order of their
//! inbox. Cost: if the OS preempts a caller that owns the committer, all commits wait for that caller.
//!
//! Tests: `tests/runtime/caller_runs.rs` of whole engines; the handoff itself is model M12.

use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Committer;
use crate::runtime::panics::PanicLog;
use crate::sync::{Acquire, Arc, AtomicBool, Handoff, Ordering, Parked, Parker, Released, Waker};
use crate::time::Clock;

/// Times that a caller lets the committer look for the calls of others that were signalled meanwhile.
const SIGNALS: u32 = 4;

/// Where the committer is while its thread sleeps.
pub(in crate::runtime) struct CallerRuns<C> {
    handoff: Handoff<Box<Committer<C>>>,
    /// Whether somebody waits for a snapshot of all that was answered; the committer reads it, too.
    wanted: Arc<AtomicBool>,
    /// Of the committer's own thread.
    waker: Waker,
    parker: Parker,
    panics: PanicLog,
}

/// What callers need of the committer, wherever it is.
pub(in crate::runtime) trait CommitterAccess: Debug + Send + Sync {
    /// Has the commands in the inbox carried out: on this thread if the committer is free, else by its owner.
    /// `is_awaited`: whether this thread waits for an answer, so that it may go on with long commands.
    fn run_commands(&self, is_awaited: &dyn Fn() -> bool);

    /// Has a snapshot published that shows what was answered: on this thread if the committer is free, else
    /// by its owner before it releases it.
    fn publish(&self);
}

impl<C> Debug for CallerRuns<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallerRuns")
    }
}

impl<C: Clock> CommitterAccess for CallerRuns<C> {
    fn run_commands(&self, is_awaited: &dyn Fn() -> bool) {
        match self.handoff.acquire_or_signal() {
            Acquire::Acquired(committer) => {
                self.run(committer, |committer| committer.visit(is_awaited));
            }
            Acquire::Busy => {}
            // It may sleep while an accepted command is on its way into its slot.
            Acquire::Retained => self.waker.wake(),
        }
    }

    fn publish(&self) {
        // Relaxed: asking for the committer makes it visible to its owner.
        self.wanted.store(true, Ordering::Relaxed);
        if let Acquire::Acquired(committer) = self.handoff.acquire_or_signal() {
            self.run(committer, Committer::show);
        }
    }
}

impl<C: Clock> CallerRuns<C> {
    /// Of a committer that its own thread owns.
    pub(in crate::runtime) fn new(
        waker: Waker,
        parker: Parker,
        wanted: Arc<AtomicBool>,
        panics: &PanicLog,
    ) -> Self {
        Self {
            handoff: Handoff::owned(),
            wanted,
            waker,
            parker,
            panics: panics.clone(),
        }
    }

    /// Lets the committer `work` on this thread, again if somebody signals meanwhile; `work` says
    /// whether the committer's own thread has to go on.
    fn run(&self, mut committer: Box<Committer<C>>, work: impl Fn(&mut Committer<C>) -> bool) {
        for _ in 0..SIGNALS {
            let turn = || work(&mut committer);
            match catch_unwind(AssertUnwindSafe(turn)) {
                Ok(true) => break,
                Ok(false) => {}
                Err(payload) => return self.lose(committer, &*payload),
            }
            match self.handoff.release(committer) {
                Released::Free => return,
                Released::ToHome => return self.waker.wake(),
                Released::Signalled(back) => committer = back,
            }
        }
        self.handoff.release_to_home(committer);
        self.waker.wake();
    }

    /// The committer stays with its thread from now on.
    pub(super) fn retain(&self) {
        self.handoff.retain();
    }

    /// The committer panicked: the engine ends, and with it every call that waits.
    pub(super) fn lose(&self, committer: Box<Committer<C>>, payload: &(dyn Any + Send)) {
        self.panics.note_fatal(payload);
        self.handoff.retain();
        drop(committer);
        self.waker.wake();
    }

    /// Releases the committer and sleeps until its own thread has something to do. Nothing if it
    /// panicked meanwhile.
    pub(super) fn release_and_sleep(
        &self,
        committer: Box<Committer<C>>,
    ) -> Option<Box<Committer<C>>> {
        let rest = || (committer.stays_awake(), committer.sleep_limit());
        let limit = match catch_unwind(AssertUnwindSafe(rest)) {
            Ok((true, _)) => return Some(committer),
            Ok((false, limit)) => limit,
            // The clock panicked.
            Err(payload) => {
                self.lose(committer, &*payload);
                return None;
            }
        };
        let mut owned = Ownership::Own(committer);
        if let Some(limit) = limit {
            let _: Parked = self
                .parker
                .park_for(limit, || owned.finds_work(&self.handoff));
            // Its owner finds the claim when it releases it, and wakes this thread.
            self.parker
                .park_until(|| owned.gets_ownership(&self.handoff));
        } else {
            self.parker.park_until(|| owned.finds_work(&self.handoff));
        }
        match owned {
            Ownership::Own(committer) => Some(committer),
            Ownership::Released | Ownership::Lost => None,
        }
    }
}

/// What the committer's thread has of it while it sleeps.
enum Ownership<C> {
    Own(Box<Committer<C>>),
    /// It is free, or a caller owns it.
    Released,
    /// It is no more.
    Lost,
}

impl<C: Clock> Ownership<C> {
    /// Acquires the committer, or claims it; whether there is nothing to wait for.
    fn gets_ownership(&mut self, handoff: &Handoff<Box<Committer<C>>>) -> bool {
        if matches!(self, Self::Released) {
            match handoff.acquire_or_claim() {
                Acquire::Acquired(committer) => *self = Self::Own(committer),
                Acquire::Busy => {}
                Acquire::Retained => *self = Self::Lost,
            }
        }
        !matches!(self, Self::Released)
    }

    /// Whether there is something to do; releases the committer again otherwise.
    fn finds_work(&mut self, handoff: &Handoff<Box<Committer<C>>>) -> bool {
        self.gets_ownership(handoff);
        loop {
            match std::mem::replace(self, Self::Released) {
                Self::Own(committer) if committer.has_work() => {
                    *self = Self::Own(committer);
                    return true;
                }
                Self::Own(committer) => match handoff.release(committer) {
                    Released::Signalled(back) => *self = Self::Own(back),
                    Released::Free | Released::ToHome => return false,
                },
                Self::Released => return false,
                Self::Lost => {
                    *self = Self::Lost;
                    return true;
                }
            }
        }
    }
}
