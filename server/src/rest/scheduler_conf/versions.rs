//! Versions of the configuration, the log of changes, and the way back: `/v1/conf`.

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use capsched::config::Caller;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::status;
use super::{add_version, expected_version};
use crate::conf::{ConfError, MutableConf};
use crate::rest::{STATIC_USER, Shared};

/// Entries of the log in an answer.
const MOST: usize = 1000;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/v1/conf/versions", get(list))
        .route("/v1/conf/versions/{version}", get(one))
        .route("/v1/conf/log", get(log))
        .route("/v1/conf/rollback/{version}", post(roll_back))
}

type Conf = Option<Extension<Arc<MutableConf>>>;

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "user.name")]
    user: Option<String>,
    limit: Option<usize>,
}

/// What a route does, on a thread that may wait.
async fn carried(
    shared: Shared,
    conf: Conf,
    named: Named,
    what: impl FnOnce(&Shared, &MutableConf, &Caller<'_>) -> Result<Value, ConfError> + Send + 'static,
) -> Response {
    let Some(Extension(conf)) = conf else {
        let text = "the configuration has no versions: it is a plain file; a server with --data or --store keeps them";
        return (StatusCode::NOT_FOUND, Json(json!({"error": text}))).into_response();
    };
    let user = named.user.filter(|user| !user.is_empty());
    let user = user.unwrap_or_else(|| STATIC_USER.to_owned());
    let kept = Arc::clone(&conf);
    let run = tokio::task::spawn_blocking(move || {
        let groups = shared.rm().groups_of(&user);
        let caller = Caller {
            user: &user,
            groups: &groups,
            real_user: None,
        };
        if !conf.admits(&caller) {
            let text = "Only admins can carry out this operation.";
            return Err(ConfError::Forbidden(text.to_owned()));
        }
        what(&shared, &conf, &caller)
    });
    let mut response = match run.await {
        Ok(Ok(document)) => Json(document).into_response(),
        Ok(Err(error)) => {
            (status(&error), Json(json!({"error": error.to_string()}))).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    add_version(&mut response, kept.state().version);
    response
}

async fn list(State(shared): State<Shared>, conf: Conf, Query(named): Query<Named>) -> Response {
    carried(shared, conf, named, |_, conf, _| {
        Ok(json!({"present": conf.state().version, "versions": conf.versions()?}))
    })
    .await
}

async fn one(
    State(shared): State<Shared>,
    conf: Conf,
    Query(named): Query<Named>,
    Path(version): Path<u64>,
) -> Response {
    carried(shared, conf, named, move |_, conf, _| {
        let properties = conf.version(version)?;
        Ok(json!({"version": version, "properties": properties.as_map()}))
    })
    .await
}

async fn log(State(shared): State<Shared>, conf: Conf, Query(named): Query<Named>) -> Response {
    let most = named.limit.unwrap_or(100).min(MOST);
    carried(shared, conf, named, move |_, conf, _| {
        Ok(json!({"entries": conf.logged(most)?}))
    })
    .await
}

async fn roll_back(
    State(shared): State<Shared>,
    conf: Conf,
    Query(named): Query<Named>,
    Path(version): Path<u64>,
    headers: HeaderMap,
) -> Response {
    let expected = match expected_version(&headers) {
        Ok(expected) => expected,
        Err(failure) => {
            let error = json!({"error": format!("{}: {}", header::IF_MATCH, failure.message)});
            return (StatusCode::BAD_REQUEST, Json(error)).into_response();
        }
    };
    carried(shared, conf, named, move |shared, conf, caller| {
        let rm = shared.rm();
        let made = conf.roll_back(rm, caller, version, expected, rm.now_ms())?;
        Ok(json!({"version": made.state.version, "updates": made.updates}))
    })
    .await
}
