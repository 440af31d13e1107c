//! Why one application waits, with the evidence.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use capsched::api::{
    ApplicationId, Engine, Evidence, Explanation, Finding, KeyExplanation, Mode, ModeKind,
    NextStep, SettingsEditor, Stepped, next_steps,
};
use capsched::queue::AppStage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Page;
use super::answer::{Problem, blocking};
use super::why_not::application;
use crate::conf::{ConfProperties, MutableConf};

/// What is asked beside the reasons.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Further {
    /// Changes that help, each tried on a copy of the scheduler.
    would_help: bool,
}

/// The explanation of one application; without keys when it waits for nothing or has ended.
///
/// Cost: as `Engine::explain`; with `would_help`, a copy of the scheduler and some rounds for each change that is tried.
pub(super) async fn why(
    State(page): State<Page>,
    Path(app): Path<String>,
    Query(further): Query<Further>,
    conf: Option<Extension<Arc<MutableConf>>>,
) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let id = application(&page, &app)?;
        let snapshot = page.rm.engine().snapshot();
        let types = &snapshot.settings.resource_types;
        let conf = conf.map(|Extension(conf)| conf);
        let settings = conf.as_ref().map(|conf| conf.state());
        let settings = settings.as_ref().map(|state| &state.properties);
        if !further.would_help {
            let found = Engine::explain(page.rm.engine(), id);
            return Ok(Json(shown(id, found.as_ref(), (types, settings))));
        }
        // Reasons and steps are of one state.
        let (found, steps) = tried(&page, id, conf.as_deref())?;
        let mut document = shown(id, found.as_ref(), (types, settings));
        document["would_help"] = steps.iter().map(step).collect();
        Ok(Json(document))
    })
    .await
}

/// Why an application waits, and changes that help it, each tried on a copy of the scheduler.
fn tried(
    page: &Page,
    app: ApplicationId,
    conf: Option<&MutableConf>,
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
    // What is in use was accepted when it was taken over.
    let loaded = conf.and_then(|conf| conf.load(&conf.state().properties).ok());
    let editor: &dyn SettingsEditor = match &loaded {
        Some(loaded) => loaded,
        None => &(),
    };
    let found = copy.explain(app);
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

fn shown(
    id: ApplicationId,
    found: Option<&Explanation>,
    (types, settings): (&[Arc<str>], Option<&ConfProperties>),
) -> Value {
    let names: Vec<&str> = types.iter().map(|name| &**name).collect();
    let Some(found) = found else {
        return json!({"app": id.to_string(), "types": names, "containers": 0, "keys": []});
    };
    let position = found.position.as_ref().map(|position| {
        let ahead: Vec<String> = position.ahead.iter().map(ToString::to_string).collect();
        json!({
            "list": position.list.name(),
            "order": if position.fair { "fair" } else { "fifo" },
            "place": position.place,
            "of": position.of,
            "higher": position.higher,
            "ahead": ahead,
        })
    });
    let keys: Vec<Value> = found
        .keys
        .iter()
        .map(|key| key_of(key, types.len(), settings))
        .collect();
    json!({
        "app": id.to_string(),
        "user": &*found.user,
        "queue": &*found.queue,
        "priority": found.priority,
        "stage": stage(found.stage),
        "containers": found.containers(),
        "types": names,
        "position": position,
        "keys": keys,
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

fn key_of(key: &KeyExplanation, types: usize, settings: Option<&ConfProperties>) -> Value {
    let size: Vec<i64> = (0..types).map(|index| key.size[index]).collect();
    let findings = key.findings.iter().map(|one| finding(one, settings));
    let findings: Vec<Value> = findings.collect();
    json!({
        "priority": key.priority,
        "containers": key.containers,
        "size": size,
        "findings": findings,
    })
}

fn finding(one: &Finding, settings: Option<&ConfProperties>) -> Value {
    let property = one.property.as_deref();
    let set_by = property.and_then(|property| set_by(property, settings?));
    json!({
        "reason": one.reason.token(),
        "tier": one.reason.tier(),
        "detail": one.detail,
        "advice": one.reason.advice(),
        "property": one.property,
        "set_by": set_by.map(|(property, value)| json!({"property": property, "value": value})),
        "evidence": evidence(&one.evidence),
    })
}

/// The property that has the value: the queue's own, or that of the whole scheduler; nothing where the default holds.
fn set_by<'a>(property: &str, settings: &'a ConfProperties) -> Option<(String, &'a str)> {
    let setting = property.rsplit('.').next().unwrap_or(property);
    let shared = format!("yarn.scheduler.capacity.{setting}");
    let mut names = [property.to_owned(), shared].into_iter();
    names.find_map(|name| settings.get(&name).map(|value| (name, value.trim())))
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
