//! Whether the server lives and whether it may be asked, with reasons. Neither names a queue, a user or a node.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use capsched::sync::{AtomicBool, Ordering};
use serde::Serialize;

use crate::rm::ResourceManager;

/// Says why a part of the server cannot serve; nothing when it can.
pub type Check = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The health of a server.
#[derive(Clone)]
pub struct Health {
    live: Arc<Vec<(&'static str, Check)>>,
    checks: Arc<Vec<(&'static str, Check)>>,
    stops: Arc<AtomicBool>,
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.checks.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

/// One part of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Part {
    name: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Answer {
    status: &'static str,
    parts: Vec<Part>,
}

impl Health {
    /// The health of a resource manager, with further parts that have to be ready, such as its store.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>, checks: Vec<(&'static str, Check)>) -> Self {
        let engine: Check = Arc::new(move || {
            let runs = rm.engine().is_running();
            (!runs).then(|| "the engine has ended".to_owned())
        });
        Self::of(vec![("engine", engine)], checks)
    }

    /// The health of a server that lives while the first parts are fine, and is ready while all are.
    #[must_use]
    pub fn of(live: Vec<(&'static str, Check)>, checks: Vec<(&'static str, Check)>) -> Self {
        Self {
            live: Arc::new(live),
            checks: Arc::new(checks),
            stops: Arc::new(AtomicBool::new(false)),
        }
    }

    /// From now on the server is not ready: it answers what it has begun and takes nothing new.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    /// The routes `/health/live` and `/health/ready`.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/health/live", get(live))
            .route("/health/ready", get(ready))
            .with_state(self.clone())
    }

    fn live(&self) -> Vec<Part> {
        let parts = self.live.iter();
        parts.map(|(name, check)| part(name, check())).collect()
    }

    fn ready(&self) -> Vec<Part> {
        let stops = self.stops.load(Ordering::Relaxed);
        let mut parts = self.live();
        parts.push(part("server", stops.then(|| "it stops".to_owned())));
        parts.extend(self.checks.iter().map(|(name, check)| part(name, check())));
        parts
    }
}

fn part(name: &'static str, reason: Option<String>) -> Part {
    Part {
        name,
        ok: reason.is_none(),
        reason,
    }
}

fn answer(parts: Vec<Part>) -> (StatusCode, Json<Answer>) {
    let fine = parts.iter().all(|part| part.ok);
    let (code, status) = match fine {
        true => (StatusCode::OK, "up"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "down"),
    };
    (code, Json(Answer { status, parts }))
}

async fn live(State(health): State<Health>) -> (StatusCode, Json<Answer>) {
    answer(health.live())
}

async fn ready(State(health): State<Health>) -> (StatusCode, Json<Answer>) {
    answer(health.ready())
}
