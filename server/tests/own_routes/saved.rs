//! The state of a server as a file: it goes on elsewhere with the same next decisions, and says what it leaves out.

use axum::http::StatusCode;
use capsched::api::{Event, NodeReport, Scheduler as _, StateView};
use capsched::simulator::journal::StateSnapshot;

use crate::support::{answer, request};
use crate::trials::server;

const PATH: &str = "/v1/snapshot/file";

#[tokio::test]
async fn a_saved_server_goes_on_elsewhere_with_the_same_next_decisions() {
    let (rm, router) = server();
    let node = "n1:8041".parse().unwrap();
    for _ in 0..5 {
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    let (status, bytes) = answer(&router, request("GET", PATH, Some("token-of-yarn"))).await;
    assert_eq!(status, StatusCode::OK);
    let snapshot = StateSnapshot::read(&bytes[..]).unwrap();
    let mut engine = snapshot.head.engine().unwrap();
    snapshot.replay(&mut engine).unwrap();
    let (live, anew) = (
        rm.engine().state().unwrap(),
        StateView::of(engine.engine().ledger()),
    );
    assert_eq!(anew.nodes, live.nodes);
    assert_eq!(anew.apps, live.apps);
    assert!(anew.apps[0].live.len() == 5, "{:?}", anew.apps);
    let used = |view: &StateView| -> Vec<serde_json::Value> {
        let queues = view.queues.iter();
        let shown = queues.map(|queue| serde_json::to_value(queue).unwrap());
        shown
            .map(|queue| queue["labels"][""]["used"].clone())
            .collect()
    };
    assert_eq!(used(&anew), used(&live));
    // Both place the same at the next heartbeats of the node.
    let mut events = Vec::new();
    engine.events(&mut events);
    events.clear();
    for _ in 0..10 {
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
        engine.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    engine.events(&mut events);
    let placed = |event: &&Event| matches!(event, Event::Allocated { .. });
    // The limit of the user ends it.
    assert_eq!(events.iter().filter(placed).count(), 6);
    let (live, anew) = (
        rm.engine().state().unwrap(),
        StateView::of(engine.engine().ledger()),
    );
    assert_eq!((anew.nodes, anew.apps), (live.nodes, live.apps));
}

#[tokio::test]
async fn the_file_lists_what_it_leaves_out_and_has_no_secrets() {
    let (rm, router) = server();
    let node = "n1:8041".parse().unwrap();
    rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    let (_, bytes) = answer(&router, request("GET", PATH, Some("token-of-yarn"))).await;
    let snapshot = StateSnapshot::read(&bytes[..]).unwrap();
    let left_out = &snapshot.head.left_out;
    let says = |words: &str| left_out.iter().any(|sentence| sentence.contains(words));
    assert!(
        says("1 containers were placed and not launched"),
        "{left_out:?}"
    );
    assert!(
        says("in any case: where the next round begins"),
        "{left_out:?}"
    );
    let keys = snapshot
        .head
        .site
        .keys()
        .chain(snapshot.head.scheduler.keys());
    for key in keys {
        let kept = [
            "yarn.scheduler.",
            "yarn.resource-types",
            "yarn.node-labels.",
        ];
        let kept = kept.iter().any(|start| key.starts_with(start));
        assert!(
            kept || key.starts_with("yarn.resourcemanager.") || key.starts_with("yarn.cluster."),
            "{key}"
        );
        assert!(!key.contains("auth") && !key.contains("address"), "{key}");
    }
}
