//! Queries of our own routes: a parameter that the table of routes does not name is refused.
//!
//! A filter that is misspelt and left out of account would answer with everything. YARN's routes take no notice of
//! what they do not know, as YARN does.

use axum::Json;
use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::of_router::every_operation;
use super::table::Operation;

/// Where our own routes begin.
const OWN: &str = "/v1/";

/// What the query of every route may have: the user, whom the layer before this one writes there.
const USER: &str = "user.name";

/// Passes a request on, unless its query has a parameter that its route does not know: then it answers 400, and says
/// which ones there are.
pub(crate) async fn known_parameters(request: Request, next: Next) -> Response {
    match refusal(&request) {
        Some(message) => {
            let body = Json(json!({ "message": message }));
            (StatusCode::BAD_REQUEST, body).into_response()
        }
        None => next.run(request).await,
    }
}

fn refusal(request: &Request) -> Option<String> {
    let matched = request.extensions().get::<MatchedPath>()?.as_str();
    let query = request.uri().query().filter(|_| matched.starts_with(OWN))?;
    let operation = operation(request.method(), matched)?;
    unknown(operation, query)
}

/// The operation of a route. One that only answers whether it is there is that of `GET`.
fn operation(method: &Method, path: &str) -> Option<&'static Operation> {
    let method = match *method {
        Method::HEAD => Method::GET,
        ref other => other.clone(),
    };
    every_operation().find(|one| one.path == path && one.verb.as_http() == method)
}

/// What is wrong with the first parameter that an operation does not know.
fn unknown(operation: &Operation, query: &str) -> Option<String> {
    let known = |name: &str| name == USER || operation.query.contains(&name);
    let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    let name = names.find(|name| !known(name))?;
    let rest = match operation.query {
        [] => "it takes none".to_owned(),
        query => format!("known are {}", query.join(", ")),
    };
    Some(format!(
        "{}: no parameter of {}; {rest}",
        name.escape_debug(),
        operation.path
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_a_route_does_not_know_is_named_with_those_that_it_knows() {
        let why = operation(&Method::HEAD, "/v1/apps/{app}/why").unwrap();
        for query in [
            "",
            "would_help=true",
            "would_help=1&user.name=ann",
            "would%5Fhelp=1",
        ] {
            assert_eq!(unknown(why, query), None, "{query}");
        }
        let known = "no parameter of /v1/apps/{app}/why; known are would_help";
        for (query, name) in [
            ("help=1", "help"),
            ("would_help=1&=2", ""),
            ("a%0Ab", "a\\nb"),
        ] {
            assert_eq!(unknown(why, query), Some(format!("{name}: {known}")));
        }
        let nodes = operation(&Method::GET, "/v1/nodes").unwrap();
        let none = "states: no parameter of /v1/nodes; it takes none";
        assert_eq!(unknown(nodes, "states=LOST").as_deref(), Some(none));
    }

    #[test]
    fn routes_of_a_router_alone_are_known_too() {
        for method in [Method::GET, Method::PUT] {
            let policy = operation(&method, "/v1/policy").unwrap();
            assert!(unknown(policy, "version=1").is_some(), "{method}");
        }
        assert!(operation(&Method::POST, "/v1/policy").is_none());
    }
}
