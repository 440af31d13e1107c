//! Lifetimes: applications that may run only so long, and their end.
//!
//! Tests: `tests/commit/lifetimes.rs`.

use super::clock::effective_lifetime;
use crate::commit::event::{AppEnd, Event};
use crate::commit::ledger::Ledger;
use crate::id::AppSlot;

impl Ledger {
    /// Gives an application another lifetime from now on, cut to its queue's maximum; returns the
    /// effective one in seconds, nothing when it is unlimited.
    pub fn change_lifetime(&mut self, app: AppSlot, wished_s: i64) -> Option<i64> {
        let leaf = self.state.apps[app].leaf;
        let settings = self.state.queues[leaf].settings.lifetime;
        let effective = effective_lifetime(settings, Some(wished_s));
        let generation = self.state.apps[app].generation;
        self.clock.forget(app, generation);
        if let Some(seconds) = effective {
            self.clock.end_after(&self.state, app, seconds);
        }
        effective
    }

    /// The next time at which an application's lifetime ends, an allocation expires, or something is due for a gang,
    /// in ms.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let of_gangs = self.gangs.next_check();
        self.clock.next_deadline().into_iter().chain(of_gangs).min()
    }

    /// Applications with a lifetime.
    #[must_use]
    pub fn lifetimes(&self) -> usize {
        self.clock.lifetimes()
    }

    /// Sets the time in ms, which never goes back.
    pub fn set_time(&mut self, now_ms: u64) {
        self.clock.set(now_ms);
    }

    /// Moves the ledger's clock forward, ends containers that no node launched in time, and ends the
    /// applications whose lifetime is over; returns their number.
    pub fn advance_to(&mut self, now_ms: u64) -> usize {
        self.clock.set(now_ms);
        let mut ended = 0;
        self.expire_allocations();
        while let Some((app, generation)) = self.clock.take_due() {
            let row = &self.state.apps[app];
            if row.generation == generation && !row.stage.is_over() {
                let id = row.id;
                self.end_app(app);
                let cause = AppEnd::Lifetime;
                self.outbox.push(Event::AppEnded { app: id, cause });
                ended += 1;
            }
        }
        ended
    }
}
