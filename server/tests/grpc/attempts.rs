//! Attempts that fail: their containers run on for the next one, whose master starts on another host.

use capsched_protocol as wire;
use tokio_stream::StreamExt;

use crate::server::{Running, container_ask, registration};

const BLACKLISTING: &str = "yarn.resourcemanager.am-scheduling.node-blacklisting-enabled";

fn beat(node: &str) -> wire::NodeHeartbeat {
    wire::NodeHeartbeat {
        node: node.to_owned(),
        ..wire::NodeHeartbeat::default()
    }
}

#[tokio::test]
async fn containers_run_on_and_the_next_master_starts_elsewhere() {
    let running = Running::start_with(&[(BLACKLISTING, "true")]).await;
    let (mut nodes, mut apps) = (
        running.nodes("yarn").await,
        running.applications("ann").await,
    );
    for node in ["n1:1", "n2:1"] {
        nodes.register(registration(node)).await.unwrap();
    }
    let (beats, mut orders) = running.heartbeats("yarn").await;
    let id = running.submit_keeping(&mut apps, "root.a").await;
    let mut next = async |beat: &mut wire::NodeHeartbeat| {
        beat.sequence += 1;
        beats.send(beat.clone()).await.unwrap();
        orders.next().await.unwrap().unwrap().launch
    };
    let (mut first, mut second) = (beat("n1:1"), beat("n2:1"));
    let master = next(&mut first).await.remove(0);
    assert!(master.master);
    first.launched = vec![master.container.clone()];
    next(&mut first).await;
    first.launched.clear();
    let register = wire::RegisterMasterRequest {
        application: id.clone(),
        host: "n1".to_owned(),
        ..wire::RegisterMasterRequest::default()
    };
    apps.register_master(register).await.unwrap();
    let (calls, mut answers) = running.allocate("ann").await;
    let mut call = wire::AllocateRequest {
        application: id,
        asks: vec![container_ask(1)],
        ..wire::AllocateRequest::default()
    };
    calls.send(call.clone()).await.unwrap();
    answers.next().await.unwrap().unwrap();
    next(&mut first).await;
    call.asks.clear();
    calls.send(call).await.unwrap();
    let answer = answers.next().await.unwrap().unwrap();
    assert_eq!(answer.allocated.len(), 1, "{answer:?}");
    let task = next(&mut first).await.remove(0);
    first.launched = vec![task.container.clone()];
    next(&mut first).await;
    first.launched.clear();
    // The master fails in a way that may be its node's fault.
    first.finished = vec![master.container.clone()];
    first.exit_statuses = vec![1];
    assert_eq!(next(&mut first).await, []);
    (first.finished, first.exit_statuses) = (Vec::new(), Vec::new());
    assert_eq!(next(&mut first).await, [], "no master starts here again");
    let again = next(&mut second).await.remove(0);
    assert!(again.master);
    assert!(again.container.contains("_02_"), "{again:?}");
    // What the first attempt left runs: the node is not to stop it.
    first.sequence += 1;
    beats.send(first).await.unwrap();
    let still = orders.next().await.unwrap().unwrap();
    assert!(!still.stop.contains(&task.container), "{still:?}");
}
