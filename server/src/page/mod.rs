//! The scheduler page and what it asks for beyond YARN's interface.
//!
//! The page is plain HTML, CSS and JavaScript modules within the binary. It uses relative addresses alone, so that it
//! works behind a path prefix, and loads nothing from elsewhere.

mod answer;
mod apps;
mod assets;
mod event_text;
mod events;
mod latency;
mod look;
mod nodes;
mod pending;
mod snapshot;
mod timelines;
mod trial;
mod why;
mod why_not;

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::rm::ResourceManager;
use crate::security::{Access, Identity};

#[cfg(feature = "grpc")]
pub(crate) use event_text::described;
pub use look::{Pending, PendingByReason, PendingSum};
pub(crate) use pending::Following;
pub use pending::{Look, PendingWatch};

/// What the routes of the page share.
#[derive(Clone, Debug)]
pub struct Page {
    rm: Arc<ResourceManager>,
    pending: Arc<PendingWatch>,
    access: Arc<Access>,
    streams: Arc<tokio::sync::Semaphore>,
}

/// Streams of events that are open at once; further ones are refused.
const STREAMS: usize = 64;

impl Page {
    /// The page of a resource manager.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>, pending: Arc<PendingWatch>, access: Arc<Access>) -> Self {
        Self {
            rm,
            pending,
            access,
            streams: Arc::new(tokio::sync::Semaphore::new(STREAMS)),
        }
    }

    /// The page at `/ui/` and its routes below `/v1`, but for the streams of events.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/", get(|| async { Redirect::temporary("ui/") }))
            .route("/ui", get(|| async { Redirect::temporary("ui/") }))
            .route("/ui/", get(|| async { assets::index() }))
            .route("/ui/{file}", get(assets::file))
            .route("/v1/whoami", get(whoami))
            .route("/v1/apps", get(apps::list))
            .route("/v1/apps/{app}/why", get(why::why))
            .route("/v1/apps/{app}/why-not/{node}", get(why_not::why_not))
            .route("/v1/nodes", get(nodes::all))
            .route("/v1/latency", get(latency::all))
            .route("/v1/snapshot", get(snapshot::snapshot))
            .route("/v1/snapshot/file", get(snapshot::file))
            .route("/v1/plan", post(trial::plan))
            .route("/v1/whatif", post(trial::what_if))
            .with_state(self.clone())
    }

    /// Streams of events at `/v1/events`. They do not end by themselves, so that no limit of time may hold for them.
    pub fn streams(&self) -> Router {
        Router::new()
            .route("/v1/events", get(events::stream))
            .with_state(self.clone())
    }
}

/// Who calls, how users are found, and whether the caller administers the cluster.
async fn whoami(State(page): State<Page>, Extension(identity): Extension<Identity>) -> Json<Value> {
    let user = identity.is_known().then(|| identity.name());
    Json(json!({
        "authentication": page.access.authentication().name(),
        "user": user,
        "admin": user.is_some_and(|user| page.rm.is_admin(user)),
    }))
}
