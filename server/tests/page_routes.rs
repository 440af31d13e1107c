//! What the page asks for: pages of applications, reasons, nodes, latencies, events, metrics and health.

#![expect(clippy::unwrap_used, reason = "test code")]

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use capsched::api::{Ask, AskCall, NodeReport, ResourceVector};
use capsched_server::rm::{Answer, Command, NodeRegistration, ResourceManager, Submission};
use serde_json::Value;
use support::{answer, options, request, resource_manager, router, tokens};
use tokio_stream::StreamExt;

/// The JSON of an answer that must be fine.
async fn json(router: &Router, path: &str) -> Value {
    let (status, body) = answer(router, request("GET", path, None)).await;
    let text = String::from_utf8_lossy(&body);
    assert_eq!(status, StatusCode::OK, "{path}: {text}");
    serde_json::from_slice(&body).unwrap()
}

/// The bean of a name.
async fn bean(router: &Router, name: &str) -> Value {
    let name = format!("Hadoop:service=ResourceManager,name={name}");
    let found = json(router, &format!("/jmx?qry={name}")).await;
    let beans = found["beans"].as_array().unwrap();
    assert_eq!(beans.len(), 1, "{name}: {found}");
    beans[0].clone()
}

#[tokio::test]
async fn beans_say_what_the_daemon_is_and_what_its_cluster_has() {
    let rm = resource_manager();
    let router = router(&rm, &options(tokens()));
    add_node(&rm, "n1:1");
    let info = bean(&router, "RMInfo").await;
    assert_eq!(
        (&info["State"], &info["HostAndPort"]),
        (&"active".into(), &support::HOST.into())
    );
    assert_eq!(bean(&router, "ClusterMetrics").await["NumActiveNMs"], 1);
    assert_eq!(
        bean(&router, "QueueMetrics,q0=root").await["AvailableMB"],
        8192
    );
}

const LEAVES: [&str; 3] = ["root.prod.etl", "root.dev.ads", "root.adhoc"];

fn submit(rm: &ResourceManager, user: &str, queue: &str) -> String {
    let Ok(Answer::Application(application)) = rm.execute(user, Command::NewApplication) else {
        panic!("no id");
    };
    let submission = Submission {
        application: application.clone(),
        name: format!("Job of {user}"),
        queue: queue.to_owned(),
        unmanaged: true,
        ..Submission::default()
    };
    rm.execute(user, Command::Submit(Box::new(submission)))
        .unwrap();
    application
}

fn add_node(rm: &ResourceManager, node: &str) {
    let registration = NodeRegistration {
        node: node.to_owned(),
        rack: "/r".to_owned(),
        resource: vec![8192, 8],
        http_port: 8042,
        version: "test".to_owned(),
        labels: None,
    };
    rm.execute("yarn", Command::RegisterNode(registration))
        .unwrap();
}

fn ask(rm: &ResourceManager, app: &str, size: [i64; 2], count: i32) {
    let ask = Ask::anywhere(ResourceVector::of(&size), count);
    rm.ask(app.parse().unwrap(), AskCall::asking(vec![ask]), 0.0)
        .unwrap();
}

#[tokio::test]
async fn pages_show_every_application_once_in_every_order() {
    let rm = resource_manager();
    for number in 0..130 {
        let user = ["ann", "bob"][number % 2];
        let app = submit(&rm, user, LEAVES[number % 3]);
        ask(&rm, &app, [1024, 1], i32::try_from(number % 7).unwrap() + 1);
    }
    let router = router(&rm, &options(tokens()));
    for sort in ["id", "age", "containers", "pending"] {
        for descending in [false, true] {
            let (mut seen, mut after) = (Vec::new(), String::new());
            loop {
                let path =
                    format!("/v1/apps?limit=40&sort={sort}&descending={descending}&after={after}");
                let path = path.trim_end_matches("&after=");
                let page = json(&router, path).await;
                assert_eq!(
                    (&page["total"], &page["matched"]),
                    (&130.into(), &130.into())
                );
                let rows = page["apps"].as_array().unwrap();
                seen.extend(
                    rows.iter()
                        .map(|row| row["id"].as_str().unwrap().to_owned()),
                );
                match page["next"].as_str() {
                    Some(next) => after = next.to_owned(),
                    None => break,
                }
            }
            let once: BTreeSet<&String> = seen.iter().collect();
            assert_eq!((seen.len(), once.len()), (130, 130), "{sort} {descending}");
        }
    }
    let below = json(&router, "/v1/apps?queue=root.dev&limit=1000").await;
    let of_queue = |row: &Value| row["queue"] == "root.dev.ads";
    assert!(below["apps"].as_array().unwrap().iter().all(of_queue));
    assert_eq!(below["matched"], 43);
    let of_bob = json(&router, "/v1/apps?q=JOB%20OF%20BOB&limit=2").await;
    assert_eq!(
        (&of_bob["matched"], of_bob["apps"].as_array().unwrap().len()),
        (&65.into(), 2)
    );
    assert_eq!(json(&router, "/v1/apps?queue=root.d").await["matched"], 0);
}

#[tokio::test]
async fn values_that_are_none_are_refused_with_their_parameter() {
    let router = router(&resource_manager(), &options(tokens()));
    let long = format!("/v1/apps?q={}", "a".repeat(4097));
    for path in [
        "/v1/apps?sort=size",
        "/v1/apps?limit=x",
        "/v1/apps?after=7",
        "/v1/apps/garbage/why",
        "/v1/events?from=x",
        &long,
    ] {
        let (status, _) = answer(&router, request("GET", path, None)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
    }
    let unknown = "/v1/apps/application_1_0001/why";
    let (status, body) = answer(&router, request("GET", unknown, None)).await;
    assert_eq!(
        status,
        StatusCode::NOT_FOUND,
        "{}",
        String::from_utf8_lossy(&body)
    );
}

/// A node that is full, and an application that waits for more.
fn full_node() -> (Arc<ResourceManager>, String) {
    let rm = resource_manager();
    add_node(&rm, "n1:8041");
    let app = submit(&rm, "ann", "root.prod.etl");
    ask(&rm, &app, [4096, 1], 5);
    for _ in 0..4 {
        rm.heartbeat(&"n1:8041".parse().unwrap(), NodeReport::AsExpected)
            .unwrap();
    }
    (rm, app)
}

#[tokio::test]
async fn what_waits_has_its_reason_everywhere() {
    let (rm, app) = full_node();
    let router = router(&rm, &options(tokens()));
    let why = json(&router, &format!("/v1/apps/{app}/why")).await;
    let reason = why["keys"][0]["findings"][0]["reason"].as_str().unwrap();
    assert!(why["containers"].as_u64().unwrap() > 0, "{why}");
    let list = json(&router, "/v1/apps").await;
    assert_eq!(list["apps"][0]["reason"], reason);
    assert_eq!(list["apps"][0]["pendingContainers"], why["containers"]);
    let latency = json(&router, "/v1/latency").await;
    let sum = &latency["pending"][0];
    assert_eq!(
        (&sum["queue"], &sum["reason"]),
        (&"root.prod.etl".into(), &reason.into())
    );
    assert_eq!(sum["containers"], why["containers"]);
    let nodes = json(&router, "/v1/nodes").await;
    assert_eq!(nodes["id"], serde_json::json!(["n1:8041"]));
    assert_eq!(nodes["total"][0], serde_json::json!([8192, 8]));
    assert_eq!(nodes["allocated"][0][0], list["apps"][0]["allocatedMB"]);
}

#[tokio::test]
async fn a_node_is_named_by_its_host_where_only_one_has_it() {
    let (rm, app) = full_node();
    add_node(&rm, "n2:1");
    add_node(&rm, "n2:2");
    let router = router(&rm, &options(tokens()));
    let full = json(&router, &format!("/v1/apps/{app}/why-not/n1")).await;
    assert_eq!(full["node"], "n1:8041");
    let key = &full["keys"][0];
    assert_eq!(
        (&key["containers"], &key["fits"]),
        (&3.into(), &false.into())
    );
    let checks = key["checks"].as_array().unwrap().iter();
    let failed: Vec<_> = checks.filter(|one| one["holds"] == false).collect();
    assert_eq!((failed.len(), &failed[0]["what"]), (1, &"room".into()));
    let empty = json(&router, &format!("/v1/apps/{app}/why-not/n2:2")).await;
    assert_eq!(empty["keys"][0]["fits"], true, "{empty}");
    for (node, status, part) in [
        (
            "n2",
            StatusCode::BAD_REQUEST,
            "2 nodes have this host; name the port: n2:1, n2:2",
        ),
        ("n3", StatusCode::NOT_FOUND, "no node n3"),
        ("n2:3", StatusCode::NOT_FOUND, "no node n2:3"),
    ] {
        let path = format!("/v1/apps/{app}/why-not/{node}");
        let (found, body) = answer(&router, request("GET", &path, None)).await;
        let text = String::from_utf8_lossy(&body);
        assert!(
            found == status && text.contains(part),
            "{node}: {found} {text}"
        );
    }
    let unknown = "/v1/apps/application_1_0001/why-not/n1";
    let (status, _) = answer(&router, request("GET", unknown, None)).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn metrics_are_open_metrics_in_base_units() {
    let (rm, _) = full_node();
    let router = router(&rm, &options(tokens()));
    let (status, body) = answer(&router, request("GET", "/metrics", None)).await;
    assert_eq!(status, StatusCode::OK);
    let text = String::from_utf8(body).unwrap();
    assert!(text.ends_with("# EOF\n"));
    let memory =
        "capsched_queue_memory_bytes{queue=\"root.prod.etl\",partition=\"\",kind=\"used\"}";
    let line = text.lines().find(|line| line.starts_with(memory)).unwrap();
    let bytes: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(bytes >= 4096 << 20, "{line}");
    for start in [
        "capsched_pending_containers{queue=\"root.prod.etl\",tier=",
        "capsched_nodes{state=\"RUNNING\"} 1",
        "capsched_applications{state=\"ACCEPTED\"} 1",
        "capsched_events_total{kind=\"allocated\"}",
        "capsched_conflicts_total{cause=",
        "capsched_publication_lag_decisions ",
        "capsched_events_waiting ",
        "capsched_start_time_seconds ",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(start)),
            "{start}\n{text}"
        );
    }
    // A family stands in one place: its samples follow its type.
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names: Vec<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let once: BTreeSet<&&str> = names.iter().collect();
    assert_eq!(names.len(), once.len());
}

#[tokio::test]
async fn health_names_the_part_that_is_down() {
    let rm = resource_manager();
    let daemon = capsched_server::daemon::Daemon::new(Arc::clone(&rm), &options(tokens()));
    let router = daemon.router();
    assert_eq!(json(&router, "/health/ready").await["status"], "up");
    daemon.health().stop();
    let (status, body) = answer(&router, request("GET", "/health/ready", None)).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(String::from_utf8_lossy(&body).contains("it stops"));
    assert_eq!(json(&router, "/health/live").await["status"], "up");
}

#[tokio::test]
async fn events_go_on_from_an_id() {
    let (rm, app) = full_node();
    let router = router(&rm, &options(tokens()));
    let last = rm.read(|books| books.events().last_id());
    let later = submit(&rm, "bob", "root.adhoc");
    let path = format!("/v1/events?from={last}");
    let response = tower::ServiceExt::oneshot(router, request("GET", &path, None))
        .await
        .unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut frames = response.into_body().into_data_stream();
    let mut text = String::new();
    while !text.contains(&later) {
        let frame = frames.next().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&frame).unwrap());
    }
    assert!(!text.contains(&app), "{text}");
    assert!(text.contains(&format!("id: {}", last + 1)), "{text}");
}
