//! `capsched serve` as a process: its address, its page, its end, and what it refuses to start with.

#![expect(clippy::unwrap_used, reason = "test code")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

#[path = "serve/browser.rs"]
mod browser;
#[path = "../../server/tests/support/certificates.rs"]
mod certificates;
#[path = "serve/changing.rs"]
mod changing;
#[path = "serve/encrypted.rs"]
mod encrypted;
#[path = "serve/live.rs"]
mod live;
#[cfg(feature = "grpc")]
#[path = "serve/machines.rs"]
mod machines;
#[cfg(unix)]
#[path = "serve/readme.rs"]
mod readme;
#[path = "serve/server.rs"]
mod server;
#[path = "serve/session.rs"]
mod session;
#[path = "serve/trials.rs"]
mod trials;

use std::process::Command;

use server::Server;

#[test]
fn the_demonstration_serves_a_page_and_a_cluster_that_lives() {
    let server = Server::start(&[]);
    let (head, body) = server.get("/ui/");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(body.contains("<title>capsched</title>"));
    let (head, _) = server.get("/");
    assert!(head.contains("location: ui/"), "{head}");
    server.await_containers();
    let (_, whoami) = server.get("/v1/whoami");
    assert!(whoami.contains("\"user\":\"yarn\""), "{whoami}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_in_order() {
    let mut server = Server::start(&[]);
    let pid = server.child().id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
    let ended = server.child().wait().unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn what_would_let_anybody_in_is_refused_with_what_to_do() {
    let refused = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
            .arg("serve")
            .args(args)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "ann 12\n").unwrap();
    let tokens = tokens.to_str().unwrap();
    let conf = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../configs/capacity-scheduler/demo.xml"
    );
    for (args, code, part) in [
        (
            vec!["--conf", conf, "--listen", "0.0.0.0:0"],
            1,
            "--tokens or --jwt-key",
        ),
        (vec!["--demo", "--listen", "0.0.0.0:0"], 1, "--tls-cert"),
        (vec!["--demo", "--tokens", tokens], 1, "tokens:1: "),
        (
            vec!["--demo", "--tokens", "/nowhere/tokens"],
            2,
            "/nowhere/tokens",
        ),
        (vec!["--conf", "/nowhere/conf.xml"], 2, "/nowhere/conf.xml"),
        (vec!["--demo", "--speed", "0"], 2, "0.001 to 1000"),
        (vec![], 2, "--demo"),
    ] {
        let (found, text) = refused(&args);
        assert_eq!(found, Some(code), "{args:?}: {text}");
        assert!(text.contains(part), "{args:?}: {text}");
    }
}
