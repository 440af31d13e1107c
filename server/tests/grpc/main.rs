//! Node agents and application masters over gRPC: whole lives, rules of access, and messages that are wrong.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

mod attempts;
#[path = "../support/certificates.rs"]
mod certificates;
mod changes;
mod encryption;
mod malformed;
mod opportunistic;
mod server;

use std::time::Duration;

use capsched_protocol as wire;
use capsched_server::grpc::simulated::{ApplicationLoad, NodeLoad, Server};
use tokio_stream::StreamExt;
use tonic::Code;

use server::{Running, Through, container_ask, registration, resource};
use wire::applications_client::ApplicationsClient;

fn node_load(nodes: u32, duration: Duration) -> NodeLoad {
    NodeLoad {
        nodes,
        streams: 3,
        interval: Duration::from_millis(50),
        total: vec![8192, 8],
        lasts_ms: (1, 100),
        duration,
        seed: 7,
    }
}

fn application_load(applications: u32, duration: Duration) -> ApplicationLoad {
    ApplicationLoad {
        applications,
        connections: 2,
        queues: vec!["root.a".to_owned(), "root.b".to_owned()],
        tasks: (1, 5),
        size: vec![1024, 1],
        interval: Duration::from_millis(20),
        duration,
        seed: 7,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn simulated_nodes_and_applications_do_their_work() {
    let running = Running::start().await;
    let server = Server::plain(running.address(), "yarn");
    let nodes = node_load(12, Duration::from_secs(6));
    let applications = application_load(6, Duration::from_secs(5));
    let (nodes, applications) = tokio::join!(nodes.run(&server), applications.run(&server));
    let (nodes, applications) = (nodes.unwrap(), applications.unwrap());
    assert!(applications.done > 0, "{:?}", applications.to_json());
    assert_eq!(applications.refused, 0, "{:?}", applications.to_json());
    assert!(applications.containers >= applications.done);
    assert_eq!((nodes.doubled, nodes.oversubscribed), (0, 0));
    assert_eq!((nodes.registrations, nodes.reconnections), (12, 0));
    assert!(nodes.launched > nodes.stopped);
    assert!(nodes.heartbeats.count() > 12 && nodes.heartbeats.at_permille(990) > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn simulated_applications_keep_why_the_first_one_was_refused() {
    let running = Running::start().await;
    let server = Server::plain(running.address(), "yarn");
    let elsewhere = ApplicationLoad {
        queues: vec!["root.nowhere".to_owned()],
        ..application_load(1, Duration::from_millis(300))
    };
    let figures = elsewhere.run(&server).await.unwrap();
    let why = figures.first_failure.as_deref().unwrap_or_default();
    assert!(
        figures.refused > 0 && why.contains("root.nowhere"),
        "{:?}",
        figures.to_json()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cores_are_no_limit_where_memory_alone_counts() {
    let running = Running::start().await;
    let server = Server::plain(running.address(), "yarn");
    // Room for four containers by memory, and for two by cores.
    let nodes = NodeLoad {
        total: vec![4096, 2],
        ..node_load(2, Duration::from_secs(4))
    };
    let applications = ApplicationLoad {
        tasks: (6, 6),
        ..application_load(2, Duration::from_secs(3))
    };
    let (nodes, applications) = tokio::join!(nodes.run(&server), applications.run(&server));
    let (nodes, applications) = (nodes.unwrap(), applications.unwrap());
    assert!(applications.containers > 4, "{:?}", applications.to_json());
    assert_eq!((nodes.doubled, nodes.oversubscribed), (0, 0));
}

/// Ends an application by its master; its state then.
async fn finished(
    apps: &mut ApplicationsClient<Through>,
    application: String,
) -> wire::ApplicationState {
    let finish = wire::FinishMasterRequest {
        application: application.clone(),
        status: wire::FinalStatus::Succeeded.into(),
        ..wire::FinishMasterRequest::default()
    };
    apps.finish_master(finish).await.unwrap();
    let state = apps.state(wire::StateRequest { application }).await;
    state.unwrap().into_inner().state()
}

#[tokio::test]
async fn the_life_of_one_application_step_by_step() {
    let running = Running::start().await;
    let (mut nodes, mut apps) = (
        running.nodes("yarn").await,
        running.applications("ann").await,
    );
    nodes.register(registration("n1:1")).await.unwrap();
    let (beats, mut orders) = running.heartbeats("yarn").await;
    let id = running.submit(&mut apps, "root.a").await;
    // A heartbeat brings the master's container, and names it until it is reported.
    let mut beat = wire::NodeHeartbeat {
        node: "n1:1".to_owned(),
        ..wire::NodeHeartbeat::default()
    };
    let mut next = async |beat: &mut wire::NodeHeartbeat| {
        beat.sequence += 1;
        beats.send(beat.clone()).await.unwrap();
        orders.next().await.unwrap().unwrap()
    };
    let first = next(&mut beat).await;
    assert_eq!(first.launch.len(), 1, "{first:?}");
    assert!(first.launch[0].master);
    assert_eq!(first.launch[0].size, resource(&[1024, 1]));
    let again = next(&mut beat).await;
    assert_eq!(again.launch, first.launch);
    beat.launched = vec![first.launch[0].container.clone()];
    assert!(next(&mut beat).await.launch.is_empty());
    beat.launched.clear();
    let register = wire::RegisterMasterRequest {
        application: id.clone(),
        host: "n1".to_owned(),
        rpc_port: 7,
        ..wire::RegisterMasterRequest::default()
    };
    let types = apps.register_master(register).await.unwrap().into_inner();
    assert_eq!(types.resource_types, ["memory-mb", "vcores"]);
    let (calls, mut answers) = running.allocate("ann").await;
    let mut call = wire::AllocateRequest {
        application: id.clone(),
        asks: vec![container_ask(2)],
        progress: 50.0,
        ..wire::AllocateRequest::default()
    };
    calls.send(call.clone()).await.unwrap();
    let answer = answers.next().await.unwrap().unwrap();
    assert_eq!((answer.allocated.len(), answer.refused), (0, None));
    next(&mut beat).await;
    next(&mut beat).await;
    call.asks.clear();
    calls.send(call.clone()).await.unwrap();
    let answer = answers.next().await.unwrap().unwrap();
    assert_eq!(answer.allocated.len(), 2, "{answer:?}");
    let launch = next(&mut beat).await.launch;
    assert_eq!(launch.len(), 2);
    // One ends by itself, before its launch was ever reported.
    beat.launched = launch.iter().map(|one| one.container.clone()).collect();
    beat.finished = vec![launch[0].container.clone()];
    next(&mut beat).await;
    (beat.launched, beat.finished) = (Vec::new(), Vec::new());
    calls.send(call).await.unwrap();
    let answer = answers.next().await.unwrap().unwrap();
    assert_eq!(answer.completed.len(), 1, "{answer:?}");
    assert_eq!(answer.completed[0].cause, "exited");
    let state = finished(&mut apps, id).await;
    assert_eq!(state, wire::ApplicationState::Finished);
    let stop = next(&mut beat).await.stop;
    assert_eq!(stop.len(), 2, "the master and the other task: {stop:?}");
}

#[tokio::test]
async fn heartbeats_are_counted() {
    let running = Running::start().await;
    let mut nodes = running.nodes("yarn").await;
    let (beats, mut orders) = running.heartbeats("yarn").await;
    let mut answer = async |sequence: u64| {
        let beat = wire::NodeHeartbeat {
            node: "n1:1".to_owned(),
            sequence,
            ..wire::NodeHeartbeat::default()
        };
        beats.send(beat).await.unwrap();
        orders.next().await.unwrap().unwrap()
    };
    assert!(answer(1).await.register_again, "it never registered");
    nodes.register(registration("n1:1")).await.unwrap();
    assert!(answer(0).await.register_again, "numbers begin with 1");
    assert!(answer(2).await.register_again, "the first one is missing");
    let first = answer(1).await;
    assert!(!first.register_again);
    assert_eq!(answer(1).await, first, "the answer may have been lost");
    assert!(!answer(2).await.register_again);
    assert!(answer(u64::MAX).await.register_again);
    let gone = wire::UnregisterNodeRequest {
        node: "n1:1".to_owned(),
    };
    nodes.unregister(gone.clone()).await.unwrap();
    assert!(answer(3).await.register_again, "the node has left");
    let twice = nodes.unregister(gone).await.unwrap_err();
    assert_eq!(twice.code(), Code::NotFound);
}

#[tokio::test]
async fn each_call_demands_its_user() {
    let running = Running::start().await;
    let mut nobody = running.nodes("").await;
    let refused = nobody.register(registration("n1:1")).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let mut ann = running.nodes("ann").await;
    let refused = ann.register(registration("n1:1")).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let mut apps = running.applications("ann").await;
    let id = running.submit(&mut apps, "root.a").await;
    let mut bob = running.applications("bob").await;
    let register = wire::RegisterMasterRequest {
        application: id.clone(),
        ..wire::RegisterMasterRequest::default()
    };
    let refused = bob.register_master(register).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let kill = wire::KillRequest {
        application: id.clone(),
        diagnostics: String::new(),
    };
    let refused = bob.kill(kill.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let (calls, mut answers) = running.allocate("bob").await;
    for (application, cause) in [
        (id, wire::call_refusal::Cause::Forbidden),
        (
            "application_1_0001".to_owned(),
            wire::call_refusal::Cause::NotLive,
        ),
        ("nonsense".to_owned(), wire::call_refusal::Cause::Invalid),
    ] {
        let call = wire::AllocateRequest {
            application,
            ..wire::AllocateRequest::default()
        };
        calls.send(call).await.unwrap();
        let answer = answers.next().await.unwrap().unwrap();
        assert_eq!(answer.refused.unwrap().cause(), cause);
    }
    apps.kill(kill).await.unwrap();
}

#[tokio::test]
async fn events_follow_from_a_number_on() {
    let running = Running::start().await;
    let mut nodes = running.nodes("yarn").await;
    nodes.register(registration("n1:1")).await.unwrap();
    let mut events = running.events("ann").await;
    let follow = wire::FollowRequest { behind: Some(0) };
    let mut stream = events.follow(follow).await.unwrap().into_inner();
    let event = stream.next().await.unwrap().unwrap();
    assert_eq!(
        (event.id, event.kind.as_str(), event.dropped),
        (1, "node", 0)
    );
    assert!(event.text.contains("n1:1"), "{}", event.text);
    let mut apps = running.applications("ann").await;
    let id = running.submit(&mut apps, "root.b").await;
    let event = stream.next().await.unwrap().unwrap();
    assert_eq!((event.id, event.application), (2, id));
}
