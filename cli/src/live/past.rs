//! What a server answers about the past of an application and about preemption, in the terms of a run.

use anyhow::Result;
use capsched::api::{AppVerdict, ApplicationId, AskedBack, PreemptionReason, Timeline, WhyNot};
use capsched::metrics::Closed as _;
use serde::Deserialize;

use super::answers::FindingAnswer;

/// A time in which an application waited for one reason, or for nothing.
#[derive(Deserialize)]
pub(super) struct SpanAnswer {
    from_ms: u64,
    to_ms: u64,
    containers: u64,
    pub(super) why: Option<FindingAnswer>,
}

/// The timeline of spans that follow each other.
pub(super) fn timeline(spans: Vec<SpanAnswer>) -> Result<Timeline> {
    let mut timeline = Timeline::default();
    let end_ms = spans.last().map(|last| last.to_ms);
    for span in spans {
        let why = span.why.map(FindingAnswer::read).transpose()?;
        timeline.note(span.from_ms, why.as_ref(), span.containers);
    }
    end_ms.into_iter().for_each(|end_ms| timeline.end(end_ms));
    Ok(timeline)
}

/// What preemption does for an application.
#[derive(Deserialize)]
pub(super) struct VerdictAnswer {
    token: String,
    queues: Vec<String>,
    containers: Vec<AskedBackAnswer>,
}

#[derive(Deserialize)]
struct AskedBackAnswer {
    container: String,
    rule: Option<String>,
    deadline_ms: Option<u64>,
}

impl VerdictAnswer {
    /// The verdict; nothing where its words are those of another release.
    pub(super) fn read(self, app: ApplicationId, queue: &str) -> Option<AppVerdict> {
        let mut words = WhyNot::ALL.iter();
        let reason = words.find(|reason| reason.name() == self.token)?;
        let mut verdict = AppVerdict::new(app, queue, *reason);
        verdict.queues = self.queues.into_iter().map(Into::into).collect();
        let containers = self.containers.into_iter();
        verdict.containers = containers.filter_map(AskedBackAnswer::read).collect();
        Some(verdict)
    }
}

impl AskedBackAnswer {
    fn read(self) -> Option<AskedBack> {
        let named = |name: String| {
            let mut rules = PreemptionReason::ALL.iter();
            rules.find(|rule| rule.name() == name).copied()
        };
        let rule = self.rule.and_then(named);
        Some(AskedBack::new(
            self.container.parse().ok()?,
            rule,
            self.deadline_ms,
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spans_become_a_timeline_and_verdicts_keep_their_rule() {
        let why = json!({"reason": "AM_LIMIT_QUEUE", "detail": "full", "property": null,
            "evidence": {"dimension": null, "limit": null, "used": null, "asked": null, "binding": "root.a",
                "holders": [], "short": []}});
        let spans = json!([
            {"from_ms": 100, "to_ms": 400, "containers": 1, "why": why},
            {"from_ms": 400, "to_ms": 900, "containers": 0, "why": null},
        ]);
        let spans: Vec<SpanAnswer> = serde_json::from_value(spans).expect("spans");
        let found = timeline(spans).expect("known words");
        let lengths: Vec<u64> = found.spans().iter().map(|span| span.length_ms()).collect();
        assert_eq!(lengths, [300, 500]);
        let verdict = json!({"token": "AWAITING_DEADLINE", "queues": ["root.b"], "containers": [
            {"container": "container_7_0001_01_000002", "rule": "over-guarantee", "deadline_ms": 5000},
        ]});
        let verdict: VerdictAnswer = serde_json::from_value(verdict).expect("a verdict");
        let verdict = verdict.read(ApplicationId::new(1), "root.a");
        let verdict = verdict.expect("a known word");
        assert_eq!(verdict.reason, WhyNot::AwaitingDeadline);
        assert_eq!(verdict.rules(), [PreemptionReason::OverGuarantee]);
        assert_eq!(verdict.containers[0].until_ms, Some(5000));
        let other = json!({"token": "NEW_WORD", "queues": [], "containers": []});
        let other: VerdictAnswer = serde_json::from_value(other).expect("a verdict");
        assert!(other.read(ApplicationId::new(1), "root.a").is_none());
    }
}
