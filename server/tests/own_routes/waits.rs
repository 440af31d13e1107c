//! Why applications wait: sources of the settings, what they waited for before, what preemption does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use capsched::api::{Ask, AskCall, NodeReport, ResourceVector};
use capsched::time::ManualClock;
use capsched_server::rm::{Answer, Command, NodeRegistration, ResourceManager, Setup, Submission};
use serde_json::{Value, json};

use crate::support::{answer, options, request, router, tokens};

const START_MS: u64 = 1_000_000;

/// A server with one node of 10 GiB, and its clock.
struct Scene {
    rm: Arc<ResourceManager>,
    clock: ManualClock,
    router: Router,
}

/// Queues by their properties; `root.a` creates leaves.
fn scene(site: &[(&str, &str)], more: &[(&str, &str)]) -> Scene {
    let base = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "1w"),
        ("root.a.auto-queue-creation-v2.enabled", "true"),
        ("root.b.capacity", "1w"),
    ];
    let key = |(name, value): &(&str, &str)| {
        (
            format!("yarn.scheduler.capacity.{name}"),
            (*value).to_owned(),
        )
    };
    let scheduler: BTreeMap<_, _> = base.iter().chain(more).map(key).collect();
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let clock = ManualClock::at(START_MS);
    let mut setup = Setup::new(site.iter().map(pair).collect(), scheduler);
    setup.clock = Arc::new(clock.clone());
    let rm = Arc::new(ResourceManager::start(setup).unwrap());
    let registration = NodeRegistration {
        node: "n1:8041".to_owned(),
        rack: "/r".to_owned(),
        resource: vec![10_240, 10],
        http_port: 8042,
        version: "test".to_owned(),
        labels: None,
    };
    rm.execute("yarn", Command::RegisterNode(registration))
        .unwrap();
    let router = router(&rm, &options(tokens()));
    Scene { rm, clock, router }
}

impl Scene {
    fn submit(&self, queue: &str, unmanaged: bool) -> String {
        let given = self.rm.execute("ann", Command::NewApplication);
        let Answer::Application(application) = given.unwrap() else {
            panic!("an id was asked for");
        };
        let submission = Submission {
            application: application.clone(),
            queue: queue.to_owned(),
            master: vec![1024, 1],
            unmanaged,
            ..Submission::default()
        };
        let submitted = Command::Submit(Box::new(submission));
        self.rm.execute("ann", submitted).unwrap();
        self.beat();
        application
    }

    fn beat(&self) {
        let node = "n1:8041".parse().unwrap();
        for _ in 0..12 {
            self.rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
        }
    }

    fn ask(&self, application: &str, count: i32) {
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), count);
        let id = application.parse().unwrap();
        self.rm.ask(id, AskCall::asking(vec![ask]), 0.0).unwrap();
        self.beat();
    }

    fn kill(&self, application: &str) {
        let kill = Command::Kill {
            application: application.to_owned(),
            diagnostics: String::new(),
        };
        self.rm.execute("yarn", kill).unwrap();
        self.beat();
    }

    async fn why(&self, application: &str, query: &str) -> Value {
        let path = format!("/v1/apps/{application}/why{query}");
        let (status, body) = answer(&self.router, request("GET", &path, None)).await;
        assert_eq!(status, StatusCode::OK);
        serde_json::from_slice(&body).unwrap()
    }
}

/// Property that is set, the queue, the reason, and where the value comes from.
type SourceCase = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
    &'static str,
    Option<(&'static str, &'static str)>,
);

const SOURCES: [SourceCase; 5] = [
    (
        &[(
            "root.a.auto-queue-creation-v2.leaf-template.maximum-am-resource-percent",
            "0.1",
        )],
        "root.a.new",
        "AM_LIMIT_QUEUE",
        "TEMPLATE_V2",
        Some((
            "root.a.auto-queue-creation-v2.leaf-template.maximum-am-resource-percent",
            "0.1",
        )),
    ),
    (
        &[("max-parallel-apps", "1")],
        "root.a.new",
        "MAX_PARALLEL_APPS",
        "GLOBAL",
        Some(("max-parallel-apps", "1")),
    ),
    (
        &[("root.b.max-parallel-apps", "1")],
        "root.b",
        "MAX_PARALLEL_APPS",
        "QUEUE",
        Some(("root.b.max-parallel-apps", "1")),
    ),
    (&[], "root.b", "AM_LIMIT_QUEUE", "DEFAULT", None),
    (
        &[("maximum-am-resource-percent", "0.1")],
        "root.b",
        "AM_LIMIT_QUEUE",
        "GLOBAL",
        Some(("maximum-am-resource-percent", "0.1")),
    ),
];

#[tokio::test]
async fn a_reason_names_the_key_that_set_the_limit_also_of_created_queues() {
    for (set, queue, reason, source, set_by) in SOURCES {
        let scene = scene(&[], set);
        scene.submit(queue, false);
        let second = scene.submit(queue, false);
        for query in ["", "?would_help=true"] {
            let found = scene.why(&second, query).await;
            let first = &found["keys"][0]["findings"][0];
            assert_eq!(first["reason"], reason, "{found}");
            assert_eq!(first["source"], source, "{found}");
            let wanted = set_by.map_or(Value::Null, |(name, value)| {
                json!({"property": format!("yarn.scheduler.capacity.{name}"), "value": value})
            });
            assert_eq!(first["set_by"], wanted, "{found}");
        }
    }
}

#[tokio::test]
async fn an_application_has_a_timeline_while_it_waits_and_after_it_ended() {
    let scene = scene(&[], &[]);
    let first = scene.submit("root.b", false);
    let second = scene.submit("root.b", false);
    let spans = |found: &Value| -> Vec<(u64, u64, Value)> {
        let spans = found["timeline"].as_array().unwrap().iter();
        let ms = |span: &Value, name: &str| span[name].as_u64().unwrap() - START_MS;
        spans
            .map(|span| {
                (
                    ms(span, "from_ms"),
                    ms(span, "to_ms"),
                    span["why"]["reason"].clone(),
                )
            })
            .collect()
    };
    let found = scene.why(&second, "").await;
    assert_eq!(spans(&found), [(0, 0, json!("AM_LIMIT_QUEUE"))]);
    scene.clock.advance(Duration::from_secs(40));
    let found = scene.why(&second, "").await;
    assert_eq!(spans(&found), [(0, 40_000, json!("AM_LIMIT_QUEUE"))]);
    assert_eq!(found["at_ms"], START_MS + 40_000);
    scene.kill(&first);
    scene.clock.advance(Duration::from_secs(10));
    let wanted = [
        (0, 50_000, json!("AM_LIMIT_QUEUE")),
        (50_000, 50_000, Value::Null),
    ];
    let found = scene.why(&second, "").await;
    assert_eq!(
        (found["keys"].clone(), spans(&found)),
        (json!([]), wanted.to_vec())
    );
    scene.clock.advance(Duration::from_secs(5));
    scene.kill(&second);
    scene.clock.advance(Duration::from_secs(60));
    let found = scene.why(&second, "").await;
    let wanted = [
        (0, 50_000, json!("AM_LIMIT_QUEUE")),
        (50_000, 55_000, Value::Null),
    ];
    assert_eq!(spans(&found), wanted, "{found}");
    let source = &found["timeline"][0]["why"]["source"];
    assert_eq!(source, "DEFAULT", "{found}");
    let never = scene.why(&first, "").await;
    assert_eq!(never["timeline"], json!([]), "it never waited: {never}");
}

#[tokio::test]
async fn the_verdict_of_preemption_is_there_where_rounds_run() {
    let key = "yarn.resourcemanager.monitor.capacity.preemption";
    let (round, factor) = (
        format!("{key}.total_preemption_per_round"),
        format!("{key}.natural_termination_factor"),
    );
    let on = [
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        (round.as_str(), "1.0"),
        (factor.as_str(), "1.0"),
    ];
    for (site, wanted) in [(&on[..], "AWAITING_DEADLINE"), (&[], "")] {
        let scene = scene(site, &[("root.b.user-limit-factor", "10")]);
        let holder = scene.submit("root.b", true);
        scene.ask(&holder, 10);
        let waiting = scene.submit("root.a.new", true);
        scene.ask(&waiting, 3);
        for query in ["", "?would_help=true"] {
            let found = scene.why(&waiting, query).await;
            let verdict = &found["preemption"];
            assert_eq!(verdict["token"].as_str().unwrap_or(""), wanted, "{found}");
            if !site.is_empty() {
                assert_eq!(verdict["queues"], json!(["root.b"]), "{found}");
                assert_eq!(
                    verdict["containers"][0]["rule"], "over-guarantee",
                    "{found}"
                );
            }
        }
    }
}
