//! What a node lacks for the containers that an application waits for.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use capsched::api::{ApplicationId, Engine, KeyOnNode, NodeName};
use serde_json::{Value, json};

use super::Page;
use super::answer::{Problem, blocking};

/// Nodes that a message names.
const NAMED: usize = 3;

/// The conditions of a node, for each key of the application; without keys when it waits for nothing.
///
/// Cost: as `Engine::why_not`.
pub(super) async fn why_not(
    State(page): State<Page>,
    Path((app, node)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let id = application(&page, &app)?;
        let node = meant(&page, &node)?;
        let snapshot = page.rm.engine().snapshot();
        let types = &snapshot.settings.resource_types;
        let keys = Engine::why_not(page.rm.engine(), id, &node).unwrap_or_default();
        let keys: Vec<Value> = keys.iter().map(|key| shown(key, types.len())).collect();
        Ok(Json(json!({
            "app": id.to_string(),
            "node": node.to_string(),
            "types": types.iter().map(|name| &**name).collect::<Vec<_>>(),
            "keys": keys,
        })))
    })
    .await
}

/// An application that the server knows.
pub(super) fn application(page: &Page, text: &str) -> Result<ApplicationId, Problem> {
    let wrong = |_| {
        Problem::parameter(
            "application id",
            "not of the form application_<cluster>_<number>",
        )
    };
    let id: ApplicationId = text.parse().map_err(wrong)?;
    if page.rm.read(|books| books.app(id).is_none()) {
        let text = format!("app with id: {id} not found");
        return Err(Problem::new(StatusCode::NOT_FOUND, text));
    }
    Ok(id)
}

/// The registered node of a name, or the only one of a host.
fn meant(page: &Page, text: &str) -> Result<NodeName, Problem> {
    let names: Vec<NodeName> = page.rm.read(|books| {
        let nodes = books.nodes().iter();
        nodes.map(|(name, _)| name.clone()).collect()
    });
    match NodeName::meant(text, &names).as_slice() {
        [node] => Ok((*node).clone()),
        [] => {
            let text = format!("the cluster has no node {}", text.escape_debug());
            Err(Problem::new(StatusCode::NOT_FOUND, text))
        }
        several => {
            let named = several.iter().take(NAMED).map(ToString::to_string);
            let named = named.collect::<Vec<_>>().join(", ");
            let why = format!(
                "{} nodes have this host; name the port: {named}",
                several.len()
            );
            Err(Problem::parameter("node", why))
        }
    }
}

fn shown(key: &KeyOnNode, types: usize) -> Value {
    let checks = key
        .checks
        .iter()
        .map(|check| json!({"what": check.what, "holds": check.holds, "detail": check.detail}));
    json!({
        "priority": key.priority,
        "request_id": key.request_id,
        "containers": key.containers,
        "size": (0..types).map(|index| key.size[index]).collect::<Vec<i64>>(),
        "fits": key.fits(),
        "checks": checks.collect::<Vec<_>>(),
    })
}
