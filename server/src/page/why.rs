//! Why one application waits, with the evidence.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use capsched::api::{
    AppVerdict, ApplicationId, Engine, Evidence, Explanation, Finding, KeyExplanation, Mode,
    ModeKind, NextStep, SettingsEditor, Stepped, Timeline, UnderWay, WaitSpan, explain, next_steps,
};
use capsched::config::{Loaded, value_source};
use capsched::metrics::Closed as _;
use capsched::queue::AppStage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Page;
use super::answer::{Problem, blocking};
use super::why_not::application;
use crate::conf::MutableConf;

/// What is asked beside the reasons.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Further {
    /// Changes that help, each tried on a copy of the scheduler.
    would_help: bool,
}

/// The explanation of one application, and what it waited for before; without keys when it waits for nothing or has
/// ended.
///
/// Cost: as `Engine::explain`, with a look as of a round where preemption runs; with `would_help`, a copy of the
/// scheduler and some rounds for each change that is tried.
pub(super) async fn why(
    State(page): State<Page>,
    Path(app): Path<String>,
    Query(further): Query<Further>,
    conf: Option<Extension<Arc<MutableConf>>>,
) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let id = application(&page, &app)?;
        let (timeline, looked_ms, now_ms) = page.pending.timeline(id);
        let shown = Shown::of(&page, (id, now_ms), conf.map(|Extension(conf)| conf));
        let verdict = verdict_on(&page, id);
        // With steps, reasons and steps are of one state.
        let (found, steps) = if further.would_help {
            let (found, steps) = tried(&page, (id, verdict), &shown.loaded)?;
            (found, Some(steps))
        } else {
            let mut found = Engine::explain(page.rm.engine(), id);
            if let Some(found) = &mut found {
                found.preemption = verdict;
            }
            (found, None)
        };
        let mut document = shown.document(id, found.as_ref(), &timeline);
        document["timeline_age_ms"] = now_ms.saturating_sub(looked_ms).into();
        if let Some(steps) = steps {
            document["would_help"] = steps.iter().map(step).collect();
        }
        Ok(Json(document))
    })
    .await
}

/// What a round of preemption would find for an application now; nothing where none ever runs.
fn verdict_on(page: &Page, app: ApplicationId) -> Option<AppVerdict> {
    let configuration = page.rm.configuration();
    configuration.loaded.preemption.interval_ms()?;
    let mut all = page.rm.engine().explain_preemption().into_iter();
    all.find(|verdict| verdict.app == app)
}

/// Why an application waits, and changes that help it, each tried on a copy of the scheduler.
fn tried(
    page: &Page,
    (app, verdict): (ApplicationId, Option<AppVerdict>),
    loaded: &Loaded,
) -> Result<(Option<Explanation>, Vec<NextStep>), Problem> {
    let mode = match page.rm.setup().mode {
        Mode::Heartbeat => ModeKind::Heartbeat,
        Mode::Asynchronous { .. } => ModeKind::Asynchronous,
        Mode::Global { .. } => ModeKind::Global,
    };
    let copied = page
        .rm
        .engine()
        .inspect(move |ledger| Stepped::trial_of(ledger, mode));
    let copy = copied.map_err(|error| Problem::gone(&error))?;
    let under_way = UnderWay {
        preemption: verdict.into_iter().collect(),
        ..UnderWay::default()
    };
    let found = explain(copy.engine().ledger(), app, under_way);
    let editor: &dyn SettingsEditor = loaded;
    let steps = found
        .as_ref()
        .map_or_else(Vec::new, |why| next_steps(&copy, why, editor));
    Ok((found, steps))
}

fn step(step: &NextStep) -> Value {
    let set = step.change.as_ref();
    let set = set.map(|(property, value)| json!({"property": property, "value": value}));
    json!({"what": step.what, "set": set, "admits": step.admits, "lets_in": step.lets_in})
}

/// What answers are shown with.
struct Shown {
    types: Vec<Arc<str>>,
    /// The configuration that holds.
    loaded: Arc<Loaded>,
    /// The leaf of the application.
    leaf: String,
    now_ms: u64,
}

impl Shown {
    fn of(
        page: &Page,
        (app, now_ms): (ApplicationId, u64),
        conf: Option<Arc<MutableConf>>,
    ) -> Self {
        let loaded = match conf {
            Some(conf) => Arc::clone(&conf.state().loaded),
            None => Arc::new(page.rm.configuration().loaded.clone()),
        };
        let leaf = page
            .rm
            .read(|books| books.app(app).map(|app| app.queue.clone()));
        Self {
            leaf: leaf.unwrap_or_default(),
            types: page.rm.engine().snapshot().settings.resource_types.clone(),
            loaded,
            now_ms,
        }
    }

    fn document(
        &self,
        id: ApplicationId,
        found: Option<&Explanation>,
        timeline: &Timeline,
    ) -> Value {
        let names: Vec<&str> = self.types.iter().map(|name| &**name).collect();
        let spans = timeline.spans().iter().map(|span| self.span(span));
        let spans: Vec<Value> = spans.collect();
        let Some(found) = found else {
            return json!({"app": id.to_string(), "at_ms": self.now_ms, "types": names, "containers": 0,
                "keys": [], "timeline": spans});
        };
        let keys = found.keys.iter().map(|one| self.key(one));
        json!({
            "app": id.to_string(),
            "at_ms": self.now_ms,
            "user": &*found.user,
            "queue": &*found.queue,
            "priority": found.priority,
            "stage": stage(found.stage),
            "containers": found.containers(),
            "types": names,
            "position": position(found),
            "preemption": found.preemption.as_ref().map(verdict),
            "keys": keys.collect::<Vec<Value>>(),
            "timeline": spans,
        })
    }

    fn span(&self, span: &WaitSpan) -> Value {
        let why = span.finding.as_ref().map(|one| self.finding(one));
        json!({"from_ms": span.from_ms, "to_ms": span.to_ms, "containers": span.containers, "why": why})
    }

    fn key(&self, key: &KeyExplanation) -> Value {
        let size: Vec<i64> = (0..self.types.len()).map(|index| key.size[index]).collect();
        let findings = key.findings.iter().map(|one| self.finding(one));
        let findings: Vec<Value> = findings.collect();
        json!({
            "priority": key.priority,
            "containers": key.containers,
            "size": size,
            "findings": findings,
        })
    }

    fn finding(&self, one: &Finding) -> Value {
        let property = one.property.as_deref();
        let source = property.map(|property| value_source(&self.loaded, property, &self.leaf));
        let set_by = source.as_ref().and_then(|source| {
            let (property, value) = (source.property.as_ref()?, source.value.as_ref()?);
            Some(json!({"property": property, "value": value.trim()}))
        });
        json!({
            "reason": one.reason.token(),
            "tier": one.reason.tier(),
            "detail": one.detail,
            "property": one.property,
            "source": source.map(|source| source.origin.word()),
            "set_by": set_by,
            "evidence": evidence(&one.evidence),
        })
    }
}

fn position(found: &Explanation) -> Option<Value> {
    let position = found.position.as_ref()?;
    let ahead: Vec<String> = position.ahead.iter().map(ToString::to_string).collect();
    Some(json!({
        "list": position.list.name(),
        "order": if position.fair { "fair" } else { "fifo" },
        "place": position.place,
        "of": position.of,
        "higher": position.higher,
        "ahead": ahead,
    }))
}

fn verdict(verdict: &AppVerdict) -> Value {
    let containers = verdict.containers.iter().map(|of| {
        json!({"container": of.container.to_string(), "rule": of.rule.map(|rule| rule.name()),
            "deadline_ms": of.until_ms})
    });
    json!({
        "token": verdict.token(),
        "meaning": verdict.reason.meaning(),
        "queues": verdict.queues.iter().map(|queue| &**queue).collect::<Vec<_>>(),
        "containers": containers.collect::<Vec<Value>>(),
    })
}

const fn stage(stage: AppStage) -> &'static str {
    match stage {
        AppStage::Parked => "parked",
        AppStage::Waiting => "waiting for its master",
        AppStage::Active => "active",
        AppStage::Between => "between two attempts",
        AppStage::Done | AppStage::Gone => "over",
    }
}

fn evidence(of: &Evidence) -> Value {
    let holders = of.holders.iter().map(|holder| {
        json!({
            "id": holder.app.to_string(),
            "user": &*holder.user,
            "queue": &*holder.queue,
            "amount": holder.amount,
        })
    });
    let short = of.short.iter().map(|(name, nodes)| json!([&**name, nodes]));
    json!({
        "dimension": of.dimension.as_deref(),
        "limit": of.limit,
        "used": of.used,
        "asked": of.asked,
        "binding": of.binding.as_deref(),
        "holders": holders.collect::<Vec<_>>(),
        "short": short.collect::<Vec<_>>(),
    })
}
