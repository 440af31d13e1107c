//! Messages that are wrong: in their values, in their form, in their size, and calls whose deadline is over.

use std::time::Duration;

use capsched_protocol as wire;
use tokio_stream::StreamExt;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};

use crate::server::{Running, container_ask, registration, resource};

/// Sends bytes as they are.
#[derive(Clone, Debug, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        use tonic::codegen::Bytes;
        let bytes = Bytes::from(item);
        bytes::BufMut::put(into, bytes);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        use bytes::Buf;
        from.advance(from.remaining());
        Ok(Some(()))
    }
}

/// A call of `Nodes.Register` with these bytes as its message.
async fn raw(running: &Running, bytes: Vec<u8>) -> Result<(), Status> {
    let mut client = tonic::client::Grpc::new(running.channel().await);
    client.ready().await.unwrap();
    let mut request = Request::new(bytes);
    let yarn = "yarn".parse().unwrap();
    request.metadata_mut().insert("user.name", yarn);
    let path = PathAndQuery::from_static("/capsched.v1.Nodes/Register");
    client.unary(request, path, Raw).await.map(drop)
}

#[tokio::test]
async fn broken_bytes_are_refused_and_the_server_lives() {
    let running = Running::start().await;
    let mut cases: Vec<Vec<u8>> = vec![
        // A number that does not end, a field number 0, a length beyond the end, a group that does not end.
        vec![
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        ],
        vec![0x00, 0x01],
        vec![0x0a, 0x7f, b'n'],
        vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
        vec![0x0b; 100_000],
        // A text that is no UTF-8, and a number where a text belongs.
        vec![0x0a, 0x02, 0xc3, 0x28],
        vec![0x08, 0x01],
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for length in 1..200_usize {
        let byte = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u8::try_from(state & 0xff).unwrap()
        };
        cases.push((0..length).map(byte).collect());
    }
    for case in cases {
        let length = case.len();
        let refused = raw(&running, case)
            .await
            .expect_err("it is no registration");
        let fine = matches!(refused.code(), Code::Internal | Code::InvalidArgument);
        assert!(fine, "{length} bytes: {refused:?}");
    }
    let mut nodes = running.nodes("yarn").await;
    nodes.register(registration("n1:1")).await.unwrap();
}

#[tokio::test]
async fn a_message_has_four_mib_at_most() {
    let running = Running::start().await;
    // An unknown field of this length is passed over.
    let of = |length: usize| {
        let body = length - 6;
        let mut bytes = vec![0xfa, 0x7f];
        let mut left = body;
        while left >= 0x80 {
            bytes.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
            left >>= 7;
        }
        bytes.push(u8::try_from(left).unwrap());
        bytes.resize(length, 0);
        bytes
    };
    let most = raw(&running, of(4 << 20)).await.unwrap_err();
    assert_eq!(most.code(), Code::InvalidArgument, "{most:?}");
    let more = raw(&running, of((4 << 20) + 1)).await.unwrap_err();
    assert_eq!(more.code(), Code::OutOfRange, "{more:?}");
}

#[tokio::test]
async fn wrong_values_are_named() {
    let running = Running::start().await;
    let mut nodes = running.nodes("yarn").await;
    let with = |change: &dyn Fn(&mut wire::RegisterNodeRequest)| {
        let mut request = registration("n1:1");
        change(&mut request);
        request
    };
    let runs = |id: &str| wire::NodeContainer {
        container: id.to_owned(),
        size: resource(&[1, 1]),
        ..wire::NodeContainer::default()
    };
    for (request, field) in [
        (with(&|r| r.node = String::new()), "node"),
        (with(&|r| r.node = "n1\n:1".to_owned()), "node"),
        (with(&|r| r.node = "n".repeat(10_000)), "node"),
        (with(&|r| r.total = None), "total"),
        (with(&|r| r.total = resource(&[-1, 1])), "total"),
        (with(&|r| r.total = resource(&[i64::MAX, 1])), "total"),
        (with(&|r| r.total = resource(&[1; 9])), "total"),
        (with(&|r| r.http_port = 65_536), "http_port"),
        (with(&|r| r.version = "v".repeat(5000)), "version"),
        (with(&|r| r.label = Some("gone".to_owned())), "label"),
        (
            with(&|r| r.running = vec![runs("container_x")]),
            "running.container",
        ),
        (with(&|r| r.running = vec![runs(""); 10_001]), "running"),
    ] {
        let refused = nodes.register(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
        assert!(refused.message().contains(field), "{field}: {refused:?}");
    }
    let mut apps = running.applications("ann").await;
    let id = running.submit(&mut apps, "root.a").await;
    for (application, queue) in [("", "root.a"), ("application_1", "root.a")] {
        let request = wire::SubmitRequest {
            application: application.to_owned(),
            queue: queue.to_owned(),
            master: resource(&[1024, 1]),
            ..wire::SubmitRequest::default()
        };
        let refused = apps.submit(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    }
    for status in [0, 99, -1] {
        let request = wire::FinishMasterRequest {
            application: id.clone(),
            status,
            ..wire::FinishMasterRequest::default()
        };
        let refused = apps.finish_master(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().starts_with("status"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_wrong_call_of_a_master_leaves_its_stream_open() {
    let running = Running::start().await;
    let mut apps = running.applications("ann").await;
    let application = running.submit(&mut apps, "root.a").await;
    let (calls, mut answers) = running.allocate("ann").await;
    let call = |progress: f32, asks: Vec<wire::ContainerAsk>| wire::AllocateRequest {
        application: application.clone(),
        asks,
        progress,
        ..wire::AllocateRequest::default()
    };
    let sized = |size: Option<wire::Resource>| wire::ContainerAsk {
        size,
        ..container_ask(1)
    };
    for (call, field) in [
        (call(f32::NAN, Vec::new()), "progress"),
        (call(-1.0, Vec::new()), "progress"),
        (call(0.0, vec![sized(None)]), "asks.size"),
        (call(0.0, vec![sized(resource(&[-1]))]), "asks.size"),
        (call(0.0, vec![container_ask(u32::MAX)]), "asks.count"),
        (call(0.0, vec![container_ask(1); 10_001]), "asks"),
    ] {
        calls.send(call).await.unwrap();
        let refused = answers.next().await.unwrap().unwrap().refused.unwrap();
        assert_eq!(refused.cause(), wire::call_refusal::Cause::Invalid);
        assert!(refused.message.starts_with(field), "{refused:?}");
    }
}

#[tokio::test]
async fn a_deadline_that_is_over_ends_a_call() {
    let running = Running::start().await;
    let mut apps = running.applications("ann").await;
    // Where the answer is ready before the clock is looked at, it counts.
    let mut late = None;
    for _ in 0..10_000 {
        let mut request = Request::new(wire::NewIdRequest {});
        request.set_timeout(Duration::from_nanos(1));
        late = apps.new_id(request).await.err();
        if late.is_some() {
            break;
        }
    }
    let late = late.unwrap();
    let ended = matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled);
    assert!(ended, "{late:?}");
    apps.new_id(wire::NewIdRequest {}).await.unwrap();
}

#[tokio::test]
async fn a_wrong_heartbeat_ends_its_stream_with_the_field() {
    let running = Running::start().await;
    let mut nodes = running.nodes("yarn").await;
    nodes.register(registration("n1:1")).await.unwrap();
    for (beat, field) in [
        (
            wire::NodeHeartbeat {
                node: ":".to_owned(),
                ..wire::NodeHeartbeat::default()
            },
            "node",
        ),
        (
            wire::NodeHeartbeat {
                node: "n1:1".to_owned(),
                sequence: 1,
                finished: vec!["container".to_owned()],
                ..wire::NodeHeartbeat::default()
            },
            "finished",
        ),
        (
            wire::NodeHeartbeat {
                node: "n1:1".to_owned(),
                sequence: 1,
                exit_statuses: vec![1],
                ..wire::NodeHeartbeat::default()
            },
            "exit_statuses",
        ),
    ] {
        let (beats, mut orders) = running.heartbeats("yarn").await;
        beats.send(beat).await.unwrap();
        let refused = orders.next().await.unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().starts_with(field), "{refused:?}");
    }
}
