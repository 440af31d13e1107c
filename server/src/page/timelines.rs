//! What applications waited for, look by look, until they are forgotten.
//!
//! Memory is bounded: an application has at most [`SPANS`] spans, and the manager forgets applications that ended
//! beyond `yarn.resourcemanager.max-completed-applications`. A decision of the engine costs nothing here.

use std::collections::BTreeMap;

use capsched::api::{ApplicationId, Evidence, Finding, Timeline};

use super::pending::Pending;
use crate::rm::ResourceManager;

/// Spans that are known of one application; earlier ones are forgotten.
const SPANS: usize = 32;

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
    /// Adds what a look found. Applications that ended get their end; those that nobody knows any more go.
    ///
    /// Cost: proportional to the applications that ever waited and are known.
    pub(super) fn note(&mut self, at_ms: u64, seen: &Pending, rm: &ResourceManager) {
        for (app, waits) in &seen.apps {
            let known = self.apps.entry(*app).or_default();
            known.add(at_ms, &waits.finding, waits.containers);
        }
        rm.read(|books| {
            self.apps.retain(|id, waits| match books.app(*id) {
                None => false,
                Some(app) => {
                    let end = app.state.is_over().then_some(app.finished_ms);
                    waits.follow(at_ms, end, seen.apps.contains_key(id));
                    true
                }
            });
        });
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

    /// Ends the waits of an application that ended, or says that it waits for nothing.
    fn follow(&mut self, at_ms: u64, end: Option<u64>, waits: bool) {
        match end {
            Some(_) if self.ended => {}
            Some(end_ms) => {
                let from_ms = self.timeline.spans().last().map_or(0, |last| last.from_ms);
                self.timeline.end(end_ms.max(from_ms));
                self.ended = true;
            }
            None if !waits => {
                self.timeline.note(at_ms, None, 0);
                self.timeline.keep_last(SPANS);
            }
            None => {}
        }
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
        waits.follow(20, None, true);
        waits.follow(30, None, false);
        waits.follow(50, Some(45), false);
        waits.follow(60, Some(45), false);
        let lengths: Vec<u64> = waits
            .timeline
            .spans()
            .iter()
            .map(|span| span.length_ms())
            .collect();
        assert_eq!(lengths, [20, 15]);
        let mut late = AppWaits::default();
        late.timeline.note(100, Some(&found), 1);
        late.follow(110, Some(99), false);
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
