//! The whole state of the scheduler at one moment: `/v1/snapshot`, and as a file below it.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use std::sync::Arc;

use super::Page;
use super::answer::{Problem, blocking};
use crate::conf::MutableConf;
use crate::rm::SaveFailure;

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

/// The state as a file that `capsched snapshot` reads: what takes over everything that lives, and a list of what is
/// left out.
///
/// Cost: a copy of every container while others wait; then that of building the state anew, on a thread of its own.
pub(super) async fn file(State(page): State<Page>) -> Result<impl IntoResponse, Problem> {
    let packed = blocking(move || {
        let snapshot = page.rm.saved().map_err(|error| refused(&error))?;
        let packed = snapshot.write(Vec::new());
        packed.map_err(|error| Problem::new(StatusCode::CONFLICT, error.to_string()))
    })
    .await?;
    Ok(([(CONTENT_TYPE, "application/zstd")], packed))
}

fn refused(failure: &SaveFailure) -> Problem {
    match failure {
        SaveFailure::Gone(error) => Problem::gone(error),
        SaveFailure::Configuration(_) => Problem::new(StatusCode::CONFLICT, failure.to_string()),
    }
}
