//! `/scheduler-conf` beyond the recorded scenes: versions, conditions, issues, explanations.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::{Extension, Router};
use capsched_server::rest::{self, Shared};
use capsched_server::rm::{Pairs, Setup};
use capsched_server::store::{Durability, Durable};
use serde_json::Value;
use tower::ServiceExt;

fn router(site: &[(&str, &str)]) -> Router {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let own =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let queues = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("xxx", "1"),
    ];
    let mut site: Pairs = site.iter().map(pair).collect();
    site.insert(
        "yarn.scheduler.configuration.store.class".to_owned(),
        "memory".to_owned(),
    );
    let setup = Setup::new(site, queues.map(own).into());
    let durable = Durable::start(setup, None, Durability::Strict, "test").unwrap();
    rest::router(Shared::new(durable.rm)).layer(Extension(durable.conf.unwrap()))
}

struct Answer {
    status: StatusCode,
    version: Option<String>,
    allowed: String,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

fn call(router: &Router, method: &str, path: &str, seen: Option<&str>, body: &str) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(seen) = seen {
        request = request.header(header::IF_MATCH, seen);
    }
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let version = response.headers().get(header::ETAG);
        let version = version.map(|value| value.to_str().unwrap().to_owned());
        let allowed = response.headers().get(header::ALLOW);
        let allowed = allowed
            .map_or("", |value| value.to_str().unwrap())
            .to_owned();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer {
            status,
            version,
            allowed,
            text,
        }
    })
}

const CONF: &str = "/ws/v1/cluster/scheduler-conf";

fn capacity(a: u32) -> String {
    let b = 100 - a;
    format!(
        r#"{{"update-queue": [{{"queue-name": "root.a", "params": {{"capacity": {a}}}}},
            {{"queue-name": "root.b", "params": {{"capacity": {b}}}}}]}}"#
    )
}

#[test]
fn a_change_is_made_only_on_the_version_that_was_seen() {
    let router = router(&[]);
    let first = call(&router, "GET", CONF, None, "");
    assert_eq!(first.version.as_deref(), Some("\"1\""));
    let made = call(&router, "PUT", CONF, Some("\"1\""), &capacity(30));
    assert_eq!(
        (made.status, made.version.as_deref()),
        (StatusCode::OK, Some("\"2\""))
    );
    let stale = call(&router, "PUT", CONF, Some("\"1\""), &capacity(40));
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(stale.version.as_deref(), Some("\"2\""));
    let any = call(&router, "PUT", CONF, Some("*"), &capacity(40));
    assert_eq!(any.status, StatusCode::OK);
    let wrong = call(&router, "PUT", CONF, Some("x"), &capacity(40));
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
}

#[test]
fn issues_and_explanations_come_with_a_change() {
    let router = router(&[]);
    let path = format!("{CONF}?explain=affected");
    let made = call(&router, "PUT", &path, None, &capacity(30));
    let document = made.json();
    assert_eq!(
        (made.status, document["valid"].as_bool()),
        (StatusCode::OK, Some(true))
    );
    let settings = document["queues"]["root.a"].as_array().unwrap();
    let found = settings
        .iter()
        .find(|one| one["name"] == "capacity")
        .unwrap();
    assert_eq!(
        (&found["value"], &found["source"]),
        (&"30".into(), &"QUEUE".into())
    );
    assert!(
        document["queues"].get("root").is_none(),
        "nothing of root differs"
    );
    let refused = r#"{"update-queue": {"queue-name": "root.a", "params": {"capacity": "x"}}}"#;
    let refused = call(&router, "PUT", &path, None, refused);
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let issue = &refused.json()["issues"][0];
    assert_eq!(issue["queuePath"], "root.a");
    assert_eq!(
        issue["propertyKey"],
        "yarn.scheduler.capacity.root.a.capacity"
    );
    assert_eq!(issue["severity"], "error");
    let judged = call(
        &router,
        "POST",
        &format!("{CONF}/validate/v2"),
        None,
        &capacity(40),
    );
    assert_eq!(judged.json()["valid"], true);
    let bad = r#"{"remove-queue": "root.a"}"#;
    let judged = call(&router, "POST", &format!("{CONF}/validate/v2"), None, bad);
    assert_eq!(
        (judged.status, judged.json()["valid"].as_bool()),
        (StatusCode::OK, Some(false))
    );
    let nonsense = call(
        &router,
        "PUT",
        &format!("{CONF}?explain=all"),
        None,
        &capacity(40),
    );
    assert_eq!(nonsense.status, StatusCode::BAD_REQUEST);
}

#[test]
fn versions_are_listed_shown_and_taken_again() {
    let router = router(&[]);
    call(&router, "PUT", CONF, None, &capacity(30));
    let list = call(&router, "GET", "/v1/conf/versions", None, "").json();
    assert_eq!(list["present"], 2);
    assert_eq!(list["versions"].as_array().unwrap().len(), 2);
    let old = call(&router, "GET", "/v1/conf/versions/1", None, "").json();
    assert_eq!(
        old["properties"]["yarn.scheduler.capacity.root.a.capacity"],
        "50"
    );
    let unknown = call(&router, "GET", "/v1/conf/versions/9", None, "");
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let back = call(&router, "POST", "/v1/conf/rollback/1", Some("\"2\""), "");
    assert_eq!(
        (back.status, back.json()["version"].as_u64()),
        (StatusCode::OK, Some(3))
    );
    let log = call(&router, "GET", "/v1/conf/log?limit=1", None, "").json();
    assert_eq!(log["entries"][0]["kind"], "rollback");
}

#[test]
fn who_is_no_administrator_sees_nothing() {
    let router = router(&[("yarn.acl.enable", "true"), ("yarn.admin.acl", "yarn")]);
    for path in [CONF, "/v1/conf/versions", "/v1/conf/log"] {
        let refused = call(&router, "GET", path, None, "");
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
        let path = format!("{path}?user.name=yarn");
        assert_eq!(
            call(&router, "GET", &path, None, "").status,
            StatusCode::OK,
            "{path}"
        );
    }
}

/// The example of the mission, with a key that is deleted because its value is left out.
#[test]
fn a_property_is_set_and_another_one_deleted() {
    let router = router(&[]);
    let body = r#"{"global-updates": [{"entry": [
        {"key": "yarn.scheduler.capacity.maximum-am-resource-percent", "value": "0.2"},
        {"key": "yarn.scheduler.capacity.xxx"}]}]}"#;
    let made = call(&router, "PUT", CONF, None, body);
    assert_eq!(made.text, "Configuration change successfully applied.");
    let shown = call(&router, "GET", CONF, None, "").json();
    let properties = shown["property"].as_array().unwrap();
    let value = |name: &str| {
        let name = format!("yarn.scheduler.capacity.{name}");
        let found = properties.iter().find(|one| one["name"] == name.as_str())?;
        Some(found["value"].as_str().unwrap().to_owned())
    };
    assert_eq!(value("maximum-am-resource-percent").as_deref(), Some("0.2"));
    assert_eq!(value("xxx"), None);
}

/// As clients of Hadoop do before each call.
#[test]
fn options_are_answered_with_the_methods_of_a_path() {
    let router = router(&[]);
    for (path, wanted, methods) in [
        (CONF, StatusCode::OK, "PUT,GET,HEAD"),
        ("/ws/v1/cluster/apps", StatusCode::OK, "GET,HEAD,POST"),
        ("/ws/v1/cluster/nowhere", StatusCode::NOT_FOUND, ""),
    ] {
        let answer = call(&router, "OPTIONS", path, None, "");
        assert_eq!(answer.status, wanted, "{path}: {}", answer.text);
        let sorted = |text: &str| {
            let mut names: Vec<String> = text.split(',').map(str::to_owned).collect();
            names.sort();
            names
        };
        assert_eq!(sorted(&answer.allowed), sorted(methods), "{path}");
    }
}
