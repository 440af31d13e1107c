//! What rounds of preemption did for one application that waited, over time, and what they took of it.

use capsched::api::{AppVerdict, ApplicationId, Stepped, Taken};

/// A time in which the rounds found the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoundSpan {
    /// Begin in virtual ms: that of the round that found it first.
    pub(super) from_ms: u64,
    /// End in virtual ms; it holds before.
    pub(super) to_ms: u64,
    /// As the last round of the span found it that knew most times.
    pub(super) verdict: AppVerdict,
    /// Most containers that were asked back at once.
    pub(super) containers: usize,
}

/// The course of preemption for one application.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    spans: Vec<RoundSpan>,
    /// Whether the last span goes on.
    open: bool,
    seen: u64,
}

impl Rounds {
    /// Notes what the last round found, if there was one since the last look.
    pub(super) fn look(&mut self, at_ms: u64, app: ApplicationId, engine: &Stepped) {
        let policy = engine.preemption();
        if policy.rounds() == self.seen {
            return;
        }
        self.seen = policy.rounds();
        self.note(at_ms, policy.last_verdict(app));
    }

    fn note(&mut self, at_ms: u64, verdict: Option<&AppVerdict>) {
        let last = self.spans.last_mut().filter(|_| self.open);
        if let Some(last) = last {
            last.to_ms = at_ms;
            if let Some(verdict) = verdict.filter(|verdict| same(verdict, &last.verdict)) {
                last.containers = last.containers.max(verdict.containers.len());
                // The round that kills forgets the times of what it kills.
                if timed(verdict) >= timed(&last.verdict) {
                    last.verdict = verdict.clone();
                }
                return;
            }
        }
        self.open = verdict.is_some();
        self.spans.extend(verdict.map(|verdict| RoundSpan {
            from_ms: at_ms,
            to_ms: at_ms,
            verdict: verdict.clone(),
            containers: verdict.containers.len(),
        }));
    }

    /// The spans, the last of which ends then if it goes on.
    pub(super) fn finish(mut self, at_ms: u64) -> Vec<RoundSpan> {
        if let Some(last) = self.spans.last_mut().filter(|_| self.open) {
            last.to_ms = at_ms;
        }
        self.spans
    }
}

/// Containers whose time runs.
fn timed(verdict: &AppVerdict) -> usize {
    let times = verdict.containers.iter().filter_map(|of| of.until_ms);
    times.count()
}

/// Whether two rounds found the same: the reason, the queues that show it, and the rules.
fn same(a: &AppVerdict, b: &AppVerdict) -> bool {
    (a.reason, &a.queues, &a.partition, a.rules()) == (b.reason, &b.queues, &b.partition, b.rules())
}

/// What was taken of an application so far, by rule.
pub(super) fn taken_of(app: ApplicationId, engine: &Stepped) -> Vec<Taken> {
    let taken = engine.preemption().taken();
    taken.filter(|taken| taken.app == app).cloned().collect()
}
