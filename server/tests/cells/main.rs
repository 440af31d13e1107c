//! A router before two cells that listen: submissions, everything about an application, sums, a cell that is down, and
//! changes of the policy.

#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "../support/cell_router.rs"]
mod cell_router;
mod front;
#[path = "../support/mod.rs"]
mod support;

use axum::http::{StatusCode, header};
use capsched::api::Reference;
use capsched_server::cells::{Policy, PolicyChange, RouterOptions};
use front::{ANN, Cell, Front, JSON, Read, XML, YARN, add_node, anywhere, policy, two_homes};
use serde_json::{Value, json};

#[tokio::test]
async fn submissions_go_to_the_cell_of_their_queue_and_requests_follow_them() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    let cells = [("east", east.address), ("west", west.address)];
    let front = Front::with(&cells, two_homes()).await;
    let serving = front.submitted("root.prod.serving").await;
    let etl = front.submitted("root.prod.etl").await;
    let adhoc = front.submitted("adhoc").await;
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
    let path = front.kill(&adhoc).await;
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
        json!({"apps": {}})
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
async fn a_router_writes_what_is_its_own_in_the_form_of_its_release() {
    for (reference, empty, xml) in [
        (
            Reference::Hadoop34,
            Value::Null,
            "application/xml; charset=utf-8",
        ),
        (
            Reference::Hadoop35,
            json!({}),
            "application/xml;charset=utf-8",
        ),
    ] {
        let options = RouterOptions {
            reference,
            ..RouterOptions::default()
        };
        let cell = Cell::of(reference, anywhere());
        let front = Front::start(options);
        let queues = json!([{"queue": "root", "home": "east"}]);
        let text = policy(&[("east", cell.address)], &queues).to_string();
        let first = Policy::read(text.as_bytes()).unwrap();
        let made = front.router.change_policy(None, first).await;
        assert!(matches!(made, PolicyChange::Made { .. }), "{made:?}");
        for (path, name) in [("apps", "apps"), ("nodes", "nodes")] {
            let path = format!("/ws/v1/cluster/{path}");
            let found = front.get(&path).await;
            assert_eq!(found.json(), json!({ name: empty }), "{reference} {path}");
            let headers = [("accept", "application/xml")];
            let found = front.call("GET", &path, &headers, String::new()).await;
            assert_eq!(found.headers["content-type"], xml, "{reference} {path}");
        }
        cell.end().await;
    }
}

/// Sets the policy of a router, on a condition.
async fn put_policy(
    front: &Front,
    who: (&'static str, &'static str),
    condition: (&'static str, &'static str),
    text: &str,
) -> Read {
    let headers = [who, condition];
    front
        .call("PUT", "/v1/policy", &headers, text.to_owned())
        .await
}

#[tokio::test]
async fn only_an_administrator_sets_the_first_policy_and_on_a_condition() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    let cells = [("east", east.address), ("west", west.address)];
    let front = Front::start(RouterOptions::default());
    let none = front.get("/v1/policy").await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let refused = front.submit("application_5_0001", "root.adhoc").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text.contains("has no policy"), "{}", refused.text);
    let text = policy(&cells, &two_homes()).to_string();
    let first = ("if-none-match", "*");
    let nobody = put_policy(&front, ("x-none", ""), first, &text).await;
    assert_eq!(nobody.status, StatusCode::UNAUTHORIZED);
    let user = put_policy(&front, ANN, first, &text).await;
    assert_eq!(user.status, StatusCode::FORBIDDEN);
    let bare = front.call("PUT", "/v1/policy", &[YARN], text.clone()).await;
    assert_eq!(bare.status, StatusCode::PRECONDITION_REQUIRED);
    let made = put_policy(&front, YARN, first, &text).await;
    assert_eq!(
        made.json(),
        json!({"version": 1, "applicationsWithoutCell": 0})
    );
    front.submitted("root.adhoc").await;
    assert_eq!((east.apps(), west.apps()), (0, 1));
    east.end().await;
    west.end().await;
}

#[tokio::test]
async fn an_administrator_changes_the_policy_of_a_version_while_the_router_runs() {
    let (east, west) = (Cell::start(anywhere()), Cell::start(anywhere()));
    let cells = [("east", east.address), ("west", west.address)];
    let front = Front::with(&cells, two_homes()).await;
    front.submitted("root.adhoc").await;
    let moved = json!([{"queue": "root.adhoc", "home": "east"}]);
    let moved = policy(&cells[..1], &moved).to_string();
    for (condition, text, status) in [
        (
            ("if-none-match", "*"),
            &*moved,
            StatusCode::PRECONDITION_FAILED,
        ),
        (
            ("if-match", "\"4\""),
            &moved,
            StatusCode::PRECONDITION_FAILED,
        ),
        (
            ("if-match", "\"1\""),
            "{\"cells\": []}",
            StatusCode::BAD_REQUEST,
        ),
        (("if-match", "x"), &moved, StatusCode::BAD_REQUEST),
    ] {
        let refused = put_policy(&front, YARN, condition, text).await;
        assert_eq!(refused.status, status, "{condition:?}: {}", refused.text);
        let stale = condition.1 == "\"4\"";
        assert!(
            !stale || refused.text.contains("version 1"),
            "{}",
            refused.text
        );
    }
    let made = put_policy(&front, YARN, ("if-match", "\"1\""), &moved).await;
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
    front.kill(&id).await;
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
