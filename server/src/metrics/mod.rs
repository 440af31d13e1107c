//! Figures for monitoring systems, in the OpenMetrics text format at `/metrics`.
//!
//! Names have base units: bytes, seconds, ratios. They are read when they are asked for; nothing is counted here.

mod collector;
mod queue_figures;
mod samples;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use crate::page::PendingWatch;
use crate::rm::ResourceManager;

pub use samples::StoreFigures;

use collector::Figures;

/// Where the figures of the store come from.
pub type StoreWatch = Arc<dyn Fn() -> StoreFigures + Send + Sync>;

/// The metrics of one server.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
}

impl Metrics {
    /// Metrics of a resource manager, and of its store where it has one.
    #[must_use]
    pub fn new(
        rm: Arc<ResourceManager>,
        pending: Arc<PendingWatch>,
        store: Option<StoreWatch>,
    ) -> Self {
        let mut registry = Registry::with_prefix("capsched");
        registry.register_collector(Box::new(Figures::new(rm, pending, store)));
        Self {
            registry: Arc::new(registry),
        }
    }

    /// The route `/metrics`.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/metrics", get(shown))
            .with_state(self.clone())
    }

    /// All figures as text.
    ///
    /// # Errors
    ///
    /// When a figure cannot be written.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async fn shown(State(metrics): State<Metrics>) -> Response {
    let text = tokio::task::spawn_blocking(move || metrics.text()).await;
    match text {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, KIND)], text).into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
