//! Heads of requests over a connection: how long they may be, and how long they may take.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use capsched_server::daemon::{ServeOptions, Serving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Headers of a request at most.
const HEADERS: usize = 64;

/// Bytes of a head at most.
const BYTES: usize = 32 << 10;

/// A server that answers every path.
fn serve() -> SocketAddr {
    let options = ServeOptions::at(SocketAddr::from(([127, 0, 0, 1], 0)));
    let serving = Serving::listen(&options).unwrap();
    let address = serving.address();
    tokio::spawn(serving.run(Router::new().route("/", get(|| async { "up" }))));
    address
}

/// The first line of what a text is answered with until the server closes the connection; empty: nothing.
async fn answered(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A server that closes before it read everything resets the connection.
    let _ = stream.read_to_end(&mut answer).await;
    let text = String::from_utf8_lossy(&answer);
    text.lines().next().unwrap_or_default().to_owned()
}

/// A head with so many headers, of which the last one makes it as long as is said.
fn head(headers: usize, bytes: usize) -> String {
    let mut text = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n".to_owned();
    for number in 3..headers {
        text += &format!("x-{number}: 1\r\n");
    }
    text += "x-long: ";
    let rest = bytes.saturating_sub(text.len() + 4);
    text + &"y".repeat(rest) + "\r\n\r\n"
}

#[tokio::test]
async fn a_head_has_so_many_headers_and_no_more() {
    let address = serve();
    let fits = answered(address, &head(HEADERS, 0)).await;
    assert_eq!(fits, "HTTP/1.1 200 OK");
    let more = answered(address, &head(HEADERS + 1, 0)).await;
    assert!(more.starts_with("HTTP/1.1 431"), "{more}");
}

#[tokio::test]
async fn a_head_has_so_many_bytes_and_not_many_more() {
    let address = serve();
    let fits = answered(address, &head(4, BYTES - 1)).await;
    assert_eq!(fits, "HTTP/1.1 200 OK");
    // What was read with the rest of a buffer counts, too.
    let more = answered(address, &head(4, 4 * BYTES)).await;
    assert!(
        more.is_empty() || more.starts_with("HTTP/1.1 431"),
        "{more}"
    );
}

#[tokio::test]
async fn a_head_that_does_not_end_ends_its_connection() {
    let address = serve();
    for begun in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: localhost\r\n"] {
        let answer = answered(address, begun).await;
        assert!(!answer.contains("200"), "{begun:?}: {answer}");
    }
}
