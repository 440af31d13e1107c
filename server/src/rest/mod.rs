//! YARN's REST interface, `/ws/v1/cluster`.
//!
//! A route reads a [`Call`], asks the resource manager, and answers with a document that becomes JSON or XML in the
//! form of the release that the setup names.

mod call;
mod document;
mod json;
mod routes;
mod scheduler_conf;
mod time;
mod tree;
mod views;
mod wire;
mod xml;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodFilter, MethodRouter, get, on};

pub use call::{Call, STATIC_USER};
pub(crate) use routes::submitted;
pub use tree::{Content, Notation, Object, Value, View};
pub(crate) use wire::respond;
pub use wire::{Failure, Media, Reply, Wire};

use crate::rm::ResourceManager;

/// What every route has.
#[derive(Clone, Debug)]
pub struct Shared {
    rm: Arc<ResourceManager>,
}

impl Shared {
    /// The routes of a resource manager.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>) -> Self {
        Self { rm }
    }

    /// The resource manager.
    #[must_use]
    pub fn rm(&self) -> &ResourceManager {
        &self.rm
    }

    /// The resource manager, to be kept.
    #[must_use]
    pub fn rm_arc(&self) -> Arc<ResourceManager> {
        Arc::clone(&self.rm)
    }

    /// The format of answers.
    #[must_use]
    pub fn wire(&self) -> Wire {
        Wire::of(self.rm.setup().reference)
    }
}

/// What carries out a call.
pub type Handler = fn(&Shared, &Call) -> Result<Reply, Failure>;

/// A route for one method. Calls of the engine wait, so they run on a thread that may.
pub fn route(method: MethodFilter, handler: Handler) -> MethodRouter<Shared> {
    on(
        method,
        move |State(shared): State<Shared>,
              parts: RawPathParams,
              uri: Uri,
              headers: HeaderMap,
              body: Bytes| async move {
            let wire = shared.wire();
            let path: BTreeMap<String, String> = parts
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let Some(call) = Call::read(&headers, uri.query(), path, body) else {
                let status = StatusCode::NOT_ACCEPTABLE;
                let text = "only application/json and application/xml are answered\n";
                return wire::respond(Ok(Reply::Page(status, text.to_owned())), Media::Json, wire);
            };
            let media = call.media;
            let carried = tokio::task::spawn_blocking(move || handler(&shared, &call)).await;
            let answer = carried.unwrap_or_else(|_| {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                let text = "the request could not be carried out";
                Err(Failure::other(status, "WebApplicationException", text))
            });
            wire::respond(answer, media, wire)
        },
    )
}

/// All routes of `/ws/v1/cluster`, without that prefix.
pub fn cluster() -> Router<Shared> {
    routes::all().merge(scheduler_conf::routes())
}

/// The whole interface: `/ws/v1/cluster`, `/conf` and `/jmx`.
pub fn router(shared: Shared) -> Router {
    Router::new()
        .nest("/ws/v1/cluster", cluster())
        .route("/ws/v1/cluster/", routes::info())
        .merge(routes::daemon())
        .route("/cluster", get(page))
        .merge(scheduler_conf::version_routes())
        .fallback(unknown_path)
        .layer(middleware::from_fn(options))
        .with_state(shared)
}

/// Answers `OPTIONS` with the methods of a path: Hadoop's clients prove their user by it before each call.
// As PseudoAuthenticator.authenticate, and as Jersey answers it.
async fn options(request: Request, next: Next) -> Response {
    let asked = *request.method() == Method::OPTIONS;
    let response = next.run(request).await;
    match response.status() {
        // The router adds the methods to what it is answered.
        StatusCode::METHOD_NOT_ALLOWED if asked => StatusCode::OK.into_response(),
        _ => response,
    }
}

/// YARN's page, which clients ask for to find the active resource manager. A relative address works behind a prefix.
async fn page() -> Redirect {
    Redirect::to("ui/")
}

/// There is no such path.
async fn unknown_path(State(shared): State<Shared>, method: Method, uri: Uri) -> Response {
    let wire = shared.wire();
    let text = format!("there is no {method} {}\n", uri.path());
    match wire {
        Wire::Hadoop34 => {
            let page = Reply::Page(StatusCode::NOT_FOUND, text);
            wire::respond(Ok(page), Media::Json, wire)
        }
        Wire::Hadoop35 => wire::respond_error(uri.path(), wire),
    }
}
