//! Threads that callers lend: a committer at rest takes its turns on the thread of whoever calls.
//!
//! Waking the committer's thread and being woken by it takes far longer than most calls. While it
//! rests, its thread lays the committer down ([`Handoff`]); a caller who finds it there takes it, lets
//! it work, and lays it down again. There is one committer as before, and whoever has it is the only
//! writer; commands stay in the order of the inbox. What takes long goes on on its own thread.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::turn::Committer;
use crate::sync::{Arc, Asked, AtomicBool, Handoff, Laid, Ordering, Parked, Parker, Waker};
use crate::time::Clock;

/// Turns on the thread of a caller before the committer's own goes on: its own call, what came of it
/// and the calls that came meanwhile.
const VISIT: u32 = 4;

/// Times that a caller lets the committer look for the calls of others that came meanwhile.
const CALLED_BACK: u32 = 4;

/// Where the committer lies while it rests.
pub(in crate::runtime) struct CallerRuns<C> {
    baton: Handoff<Box<Committer<C>>>,
    /// Whether somebody waits for a snapshot of all that was answered; the committer reads it, too.
    wanted: Arc<AtomicBool>,
    /// Of the committer's own thread.
    waker: Waker,
    parker: Parker,
}

/// What callers see of it.
pub(in crate::runtime) trait Lend: Debug + Send + Sync {
    /// Sees to it that a command is carried out that stands in the inbox: on this thread if the
    /// committer rests, else by whoever has it.
    fn lend(&self);

    /// Sees to it that the snapshot shows what was answered: at once if the committer rests, else
    /// whoever has it does so before it lays it down.
    fn show(&self);
}

impl<C> Debug for CallerRuns<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallerRuns")
    }
}

impl<C: Clock> Lend for CallerRuns<C> {
    fn lend(&self) {
        match self.baton.take_or_call() {
            Asked::Taken(committer) => self.borrow(committer, Committer::visit),
            Asked::Away => {}
            // It may sleep while an accepted command is on its way into its slot.
            Asked::Kept => self.waker.wake(),
        }
    }

    fn show(&self) {
        // Relaxed: asking for the committer makes it visible to whoever has it.
        self.wanted.store(true, Ordering::Relaxed);
        if let Asked::Taken(committer) = self.baton.take_or_call() {
            self.borrow(committer, Committer::show);
        }
    }
}

impl<C: Clock> CallerRuns<C> {
    /// Of a committer that its thread has.
    pub(in crate::runtime) fn new(waker: Waker, parker: Parker, wanted: Arc<AtomicBool>) -> Self {
        Self {
            baton: Handoff::away(),
            wanted,
            waker,
            parker,
        }
    }

    /// Lets the committer `work` on this thread, again when it is called back meanwhile; `work` says
    /// whether the committer's own thread has to go on.
    fn borrow(&self, mut committer: Box<Committer<C>>, work: impl Fn(&mut Committer<C>) -> bool) {
        for _ in 0..CALLED_BACK {
            let turn = || work(&mut committer);
            let Ok(goes_on) = catch_unwind(AssertUnwindSafe(turn)) else {
                return self.lose(committer);
            };
            if goes_on {
                break;
            }
            match self.baton.lay_down(committer) {
                Laid::Down => return,
                Laid::DownForKeeper => return self.waker.wake(),
                Laid::CalledBack(back) => committer = back,
            }
        }
        self.baton.lay_down_for_keeper(committer);
        self.waker.wake();
    }

    /// The committer stays with its thread from now on.
    pub(in crate::runtime) fn keep(&self) {
        self.baton.keep();
    }

    /// The committer panicked: the engine ends, and with it every call that waits.
    pub(in crate::runtime) fn lose(&self, committer: Box<Committer<C>>) {
        self.baton.keep();
        drop(committer);
        self.waker.wake();
    }

    /// Lays the committer down and sleeps until its own thread has something to do. Nothing when it
    /// panicked meanwhile.
    pub(in crate::runtime) fn rest(
        &self,
        committer: Box<Committer<C>>,
    ) -> Option<Box<Committer<C>>> {
        if committer.stays_awake() {
            return Some(committer);
        }
        let limit = committer.sleep_limit();
        let mut held = Held::Mine(committer);
        if let Some(limit) = limit {
            let _: Parked = self.parker.park_for(limit, || held.finds_work(&self.baton));
            // Whoever has it is told of the claim, and wakes this thread.
            self.parker.park_until(|| held.is_settled(&self.baton));
        } else {
            self.parker.park_until(|| held.finds_work(&self.baton));
        }
        match held {
            Held::Mine(committer) => Some(committer),
            Held::Lent | Held::Lost => None,
        }
    }
}

/// What the committer's thread has of it while it rests.
enum Held<C> {
    Mine(Box<Committer<C>>),
    /// It lies down, or a caller has it.
    Lent,
    /// It is no more.
    Lost,
}

impl<C: Clock> Held<C> {
    /// Gets hold of the committer, or claims it; whether there is nothing to wait for.
    fn is_settled(&mut self, baton: &Handoff<Box<Committer<C>>>) -> bool {
        if matches!(self, Self::Lent) {
            match baton.take_or_claim() {
                Asked::Taken(committer) => *self = Self::Mine(committer),
                Asked::Away => {}
                Asked::Kept => *self = Self::Lost,
            }
        }
        !matches!(self, Self::Lent)
    }

    /// Whether there is something to do; lays the committer down again otherwise.
    fn finds_work(&mut self, baton: &Handoff<Box<Committer<C>>>) -> bool {
        self.is_settled(baton);
        loop {
            match std::mem::replace(self, Self::Lent) {
                Self::Mine(committer) if committer.has_work() => {
                    *self = Self::Mine(committer);
                    return true;
                }
                Self::Mine(committer) => match baton.lay_down(committer) {
                    Laid::CalledBack(back) => *self = Self::Mine(back),
                    Laid::Down | Laid::DownForKeeper => return false,
                },
                Self::Lent => return false,
                Self::Lost => {
                    *self = Self::Lost;
                    return true;
                }
            }
        }
    }
}

impl<C: Clock> Committer<C> {
    /// Takes a few turns on the thread of a caller; whether its own thread has to go on. A snapshot
    /// that nobody waits for is left to whoever asks for it.
    pub(in crate::runtime) fn visit(&mut self) -> bool {
        for _ in 0..VISIT {
            if self.shutdown.is_requested() || !self.turn() {
                break;
            }
            self.roused = !self.awake.is_zero();
        }
        if self.is_wanted() || self.has_landed() || !self.quiet.is_empty() {
            self.show();
        }
        self.tell();
        self.recorder.hand_over();
        self.answer_quiet();
        self.has_work()
    }

    /// Publishes what no snapshot shows yet; whether its own thread has something to do.
    pub(in crate::runtime) fn show(&mut self) -> bool {
        if self.unpublished > 0 {
            self.publish();
        } else {
            // Relaxed: as in `publish`.
            self.wanted.store(false, Ordering::Relaxed);
        }
        self.has_work()
    }
}
