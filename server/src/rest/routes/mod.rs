//! The routes: which path is answered by what.

mod activities;
mod app_changes;
mod apps;
mod cluster;
mod daemon;
mod labels;
mod nodes;
mod submit;

pub(crate) use submit::submitted;

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter};
use capsched::api::ApplicationId;
use capsched::commit::Ledger;

use super::wire::{Failure, Reply};
use super::{Call, Handler, Shared, route};
use crate::rm::{Application, CommandError};

/// Routes by method and path.
const ROUTES: &[(MethodFilter, &str, Handler)] = &[
    (MethodFilter::GET, "/", cluster::info),
    (MethodFilter::GET, "/info", cluster::info),
    (MethodFilter::GET, "/userinfo", cluster::user),
    (MethodFilter::GET, "/metrics", cluster::metrics),
    (MethodFilter::GET, "/scheduler", cluster::scheduler),
    (MethodFilter::GET, "/scheduler-overview", cluster::overview),
    (MethodFilter::GET, "/appstatistics", cluster::statistics),
    (MethodFilter::GET, "/queues/{queue}/access", cluster::access),
    (
        MethodFilter::GET,
        "/reservation/list",
        cluster::reservations,
    ),
    (MethodFilter::POST, "/scheduler/logs", cluster::logs),
    (
        MethodFilter::GET,
        "/scheduler/activities",
        activities::of_nodes,
    ),
    (
        MethodFilter::GET,
        "/scheduler/bulk-activities",
        activities::bulk,
    ),
    (
        MethodFilter::GET,
        "/scheduler/app-activities/{app}",
        activities::of_app,
    ),
    (MethodFilter::GET, "/nodes", nodes::list),
    (MethodFilter::GET, "/nodes/{node}", nodes::one),
    (
        MethodFilter::GET,
        "/nodes/{node}/get-labels",
        labels::of_node,
    ),
    (
        MethodFilter::POST,
        "/nodes/{node}/replace-labels",
        labels::replace_on_node,
    ),
    (MethodFilter::GET, "/get-node-labels", labels::collection),
    (MethodFilter::GET, "/get-rm-node-labels", labels::with_nodes),
    (MethodFilter::GET, "/get-node-to-labels", labels::by_node),
    (MethodFilter::GET, "/label-mappings", labels::by_label),
    (MethodFilter::POST, "/add-node-labels", labels::add),
    (MethodFilter::POST, "/remove-node-labels", labels::remove),
    (
        MethodFilter::POST,
        "/replace-node-to-labels",
        labels::replace,
    ),
    (MethodFilter::GET, "/apps", apps::list),
    (MethodFilter::POST, "/apps", submit::submit),
    (
        MethodFilter::POST,
        "/apps/new-application",
        submit::new_application,
    ),
    (MethodFilter::GET, "/apps/{app}", apps::one),
    (MethodFilter::GET, "/apps/{app}/appattempts", apps::attempts),
    (
        MethodFilter::GET,
        "/apps/{app}/appattempts/{attempt}",
        apps::attempt,
    ),
    (
        MethodFilter::GET,
        "/apps/{app}/appattempts/{attempt}/containers",
        apps::containers,
    ),
    (MethodFilter::GET, "/apps/{app}/state", apps::state),
    (
        MethodFilter::PUT,
        "/apps/{app}/state",
        app_changes::set_state,
    ),
    (MethodFilter::GET, "/apps/{app}/queue", apps::queue),
    (
        MethodFilter::PUT,
        "/apps/{app}/queue",
        app_changes::set_queue,
    ),
    (MethodFilter::GET, "/apps/{app}/priority", apps::priority),
    (
        MethodFilter::PUT,
        "/apps/{app}/priority",
        app_changes::set_priority,
    ),
    (MethodFilter::GET, "/apps/{app}/timeouts", apps::timeouts),
    (
        MethodFilter::GET,
        "/apps/{app}/timeouts/{type}",
        apps::timeout,
    ),
    (
        MethodFilter::PUT,
        "/apps/{app}/timeout",
        app_changes::set_timeout,
    ),
    (MethodFilter::POST, "/delegation-token", cluster::tokens),
    (MethodFilter::DELETE, "/delegation-token", cluster::tokens),
    (
        MethodFilter::POST,
        "/delegation-token/expiration",
        cluster::tokens,
    ),
];

/// All of them.
pub(super) fn all() -> Router<Shared> {
    let mut router = Router::new();
    for &(method, path, handler) in ROUTES {
        router = router.route(path, route(method, handler));
    }
    router
}

/// The cluster as a whole, for its path with a slash at the end.
pub(super) fn info() -> MethodRouter<Shared> {
    route(MethodFilter::GET, cluster::info)
}

/// What daemons of Hadoop answer beside their own interface.
pub(super) fn daemon() -> Router<Shared> {
    Router::new()
        .route("/conf", route(MethodFilter::GET, daemon::configuration))
        .route("/jmx", route(MethodFilter::GET, daemon::beans))
}

/// Looks at the scheduler's state.
fn inspect<T: Send + 'static>(
    shared: &Shared,
    look: impl FnOnce(&Ledger) -> T + Send + 'static,
) -> Result<T, Failure> {
    shared.rm().engine().inspect(look).map_err(|error| {
        let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
        Failure::other(status, "WebApplicationException", error.to_string())
    })
}

/// The application id of a path.
fn app_id(call: &Call) -> Result<ApplicationId, Failure> {
    let text = call.part("app");
    if text.is_empty() {
        return Err(Failure::not_found("appId, is empty or null"));
    }
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
        Failure::bad_request(format!("Invalid ApplicationId: {shown}"))
    })
}

/// A copy of the application of a path.
fn application(shared: &Shared, call: &Call) -> Result<Application, Failure> {
    let id = app_id(call)?;
    let found = shared.rm().read(|books| books.app(id).cloned());
    found.ok_or_else(|| Failure::not_found(format!("app with id: {id} not found")))
}

/// The refusal of a command as the views answer it.
fn refused(error: CommandError) -> Failure {
    match error {
        CommandError::NotFound(text) => Failure::not_found(text),
        CommandError::Forbidden(text) => Failure::forbidden(text),
        CommandError::Invalid(text) | CommandError::State(text) => Failure::bad_request(text),
        CommandError::Unavailable(text) => {
            let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
            Failure::other(status, "WebApplicationException", text)
        }
    }
}

type Answered = Result<Reply, Failure>;
