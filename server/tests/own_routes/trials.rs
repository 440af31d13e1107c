//! Changes of the configuration before they are made, and the state at one moment.

use std::sync::Arc;

use crate::support::{self, HOST, answer, options, request, resource_manager, tokens};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use capsched::api::{Ask, AskCall, NodeReport, ResourceVector};
use capsched_server::daemon::Daemon;
use capsched_server::demo;
use capsched_server::rm::{Answer, Command, NodeRegistration, ResourceManager, Submission};
use serde_json::{Value, json};

/// A server with one node and an application that waits for more than its queue may have.
pub(crate) fn server() -> (Arc<ResourceManager>, Router) {
    let rm = resource_manager();
    let registration = NodeRegistration {
        node: "n1:8041".to_owned(),
        rack: "/r".to_owned(),
        resource: vec![102_400, 100],
        http_port: 8042,
        version: "test".to_owned(),
        labels: None,
    };
    rm.execute("yarn", Command::RegisterNode(registration))
        .unwrap();
    let Answer::Application(application) = rm.execute("ann", Command::NewApplication).unwrap()
    else {
        panic!("an id was asked for");
    };
    let submission = Submission {
        application: application.clone(),
        queue: "root.adhoc".to_owned(),
        unmanaged: true,
        ..Submission::default()
    };
    rm.execute("ann", Command::Submit(Box::new(submission)))
        .unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 200);
    let id = application.parse().unwrap();
    rm.ask(id, AskCall::asking(vec![ask]), 0.0).unwrap();
    let conf = demo::configuration(&rm).unwrap();
    let daemon = Daemon::new(Arc::clone(&rm), &options(tokens())).with_conf(Arc::new(conf));
    (rm, daemon.router())
}

async fn post(router: &Router, path: &str, body: &str) -> (StatusCode, Value) {
    let request = Request::builder()
        .method("POST")
        .uri(path)
        .header("host", HOST)
        .header("authorization", "Bearer token-of-yarn")
        .body(Body::from(body.to_owned()))
        .unwrap();
    let (status, body) = answer(router, request).await;
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

/// The capacity of `root.adhoc` and how much of the cluster it may grow to, in percent.
#[expect(clippy::float_arithmetic, reason = "shares are shown in percent")]
fn limits(rm: &ResourceManager) -> (f32, f32) {
    let queue = rm.engine().queue("root.adhoc").unwrap().unwrap();
    let part = &queue.labels[""];
    (part.cap.0 * 100.0, part.max_cap.0 * 100.0)
}

fn change(maximum: u32) -> String {
    let params = json!({"maximum-capacity": maximum.to_string()});
    json!({"update-queue": [{"queue-name": "root.adhoc", "params": params}]}).to_string()
}

#[tokio::test]
async fn a_plan_names_what_would_alter_and_changes_nothing() {
    let (rm, router) = server();
    let before = limits(&rm);
    let (status, plan) = post(&router, "/v1/plan", &change(100)).await;
    assert_eq!(status, StatusCode::OK, "{plan}");
    assert_eq!(plan["accepted"], true);
    let key = "yarn.scheduler.capacity.root.adhoc.maximum-capacity";
    assert_eq!(plan["updates"][key], "100");
    let queues = plan["queues"].as_array().unwrap();
    let adhoc = queues.iter().find(|one| one["queue"] == "root.adhoc");
    let adhoc = adhoc.expect("its limit differs");
    assert_eq!(adhoc["after"]["maximum"], json!([102_400, 100]));
    assert_eq!(adhoc["before"]["guaranteed"], adhoc["after"]["guaranteed"]);
    assert_eq!(limits(&rm), before);
    let (status, nothing) = post(&router, "/v1/plan", r#"{"global-updates": {}}"#).await;
    assert_eq!((status, &nothing["queues"]), (StatusCode::OK, &json!([])));
}

/// The user gets one container past the limit of 10,240 MiB: 11 of 1,024 MiB. 5 % of the node are 5,120 MiB.
#[tokio::test]
async fn a_plan_names_the_applications_that_come_above_a_limit_by_it() {
    let (rm, router) = server();
    let node = "n1:8041".parse().unwrap();
    for _ in 0..12 {
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    let running = rm.engine().node(&node).unwrap().unwrap().containers;
    assert_eq!(running, 11);
    let (_, same) = post(&router, "/v1/plan", &change(100)).await;
    assert_eq!(same["running"], json!([]), "{same}");
    let changes = [
        ("root.adhoc", "capacity", "5"),
        ("root.adhoc", "maximum-capacity", "5"),
        ("root.prod", "capacity", "55"),
    ];
    let updates =
        changes.map(|(queue, name, value)| json!({"queue-name": queue, "params": {name: value}}));
    let body = json!({"update-queue": updates}).to_string();
    let (status, plan) = post(&router, "/v1/plan", &body).await;
    assert_eq!(
        (status, &plan["accepted"]),
        (StatusCode::OK, &json!(true)),
        "{plan}"
    );
    let rows = plan["running"].as_array().unwrap();
    let above = rows.iter().find(|row| row["effect"] == "ABOVE_MAXIMUM");
    let above = above.unwrap_or_else(|| panic!("{plan}"));
    assert_eq!(
        (&above["queue"], &above["partition"]),
        (&json!("root.adhoc"), &json!(""))
    );
    assert_eq!(above["limit"]["used"]["memory-mb"], 11 * 1024);
    assert_eq!(
        above["limit"]["after"],
        json!({"memory-mb": 5120, "vcores": 5})
    );
    let applications = above["applications"].as_array().unwrap();
    assert_eq!(applications.len(), 1);
    let id = applications[0].as_str().unwrap();
    assert!(
        rm.engine().app(id.parse().unwrap()).unwrap().is_some(),
        "{id}"
    );
}

#[tokio::test]
async fn what_the_scheduler_would_refuse_is_said_with_the_reason() {
    let (rm, router) = server();
    let before = limits(&rm);
    for path in ["/v1/plan", "/v1/whatif"] {
        let params = json!({"capacity": "95"});
        let body = json!({"update-queue": [{"queue-name": "root.adhoc", "params": params}]});
        let (status, refused) = post(&router, path, &body.to_string()).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(refused["accepted"], false, "{refused}");
        assert!(!refused["message"].as_str().unwrap().is_empty());
        assert!(refused.get("queues").is_none());
        let body = r#"{"remove-queue": "root.nowhere"}"#;
        let (status, wrong) = post(&router, path, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
        for body in ["", "[1]", "{\"update-queue\": 7}", "nonsense"] {
            let (status, wrong) = post(&router, path, body).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {wrong}");
            assert!(wrong["message"].as_str().unwrap().starts_with("body"));
        }
    }
    assert_eq!(limits(&rm), before);
}

#[tokio::test]
async fn what_if_says_what_would_be_placed_with_a_change_and_without() {
    let (rm, router) = server();
    let (status, found) = post(&router, "/v1/whatif", &change(100)).await;
    assert_eq!(status, StatusCode::OK, "{found}");
    let placed = |name: &str| found["placed"][name].as_u64().unwrap();
    assert!(
        placed("changed") >= placed("as_it_is") && placed("as_it_is") > 0,
        "{found}"
    );
    let queues = found["queues"].as_array().unwrap();
    let adhoc = queues
        .iter()
        .find(|one| one["queue"] == "root.adhoc")
        .unwrap();
    let used = adhoc["as_it_is"][""][0].as_u64().unwrap();
    assert_eq!(used, placed("as_it_is") * 1024);
    // What was played concerned nobody: the heartbeats that come place as many as the copy did.
    let node = "n1:8041".parse().unwrap();
    assert_eq!(rm.engine().node(&node).unwrap().unwrap().containers, 0);
    for _ in 0..300 {
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    let placed_now = rm.engine().node(&node).unwrap().unwrap().containers;
    assert_eq!(u64::from(placed_now), placed("as_it_is"));
}

#[tokio::test]
async fn a_snapshot_has_queues_nodes_and_applications_of_one_moment() {
    let (rm, router) = server();
    let (status, body) = answer(&router, request("GET", "/v1/snapshot", None)).await;
    assert_eq!(status, StatusCode::OK);
    let found: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(found["state"], json!(rm.engine().state().unwrap()));
    assert_eq!(found["resource_types"], json!(["memory-mb", "vcores"]));
    assert_eq!(found["configuration_version"], 1);
    assert_eq!(found["state"]["nodes"][0]["node"], "n1:8041");
}

#[tokio::test]
async fn plain_files_have_no_trials() {
    let rm = resource_manager();
    let router = support::router(&rm, &options(tokens()));
    let (status, _) = post(&router, "/v1/plan", &change(100)).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}
