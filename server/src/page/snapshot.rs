//! The whole state of the scheduler at one moment: `/v1/snapshot`.

use axum::Json;
use axum::extract::{Extension, State};
use serde_json::{Value, json};
use std::sync::Arc;

use super::Page;
use super::answer::{Problem, blocking};
use crate::conf::MutableConf;

/// Queues, nodes and live applications as the scheduler counts them, of one moment.
///
/// Cost: proportional to all of it.
pub(super) async fn snapshot(
    State(page): State<Page>,
    conf: Option<Extension<Arc<MutableConf>>>,
) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let at_ms = page.rm.now_ms();
        let types = page.rm.types();
        let state = page.rm.engine().state();
        let state = state.map_err(|error| Problem::gone(&error))?;
        Ok(Json(json!({
            "at_ms": at_ms,
            "cluster_id": page.rm.cluster(),
            "release": page.rm.setup().reference.to_string(),
            "configuration_version": conf.map(|Extension(conf)| conf.state().version),
            "resource_types": types.iter().map(|name| &**name).collect::<Vec<&str>>(),
            "state": state,
        })))
    })
    .await
}
