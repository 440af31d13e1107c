//! Opportunistic containers: a master asks, its node launches those that have room, and what is wrong is refused.

use capsched_protocol as wire;
use tokio_stream::StreamExt;
use tonic::Code;

use crate::server::{Running, container_ask, registration, resource};

/// Settings that enable them, with queues of two containers on a node.
const SITE: [(&str, &str); 2] = [
    (
        "yarn.resourcemanager.opportunistic-container-allocation.enabled",
        "true",
    ),
    (
        "yarn.nodemanager.opportunistic-containers-max-queue-length",
        "2",
    ),
];

fn asked(application: &str, count: u32, memory: i64) -> wire::AskOpportunisticRequest {
    wire::AskOpportunisticRequest {
        application: application.to_owned(),
        asks: vec![wire::ContainerAsk {
            size: resource(&[memory, 1]),
            ..container_ask(count)
        }],
    }
}

#[tokio::test]
async fn a_node_launches_those_that_have_room() {
    let running = Running::start_with(&SITE).await;
    let (mut nodes, mut apps) = (
        running.nodes("yarn").await,
        running.applications("ann").await,
    );
    nodes.register(registration("n1:1")).await.unwrap();
    let (beats, mut orders) = running.heartbeats("yarn").await;
    let application = running.submit(&mut apps, "root.a").await;
    let mut beat = wire::NodeHeartbeat {
        node: "n1:1".to_owned(),
        ..wire::NodeHeartbeat::default()
    };
    // The master's container first; a node that reports it as launched lets the application ask.
    for _ in 0..2 {
        beat.sequence += 1;
        beats.send(beat.clone()).await.unwrap();
        let launch = orders.next().await.unwrap().unwrap().launch;
        beat.launched = launch.into_iter().map(|one| one.container).collect();
    }
    beat.launched.clear();
    // The node has 8 GiB, of which the master takes one.
    apps.ask_opportunistic(asked(&application, 3, 3072))
        .await
        .unwrap();
    let (calls, mut answers) = running.allocate("ann").await;
    let fetch = wire::AllocateRequest {
        application: application.clone(),
        ..wire::AllocateRequest::default()
    };
    calls.send(fetch.clone()).await.unwrap();
    let allocated = answers.next().await.unwrap().unwrap().allocated;
    assert_eq!(allocated.len(), 3);
    assert!(allocated.iter().all(|one| one.opportunistic));
    let mut launched = Vec::new();
    for _ in 0..3 {
        beat.sequence += 1;
        beats.send(beat.clone()).await.unwrap();
        let launch = orders.next().await.unwrap().unwrap().launch;
        assert!(launch.iter().all(|one| one.opportunistic && !one.master));
        beat.launched = launch.into_iter().map(|one| one.container).collect();
        launched.extend(beat.launched.clone());
    }
    let first: Vec<_> = allocated[..2]
        .iter()
        .map(|one| one.container.clone())
        .collect();
    assert_eq!(launched, first, "the third one waits for room");
    beat.launched.clear();
    beat.finished = vec![launched[0].clone()];
    beat.sequence += 1;
    beats.send(beat.clone()).await.unwrap();
    let mut launch = orders.next().await.unwrap().unwrap().launch;
    beat.finished.clear();
    if launch.is_empty() {
        beat.sequence += 1;
        beats.send(beat.clone()).await.unwrap();
        launch = orders.next().await.unwrap().unwrap().launch;
    }
    let containers: Vec<_> = launch.into_iter().map(|one| one.container).collect();
    assert_eq!(containers, [allocated[2].container.clone()]);
}

#[tokio::test]
async fn asks_that_make_no_sense_are_refused() {
    let running = Running::start_with(&SITE).await;
    let (mut nodes, mut apps) = (
        running.nodes("yarn").await,
        running.applications("ann").await,
    );
    nodes.register(registration("n1:1")).await.unwrap();
    let application = running.submit(&mut apps, "root.a").await;
    let early = apps.ask_opportunistic(asked(&application, 1, 1024)).await;
    assert_eq!(early.unwrap_err().code(), Code::FailedPrecondition);
    let unmanaged = running.submit_unmanaged(&mut apps, "root.a").await;
    let good = asked(&unmanaged, 1, 1024);
    let with = |change: fn(&mut wire::ContainerAsk)| {
        let mut request = good.clone();
        change(&mut request.asks[0]);
        request
    };
    let many = |count: usize| wire::AskOpportunisticRequest {
        asks: vec![good.asks[0].clone(); count],
        ..good.clone()
    };
    let wrong = [
        with(|ask| ask.size = None),
        with(|ask| ask.size = resource(&[-1, 1])),
        with(|ask| ask.size = resource(&[1, 1, 1, 1])),
        with(|ask| ask.size = resource(&[1_000_000, 1])),
        with(|ask| ask.count = u32::MAX),
        with(|ask| ask.count = 2_000_000),
        with(|ask| ask.label = Some("gpu".to_owned())),
        many(513),
        many(10_001),
        asked("nonsense", 1, 1024),
    ];
    for request in wrong {
        let refused = apps.ask_opportunistic(request.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{request:?}");
        assert!(!refused.message().is_empty());
    }
    let nobody = asked("application_1_0099", 1, 1024);
    let refused = apps.ask_opportunistic(nobody).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let mut bob = running.applications("bob").await;
    let refused = bob.ask_opportunistic(good.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    apps.ask_opportunistic(good).await.unwrap();

    let plain = Running::start().await;
    let mut apps = plain.applications("ann").await;
    let unmanaged = plain.submit_unmanaged(&mut apps, "root.a").await;
    let refused = apps.ask_opportunistic(asked(&unmanaged, 1, 1024)).await;
    let refused = refused.unwrap_err();
    assert!(refused.message().contains("do not enable"), "{refused:?}");
}
