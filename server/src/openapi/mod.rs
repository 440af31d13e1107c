//! A description of every route as an OpenAPI document, `/v1/openapi.json`.
//!
//! `table` has the routes; a test compares them with those of the router.

mod document;
mod table;

use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};

pub use document::document;
pub use table::{Body, OPERATIONS, Operation, Verb};

/// The route of the document.
pub fn router() -> Router {
    Router::new().route("/v1/openapi.json", get(shown))
}

async fn shown() -> impl IntoResponse {
    // Routes change with the program alone.
    ([(header::CACHE_CONTROL, "max-age=3600")], Json(document()))
}
