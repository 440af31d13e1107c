//! Lifetimes: applications that may run only so long, and their end.

use crate::commit::ledger::Ledger;
use crate::id::AppSlot;
use crate::queue::LifetimeSettings;

/// The lifetime that holds for an application: what it wished, or the queue's default, cut to the
/// queue's maximum; nothing when it is unlimited. In seconds.
// As CapacityScheduler.checkAndGetApplicationLifetime.
#[must_use]
pub fn effective_lifetime(settings: LifetimeSettings, wished_s: Option<i64>) -> Option<i64> {
    let bounded = |seconds: i64| seconds > 0;
    let wanted = wished_s
        .filter(|&s| bounded(s))
        .unwrap_or(settings.default_s);
    let most = Some(settings.maximum_s).filter(|&s| bounded(s));
    match (Some(wanted).filter(|&s| bounded(s)), most) {
        (Some(wanted), Some(most)) => Some(wanted.min(most)),
        (wanted, most) => wanted.or(most),
    }
}

impl Ledger {
    /// Starts the clock of a new application, by its queue's settings.
    pub(in crate::commit) fn start_lifetime(&mut self, app: AppSlot) {
        let leaf = self.state.apps[app].leaf;
        let settings = self.state.queues[leaf].settings.lifetime;
        if let Some(seconds) = effective_lifetime(settings, None) {
            self.end_after(app, seconds);
        }
    }

    /// Gives an application another lifetime from now on, cut to its queue's maximum; returns the
    /// effective one in seconds, nothing when it is unlimited.
    pub fn change_lifetime(&mut self, app: AppSlot, wished_s: i64) -> Option<i64> {
        let leaf = self.state.apps[app].leaf;
        let settings = self.state.queues[leaf].settings.lifetime;
        let effective = effective_lifetime(settings, Some(wished_s));
        let generation = self.state.apps[app].generation;
        self.clock.forget(app, generation);
        if let Some(seconds) = effective {
            self.end_after(app, seconds);
        }
        effective
    }

    fn end_after(&mut self, app: AppSlot, seconds: i64) {
        let ms = u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
        let generation = self.state.apps[app].generation;
        self.clock.end_in(ms, app, generation);
    }

    /// The next time at which an application's lifetime ends, in ms.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.clock.next_deadline()
    }

    /// Sets the time in ms, which never goes back.
    pub fn set_time(&mut self, now_ms: u64) {
        self.clock.set(now_ms);
    }

    /// Moves the ledger's clock forward and ends the applications whose lifetime is over; returns
    /// their number.
    pub fn advance_to(&mut self, now_ms: u64) -> usize {
        self.clock.set(now_ms);
        let mut ended = 0;
        while let Some((app, generation)) = self.clock.take_due() {
            let row = &self.state.apps[app];
            if row.generation == generation && !row.stage.is_over() {
                self.end_app(app);
                ended += 1;
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_cut_to_the_maximum_and_a_default_stands_in_for_none() {
        let queue = |maximum_s, default_s| LifetimeSettings {
            maximum_s,
            default_s,
        };
        assert_eq!(effective_lifetime(queue(-1, -1), None), None);
        assert_eq!(effective_lifetime(queue(-1, -1), Some(50)), Some(50));
        assert_eq!(effective_lifetime(queue(100, 20), None), Some(20));
        assert_eq!(effective_lifetime(queue(100, -1), None), Some(100));
        assert_eq!(effective_lifetime(queue(100, 20), Some(500)), Some(100));
        assert_eq!(effective_lifetime(queue(0, 0), Some(500)), Some(500));
    }
}
