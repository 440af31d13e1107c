//! All routes of the server, with the layers around them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

use crate::health::Health;
use crate::metrics::Metrics;
use crate::openapi::{self, known_parameters};
use crate::page::Page;
use crate::security::{Access, guard, with_headers};

/// Largest body of a request, in bytes.
const BODY: usize = 2 << 20;

/// Longest time of an answer; streams of events have none.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the routes are made of.
#[derive(Debug)]
pub struct Parts {
    /// The page.
    pub page: Page,
    /// Figures for monitoring systems.
    pub metrics: Metrics,
    /// Health.
    pub health: Health,
    /// Rules of access.
    pub access: Arc<Access>,
    /// YARN's interface and further routes.
    pub rest: Router,
}

/// All routes. A request goes through the rules of access first, then through its limits.
pub fn router(parts: Parts) -> Router {
    let routes = parts
        .rest
        .merge(parts.page.router())
        .merge(parts.metrics.router())
        .merge(parts.health.router())
        .merge(openapi::router());
    guarded(timed(routes).merge(parts.page.streams()), parts.access)
}

/// The same routes with a limit of the time until an answer begins.
pub(crate) fn timed(routes: Router) -> Router {
    let status = StatusCode::GATEWAY_TIMEOUT;
    routes.layer(TimeoutLayer::with_status_code(status, PATIENCE))
}

/// The same routes behind the rules of access, with a limit of the body and the headers of every answer. Our own
/// routes refuse parameters that they do not know.
pub(crate) fn guarded(routes: Router, access: Arc<Access>) -> Router {
    routes
        .layer(from_fn(known_parameters))
        .layer(axum::extract::DefaultBodyLimit::max(BODY))
        .layer(RequestBodyLimitLayer::new(BODY))
        .layer(from_fn_with_state(access, guard))
        .layer(from_fn(with_headers))
}
