//! The description of routes against the router, and requests made from it.
//!
//! `REQUESTS=N cargo test -p capsched-server --test own_routes` makes so many; 10,000 without it. `SEED` chooses others.

#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "../support/cell_router.rs"]
mod cell_router;
mod cells;
mod saved;
#[path = "../support/mod.rs"]
mod support;
mod trials;
mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use capsched::api::NodeReport;
use capsched_server::cells::RouterOptions;
use capsched_server::daemon::Daemon;
use capsched_server::demo;
use capsched_server::openapi::{OPERATIONS, document, router_operations};
use capsched_server::rm::{Answer, Command, NodeRegistration, ResourceManager, Submission};
use capsched_server::security::Authentication;
use serde_json::Value;
use support::{HOST, answer, options, request, resource_manager};
use tower::ServiceExt;

/// Everything that a server has: applications, nodes and a configuration that changes.
fn everything() -> (Arc<ResourceManager>, Router) {
    let rm = resource_manager();
    let registration = NodeRegistration {
        node: "n1:8041".to_owned(),
        rack: "/r".to_owned(),
        resource: vec![65_536, 64],
        http_port: 8042,
        version: "test".to_owned(),
        labels: None,
    };
    rm.execute("yarn", Command::RegisterNode(registration))
        .unwrap();
    for _ in 0..3 {
        let Answer::Application(application) = rm.execute("yarn", Command::NewApplication).unwrap()
        else {
            panic!("an id was asked for");
        };
        let submission = Submission {
            application,
            queue: "root.dev.ads".to_owned(),
            master: vec![1024, 1],
            ..Submission::default()
        };
        rm.execute("yarn", Command::Submit(Box::new(submission)))
            .unwrap();
        let node = "n1:8041".parse().unwrap();
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    let mut options = options(Authentication::none().with_bare_names());
    options.limits.per_second = 0;
    let conf = demo::configuration(&rm).unwrap();
    let daemon = Daemon::new(Arc::clone(&rm), &options).with_conf(Arc::new(conf));
    (rm, daemon.router())
}

/// Paths and methods of a router, by what it shows of itself.
fn routes_of(router: &Router) -> BTreeSet<(String, &'static str)> {
    let shown = format!("{router:#?}");
    // Routes of fallbacks have numbers of their own.
    let (shown, _) = shown.split_once("fallback_router:").unwrap();
    let mut routes = BTreeSet::new();
    let names = ["get", "post", "put", "delete"];
    let ids = shown.match_indices("RouteId(").filter_map(|(at, _)| {
        let (id, rest) = shown[at + 8..].split_once(')')?;
        let id: u32 = id.trim().trim_end_matches(',').trim().parse().ok()?;
        Some((id, rest))
    });
    let (mut paths, mut methods) = (Vec::new(), Vec::new());
    for (id, rest) in ids {
        let rest = rest.trim_start_matches([':', ' ', '\n']);
        if let Some(text) = rest.strip_prefix('"') {
            paths.push((id, text.split('"').next().unwrap().to_owned()));
        } else if rest.starts_with("MethodRouter(") {
            let own = &rest[..rest.find("RouteId(").unwrap_or(rest.len())];
            let has = |name: &&&str| {
                let at = own.find(&format!(" {name}: ")).unwrap();
                !own[at + name.len() + 3..].starts_with("None")
            };
            methods.push((id, names.iter().filter(has).copied().collect::<Vec<_>>()));
        }
    }
    // The path behind a fallback is no route.
    paths.retain(|(_, path)| !path.contains("__private__"));
    for (id, path) in paths {
        let of_path = methods.iter().filter(|(other, _)| *other == id);
        for method in of_path.flat_map(|(_, methods)| methods) {
            routes.insert((path.clone(), *method));
        }
    }
    routes
}

/// Paths and methods of a document.
fn described_by(document: &Value) -> BTreeSet<(String, &str)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let described = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(|method| (path.clone(), method.as_str()))
    });
    described.collect()
}

#[tokio::test]
async fn every_route_is_described_and_nothing_else() {
    let (_rm, router) = everything();
    let found = routes_of(&router);
    assert!(found.len() > 60, "the router shows {} routes", found.len());
    let (status, body) = answer(&router, request("GET", "/v1/openapi.json", None)).await;
    assert_eq!(status, StatusCode::OK);
    let read: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(read, document());
    let described = described_by(&read);
    let missing: Vec<_> = found.difference(&described).collect();
    assert!(missing.is_empty(), "not described: {missing:?}");
    let unknown: Vec<_> = described.difference(&found).collect();
    assert!(unknown.is_empty(), "described and not there: {unknown:?}");
    let ids: BTreeSet<String> = OPERATIONS.iter().map(|one| one.id()).collect();
    assert_eq!(ids.len(), OPERATIONS.len(), "an id belongs to one route");
}

/// Numbers without a pattern, the same for one seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below).unwrap()).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A text that is long, odd, or near to something that is meant.
    fn text(&mut self) -> String {
        let parts = [
            "root",
            "root.dev.ads",
            "default",
            "n1:8041",
            "n1:0",
            "gpu",
            "yarn",
            "-1",
            "0",
            "1",
            "7",
            "99999999999999999999",
            "true",
            "null",
            "NaN",
            "a,b",
            "KILLED",
            "RUNNING",
            "LIFETIME",
            "*",
            "..",
            "%",
            "%00",
            "%2e%2e",
            "\u{e9}",
            "\u{1f600}",
            "<",
            "&",
            "'",
            "\"",
            "{",
            "}",
            ";",
            " ",
            "=",
            "2026-11-26T00:00:00.000+0000",
        ];
        let mut text = String::new();
        for _ in 0..=self.below(3) {
            text.push_str(self.one(&parts));
        }
        match self.below(20) {
            0 => text.repeat(200),
            1 => String::new(),
            _ => text,
        }
    }
}

const BODIES: [&str; 12] = [
    r#"{"state":"KILLED"}"#,
    r#"{"queue":"root.prod.etl"}"#,
    r#"{"priority":5}"#,
    r#"{"timeout":{"type":"LIFETIME","expiryTime":"2030-01-01T00:00:00.000+0000"}}"#,
    r#"{"nodeLabelInfo":[{"name":"x","exclusivity":true}]}"#,
    r#"{"nodeToLabels":{"entry":[{"key":"n1:8041","value":{"nodeLabelInfo":[{"name":"gpu"}]}}]}}"#,
    r#"{"update-queue":[{"queue-name":"root.dev.ads","params":{"maximum-capacity":"90"}}]}"#,
    r#"{"global-updates":{"yarn.scheduler.capacity.maximum-applications":"9999"}}"#,
    r#"{"remove-queue":"root.dev.ads"}"#,
    r#"{"add-queue":[{"queue-name":"root.dev.x","params":{"capacity":"0"}}]}"#,
    r#"{"application-id":"application_1_0001","application-name":"x","queue":"root.adhoc","unmanaged-AM":true}"#,
    "<sched-conf><global-updates><entry><key>a</key><value>1</value></entry></global-updates></sched-conf>",
];

impl Dice {
    /// A body that is right for some route, with some of its bytes changed, or something else.
    fn body(&mut self) -> Vec<u8> {
        let mut body = self.one(&BODIES).as_bytes().to_vec();
        match self.below(6) {
            0 => body.truncate(self.below(body.len())),
            1 => {
                for _ in 0..=self.below(4) {
                    let at = self.below(body.len());
                    body[at] = u8::try_from(self.below(256)).unwrap();
                }
            }
            2 => {
                let (at, piece) = (self.below(body.len()), self.text());
                body.splice(at..at, piece.bytes());
            }
            3 => body = vec![b'['; 1 + self.below(5000)],
            _ => {}
        }
        body
    }

    /// A request of a described operation.
    fn request(
        &mut self,
        path: &str,
        method: &str,
        described: &Value,
        known: &[String],
    ) -> Request<Body> {
        let mut path = path.to_owned();
        let mut query = vec![format!(
            "user.name={}",
            self.one(&["yarn", "ann", "", "a%0ab"])
        )];
        for parameter in described["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            let value = match self.below(3) {
                0 if !known.is_empty() => known[self.below(known.len())].clone(),
                _ => percent(&self.text()),
            };
            if parameter["in"] == "path" {
                path = path.replace(&format!("{{{name}}}"), &value);
            } else if self.below(3) == 0 {
                query.push(format!("{name}={value}"));
            }
        }
        let uri = format!("{path}?{}", query.join("&"));
        let kinds = ["application/json", "application/xml", "text/plain", ""];
        let mut builder = Request::builder()
            .method(method.to_ascii_uppercase().as_str())
            .header("host", HOST)
            .header(
                "accept",
                self.one(&[
                    "application/json",
                    "application/xml",
                    "*/*",
                    "x",
                    "text/html",
                ]),
            );
        if self.below(6) == 0 {
            builder = builder.header("if-match", self.one(&["1", "\"1\"", "*", "x"]));
        }
        if described.get("requestBody").is_some() {
            builder = builder.header("content-type", self.one(&kinds));
            return builder.uri(uri).body(Body::from(self.body())).unwrap();
        }
        builder.uri(uri).body(Body::empty()).unwrap()
    }
}

fn percent(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b':' | b'%' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02x}"),
    };
    let text: String = text.bytes().map(byte).collect();
    // A segment of a path is never empty.
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test]
async fn no_request_made_from_the_description_fails_the_server() {
    let (rm, router) = everything();
    let document = document();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            operations.push((path.clone(), method.clone(), described.clone()));
        }
    }
    let mut known: Vec<String> = rm.read(|books| {
        let apps = books.apps();
        apps.flat_map(|app| {
            [
                app.id.to_string(),
                format!(
                    "{}_000001",
                    app.id.to_string().replace("application", "appattempt")
                ),
            ]
        })
        .collect()
    });
    known.extend(["n1:8041", "root.dev.ads", "LIFETIME", "1"].map(str::to_owned));
    let mut dice = Dice(number("SEED", 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut fine = 0;
    for turn in 0..number("REQUESTS", 10_000) {
        let at = dice.below(operations.len());
        let (path, method, described) = &operations[at];
        let request = dice.request(path, method, described, &known);
        let shown = format!("{turn}: {} {}", request.method(), request.uri());
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        // Streams of events go on; what counts is that they begin.
        assert!(!status.is_server_error(), "{shown}: {status}");
        fine += u64::from(status.is_success());
    }
    assert!(fine > 0, "no request was answered");
    // The server answers as before.
    let (status, _) = answer(&router, request("GET", "/health/ready", None)).await;
    assert_eq!(status, StatusCode::OK);
}

/// What a route of ours answers to a parameter that it does not know.
async fn refusal(
    (router, token): (&Router, Option<&str>),
    method: &str,
    path: &str,
) -> (StatusCode, String) {
    let path = path
        .replace("{app}", "application_1_0001")
        .replace(['{', '}'], "");
    let path = format!("{path}?limitt=1&user.name=yarn");
    let (status, body) = answer(router, request(method, &path, token)).await;
    let read: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = read["message"].as_str().unwrap_or_default();
    (status, message.to_owned())
}

#[tokio::test]
async fn own_routes_refuse_parameters_that_they_do_not_know_and_name_those_they_do() {
    let (_rm, server) = everything();
    let (_router, cells, _dir) = cell_router::cell_router(RouterOptions::default());
    let of_server = OPERATIONS.iter().map(|one| ((&server, None), one));
    let yarn = Some("token-of-yarn");
    let of_router = router_operations().map(|one| ((&cells, yarn), one));
    let mut refused = BTreeSet::new();
    for (router, one) in of_server.chain(of_router) {
        if !one.path.starts_with("/v1/") {
            continue;
        }
        let verb = one.verb.as_http();
        let (status, message) = refusal(router, verb.as_str(), one.path).await;
        let start = format!("limitt: no parameter of {}", one.path);
        assert_eq!(status, StatusCode::BAD_REQUEST, "{verb} {}", one.path);
        assert!(message.starts_with(&start), "{message}");
        let known = one.query.iter().all(|name| message.contains(name));
        assert!(known, "{message}");
        refused.insert(one.path);
    }
    assert!(refused.contains("/v1/events") && refused.contains("/v1/policy"));
}

#[tokio::test]
async fn routes_of_yarn_take_no_notice_of_parameters_that_they_do_not_know() {
    let (_rm, server) = everything();
    for path in ["/ws/v1/cluster/apps", "/ws/v1/cluster/info", "/health/live"] {
        let found = refusal((&server, None), "GET", path).await;
        assert_eq!(found, (StatusCode::OK, String::new()), "{path}");
    }
}
