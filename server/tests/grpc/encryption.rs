//! Encryption, and certificates that clients have to show.

use std::path::{Path, PathBuf};
use std::time::Duration;

use capsched_server::daemon::TlsFiles;
use capsched_server::grpc::GrpcOptions;
use capsched_server::grpc::simulated::{NodeLoad, Server};

use crate::certificates::Authority;
use crate::server::{Running, options};

fn encrypted(files: TlsFiles, client_ca: Option<PathBuf>) -> GrpcOptions {
    GrpcOptions {
        tls: Some(files),
        client_ca,
        ..options()
    }
}

fn load() -> NodeLoad {
    NodeLoad {
        nodes: 2,
        streams: 1,
        interval: Duration::from_millis(20),
        total: vec![8192, 8],
        lasts_ms: (1, 10),
        duration: Duration::from_millis(300),
        seed: 1,
    }
}

fn client(running: &Running, ca: &Path, own: Option<TlsFiles>) -> Server {
    Server {
        ca: Some(ca.to_owned()),
        identity: own.map(|files| (files.certificates, files.key)),
        ..Server::plain(running.address(), "yarn")
    }
}

/// Whether a client gets through: its connection, or its first call.
async fn reaches(server: &Server) -> bool {
    let Ok(channel) = server.connect(Duration::ZERO).await else {
        return false;
    };
    let credentials = server.credentials().unwrap();
    let mut client = capsched_protocol::applications_client::ApplicationsClient::with_interceptor(
        channel,
        credentials,
    );
    client
        .new_id(capsched_protocol::NewIdRequest {})
        .await
        .is_ok()
}

#[tokio::test]
async fn a_client_trusts_the_authority_of_the_server_and_no_other() {
    let (own, other) = (Authority::new(), Authority::new());
    let running = Running::with(&encrypted(own.give("server"), None)).await;
    let figures = load()
        .run(&client(&running, &own.ca(), None))
        .await
        .unwrap();
    assert_eq!(figures.registrations, 2);
    assert!(!reaches(&client(&running, &other.ca(), None)).await);
    let plain = Server::plain(format!("http://{}", running.address), "yarn");
    assert!(!reaches(&plain).await);
}

#[tokio::test]
async fn with_mutual_tls_a_client_shows_a_certificate_of_the_authority() {
    let (own, other) = (Authority::new(), Authority::new());
    let options = encrypted(own.give("server"), Some(own.ca()));
    let running = Running::with(&options).await;
    let known = client(&running, &own.ca(), Some(own.give("node")));
    assert_eq!(load().run(&known).await.unwrap().registrations, 2);
    assert!(!reaches(&client(&running, &own.ca(), None)).await);
    let foreign = client(&running, &own.ca(), Some(other.give("node")));
    assert!(!reaches(&foreign).await);
    let stranger = client(&running, &own.ca(), None);
    let refused = load().run(&stranger).await.unwrap_err();
    assert!(refused.contains(&stranger.address), "{refused}");
}
