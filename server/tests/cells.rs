//! A router before two cells that listen: submissions, everything about an application, sums, a cell that is down, and
//! changes of the policy.

#![expect(clippy::unwrap_used, reason = "test code")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use capsched::time::SystemClock;
use capsched_server::cells::{
    Administrators, CellClient, CellRouter, Policy, PolicyChange, RouterOptions, RouterStore,
};
use capsched_server::daemon::Serving;
use capsched_server::rm::{Command, NodeRegistration, ResourceManager};
use capsched_server::security::{Access, AccessLimits, Hosts};
use capsched_server::store::EmbeddedStore;
use serde_json::{Value, json};
use support::{HOST, answer, options, request, resource_manager, router, tokens};
use tempfile::TempDir;
use tower::ServiceExt;

/// A cell that listens.
struct Cell {
    rm: Arc<ResourceManager>,
    address: SocketAddr,
    stop: Option<Box<dyn FnOnce() + Send>>,
    served: tokio::task::JoinHandle<()>,
}

impl Cell {
    /// Starts a cell at an address; port 0 lets the system choose.
    fn start(address: SocketAddr) -> Self {
        let rm = resource_manager();
        let mut options = options(tokens());
        options.listen = address;
        let serving = Serving::listen(&options).unwrap();
        let (address, stop) = (serving.address(), serving.stopper());
        let routes = router(&rm, &options);
        let served = tokio::spawn(async move { serving.run(routes).await.unwrap() });
        Self {
            rm,
            address,
            stop: Some(Box::new(stop)),
            served,
        }
    }

    /// Ends it; nothing listens at its address then.
    async fn end(mut self) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
        (&mut self.served).await.unwrap();
        // Whoever has connections to it learns of their end when this runtime next waits.
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn apps(&self) -> usize {
        self.rm.read(|books| books.apps().count())
    }
}

fn policy(cells: &[(&str, SocketAddr)], queues: &Value) -> Value {
    let cells = cells
        .iter()
        .map(|(name, address)| json!({"name": name, "addresses": [format!("http://{address}")]}));
    json!({"cells": cells.collect::<Vec<_>>(), "queues": queues})
}

/// A router over an own store.
struct Front {
    router: CellRouter,
    routes: Router,
    _dir: TempDir,
}

/// An answer, read.
#[derive(Debug)]
struct Read {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Read {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.text))
    }
}

impl Front {
    fn start(options: RouterOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
        let led =
            RouterStore::lead(Arc::new(store), "router", Duration::from_secs(60), 100).unwrap();
        let router = CellRouter::new(led, CellClient::new(None).unwrap(), options);
        let access = Access::new(
            Arc::new(Administrators::of(["yarn".to_owned()])),
            tokens(),
            true,
            Hosts::default(),
            AccessLimits::default(),
        );
        let routes = router.router(Arc::new(access), &router.health());
        Self {
            router,
            routes,
            _dir: dir,
        }
    }

    async fn with(cells: &[(&str, SocketAddr)], queues: Value) -> Self {
        let front = Self::start(RouterOptions::default());
        let text = policy(cells, &queues).to_string();
        let policy = Policy::read(text.as_bytes()).unwrap();
        let made = front.router.change_policy(None, policy).await;
        assert!(
            matches!(made, PolicyChange::Made { version: 1, .. }),
            "{made:?}"
        );
        front
    }

    async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: String) -> Read {
        let mut builder = Request::builder()
            .method(method)
            .uri(path)
            .header("host", HOST);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let response = self
            .routes
            .clone()
            .oneshot(builder.body(Body::from(body)).unwrap())
            .await
            .unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 64 << 20).await.unwrap();
        Read {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    async fn get(&self, path: &str) -> Read {
        self.call("GET", path, &[], String::new()).await
    }

    async fn ready(&self) -> StatusCode {
        let (status, _) = answer(&self.routes, request("GET", "/health/ready", None)).await;
        status
    }

    async fn new_id(&self) -> String {
        let answer = self
            .call(
                "POST",
                "/ws/v1/cluster/apps/new-application",
                &[ANN],
                String::new(),
            )
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let found = answer.json();
        assert!(found["maximum-resource-capability"].is_object(), "{found}");
        found["application-id"].as_str().unwrap().to_owned()
    }

    async fn submit(&self, id: &str, queue: &str) -> Read {
        let body = json!({"application-id": id, "queue": queue, "unmanaged-AM": true, "application-name": "x"});
        self.call(
            "POST",
            "/ws/v1/cluster/apps",
            &[ANN, JSON],
            body.to_string(),
        )
        .await
    }

    async fn submitted(&self, queue: &str) -> String {
        let id = self.new_id().await;
        let answer = self.submit(&id, queue).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
        let place = answer.headers[header::LOCATION].to_str().unwrap();
        assert_eq!(place, format!("/ws/v1/cluster/apps/{id}"));
        id
    }
}

const ANN: (&str, &str) = ("authorization", "Bearer token-of-ann");
const YARN: (&str, &str) = ("authorization", "Bearer token-of-yarn");
const JSON: (&str, &str) = ("content-type", "application/json");
const XML: (&str, &str) = ("accept", "application/xml");

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn two_homes() -> Value {
    json!([
        {"queue": "root.prod", "home": "east", "fall_back": ["west"]},
        {"queue": "root.adhoc", "home": "west"},
    ])
}

fn add_node(cell: &Cell, name: &str, memory: i64) {
    let registration = NodeRegistration {
        node: name.to_owned(),
        rack: "/r".to_owned(),
        resource: vec![memory, 8],
        http_port: 8042,
        version: "test".to_owned(),
        labels: None,
    };
    cell.rm
        .execute("yarn", Command::RegisterNode(registration))
        .unwrap();
}

#[tokio::test]
async fn submissions_go_to_the_cell_of_their_queue_and_requests_follow_them() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    let cells = [("east", east.address), ("west", west.address)];
    let front = Front::with(&cells, two_homes()).await;
    let serving = front.submitted("root.prod.serving").await;
    let etl = front.submitted("etl").await;
    let adhoc = front.submitted("root.adhoc").await;
    assert_eq!((east.apps(), west.apps()), (2, 1));
    for (id, queue) in [(&serving, "serving"), (&etl, "etl"), (&adhoc, "adhoc")] {
        let app = front.get(&format!("/ws/v1/cluster/apps/{id}")).await.json();
        let found = app["app"]["queue"].as_str().unwrap();
        assert!(found.ends_with(queue), "{app}");
    }
    // A repeated submission is the first one, wherever the policy would send it.
    let again = front.submit(&adhoc, "root.prod.serving").await;
    assert_eq!(again.status, StatusCode::ACCEPTED, "{}", again.text);
    assert_eq!((east.apps(), west.apps()), (2, 1));
    let path = format!("/ws/v1/cluster/apps/{adhoc}/state");
    let killed = front
        .call(
            "PUT",
            &path,
            &[YARN, JSON],
            json!({"state": "KILLED"}).to_string(),
        )
        .await;
    assert!(killed.status.is_success(), "{}", killed.text);
    assert_eq!(front.get(&path).await.json(), json!({"state": "KILLED"}));
    east.end().await;
    west.end().await;
}

#[tokio::test]
async fn lists_are_joined_and_metrics_are_added() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    add_node(&east, "n1:1", 4096);
    add_node(&west, "n2:1", 8192);
    let cells = [("east", east.address), ("west", west.address)];
    let front = Front::with(&cells, two_homes()).await;
    assert_eq!(
        front.get("/ws/v1/cluster/apps").await.json(),
        json!({"apps": null})
    );
    let mut ids = Vec::new();
    for queue in ["root.prod.etl", "root.prod.etl", "root.adhoc"] {
        ids.push(front.submitted(queue).await);
    }
    ids.sort();
    let listed = front.get("/ws/v1/cluster/apps").await.json();
    let mut found: Vec<&str> = listed["apps"]["app"]
        .as_array()
        .unwrap()
        .iter()
        .map(|app| app["id"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!(found, ids);
    let two = front.get("/ws/v1/cluster/apps?limit=2").await.json();
    assert_eq!(two["apps"]["app"].as_array().unwrap().len(), 2);
    let metrics = front.get("/ws/v1/cluster/metrics").await.json();
    let metrics = &metrics["clusterMetrics"];
    assert_eq!(
        (
            &metrics["totalMB"],
            &metrics["activeNodes"],
            &metrics["appsSubmitted"]
        ),
        (&json!(12288), &json!(2), &json!(3))
    );
    let xml = front
        .call("GET", "/ws/v1/cluster/metrics", &[XML], String::new())
        .await;
    assert!(
        xml.text.contains("<totalMB>12288</totalMB>"),
        "{}",
        xml.text
    );
    let nodes = front.get("/ws/v1/cluster/nodes").await.json();
    assert_eq!(nodes["nodes"]["node"].as_array().unwrap().len(), 2);
    let one = front.get("/ws/v1/cluster/nodes/n2:1").await.json();
    assert_eq!(one["node"]["id"], json!("n2:1"));
    let none = front.get("/ws/v1/cluster/nodes/n3:1").await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let wrong = front.get("/ws/v1/cluster/apps?states=WRONG").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{}", wrong.text);
    east.end().await;
    west.end().await;
}

#[tokio::test]
async fn while_a_cell_is_down_submissions_fall_back_and_other_requests_name_it() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    let cells = [("east", east.address), ("west", west.address)];
    let front = Front::with(&cells, two_homes()).await;
    let before = front.submitted("root.prod.etl").await;
    let address = east.address;
    east.end().await;
    // The router finds out by the call itself, without a question about the health.
    let after = front.submitted("root.prod.etl").await;
    assert_eq!(west.apps(), 1);
    let app = front.get(&format!("/ws/v1/cluster/apps/{after}")).await;
    assert_eq!(app.status, StatusCode::OK, "{}", app.text);
    for path in [
        format!("/ws/v1/cluster/apps/{before}"),
        "/ws/v1/cluster/apps".to_owned(),
        "/ws/v1/cluster/metrics".to_owned(),
    ] {
        let answer = front.get(&path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(
            answer.text.contains("the cell east cannot be reached"),
            "{}",
            answer.text
        );
        assert!(answer.headers.contains_key(header::RETRY_AFTER), "{path}");
    }
    // What the cell may have goes to no other one.
    let again = front.submit(&before, "root.prod.etl").await;
    assert_eq!(again.status, StatusCode::GATEWAY_TIMEOUT, "{}", again.text);
    assert_eq!(west.apps(), 1);
    let shown = front.get("/v1/cells").await.json();
    assert_eq!(
        (&shown["cells"][0]["up"], &shown["cells"][1]["up"]),
        (&json!(false), &json!(true)),
        "{shown}"
    );
    assert_eq!(front.ready().await, StatusCode::OK);
    // Another server takes over the address; it is asked and is up again.
    let east = Cell::start(address);
    front.router.look().await;
    front.submitted("root.prod.etl").await;
    assert_eq!((east.apps(), west.apps()), (1, 1));
    east.end().await;
    west.end().await;
    front.router.look().await;
    let none = front
        .submit(
            &front.router.store().home_count().to_string(),
            "root.prod.etl",
        )
        .await;
    assert_eq!(none.status, StatusCode::BAD_REQUEST, "no application id");
    let refused = front.submit("application_5_0001", "root.prod.etl").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text.contains("east, west"), "{}", refused.text);
    assert_eq!(front.ready().await, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn partial_answers_name_the_cells_that_they_lack() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    add_node(&west, "n2:1", 8192);
    let front = Front::start(RouterOptions {
        partial: true,
        ..RouterOptions::default()
    });
    let text = policy(
        &[("east", east.address), ("west", west.address)],
        &two_homes(),
    );
    let first = Policy::read(text.to_string().as_bytes()).unwrap();
    assert!(matches!(
        front.router.change_policy(None, first).await,
        PolicyChange::Made { .. }
    ));
    east.end().await;
    let metrics = front.get("/ws/v1/cluster/metrics").await;
    assert_eq!(metrics.json()["clusterMetrics"]["totalMB"], json!(8192));
    assert_eq!(metrics.headers["x-capsched-missing-cells"], "east");
    west.end().await;
    let none = front.get("/ws/v1/cluster/metrics").await;
    assert_eq!(none.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn an_administrator_changes_the_policy_of_a_version_while_the_router_runs() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    let cells = [("east", east.address), ("west", west.address)];
    let front = Front::start(RouterOptions::default());
    let none = front.get("/v1/policy").await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let refused = front.submit("application_5_0001", "root.adhoc").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text.contains("has no policy"), "{}", refused.text);
    let text = policy(&cells, &two_homes()).to_string();
    let put = |who, condition: (&'static str, &'static str), text: &str| {
        let (front, text) = (&front, text.to_owned());
        async move {
            front
                .call("PUT", "/v1/policy", &[who, condition], text)
                .await
        }
    };
    let first = ("if-none-match", "*");
    assert_eq!(
        put(("x-none", ""), first, &text).await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(put(ANN, first, &text).await.status, StatusCode::FORBIDDEN);
    let bare = front.call("PUT", "/v1/policy", &[YARN], text.clone()).await;
    assert_eq!(bare.status, StatusCode::PRECONDITION_REQUIRED);
    let made = put(YARN, first, &text).await;
    assert_eq!(
        made.json(),
        json!({"version": 1, "applicationsWithoutCell": 0})
    );
    front.submitted("root.adhoc").await;
    assert_eq!((east.apps(), west.apps()), (0, 1));
    let moved = json!([{"queue": "root.adhoc", "home": "east"}]);
    let moved = policy(&cells[..1], &moved).to_string();
    assert_eq!(
        put(YARN, first, &moved).await.status,
        StatusCode::PRECONDITION_FAILED
    );
    let other = put(YARN, ("if-match", "\"4\""), &moved).await;
    assert_eq!(other.status, StatusCode::PRECONDITION_FAILED);
    assert!(other.text.contains("version 1"), "{}", other.text);
    let broken = put(YARN, ("if-match", "\"1\""), "{\"cells\": []}").await;
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    let wrong = put(YARN, ("if-match", "x"), &moved).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    let made = put(YARN, ("if-match", "\"1\""), &moved).await;
    assert_eq!(
        made.json(),
        json!({"version": 2, "applicationsWithoutCell": 1})
    );
    assert_eq!(made.headers[header::ETAG], "\"2\"");
    front.submitted("root.adhoc").await;
    assert_eq!((east.apps(), west.apps()), (1, 1));
    let shown = front.get("/v1/policy").await;
    assert_eq!(shown.headers[header::ETAG], "\"2\"");
    assert_eq!(shown.json()["policy"]["queues"][0]["home"], json!("east"));
    let gone = front.submit(&front.new_id().await, "root.prod.etl").await;
    assert_eq!(gone.status, StatusCode::BAD_REQUEST);
    assert!(
        gone.text.contains("no cell has the queue `root.prod.etl`")
            && gone.text.contains("root.adhoc"),
        "{}",
        gone.text
    );
    let figures = front.get("/metrics").await;
    for expected in [
        "capsched_router_policy_version 2",
        "capsched_router_cell_up{cell=\"east\"} 1",
    ] {
        assert!(figures.text.contains(expected), "{}", figures.text);
    }
    east.end().await;
    west.end().await;
}

#[tokio::test]
async fn an_application_that_the_router_does_not_know_is_found_in_its_cell() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    let cells = [("east", east.address), ("west", west.address)];
    let direct = Front::with(
        &[("west", west.address)],
        json!([{"queue": "root", "home": "west"}]),
    )
    .await;
    let id = direct.submitted("root.adhoc").await;
    let front = Front::with(&cells, two_homes()).await;
    let app = front.get(&format!("/ws/v1/cluster/apps/{id}")).await;
    assert_eq!(app.json()["app"]["id"], json!(id));
    let path = format!("/ws/v1/cluster/apps/{id}/state");
    let killed = front
        .call(
            "PUT",
            &path,
            &[YARN, JSON],
            json!({"state": "KILLED"}).to_string(),
        )
        .await;
    assert!(killed.status.is_success(), "{}", killed.text);
    for (path, status) in [
        (
            "/ws/v1/cluster/apps/application_5_0001",
            StatusCode::NOT_FOUND,
        ),
        ("/ws/v1/cluster/apps/x", StatusCode::BAD_REQUEST),
        ("/ws/v1/cluster/scheduler", StatusCode::NOT_FOUND),
    ] {
        let answer = front.get(path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
    }
    for (body, kind) in [
        ("{", JSON),
        ("{}", JSON),
        ("x", ("content-type", "text/plain")),
    ] {
        let answer = front
            .call("POST", "/ws/v1/cluster/apps", &[ANN, kind], body.to_owned())
            .await;
        assert!(answer.status.is_client_error(), "{body}: {}", answer.status);
    }
    let unsigned = front
        .call("POST", "/ws/v1/cluster/apps", &[JSON], "{}".to_owned())
        .await;
    assert_eq!(unsigned.status, StatusCode::UNAUTHORIZED);
    east.end().await;
    // It may be in the cell that is gone.
    let lost = front.get("/ws/v1/cluster/apps/application_5_0001").await;
    assert_eq!(
        lost.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "{}",
        lost.text
    );
    west.end().await;
}
