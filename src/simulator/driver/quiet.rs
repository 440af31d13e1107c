//! Heartbeats and rounds that surely come to nothing: they are counted up to the next entry of the agenda.

use super::agenda::Turn;
use super::run::Driver;
use crate::api::Scheduler;

impl Driver<dyn Scheduler + '_> {
    /// The time from which on heartbeats and rounds pause, unless something happens before.
    /// At the end of a run looks may still bring something.
    ///
    /// Cost: where the run would end now, a look at every node.
    pub(super) fn quiet_from(&mut self) -> u64 {
        let over = (self.to_come == 0).then_some(self.settings.patience_ms);
        let still = self.settings.quiet_ms.into_iter().chain(over).min();
        let Some(still) = still else {
            return u64::MAX;
        };
        let last_ms = self.changed_ms.max(self.reported_ms);
        let quiet_from = last_ms.saturating_add(still);
        let looks_ms = self.settings.looks_ms;
        let ends = self.to_come == 0 && self.now_ms >= quiet_from && looks_ms > still;
        if ends && self.scheduler.looks_may_bring() {
            return last_ms.saturating_add(looks_ms);
        }
        quiet_from
    }

    /// Plans the next heartbeat and round behind those that surely come to nothing.
    pub(super) fn plan_after(&mut self, turn: Turn) {
        self.pass_quiet(turn);
        self.wake();
    }

    /// After a heartbeat or a round: takes those that follow and surely come to nothing, up to the time of whatever
    /// comes next.
    fn pass_quiet(&mut self, turn: Turn) {
        // What just happened is looked at first: a change may bring anything about. A heartbeat or a round that
        // changed nothing is such a look, at whatever changed in the same ms before it.
        let looked_at = turn == Turn::Other || self.changed;
        // With costs, heartbeats and rounds that come to nothing take time as well: what comes after them is later.
        // How many nodes such a round visits follows from the nodes alone, but when it begins does not.
        if looked_at || !self.awaits_looks() || self.pace.is_some() {
            return;
        }
        let next = self.agenda.peek().unwrap_or(u64::MAX);
        let end = self
            .settings
            .until_ms
            .map_or(u64::MAX, |until| until.saturating_add(1));
        let before = next.min(end).min(self.scheduler.next_alarm_ms());
        let last = match turn {
            Turn::Beat => self.pass_beats(before),
            Turn::Round => self.pass_rounds(before),
            Turn::Other => None,
        };
        if let Some(last_ms) = last {
            self.move_to(last_ms);
        }
    }

    /// Takes heartbeats before a time; the time of the last one.
    fn pass_beats(&mut self, before_ms: u64) -> Option<u64> {
        if self.beating {
            return None;
        }
        let quiet_from = self.quiet_from();
        if self.now_ms >= quiet_from {
            return None;
        }
        // The beat before each plans it.
        let planned = self.beats.coming_before(quiet_from).saturating_add(1);
        let most = planned.min(self.beats.coming_before(before_ms));
        let first = self.beats.next_node().filter(|_| most > 0)?;
        let passed = self.scheduler.pass_heartbeats(first, most);
        self.counts.heartbeats += passed;
        self.beats.take_many(passed)
    }

    /// Counts rounds before a time; the time of the last one.
    fn pass_rounds(&mut self, before_ms: u64) -> Option<u64> {
        let period = self.settings.round_ms?.max(1);
        let at = self.now_ms / period;
        // The last round that is planned stands behind the last time that is not quiet yet.
        let planned = (self.quiet_from().saturating_sub(1)) / period + 1;
        let last = planned.min(before_ms.saturating_sub(1) / period);
        // One of them is carried out after those that are counted.
        if self.rounding || self.now_ms >= self.quiet_from() || last <= at + 1 {
            return None;
        }
        let passed = self.scheduler.pass_rounds(last - at - 1);
        self.counts.rounds += passed;
        (passed > 0).then(|| (at + passed) * period)
    }
}
