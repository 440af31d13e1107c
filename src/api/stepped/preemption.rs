//! Preemption of an engine that runs step by step: its rounds run when the clock passes their times.

use super::Stepped;
use crate::commit::PreemptionRound;
use crate::rescheduler::{AppVerdict, Rescheduler, Settings};

impl Stepped {
    /// The same engine with preemption: its rounds run when the clock is moved over the time at
    /// which one is due. The first is due at once.
    #[must_use]
    pub fn with_preemption(mut self, settings: Settings) -> Self {
        self.preemption = Rescheduler::default().recording();
        self.configure_preemption(settings);
        self
    }

    /// Takes over other settings of preemption; a changed interval counts from now.
    pub fn configure_preemption(&mut self, settings: Settings) {
        let before = self.preemption.settings.interval_ms();
        let after = settings.interval_ms();
        if before != after {
            let now = self.engine.ledger().now_ms();
            let wait = before.and(after).unwrap_or(0);
            self.due_ms = now.saturating_add(wait);
        }
        self.preemption.settings = settings;
    }

    /// The policy of preemption, to be read.
    #[must_use]
    pub fn preemption(&self) -> &Rescheduler {
        &self.preemption
    }

    /// Why preemption helps the applications that wait, or does not, as a round would find it now.
    #[must_use]
    pub fn explain_preemption(&self) -> Vec<AppVerdict> {
        self.preemption.explain(self.engine.ledger())
    }

    /// One round of preemption now, whatever the clock says.
    pub fn preempt(&mut self) -> PreemptionRound {
        let policy = &mut self.preemption;
        let round = self.engine.preempt(|ledger| policy.round(ledger));
        self.gather();
        round
    }

    /// The rounds of preemption that are due up to a time, each at its own time. After a round that
    /// found nothing to do the others up to then are left out: nothing changes in between.
    pub(super) fn preempt_until(&mut self, to_ms: u64) {
        let Some(interval) = self.preemption.settings.interval_ms() else {
            return;
        };
        while self.due_ms <= to_ms {
            self.engine.advance_to(self.due_ms);
            self.preempt();
            let deadline = self.engine.ledger().next_deadline();
            let still = deadline.is_none_or(|deadline| deadline > to_ms);
            let skipped = if still && self.preemption.is_at_rest() {
                (to_ms - self.due_ms) / interval
            } else {
                0
            };
            let steps = skipped.saturating_add(1).saturating_mul(interval);
            let Some(due) = self.due_ms.checked_add(steps) else {
                self.due_ms = u64::MAX;
                return;
            };
            self.due_ms = due;
        }
    }
}
