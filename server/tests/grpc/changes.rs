//! Changes of containers and gangs: masters ask, nodes get the orders, and what is wrong is refused.

use std::time::Duration;

use capsched_protocol as wire;
use tokio::sync::mpsc::Sender;
use tokio_stream::StreamExt;
use tonic::{Code, Streaming};

use crate::server::{Running, container_ask, registration, resource};
use wire::UpdateKind::{Decrease, Demote, Increase, Promote};

/// A master of one application with a node that does what it is ordered to.
struct Site {
    running: Running,
    application: String,
    beats: Sender<wire::NodeHeartbeat>,
    orders: Streaming<wire::NodeOrders>,
    calls: Sender<wire::AllocateRequest>,
    answers: Streaming<wire::AllocateReply>,
    beat: wire::NodeHeartbeat,
}

impl Site {
    /// With the master's container and so many others, all of them launched.
    async fn with(containers: u32) -> Self {
        let running = Running::start().await;
        let (mut nodes, mut apps) = (
            running.nodes("yarn").await,
            running.applications("ann").await,
        );
        nodes.register(registration("n1:1")).await.unwrap();
        let (beats, orders) = running.heartbeats("yarn").await;
        let application = running.submit(&mut apps, "root.a").await;
        let (calls, answers) = running.allocate("ann").await;
        let mut site = Self {
            running,
            application,
            beats,
            orders,
            calls,
            answers,
            beat: wire::NodeHeartbeat {
                node: "n1:1".to_owned(),
                ..wire::NodeHeartbeat::default()
            },
        };
        site.launch().await;
        let ask = site.call_with(|call| call.asks = vec![container_ask(containers)]);
        assert_eq!(ask.await.refused, None);
        for _ in 0..containers {
            site.next().await;
        }
        let answer = site.fetch().await;
        assert_eq!(answer.allocated.len(), containers as usize);
        site.launch().await;
        site
    }

    /// One heartbeat; its orders.
    async fn next(&mut self) -> wire::NodeOrders {
        self.beat.sequence += 1;
        self.beats.send(self.beat.clone()).await.unwrap();
        self.orders.next().await.unwrap().unwrap()
    }

    /// Launches what is ordered.
    async fn launch(&mut self) {
        let launch = self.next().await.launch;
        self.beat.launched = launch.into_iter().map(|one| one.container).collect();
        self.next().await;
        self.beat.launched.clear();
    }

    async fn call_with(
        &mut self,
        change: impl FnOnce(&mut wire::AllocateRequest),
    ) -> wire::AllocateReply {
        let mut call = wire::AllocateRequest {
            application: self.application.clone(),
            ..wire::AllocateRequest::default()
        };
        change(&mut call);
        self.calls.send(call).await.unwrap();
        self.answers.next().await.unwrap().unwrap()
    }

    async fn fetch(&mut self) -> wire::AllocateReply {
        self.call_with(|_| ()).await
    }

    async fn change(&mut self, update: wire::ContainerUpdate) -> Vec<wire::UpdatedContainer> {
        let answer = self.call_with(|call| call.updates = vec![update]).await;
        assert_eq!((answer.refused, answer.update_errors), (None, Vec::new()));
        answer.updated
    }

    /// The next orders to change containers, which the node carries out.
    async fn changed(&mut self) -> Vec<wire::ChangeOrder> {
        let first = self.next().await.update;
        assert_eq!(self.next().await.update, first, "until it is reported");
        let version = |order: &wire::ChangeOrder| wire::ContainerVersion {
            container: order.container.clone(),
            version: order.version,
        };
        self.beat.updated = first.iter().map(version).collect();
        assert_eq!(self.next().await.update, []);
        self.beat.updated.clear();
        first
    }
}

fn update(version: u32, kind: wire::UpdateKind, memory: Option<i64>) -> wire::ContainerUpdate {
    wire::ContainerUpdate {
        container: 2,
        version,
        kind: kind.into(),
        size: memory.and_then(|memory| resource(&[memory, 1])),
    }
}

fn updated(version: u32, kind: wire::UpdateKind, memory: i64) -> Vec<wire::UpdatedContainer> {
    vec![wire::UpdatedContainer {
        container: 2,
        kind: kind.into(),
        size: resource(&[memory, 1]),
        version,
    }]
}

#[tokio::test]
async fn a_container_changes_and_its_node_gets_the_order() {
    let mut site = Site::with(1).await;
    assert_eq!(site.change(update(0, Increase, Some(2048))).await, []);
    assert_eq!(
        site.next().await.update,
        [],
        "the master has not fetched it"
    );
    assert_eq!(site.fetch().await.updated, updated(1, Increase, 2048));
    let orders = site.changed().await;
    assert_eq!(orders.len(), 1, "{orders:?}");
    let shown = (&orders[0].size, orders[0].version, orders[0].opportunistic);
    assert_eq!(shown, (&resource(&[2048, 1]), 1, false));
    assert!(orders[0].container.ends_with("000002"), "{orders:?}");

    let shrunk = site.change(update(1, Decrease, Some(1024))).await;
    assert_eq!(shrunk, updated(2, Decrease, 1024));
    assert_eq!(site.changed().await[0].size, resource(&[1024, 1]));
    let demoted = site.change(update(2, Demote, None)).await;
    assert_eq!(demoted, updated(3, Demote, 1024));
    let orders = site.changed().await;
    assert!(orders[0].opportunistic && orders[0].size == resource(&[1024, 1]));
    assert_eq!(site.change(update(3, Promote, None)).await, []);
    site.next().await;
    assert_eq!(site.fetch().await.updated, updated(4, Promote, 1024));
    assert!(!site.changed().await[0].opportunistic);

    let mut events = site.running.events("ann").await;
    let follow = wire::FollowRequest { behind: Some(0) };
    let mut stream = events.follow(follow).await.unwrap().into_inner();
    let mut texts = Vec::new();
    while texts.len() < 4 {
        let event = stream.next().await.unwrap().unwrap();
        if event.kind == "changed" {
            texts.push(event.text);
        }
    }
    let words = [Increase, Decrease, Promote, Demote].map(|kind| match kind {
        Increase => "INCREASE_RESOURCE",
        Decrease => "DECREASE_RESOURCE",
        Promote => "PROMOTE_EXECUTION_TYPE",
        _ => "DEMOTE_EXECUTION_TYPE",
    });
    for word in words {
        assert!(texts.iter().any(|text| text.contains(word)), "{texts:?}");
    }
}

#[tokio::test]
async fn changes_that_make_no_sense_are_refused() {
    let mut site = Site::with(1).await;
    let unknown = wire::ContainerUpdate {
        container: 77,
        ..update(0, Demote, None)
    };
    let wrong = vec![
        unknown,
        update(9, Demote, None),
        update(0, Increase, Some(100_000)),
        update(0, Decrease, Some(2048)),
    ];
    let answer = site.call_with(|call| call.updates = wrong).await;
    assert_eq!((&answer.refused, answer.updated.len()), (&None, 0));
    let reasons: Vec<_> = answer
        .update_errors
        .iter()
        .map(|error| (error.container, error.reason.as_str(), error.version))
        .collect();
    assert_eq!(
        reasons,
        [
            (77, "INVALID_CONTAINER_ID", None),
            (2, "INCORRECT_CONTAINER_VERSION_ERROR", Some(0)),
            (2, "RESOURCE_OUTSIDE_ALLOWED_RANGE", Some(0)),
            (2, "RESOURCE_OUTSIDE_ALLOWED_RANGE", Some(0)),
        ]
    );
    let number = wire::ContainerUpdate {
        kind: 9,
        ..update(0, Demote, None)
    };
    for (field, wrong) in [
        (
            "updates.kind",
            update(0, wire::UpdateKind::Unspecified, None),
        ),
        ("updates.kind", number),
        ("updates.size", update(0, Increase, None)),
        ("updates.size", update(0, Increase, Some(-1))),
        ("updates.size", update(0, Promote, Some(1024))),
    ] {
        let good = update(0, Decrease, Some(1024));
        let answer = site.call_with(|call| call.updates = vec![good, wrong]);
        let refused = answer.await.refused.unwrap();
        assert_eq!(refused.cause(), wire::call_refusal::Cause::Invalid);
        assert!(refused.message.starts_with(field), "{}", refused.message);
    }
    let many = vec![update(0, Demote, None); 10_001];
    let answer = site.call_with(|call| call.updates = many).await;
    assert!(answer.refused.is_some());
    // Nothing of all that was carried out.
    let shrunk = site.change(update(0, Decrease, Some(1024))).await;
    assert_eq!(shrunk, updated(1, Decrease, 1024));
    let nonsense = wire::ContainerVersion {
        container: "nonsense".to_owned(),
        version: 1,
    };
    site.beat.updated = vec![nonsense];
    site.beat.sequence += 1;
    site.beats.send(site.beat.clone()).await.unwrap();
    let refused = site.orders.next().await.unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().starts_with("updated"), "{refused:?}");
}

fn gang(site: &Site, minimum: u32, memory: i64) -> wire::AskGangRequest {
    wire::AskGangRequest {
        application: site.application.clone(),
        priority: 7,
        request_id: 3,
        size: resource(&[memory, 1]),
        minimum,
        within_ms: 60_000,
        ..wire::AskGangRequest::default()
    }
}

#[tokio::test]
async fn a_gang_is_placed_whole_or_given_up() {
    let mut site = Site::with(1).await;
    let mut apps = site.running.applications("ann").await;
    let asked = wire::AskGangRequest {
        close: Some(wire::ask_gang_request::Close::OneRack(true)),
        ..gang(&site, 2, 2048)
    };
    apps.ask_gang(asked).await.unwrap();
    site.next().await;
    let mut answer = site.fetch().await;
    while answer.gangs.is_empty() {
        site.next().await;
        let more = site.fetch().await;
        answer.allocated.extend(more.allocated);
        answer.gangs = more.gangs;
    }
    assert_eq!(answer.allocated.len(), 2, "{answer:?}");
    let placed = &answer.gangs[0];
    let shown = (
        placed.placed,
        placed.members,
        placed.priority,
        placed.request_id,
    );
    assert_eq!(shown, (true, 2, 7, 3));

    let short = wire::AskGangRequest {
        within_ms: 1,
        ..gang(&site, 3, 4096)
    };
    apps.ask_gang(short).await.unwrap();
    let given_up = loop {
        tokio::time::sleep(Duration::from_millis(5)).await;
        site.next().await;
        if let Some(outcome) = site.fetch().await.gangs.pop() {
            break outcome;
        }
    };
    assert_eq!((given_up.placed, given_up.members), (false, 3));
    assert_eq!(given_up.cause, "cluster", "{given_up:?}");
    let withdrawn = gang(&site, 0, 4096);
    apps.ask_gang(withdrawn).await.unwrap();
}

#[tokio::test]
async fn gangs_that_make_no_sense_are_refused() {
    let site = Site::with(1).await;
    let mut apps = site.running.applications("ann").await;
    let asked = gang(&site, 2, 1024);
    let wrong = [
        wire::AskGangRequest {
            size: None,
            ..asked.clone()
        },
        wire::AskGangRequest {
            size: resource(&[-1, 1]),
            ..asked.clone()
        },
        wire::AskGangRequest {
            size: resource(&[100_000, 1]),
            ..asked.clone()
        },
        wire::AskGangRequest {
            minimum: 10_001,
            ..asked.clone()
        },
        wire::AskGangRequest {
            elastic: 2_000_000,
            ..asked.clone()
        },
        wire::AskGangRequest {
            within_ms: 0,
            ..asked.clone()
        },
        wire::AskGangRequest {
            label: Some("gpu".to_owned()),
            ..asked.clone()
        },
        wire::AskGangRequest {
            application: "nonsense".to_owned(),
            ..asked.clone()
        },
    ];
    for request in wrong {
        let refused = apps.ask_gang(request.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{request:?}");
        assert!(!refused.message().is_empty());
    }
    let nobody = wire::AskGangRequest {
        application: "application_1_0001".to_owned(),
        ..asked.clone()
    };
    let refused = apps.ask_gang(nobody).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let mut bob = site.running.applications("bob").await;
    let refused = bob.ask_gang(asked.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let waiting = site.running.submit(&mut apps, "root.a").await;
    let early = wire::AskGangRequest {
        application: waiting,
        ..asked
    };
    let refused = apps.ask_gang(early).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
}
