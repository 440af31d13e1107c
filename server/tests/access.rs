//! Who may call which route, by a table; and what a request may look like.

#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "support/cell_router.rs"]
mod cell_router;
mod support;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use capsched_server::cells::RouterOptions;
use capsched_server::daemon::ServeOptions;
use capsched_server::openapi::{OPERATIONS, router_operations};
use capsched_server::security::{AccessLimits, Authentication, Hosts, ROUTES};
use cell_router::cell_router;
use support::{HOST, answer, options, request, resource_manager, router, tokens};
use tower::ServiceExt;

/// What a role gets: the layer of access lets it pass, it has to sign in, or it may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gets {
    Passes,
    SignIn,
    Forbidden,
}
use Gets::{Forbidden, Passes, SignIn};

/// Method, path, and what nobody, a user and the administrator get.
const TABLE: &[(&str, &str, Gets, Gets, Gets)] = &[
    ("GET", "/", Passes, Passes, Passes),
    ("GET", "/ui/", Passes, Passes, Passes),
    ("GET", "/ui/main.js", Passes, Passes, Passes),
    ("GET", "/health/live", Passes, Passes, Passes),
    ("GET", "/health/ready", Passes, Passes, Passes),
    ("GET", "/cluster", Passes, Passes, Passes),
    ("GET", "/v1/whoami", Passes, Passes, Passes),
    ("GET", "/metrics", Passes, Passes, Passes),
    ("GET", "/v1/apps", Passes, Passes, Passes),
    (
        "GET",
        "/v1/apps/application_1_0001/why",
        Passes,
        Passes,
        Passes,
    ),
    ("GET", "/v1/nodes", Passes, Passes, Passes),
    ("GET", "/v1/latency", Passes, Passes, Passes),
    ("GET", "/v1/openapi.json", Passes, Passes, Passes),
    ("GET", "/v1/snapshot", Passes, Passes, Passes),
    ("GET", "/v1/snapshot/file", SignIn, Forbidden, Passes),
    ("POST", "/v1/plan", SignIn, Forbidden, Passes),
    ("POST", "/v1/whatif", SignIn, Forbidden, Passes),
    ("GET", "/v1/policy", Passes, Passes, Passes),
    ("PUT", "/v1/policy", SignIn, Forbidden, Passes),
    ("GET", "/v1/cells", Passes, Passes, Passes),
    ("POST", "/v1/other", SignIn, Passes, Passes),
    ("GET", "/v1/conf/versions", SignIn, Forbidden, Passes),
    ("GET", "/debug/pprof", SignIn, Forbidden, Passes),
    ("GET", "/jmx", Passes, Passes, Passes),
    ("GET", "/conf", Passes, Passes, Passes),
    ("GET", "/ws/v1/cluster", Passes, Passes, Passes),
    ("GET", "/ws/v1/cluster/scheduler", Passes, Passes, Passes),
    ("GET", "/ws/v1/cluster/apps", Passes, Passes, Passes),
    ("POST", "/ws/v1/cluster/apps", SignIn, Passes, Passes),
    (
        "POST",
        "/ws/v1/cluster/apps/new-application",
        SignIn,
        Passes,
        Passes,
    ),
    (
        "PUT",
        "/ws/v1/cluster/apps/application_1_0001/state",
        SignIn,
        Passes,
        Passes,
    ),
    (
        "PUT",
        "/ws/v1/cluster/apps/application_1_0001/priority",
        SignIn,
        Passes,
        Passes,
    ),
    (
        "GET",
        "/ws/v1/cluster/scheduler-conf",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "GET",
        "/ws/v1/cluster/scheduler-conf/version",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "GET",
        "/ws/v1/cluster/scheduler-conf/format",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "PUT",
        "/ws/v1/cluster/scheduler-conf",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "PUT",
        "//ws/v1//cluster/scheduler-conf",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "POST",
        "/ws/v1/cluster/scheduler-conf/validate",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "POST",
        "/ws/v1/cluster/add-node-labels",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "POST",
        "/ws/v1/cluster/remove-node-labels",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "POST",
        "/ws/v1/cluster/replace-node-to-labels",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "POST",
        "/ws/v1/cluster/nodes/n1:1/replace-labels",
        SignIn,
        Forbidden,
        Passes,
    ),
    (
        "POST",
        "/ws/v1/cluster/scheduler/logs",
        SignIn,
        Forbidden,
        Passes,
    ),
    ("GET", "/anything/else", SignIn, Forbidden, Passes),
    ("POST", "/health/live", SignIn, Forbidden, Passes),
];

async fn gets(router: &axum::Router, method: &str, path: &str, token: Option<&str>) -> Gets {
    let (status, _) = answer(router, request(method, path, token)).await;
    match status {
        StatusCode::UNAUTHORIZED => SignIn,
        StatusCode::FORBIDDEN => Forbidden,
        _ => Passes,
    }
}

async fn roles_get_what_the_table_says(router: &axum::Router) {
    for &(method, path, nobody, user, admin) in TABLE {
        let found = gets(router, method, path, None).await;
        assert_eq!(found, nobody, "nobody: {method} {path}");
        let found = gets(router, method, path, Some("token-of-ann")).await;
        assert_eq!(found, user, "a user: {method} {path}");
        let found = gets(router, method, path, Some("token-of-yarn")).await;
        assert_eq!(found, admin, "the administrator: {method} {path}");
        let found = gets(router, method, path, Some("wrong")).await;
        assert_eq!(found, SignIn, "a wrong token: {method} {path}");
    }
}

#[tokio::test]
async fn routes_by_roles() {
    let router = router(&resource_manager(), &options(tokens()));
    roles_get_what_the_table_says(&router).await;
}

#[tokio::test]
async fn routes_of_a_router_by_roles() {
    let (_router, routes, _dir) = cell_router(RouterOptions::default());
    roles_get_what_the_table_says(&routes).await;
}

/// Whether a path fits one with parameters in braces.
fn fits(described: &str, path: &str) -> bool {
    let (described, path) = (described.split('/'), path.split('/'));
    described.clone().count() == path.clone().count()
        && described
            .zip(path)
            .all(|(wanted, part)| wanted.starts_with('{') || wanted == part)
}

#[test]
fn every_own_route_of_a_router_is_in_the_table() {
    let own: Vec<_> = router_operations()
        .filter(|one| !OPERATIONS.contains(one))
        .collect();
    assert!(!own.is_empty(), "a router has routes of its own");
    for one in own {
        let method = one.verb.as_http();
        let row = TABLE
            .iter()
            .any(|(of, path, ..)| *of == method.as_str() && fits(one.path, path));
        assert!(row, "{method} {} is not in the table", one.path);
    }
}

#[test]
fn every_row_of_the_routes_is_called_by_the_table() {
    for row in ROUTES {
        let start = row.path.trim_end_matches("**");
        let covered = TABLE
            .iter()
            .any(|(_, path, ..)| format!("{path}/").starts_with(start));
        assert!(covered, "{}", row.path);
    }
}

#[tokio::test]
async fn on_other_addresses_even_looking_needs_a_token() {
    let mut options: ServeOptions = options(tokens());
    options.listen = "10.0.0.1:8088".parse().unwrap();
    let router = router(&resource_manager(), &options);
    for (path, nobody) in [
        ("/v1/apps", SignIn),
        ("/metrics", SignIn),
        ("/ws/v1/cluster/scheduler", SignIn),
        ("/health/ready", Passes),
        ("/ui/", Passes),
    ] {
        assert_eq!(gets(&router, "GET", path, None).await, nobody, "{path}");
        assert_eq!(
            gets(&router, "GET", path, Some("token-of-ann")).await,
            Passes
        );
    }
}

async fn user_of(router: &axum::Router, path: &str, token: Option<&str>) -> serde_json::Value {
    let (_, body) = answer(router, request("GET", path, token)).await;
    serde_json::from_slice::<serde_json::Value>(&body).unwrap()
}

#[tokio::test]
async fn a_name_in_a_query_counts_only_where_names_are_believed() {
    let rm = resource_manager();
    let proved = router(&rm, &options(tokens()));
    let path = "/v1/whoami?user.name=yarn";
    let found = user_of(&proved, path, None).await;
    assert_eq!(
        (&found["user"], &found["admin"]),
        (&serde_json::Value::Null, &false.into())
    );
    let found = user_of(&proved, path, Some("token-of-ann")).await;
    assert_eq!(
        (&found["user"], &found["admin"]),
        (&"ann".into(), &false.into())
    );
    let found = user_of(&proved, "/v1/whoami", Some("token-of-yarn")).await;
    assert_eq!(
        (&found["user"], &found["admin"]),
        (&"yarn".into(), &true.into())
    );
    let simple = router(&rm, &options(Authentication::none().with_bare_names()));
    let found = user_of(&simple, path, None).await;
    assert_eq!(
        (&found["user"], &found["authentication"]),
        (&"yarn".into(), &"simple".into())
    );
    let nothing = router(&rm, &options(Authentication::none()));
    assert_eq!(
        gets(
            &nothing,
            "PUT",
            "/ws/v1/cluster/apps/a/state?user.name=yarn",
            None
        )
        .await,
        SignIn
    );
}

async fn status_of(router: &axum::Router, request: Request<Body>) -> StatusCode {
    answer(router, request).await.0
}

#[tokio::test]
async fn requests_of_other_forms_are_refused() {
    let mut options = options(tokens());
    options.hosts = Hosts::and(["rm.example.org".to_owned()]);
    let router = router(&resource_manager(), &options);
    let get = |host: &str, path: &str| {
        let builder = Request::builder().uri(path).header("host", host);
        builder.body(Body::empty()).unwrap()
    };
    let other = status_of(&router, get("evil.example:8088", "/health/live")).await;
    assert_eq!(other, StatusCode::MISDIRECTED_REQUEST);
    let listed = status_of(&router, get("rm.example.org", "/health/live")).await;
    assert_eq!(listed, StatusCode::OK);
    let none = Request::builder()
        .uri("/health/live")
        .body(Body::empty())
        .unwrap();
    assert_eq!(
        status_of(&router, none).await,
        StatusCode::MISDIRECTED_REQUEST
    );
    for path in [
        "/ui/..%2f..%2fetc/passwd",
        "/ui/%2e%2e/x",
        "/ui/a%00",
        "/v1/apps/%0d%0a/why",
    ] {
        let found = status_of(&router, get(HOST, path)).await;
        assert!(found.is_client_error(), "{path} {found}");
    }
    // The longest address and one byte more.
    let long = |bytes: usize| format!("/health/live?{}", "a".repeat(bytes - "/health/live?".len()));
    assert_eq!(
        status_of(&router, get(HOST, &long(8192))).await,
        StatusCode::OK
    );
    assert_eq!(
        status_of(&router, get(HOST, &long(8193))).await,
        StatusCode::URI_TOO_LONG
    );
}

#[tokio::test]
async fn a_body_has_two_mebibytes_at_most() {
    let router = router(&resource_manager(), &options(tokens()));
    let post = |bytes: usize| {
        let mut request = request("POST", "/v1/whoami", Some("token-of-yarn"));
        *request.body_mut() = Body::from(vec![b'a'; bytes]);
        let length = bytes.to_string().parse().unwrap();
        request.headers_mut().insert("content-length", length);
        request
    };
    assert_eq!(
        status_of(&router, post(2 << 20)).await,
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(
        status_of(&router, post((2 << 20) + 1)).await,
        StatusCode::PAYLOAD_TOO_LARGE
    );
}

#[tokio::test]
async fn a_peer_has_a_rate() {
    let mut options = options(tokens());
    options.limits = AccessLimits {
        per_second: 1,
        ..AccessLimits::default()
    };
    let router = router(&resource_manager(), &options);
    let mut refused = 0;
    for _ in 0..50 {
        let mut request = request("GET", "/health/live", None);
        let peer: std::net::SocketAddr = "127.0.0.1:4000".parse().unwrap();
        request
            .extensions_mut()
            .insert(axum::extract::ConnectInfo(peer));
        refused += u32::from(status_of(&router, request).await == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(refused > 0, "{refused}");
}

#[tokio::test]
async fn answers_have_an_id_and_say_what_a_browser_may_do() {
    let router = router(&resource_manager(), &options(tokens()));
    let mut with_id = request("GET", "/ui/", None);
    with_id
        .headers_mut()
        .insert("x-request-id", "mine-1".parse().unwrap());
    let found = router.clone().oneshot(with_id).await.unwrap();
    assert_eq!(found.headers()["x-request-id"], "mine-1");
    let policy = found.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let refused = router
        .oneshot(request("PUT", "/ws/v1/cluster/scheduler-conf", None))
        .await;
    let refused = refused.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    assert_eq!(refused.headers()["x-content-type-options"], "nosniff");
    assert!(refused.headers().contains_key("x-request-id"));
}
