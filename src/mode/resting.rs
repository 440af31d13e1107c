//! The committer at rest: awake for a while, asleep, and the answer to those who wait for that.

use std::time::Duration;

use super::command::answer;
use super::committer::Committer;
use super::standing::Standing;
use crate::id::Version;
use crate::sync::{Arc, Parked, RingReceiver, SPINS, spin_loop};
use crate::time::Clock;

/// How long the committer waits for a reader of events before it looks again.
const PATIENCE: Duration = Duration::from_millis(1);

impl<C: Clock> Committer<C> {
    /// Whether every proposer has seen all that happened, and rests.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.news && all_idle(&self.standings, self.snapshot.news)
    }

    /// Sleeps until there is something to do.
    pub(super) fn rest(&self) {
        let (rings, inbox, shutdown) = (&self.rings, &self.inbox, &self.shutdown);
        let (standings, news) = (&self.standings, self.snapshot.news);
        if !self.untold.is_empty() {
            // The reader of events makes room without a word.
            let _: Parked = self
                .parker
                .park_for(PATIENCE, || inbox.has_news() || shutdown.is_requested());
            return;
        }
        let ready = || {
            inbox.has_news()
                || rings.iter().any(RingReceiver::has_news)
                || shutdown.is_requested()
                || (!self.quiet.is_empty() && all_idle(standings, news))
        };
        let deadline = self.engine.ledger().next_deadline();
        let due = || deadline.is_some_and(|deadline| deadline <= self.clock.now_ms());
        if look_out(&self.clock, self.awake, due, ready) {
            return;
        }
        match deadline {
            Some(deadline) => {
                let left = Duration::from_millis(deadline.saturating_sub(self.clock.now_ms()));
                let _: Parked = self.parker.park_for(left, ready);
            }
            None => self.parker.park_until(ready),
        }
    }

    /// Answers those who wait for quiescence: when nothing is to be done, or nothing can be done
    /// before somebody reads the events.
    pub(super) fn answer_quiet(&mut self) {
        if self.quiet.is_empty() {
            return;
        }
        let waits = self.rings.iter().any(RingReceiver::has_news) || self.inbox.has_news();
        let done = !waits && all_idle(&self.standings, self.snapshot.news);
        if !done && self.untold.is_empty() {
            return;
        }
        for reply in self.quiet.drain(..) {
            answer(&reply, ());
        }
    }
}

/// Waits awake, for some time; whether something is ready, or due by a clock that is asked seldom.
pub(super) fn look_out(
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
fn all_idle(standings: &[Arc<Standing>], version: Version) -> bool {
    standings.iter().all(|standing| standing.has_seen(version))
}
