//! Explanations as JSON, in the form that `docs/reference/why.md` describes.

use capsched::api::{
    AppStage, AppVerdict, Evidence, Explanation, Finding, KeyExplanation, KeyOnNode, NextStep,
    NodeName, Position, Timeline, WaitSpan,
};
use capsched::metrics::Closed as _;
use serde_json::{Value, json};

use super::Answer;
use super::groups::{Group, Groups};
use super::jobs::{Job, Jobs};
use super::preempted::RoundSpan;
use crate::play::{Origin, SettingSource, step_json};

/// Version of the form; it grows when a field changes its meaning or goes.
const VERSION: u32 = 1;

/// The answer about an application.
pub(super) fn of_app(answer: &Answer<'_>, origin: &Origin) -> Value {
    let refused = answer.course.refused.iter();
    let refused = refused.map(|refused| {
        json!({"at_ms": refused.at_ms, "why": finding(&refused.finding, (origin, &answer.job.queue)),
            "would_help": steps(&refused.steps)})
    });
    json!({
        "version": VERSION,
        "at_ms": answer.at_ms,
        "job": job(answer.job),
        "waits": answer.now.as_ref().map(|now| explanation(now, origin)),
        "would_help": steps(&answer.steps),
        "refused": refused.collect::<Vec<Value>>(),
        "timeline": timeline(&answer.course.timeline, (origin, &answer.job.queue)),
        "preemption_timeline": answer.course.rounds.iter().map(rounds).collect::<Vec<Value>>(),
        "preemption_took": answer.taken.iter().map(|taken| json!({
            "rule": taken.reason.name(), "containers": taken.containers,
            "size": taken.size.values(origin.types()),
        })).collect::<Vec<Value>>(),
    })
}

/// Rounds of preemption that found the same.
fn rounds(span: &RoundSpan) -> Value {
    let mut shown = verdict(&span.verdict);
    shown["from_ms"] = json!(span.from_ms);
    shown["to_ms"] = json!(span.to_ms);
    shown["most_containers"] = json!(span.containers);
    shown
}

/// What preemption does for an application.
fn verdict(verdict: &AppVerdict) -> Value {
    let containers = verdict.containers.iter().map(|of| {
        json!({"container": of.container.to_string(), "rule": of.rule.map(|rule| rule.name()),
            "deadline_ms": of.until_ms})
    });
    json!({
        "token": verdict.token(),
        "meaning": verdict.reason.meaning(),
        "queues": verdict.queues.iter().map(|queue| &**queue).collect::<Vec<_>>(),
        "rules": verdict.rules().iter().map(|rule| rule.name()).collect::<Vec<_>>(),
        "containers": containers.collect::<Vec<Value>>(),
    })
}

fn steps(steps: &[NextStep]) -> Vec<Value> {
    steps.iter().map(step_json).collect()
}

/// The list.
pub(super) fn list(
    at_ms: u64,
    found: &[Explanation],
    groups: &Groups,
    (jobs, origin): (&Jobs, &Origin),
) -> Value {
    let app = |app: &Explanation| {
        let mut shown = explanation(app, origin);
        shown["job"] = json!(jobs.of(app.app).map(|job| &job.name));
        shown
    };
    json!({
        "version": VERSION,
        "at_ms": at_ms,
        "pending": found.len(),
        "grouped_by": groups.by,
        "groups": groups.all.iter().map(group).collect::<Vec<Value>>(),
        "applications": found.iter().map(app).collect::<Vec<Value>>(),
    })
}

fn group(group: &Group) -> Value {
    let reasons = group.reasons.iter();
    let reasons = reasons.map(|(reason, n)| (reason.token().to_owned(), json!(n)));
    json!({
        "name": group.name,
        "applications": group.apps,
        "containers": group.containers,
        "reasons": reasons.collect::<serde_json::Map<String, Value>>(),
        "example": group.example.0,
        "detail": group.example.1,
    })
}

fn job(job: &Job) -> Value {
    json!({
        "name": job.name,
        "application": job.app.to_string(),
        "queue": job.queue,
        "user": job.user,
        "submitted_ms": job.submitted_ms,
        "first_container_ms": job.first_container_ms,
        "ended_ms": job.ended_ms,
        "containers_asked": job.asked,
        "containers_placed": job.placed,
        "outcome": job.outcome,
    })
}

/// Why an application waits.
pub(super) fn explanation(app: &Explanation, origin: &Origin) -> Value {
    let secondary = app.secondary().into_iter();
    json!({
        "application": app.app.to_string(),
        "user": &*app.user,
        "queue": &*app.queue,
        "priority": app.priority,
        "stage": stage(app.stage),
        "containers": app.containers(),
        "dominant": app.dominant().map(|found| finding(found, (origin, &app.queue))),
        "secondary": secondary.map(|found| finding(found, (origin, &app.queue))).collect::<Vec<Value>>(),
        "keys": app.keys.iter().map(|of| key(of, origin.types())).collect::<Vec<Value>>(),
        "position": app.position.as_ref().map(position),
        "preemption": app.preemption.as_ref().map(verdict),
    })
}

const fn stage(stage: AppStage) -> &'static str {
    match stage {
        AppStage::Parked => "parked",
        AppStage::Waiting => "waiting",
        AppStage::Active => "active",
        AppStage::Between => "between_attempts",
        AppStage::Done | AppStage::Gone => "over",
    }
}

fn key(key: &KeyExplanation, types: usize) -> Value {
    json!({
        "priority": key.priority,
        "containers": key.containers,
        "size": key.size.values(types),
        "reasons": key.findings.iter().map(|found| found.reason.token()).collect::<Vec<_>>(),
    })
}

fn position(position: &Position) -> Value {
    json!({
        "list": position.list.name(),
        "order": if position.fair { "fair" } else { "fifo" },
        "place": position.place,
        "of": position.of,
        "higher_priority_ahead": position.higher,
        "ahead": position.ahead.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// A reason with its evidence, for an application of a leaf.
pub(super) fn finding(found: &Finding, (origin, leaf): (&Origin, &str)) -> Value {
    let property = found.property.as_deref();
    let source = property.and_then(|property| origin.source(property, leaf));
    json!({
        "reason": found.reason.token(),
        "tier": found.reason.tier(),
        "detail": found.detail,
        "property": found.property,
        "source": source.as_ref().map(|source| &source.word),
        "set_by": source.as_ref().map(SettingSource::place_json),
        "evidence": evidence(&found.evidence),
    })
}

fn evidence(shown: &Evidence) -> Value {
    let holders = shown.holders.iter().map(|holder| {
        json!({"application": holder.app.to_string(), "user": &*holder.user, "queue": &*holder.queue,
            "amount": holder.amount})
    });
    let short = shown
        .short
        .iter()
        .map(|(name, n)| (name.to_string(), json!(n)));
    json!({
        "dimension": shown.dimension.as_deref(),
        "limit": shown.limit,
        "used": shown.used,
        "asked": shown.asked,
        "binding_queue": shown.binding.as_deref(),
        "holders": holders.collect::<Vec<Value>>(),
        "nodes_short_of": short.collect::<serde_json::Map<String, Value>>(),
    })
}

fn timeline(timeline: &Timeline, of: (&Origin, &str)) -> Vec<Value> {
    let span = |span: &WaitSpan| {
        json!({
            "from_ms": span.from_ms,
            "to_ms": span.to_ms,
            "containers": span.containers,
            "why": span.finding.as_ref().map(|found| finding(found, of)),
        })
    };
    timeline.spans().iter().map(span).collect()
}

/// What a node lacks.
pub(super) fn why_not(at_ms: u64, about: &Job, node: &NodeName, keys: &[KeyOnNode]) -> Value {
    let key = |key: &KeyOnNode| {
        let checks = key.checks.iter();
        let checks = checks
            .map(|check| json!({"what": check.what, "holds": check.holds, "detail": check.detail}));
        json!({
            "priority": key.priority,
            "request_id": key.request_id,
            "containers": key.containers,
            "fits": key.fits(),
            "checks": checks.collect::<Vec<Value>>(),
        })
    };
    json!({
        "version": VERSION,
        "at_ms": at_ms,
        "job": job(about),
        "node": node.to_string(),
        "keys": keys.iter().map(key).collect::<Vec<Value>>(),
    })
}
