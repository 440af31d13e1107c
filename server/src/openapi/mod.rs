//! A description of every route as an OpenAPI document, `/v1/openapi.json`: one of a server, one of a router before cells.
//!
//! `table` has the routes of a server, `of_router` those of a router; tests compare them with what is served.
//! `parameters` holds queries to it.

mod document;
mod of_router;
mod parameters;
mod table;

use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::Value;

pub use document::{document, router_document};
pub use of_router::router_operations;
pub(crate) use parameters::known_parameters;
pub use table::{Body, OPERATIONS, Operation, Verb};

/// The route of a server's document.
pub fn router() -> Router {
    route(document)
}

/// The route of the document of a router before cells.
pub(crate) fn cell_router() -> Router {
    route(router_document)
}

fn route(document: fn() -> Value) -> Router {
    Router::new().route(
        "/v1/openapi.json",
        get(move || async move { shown(document()) }),
    )
}

fn shown(document: Value) -> impl IntoResponse {
    // Routes change with the program alone.
    ([(header::CACHE_CONTROL, "max-age=3600")], Json(document))
}
