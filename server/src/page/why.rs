//! Why one application waits, with the evidence.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use capsched::api::{ApplicationId, Engine, Evidence, Explanation, Finding, KeyExplanation};
use capsched::queue::AppStage;
use serde_json::{Value, json};

use super::Page;
use super::answer::{Problem, blocking};

/// The explanation of one application; without keys when it waits for nothing or has ended.
pub(super) async fn why(
    State(page): State<Page>,
    Path(app): Path<String>,
) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let wrong = |_| {
            Problem::parameter(
                "application id",
                "not of the form application_<cluster>_<number>",
            )
        };
        let id: ApplicationId = app.parse().map_err(wrong)?;
        if page.rm.read(|books| books.app(id).is_none()) {
            let text = format!("app with id: {id} not found");
            return Err(Problem::new(StatusCode::NOT_FOUND, text));
        }
        let snapshot = page.rm.engine().snapshot();
        let types = &snapshot.settings.resource_types;
        let found = Engine::explain(page.rm.engine(), id);
        Ok(Json(shown(id, found.as_ref(), types)))
    })
    .await
}

fn shown(id: ApplicationId, found: Option<&Explanation>, types: &[Arc<str>]) -> Value {
    let names: Vec<&str> = types.iter().map(|name| &**name).collect();
    let Some(found) = found else {
        return json!({"app": id.to_string(), "types": names, "containers": 0, "keys": []});
    };
    let position = found.position.as_ref().map(|position| {
        let ahead: Vec<String> = position.ahead.iter().map(ToString::to_string).collect();
        json!({
            "list": position.list.name(),
            "place": position.place,
            "of": position.of,
            "higher": position.higher,
            "ahead": ahead,
        })
    });
    let keys: Vec<Value> = found
        .keys
        .iter()
        .map(|key| key_of(key, types.len()))
        .collect();
    json!({
        "app": id.to_string(),
        "user": &*found.user,
        "queue": &*found.queue,
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
        AppStage::Done | AppStage::Gone => "over",
    }
}

fn key_of(key: &KeyExplanation, types: usize) -> Value {
    let size: Vec<i64> = (0..types).map(|index| key.size[index]).collect();
    let findings: Vec<Value> = key.findings.iter().map(finding).collect();
    json!({
        "priority": key.priority,
        "containers": key.containers,
        "size": size,
        "findings": findings,
    })
}

fn finding(one: &Finding) -> Value {
    json!({
        "reason": one.reason.token(),
        "tier": one.reason.tier(),
        "detail": one.detail,
        "advice": one.reason.advice(),
        "property": one.property,
        "evidence": evidence(&one.evidence),
    })
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
