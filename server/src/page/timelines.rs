//! What applications waited for, look by look, until they are forgotten.
//!
//! Memory is bounded: an application has at most [`SPANS`] spans, and the manager forgets applications that ended
//! beyond `yarn.resourcemanager.max-completed-applications`. A decision of the engine costs nothing here.

use std::collections::BTreeMap;

use capsched::api::{ApplicationId, Evidence, Finding, Timeline};

use super::look::Pending;
use crate::rm::Application;

/// Spans that are known of one application; earlier ones are forgotten.
const SPANS: usize = 32;

/// Where an application stands for the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody knows it any more.
    Forgotten,
    /// It ended at a moment, in ms since the Unix epoch.
    Ended(u64),
    /// It has not ended.
    Live,
}

impl Standing {
    /// That of an application that the manager knows or not.
    pub(super) fn of(app: Option<&Application>) -> Self {
        match app {
            None => Self::Forgotten,
            Some(app) if app.state.is_over() => Self::Ended(app.finished_ms),
            Some(_) => Self::Live,
        }
    }
}

/// What one application waited for.
#[derive(Clone, Debug, Default)]
struct AppWaits {
    timeline: Timeline,
    ended: bool,
}

/// The waits of applications that a resource manager knows, those that ended among them.
#[derive(Debug, Default)]
pub(super) struct Timelines {
    apps: BTreeMap<ApplicationId, AppWaits>,
}

impl Timelines {
    /// Adds what a look found.
    ///
    /// Cost: proportional to the applications that wait.
    pub(super) fn add(&mut self, at_ms: u64, seen: &Pending) {
        for (app, waits) in &seen.apps {
            let known = self.apps.entry(*app).or_default();
            known.add(at_ms, &waits.finding, waits.containers);
        }
    }

    /// Applications that waited once and that a look did not find among those that wait.
    pub(super) fn others(&self, seen: &Pending) -> Vec<ApplicationId> {
        let known = self.apps.keys().copied();
        known.filter(|id| !seen.apps.contains_key(id)).collect()
    }

    /// Follows applications that wait for nothing. Those that ended get their end; those that nobody knows any more
    /// go.
    pub(super) fn follow(&mut self, at_ms: u64, others: Vec<(ApplicationId, Standing)>) {
        for (id, standing) in others {
            match standing {
                Standing::Forgotten => drop(self.apps.remove(&id)),
                Standing::Ended(end_ms) => self.with(id, |waits| waits.end(end_ms)),
                Standing::Live => self.with(id, |waits| waits.pause(at_ms)),
            }
        }
    }

    fn with(&mut self, id: ApplicationId, change: impl FnOnce(&mut AppWaits)) {
        if let Some(waits) = self.apps.get_mut(&id) {
            change(waits);
        }
    }

    /// What an application waited for up to now; empty for one that was never seen to wait.
    pub(super) fn of(&self, app: ApplicationId, now_ms: u64) -> Timeline {
        let Some(waits) = self.apps.get(&app) else {
            return Timeline::default();
        };
        let mut timeline = waits.timeline.clone();
        if !waits.ended {
            timeline.end(now_ms);
        }
        timeline
    }
}

impl AppWaits {
    /// Adds what a look found. A reason that goes on is not copied.
    fn add(&mut self, at_ms: u64, finding: &Finding, containers: u64) {
        if self.timeline.goes_on(Some(finding)) {
            self.timeline.note(at_ms, Some(finding), containers);
        } else {
            self.timeline.note(at_ms, Some(&brief(finding)), containers);
            self.timeline.keep_last(SPANS);
        }
    }

    /// Ends the waits of an application that ended.
    fn end(&mut self, end_ms: u64) {
        if !self.ended {
            let from_ms = self.timeline.spans().last().map_or(0, |last| last.from_ms);
            self.timeline.end(end_ms.max(from_ms));
            self.ended = true;
        }
    }

    /// Notes that a live application waits for nothing.
    fn pause(&mut self, at_ms: u64) {
        self.timeline.note(at_ms, None, 0);
        self.timeline.keep_last(SPANS);
    }
}

/// A finding without its figures: they change from look to look.
fn brief(finding: &Finding) -> Finding {
    let mut kept = finding.clone();
    kept.evidence = Evidence {
        binding: finding.evidence.binding.clone(),
        ..Evidence::default()
    };
    kept
}

#[cfg(test)]
mod tests {
    use capsched::api::Reason;

    use super::*;

    #[test]
    fn waits_end_with_their_application_and_never_before_they_began() {
        let found = Finding::new(Reason::UserLimit, "at the limit".to_owned());
        let mut waits = AppWaits::default();
        waits.add(10, &found, 2);
        waits.add(20, &found, 2);
        waits.pause(30);
        waits.end(45);
        waits.end(60);
        let lengths: Vec<u64> = waits
            .timeline
            .spans()
            .iter()
            .map(|span| span.length_ms())
            .collect();
        assert_eq!(lengths, [20, 15]);
        let mut late = AppWaits::default();
        late.timeline.note(100, Some(&found), 1);
        late.end(99);
        assert_eq!(late.timeline.spans()[0].to_ms, 100);
    }

    #[test]
    fn an_application_keeps_its_last_spans_however_often_its_reason_changes() {
        let mut waits = AppWaits::default();
        for look in 0..1_000 {
            let reason = if look % 2 == 0 {
                Reason::UserLimit
            } else {
                Reason::AmLimitQueue
            };
            let mut found = Finding::new(reason, "at the limit".to_owned());
            found.evidence.used = Some(7);
            waits.add(1_000 * look, &found, 1);
            waits.add(1_000 * look + 500, &found, 3);
        }
        let spans = waits.timeline.spans();
        assert_eq!(spans.len(), SPANS);
        assert_eq!(spans[SPANS - 1].from_ms, 999_000);
        for span in spans {
            let finding = span.finding.as_ref().unwrap();
            assert_eq!((finding.evidence.used, span.containers), (None, 3));
        }
    }

    #[test]
    fn a_span_is_as_small_as_the_documents_say() {
        assert!(size_of::<capsched::explain::WaitSpan>() <= 256);
    }

    #[test]
    fn figures_are_left_out_and_the_binding_queue_stays() {
        let mut found = Finding::new(Reason::UserLimit, "at the limit".to_owned());
        found.evidence = Evidence {
            limit: Some(7),
            binding: Some("root.a".into()),
            ..Evidence::default()
        };
        let kept = brief(&found);
        assert_eq!(
            (kept.evidence.limit, kept.evidence.binding.as_deref()),
            (None, Some("root.a"))
        );
        assert_eq!((kept.reason, kept.detail), (found.reason, found.detail));
    }
}
