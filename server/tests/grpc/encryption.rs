//! Encryption, and certificates that clients have to show.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capsched_server::daemon::TlsFiles;
use capsched_server::grpc::GrpcOptions;
use capsched_server::grpc::simulated::{NodeLoad, Server};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::server::{Running, options};

/// An authority with the certificates that it gave out, as files.
struct Authority {
    dir: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { dir, issuer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn ca(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// A certificate with its key.
    fn give(&self, name: &str) -> (PathBuf, PathBuf) {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let params = CertificateParams::new(names).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |name: String, text: String| {
            let path = self.path(&name);
            fs::write(&path, text).unwrap();
            path
        };
        (
            write(format!("{name}.pem"), certificate.pem()),
            write(format!("{name}.key"), key.serialize_pem()),
        )
    }
}

fn encrypted(files: (PathBuf, PathBuf), client_ca: Option<PathBuf>) -> GrpcOptions {
    GrpcOptions {
        tls: Some(TlsFiles {
            certificates: files.0,
            key: files.1,
            client_ca: None,
        }),
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

fn client(running: &Running, ca: &Path, identity: Option<(PathBuf, PathBuf)>) -> Server {
    Server {
        ca: Some(ca.to_owned()),
        identity,
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
}
