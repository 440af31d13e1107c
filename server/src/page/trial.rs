//! Changes of the configuration before they are made: `/v1/plan` and `/v1/whatif`.
//!
//! Both take what a change of `scheduler-conf` takes, as JSON, and try it on a copy of the scheduler. Nothing that is
//! decided on the copy concerns anybody. `/v1/whatif` then plays rounds on two copies, one with the change and one
//! without: what is free and what waits now, without further events.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use capsched::api::{NodeName, PartitionView, QueueView, Sequential, StateView};
use capsched::config::{Issue, Loaded};
use serde_json::{Map, Value, json};

use super::Page;
use super::answer::{Problem, blocking};
use crate::conf::{BodyFormat, ConfChange, ConfError, ConfProperties, MutableConf};
use crate::effects::{EffectRow, SeenState, of_limits};
use crate::rm::ResourceManager;

/// Containers that a copy places at most.
const MOST_PLACED: u64 = 100_000;

/// Rounds over all nodes at most; a node takes one container in each.
const MOST_ROUNDS: u32 = 10_000;

type Conf = Option<Extension<Arc<MutableConf>>>;

/// A change that was tried.
struct Tried {
    version: u64,
    updates: BTreeMap<String, Option<String>>,
    /// Why the scheduler would refuse it.
    refused: Option<ConfError>,
    /// Warnings and hints of the configuration that it leads to.
    issues: Vec<Issue>,
    /// Copies of the scheduler without and with the change, where it is accepted.
    copies: Option<(Sequential, Sequential)>,
}

/// What a change would alter.
pub(super) async fn plan(
    State(page): State<Page>,
    conf: Conf,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let tried = tried(&page.rm, conf, &body)?;
        let mut document = tried.shown(&page.rm);
        if let Some((present, next)) = &tried.copies {
            let (present, next) = (SeenState::of(present), SeenState::of(next));
            document["queues"] = altered(&present.view.queues, &next.view.queues);
            document["running"] = json!(running(&page.rm, &present, &next));
        }
        Ok(Json(document))
    })
    .await
}

/// What would be placed with a change and without it.
pub(super) async fn what_if(
    State(page): State<Page>,
    conf: Conf,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let tried = tried(&page.rm, conf, &body)?;
        let mut document = tried.shown(&page.rm);
        if let Some((mut present, mut next)) = tried.copies {
            let now = view(&present);
            let placed = (play(&mut present), play(&mut next));
            let (present, next) = (view(&present), view(&next));
            document["placed"] = json!({"as_it_is": placed.0, "changed": placed.1});
            document["queues"] = played(&now.queues, &present.queues, &next.queues);
        }
        Ok(Json(document))
    })
    .await
}

/// What the change means for the applications that run, of one moment.
fn running(rm: &ResourceManager, present: &SeenState<'_>, next: &SeenState<'_>) -> Vec<EffectRow> {
    let types: Vec<String> = rm.types().iter().map(ToString::to_string).collect();
    let effects = of_limits(present, next);
    let rows = effects.iter().map(|effect| effect.row(&types, present));
    rows.collect()
}

fn view(engine: &Sequential) -> StateView {
    StateView::of(engine.ledger())
}

fn tried(rm: &ResourceManager, conf: Conf, body: &Bytes) -> Result<Tried, Problem> {
    let Some(Extension(conf)) = conf else {
        let text = "the configuration cannot be changed: it is a plain file; a server with --data or --store keeps versions";
        return Err(Problem::new(StatusCode::NOT_FOUND, text));
    };
    let format = BodyFormat::Json {
        lists_are_empty: false,
    };
    let wrong = |error: &dyn std::fmt::Display| Problem::parameter("body", error);
    let change = ConfChange::read(body, format).map_err(|error| wrong(&error))?;
    let state = conf.state();
    let (next, report) = conf.preview(&change).map_err(|error| wrong(&error))?;
    let mut tried = Tried {
        version: state.version,
        updates: state.properties.updates_to(&next),
        refused: None,
        issues: capsched::config::issues(&report),
        copies: None,
    };
    match copies(rm, &conf, &change, &next)? {
        Ok(copies) => tried.copies = Some(copies),
        Err(refused) => tried.refused = Some(refused),
    }
    Ok(tried)
}

type Copies = Result<(Sequential, Sequential), ConfError>;

/// Two copies of the scheduler, the second one with the change; or why the scheduler would refuse it.
fn copies(
    rm: &ResourceManager,
    conf: &MutableConf,
    change: &ConfChange,
    next: &ConfProperties,
) -> Result<Copies, Problem> {
    if let Err(refused) = conf.validate(rm, change) {
        return Ok(Err(refused));
    }
    let loaded = match conf.load(next) {
        Ok(loaded) => loaded,
        Err(report) => return Ok(Err(ConfError::Invalid(report))),
    };
    let copied = rm
        .engine()
        .inspect(|ledger| (Sequential::trial_of(ledger), Sequential::trial_of(ledger)));
    let (present, changed) = copied.map_err(|error| Problem::gone(&error))?;
    with_settings(changed, loaded).map(|changed| Ok((present, changed)))
}

fn with_settings(mut engine: Sequential, loaded: Loaded) -> Result<Sequential, Problem> {
    // What the live scheduler accepts its copy refuses only when the state has changed in between.
    let refused =
        |error: capsched::api::RefreshError| Problem::new(StatusCode::CONFLICT, error.to_string());
    engine.reconfigure(loaded.settings).map_err(refused)?;
    Ok(engine)
}

/// Gives every node rounds until none places anything. How many containers were placed.
fn play(engine: &mut Sequential) -> u64 {
    let nodes = engine.ledger().nodes_by_name();
    let nodes: Vec<NodeName> = nodes.map(|(name, _)| name.clone()).collect();
    let mut placed = 0;
    for _ in 0..MOST_ROUNDS {
        let before = placed;
        for node in &nodes {
            let attempt = engine.schedule_node(node);
            let places = attempt.is_some_and(|attempt| {
                attempt.proposed && !attempt.reserving && attempt.refused.is_none()
            });
            placed += u64::from(places);
            if placed == MOST_PLACED {
                return placed;
            }
        }
        if placed == before {
            break;
        }
    }
    placed
}

impl Tried {
    fn shown(&self, rm: &ResourceManager) -> Value {
        let types = rm.types();
        json!({
            "accepted": self.refused.is_none(),
            "message": self.refused.as_ref().map(ToString::to_string),
            "version": self.version,
            "updates": self.updates,
            "issues": self.issues,
            "resource_types": types.iter().map(|name| &**name).collect::<Vec<&str>>(),
        })
    }
}

/// Queues whose guarantee or limit differs, by path and partition, in amounts by resource type.
fn altered(present: &[QueueView], next: &[QueueView]) -> Value {
    let of = |queues: &[QueueView]| -> BTreeMap<(String, String), Value> {
        let parts = queues.iter().flat_map(|queue| {
            let parts = queue.labels.iter();
            parts.map(|(label, part)| ((queue.path.clone(), label.clone()), limits(part)))
        });
        parts.collect()
    };
    let (before, after) = (of(present), of(next));
    let mut keys: Vec<&(String, String)> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let differs = keys
        .into_iter()
        .filter(|key| before.get(key) != after.get(key));
    let shown = differs.map(|key| {
        let (queue, partition) = key;
        let (before, after) = (before.get(key), after.get(key));
        json!({"queue": queue, "partition": partition, "before": before, "after": after})
    });
    shown.collect()
}

fn limits(part: &PartitionView) -> Value {
    json!({"guaranteed": part.eff_min, "maximum": part.eff_max})
}

/// What leaves use now, and what they would use after the rounds, by partition.
fn played(now: &[QueueView], present: &[QueueView], next: &[QueueView]) -> Value {
    let used = |queues: &[QueueView], path: &str| -> Map<String, Value> {
        let queue = queues.iter().find(|queue| queue.path == path);
        let parts = queue.into_iter().flat_map(|queue| &queue.labels);
        parts
            .map(|(label, part)| (label.clone(), json!(part.used)))
            .collect()
    };
    let leaves = present
        .iter()
        .chain(next)
        .filter(|queue| queue.leaf.is_some());
    let mut paths: Vec<&str> = leaves.map(|queue| queue.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let shown = paths.into_iter().map(|path| {
        json!({
            "queue": path,
            "used": used(now, path),
            "as_it_is": used(present, path),
            "changed": used(next, path),
        })
    });
    shown.collect()
}
