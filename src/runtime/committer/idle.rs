//! The committer at rest: awake for a while, asleep, and the answer to those who wait for that.

use std::time::Duration;

use super::turn::Committer;
use crate::id::Version;
use crate::runtime::handles::command::answer;
use crate::sync::{Arc, Ordering, ProposerStatus, RingReceiver, SPINS, is_quiet, spin_loop};
use crate::time::Clock;

/// How long the committer waits for a reader of events before it looks again.
const PATIENCE: Duration = Duration::from_millis(1);

/// What the committer's thread sleeps for, besides work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Sleep {
    /// For nothing else.
    ForCall,
    /// Until an application's lifetime ends, in ms.
    Until(u64),
    /// Until the reader of events makes room, which it does without a word.
    ForReader,
}

impl<C: Clock> Committer<C> {
    /// Whether every proposer has seen all that happened, and rests.
    pub(in crate::runtime) fn is_at_rest(&self) -> bool {
        !self.news && self.are_idle()
    }

    /// Whether every proposer has seen all that snapshots show, and rests.
    pub(in crate::runtime) fn are_idle(&self) -> bool {
        all_idle(&self.standings, self.snapshot.news)
    }

    /// What its thread may sleep for, as things stand.
    pub(in crate::runtime) fn sleep(&self) -> Sleep {
        if !self.untold.is_empty() {
            return Sleep::ForReader;
        }
        match self.engine.ledger().next_deadline() {
            Some(deadline_ms) => Sleep::Until(deadline_ms),
            None => Sleep::ForCall,
        }
    }

    /// Whether its thread has something to do, or better sleeps otherwise than it does.
    pub(in crate::runtime) fn has_work(&self) -> bool {
        if self.goes_on || self.roused || self.sleep() != self.sleep || self.is_wanted() {
            return true;
        }
        if self.inbox.has_news() || self.shutdown.is_requested() {
            return true;
        }
        // While events wait for their reader no proposal is taken.
        self.sleep != Sleep::ForReader
            && (self.rings.iter().any(RingReceiver::has_news)
                || (!self.quiet.is_empty() && self.are_idle()))
    }

    /// Whether somebody waits for a snapshot that shows more than the last one.
    pub(in crate::runtime) fn is_wanted(&self) -> bool {
        // Relaxed: as in `CallerRuns::show`.
        self.unpublished > 0 && self.wanted.load(Ordering::Relaxed)
    }

    /// Looks out for something to do for as long as it shall stay awake; whether there is any.
    pub(in crate::runtime) fn stays_awake(&self) -> bool {
        let due = || matches!(self.sleep, Sleep::Until(ms) if ms <= self.clock.now_ms());
        self.sleep != Sleep::ForReader && look_out(&self.clock, self.awake, due, || self.has_work())
    }

    /// How long its thread sleeps though nobody wakes it; nothing for as long as it takes.
    pub(in crate::runtime) fn sleep_limit(&self) -> Option<Duration> {
        match self.sleep {
            Sleep::ForCall => None,
            Sleep::ForReader => Some(PATIENCE),
            Sleep::Until(ms) => Some(Duration::from_millis(
                ms.saturating_sub(self.clock.now_ms()),
            )),
        }
    }

    /// Answers those who wait for quiescence: when nothing is to be done, or nothing can be done
    /// before somebody reads the events.
    pub(in crate::runtime) fn answer_quiet(&mut self) {
        if self.quiet.is_empty() {
            return;
        }
        let (standings, rings) = (&self.standings, &self.rings);
        let quiet = !self.news && is_quiet(standings, rings, self.snapshot.news);
        let done = quiet && !self.goes_on && !self.inbox.has_news();
        if !done && self.untold.is_empty() {
            return;
        }
        for reply in self.quiet.drain(..) {
            answer(&reply, ());
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

/// Whether every proposer has looked at a version, or a later one, and found nothing.
fn all_idle(standings: &[Arc<ProposerStatus>], version: Version) -> bool {
    standings.iter().all(|standing| standing.has_seen(version))
}
