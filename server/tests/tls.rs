//! Encryption of the REST interface, and certificates that clients have to show.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

#[path = "support/certificates.rs"]
mod certificates;

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use capsched_server::daemon::{ServeOptions, ServeProblem, Serving, TlsFiles};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use certificates::Authority;

/// A client that trusts an authority, with a certificate of its own or without.
fn client(
    of: &Authority,
    own: Option<&TlsFiles>,
    versions: &[&'static SupportedProtocolVersion],
) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(of.ca()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => config.with_no_client_auth(),
        Some(files) => {
            let chain = vec![CertificateDer::from_pem_file(&files.certificates).unwrap()];
            let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        }
    };
    TlsConnector::from(Arc::new(config))
}

const BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];

fn options(files: TlsFiles) -> ServeOptions {
    ServeOptions {
        tls: Some(files),
        ..ServeOptions::at(SocketAddr::from(([127, 0, 0, 1], 0)))
    }
}

/// A server that answers one path.
fn serve(files: TlsFiles) -> SocketAddr {
    let serving = Serving::listen(&options(files)).unwrap();
    let address = serving.address();
    let router = Router::new().route("/health/live", get(|| async { "up" }));
    tokio::spawn(serving.run(router));
    address
}

/// What a request over a connection is answered with; nothing when it is not.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Option<String> {
    let request = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    text.starts_with("HTTP/1.1 200").then_some(text)
}

async fn reaches(address: SocketAddr, client: &TlsConnector) -> bool {
    let plain = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    match client.connect(name, plain).await {
        Ok(stream) => ask(stream).await.is_some(),
        Err(_) => false,
    }
}

#[tokio::test]
async fn a_client_reaches_a_server_whose_authority_it_trusts() {
    let (own, other) = (Authority::new(), Authority::new());
    let address = serve(own.give("server"));
    for versions in [&[&TLS13], &[&TLS12]] {
        assert!(reaches(address, &client(&own, None, versions)).await);
    }
    assert!(!reaches(address, &client(&other, None, BOTH)).await);
    let plain = TcpStream::connect(address).await.unwrap();
    assert_eq!(
        ask(plain).await,
        None,
        "unencrypted requests are not answered"
    );
    assert!(
        reaches(address, &client(&own, None, BOTH)).await,
        "the server goes on"
    );
}

#[tokio::test]
async fn with_mutual_tls_a_client_shows_a_certificate_of_the_authority() {
    let (own, other) = (Authority::new(), Authority::new());
    let files = TlsFiles {
        client_ca: Some(own.ca()),
        ..own.give("server")
    };
    let address = serve(files);
    assert!(reaches(address, &client(&own, Some(&own.give("ann")), BOTH)).await);
    assert!(!reaches(address, &client(&own, None, BOTH)).await);
    assert!(!reaches(address, &client(&own, Some(&other.give("bob")), BOTH)).await);
}

#[test]
fn files_that_hold_something_else_are_named() {
    let own = Authority::new();
    let broken = own.ca().with_file_name("broken.pem");
    fs::write(&broken, "something else").unwrap();
    let files = own.give("server");
    for files in [
        TlsFiles {
            certificates: own.ca().with_file_name("gone.pem"),
            ..files.clone()
        },
        TlsFiles {
            certificates: broken.clone(),
            ..files.clone()
        },
        TlsFiles {
            key: broken.clone(),
            ..files.clone()
        },
        TlsFiles {
            client_ca: Some(broken),
            ..files.clone()
        },
        TlsFiles {
            client_ca: Some(own.ca().with_file_name("gone.pem")),
            ..files.clone()
        },
        TlsFiles {
            key: own.give("another").key,
            ..files
        },
    ] {
        let problem = Serving::listen(&options(files.clone())).unwrap_err();
        let ServeProblem::Tls(of, error) = &problem else {
            panic!("{problem}");
        };
        assert_eq!(*of, files);
        let missing = problem.to_string().contains("gone.pem");
        let wanted = if missing {
            ErrorKind::NotFound
        } else {
            ErrorKind::InvalidData
        };
        assert_eq!(error.kind(), wanted, "{problem}");
        let named = ["gone.pem", "broken.pem", "server.pem"];
        assert!(
            named.iter().any(|name| problem.to_string().contains(name)),
            "{problem}"
        );
    }
}
