//! The description of the routes of a router before cells, against that router.

use capsched_server::openapi::router_document;

use super::cell_router::cell_router;
use super::*;

#[tokio::test]
async fn every_route_of_a_router_is_described_and_nothing_else() {
    let (_router, routes, _dir) = cell_router(RouterOptions::default());
    let found = routes_of(&routes);
    assert!(found.len() > 8, "the router shows {found:?}");
    let (status, body) = answer(&routes, request("GET", "/v1/openapi.json", None)).await;
    assert_eq!(status, StatusCode::OK);
    let read: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(read, router_document());
    let described = described_by(&read);
    let missing: Vec<_> = found.difference(&described).collect();
    assert!(missing.is_empty(), "not described: {missing:?}");
    for (path, method) in &described {
        // One route takes every method below an application, so the router does not show them.
        let known = found.contains(&(path.clone(), *method));
        let of_application = path.starts_with("/ws/v1/cluster/apps/{app}");
        assert!(known || of_application, "{method} {path} is not there");
    }
}

#[tokio::test]
async fn a_router_answers_every_request_that_it_describes() {
    let (_router, routes, _dir) = cell_router(RouterOptions::default());
    let document = router_document();
    for (path, method) in described_by(&document) {
        let path = path.replace(['{', '}'], "");
        let asked = request(&method.to_ascii_uppercase(), &path, Some("token-of-yarn"));
        let (status, body) = answer(&routes, asked).await;
        let text = String::from_utf8_lossy(&body);
        assert!(!text.contains("a router has no"), "{method} {path}: {text}");
        assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
    }
    let (status, body) = answer(&routes, request("GET", "/v1/snapshot", None)).await;
    let text = String::from_utf8_lossy(&body);
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(text.contains("a router has no"), "{text}");
}
