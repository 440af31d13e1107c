//! `why`, `why-not` and `top` over https: the server's certificate has to come from the authority of `--ca`.

use crate::certificates::Authority;
use crate::live::{document, typed};
use crate::server::Server;

#[test]
fn the_terminal_shows_a_certificate_where_the_server_demands_one() {
    let own = Authority::new();
    let (server, client) = (own.give("server"), own.give("client"));
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let ca = path(&own.ca());
    let (certificate, key) = (path(&server.certificates), path(&server.key));
    let demands = [
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
        "--tls-client-ca",
        &ca,
    ];
    let server = Server::start(&demands);
    let url = format!("https://{}", server.address());
    let (certificate, key) = (path(&client.certificates), path(&client.key));
    let shown = [
        "why",
        &url,
        "--ca",
        &ca,
        "--cert",
        &certificate,
        "--key",
        &key,
    ];
    assert!(document(&shown)["pending"].is_u64());
    let (code, _, err) = typed(&["why", &url, "--ca", &ca]);
    assert!(code == 2 && err.contains(&url), "{err}");
    let (code, _, err) = typed(&["why", &url, "--ca", &ca, "--cert", &key, "--key", &key]);
    assert!(code != 0 && err.contains(&key), "{err}");
    let plain = url.replace("https", "http");
    let (code, _, err) = typed(&["why", &plain, "--cert", &certificate, "--key", &key]);
    assert!(code == 2 && err.contains("--cert"), "{err}");
}

#[test]
fn the_terminal_looks_at_a_server_over_https() {
    let (own, foreign) = (Authority::new(), Authority::new());
    let files = own.give("server");
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (certificate, key) = (path(&files.certificates), path(&files.key));
    let server = Server::start(&["--tls-cert", &certificate, "--tls-key", &key]);
    let url = format!("https://{}", server.address());
    let (own, foreign) = (path(&own.ca()), path(&foreign.ca()));

    let list = document(&["why", &url, "--ca", &own]);
    assert!(list["pending"].is_u64(), "{list}");
    // Nodes of the demonstration register one after the other.
    let nodes = || {
        let moment = document(&["top", &url, "--ca", &own]);
        moment["nodes"].as_array().unwrap().len()
    };
    for _ in 0..200 {
        if nodes() == 20 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(nodes(), 20);
    let (code, _, err) = typed(&["why-not", &url, "1", "nobody", "--ca", &own]);
    assert!(code == 1 && err.contains("404"), "{err}");

    let (code, _, err) = typed(&["why", &url, "--ca", &foreign]);
    assert!(
        code == 2 && err.contains("TLS") && err.contains(&url),
        "{err}"
    );
    let (code, _, err) = typed(&["top", &url, "--json"]);
    assert!(code == 2 && err.contains("--ca"), "{err}");
    let (code, _, err) = typed(&["why", &url, "--ca", &key]);
    assert!(code == 1 && err.contains("no certificate"), "{err}");
    let plain = format!("http://{}", server.address());
    let (code, _, err) = typed(&["why", &plain]);
    assert!(code == 2 && err.contains(&plain), "{err}");
}
