//! Two routers, or two servers, over one store: the second redirects to the first, and leads with what the first kept
//! once it is gone.

#![cfg(any(feature = "etcd", feature = "zookeeper"))]
#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "serve/server.rs"]
#[expect(dead_code, reason = "not every helper is of use for routers")]
mod server;
#[path = "../../server/tests/store_server/mod.rs"]
#[expect(dead_code, reason = "no member of the store is restarted here")]
mod store_server;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use capsched_server::store::{Batch, open_shared};
use serde_json::{Value, json};
use server::Server;
use store_server::StoreServer;

const TOKEN: &str = "token-of-yarn";
/// The SHA-256 of the token.
const TOKENS: &str = "yarn ffe580defa23d9a41bf99123060aab6c3fced7fabc708b682cd71f2f24efa0ec\n";

/// A policy that sends all applications of a queue to the one cell.
fn policy(queue: &str, cell: &str) -> Value {
    json!({
        "cells": [{"name": "east", "addresses": [format!("http://{cell}")]}],
        "queues": [{"queue": queue, "home": "east"}],
    })
}

/// A directory with the tokens of all servers and the first policy.
fn files(cell: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tokens"), TOKENS).unwrap();
    std::fs::write(
        dir.path().join("policy.json"),
        policy("root", cell).to_string(),
    )
    .unwrap();
    dir
}

fn router(store: &str, dir: &Path) -> Server {
    let at = |name: &str| dir.join(name).display().to_string();
    let (tokens, policy) = (at("tokens"), at("policy.json"));
    let arguments = [
        "router", "--store", store, "--tokens", &tokens, "--policy", &policy,
    ];
    Server::of(&arguments).with_token(TOKEN)
}

/// The first answer to a question for which a condition holds: within two minutes, however slow the machine is.
fn await_answer(server: &Server, path: &str, holds: impl Fn(&str) -> bool) -> (String, Value) {
    for _ in 0..1_200 {
        let (head, body) = server.get(path);
        if holds(&head) {
            return (head, serde_json::from_str(&body).unwrap_or_default());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{path}: {:?}", server.get(path));
}

fn is_ok(head: &str) -> bool {
    head.starts_with("HTTP/1.1 200")
}

/// The exit code of a server: within two minutes.
fn await_end(mut server: Server) -> Option<i32> {
    for _ in 0..1_200 {
        if let Some(ended) = server.child().try_wait().unwrap() {
            return ended.code();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{} goes on", server.address());
}

/// A program that ends by itself: its exit code, and what it wrote to standard error. Within two minutes.
fn ended(arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(arguments)
        .args(["--listen", "127.0.0.1:0"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..1_200 {
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            return (output.status.code(), said);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    panic!("{arguments:?} goes on");
}

/// Submits an application to a queue.
fn submit(router: &Server, queue: &str) -> String {
    let (_, made) = router.post("/ws/v1/cluster/apps/new-application", &json!({}));
    let made: Value = serde_json::from_str(&made).unwrap();
    let id = made["application-id"].as_str().unwrap().to_owned();
    let body = json!({"application-id": id, "queue": queue, "unmanaged-AM": true});
    let (head, body) = router.post("/ws/v1/cluster/apps", &body);
    assert!(head.starts_with("HTTP/1.1 202"), "{head}\n{body}");
    id
}

/// Waits until a router redirects to the one that leads.
fn await_redirect(standby: &Server, leader: &Server) {
    let (head, _) = await_answer(standby, "/v1/policy?x=1", |head| {
        head.starts_with("HTTP/1.1 307")
    });
    let place = format!("location: http://{}/v1/policy?x=1", leader.address());
    assert!(head.lines().any(|line| line == place), "{head}");
    let (head, ready) = standby.get("/health/ready");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert!(ready.contains(leader.address()), "{ready}");
}

#[test]
fn a_standby_redirects_and_leads_with_policy_and_homes_when_the_leader_is_killed() {
    StoreServer::over_each(1, |kind, store| {
        let dir = files("127.0.0.1:1");
        let tokens = dir.path().join("tokens").display().to_string();
        let cell = Server::start(&["--tokens", &tokens]).with_token(TOKEN);
        let dir = files(cell.address());
        let mut first = router(&store.address("routers"), dir.path());
        await_answer(&first, "/v1/policy", is_ok);
        let second = router(&store.address("routers"), dir.path());
        await_redirect(&second, &first);
        let id = submit(&first, "root.adhoc");
        let changed = policy("root.adhoc", cell.address());
        let (head, made) = first.send("PUT", "/v1/policy", "If-Match: \"1\"\r\n", &changed);
        assert!(is_ok(&head), "{kind:?}: {head}\n{made}");
        first.child().kill().unwrap();
        first.child().wait().unwrap();

        let (head, kept) = await_answer(&second, "/v1/policy", is_ok);
        assert!(head.contains("etag: \"2\""), "{kind:?}: {head}");
        assert_eq!(kept["policy"], changed, "{kind:?}");
        let (_, figures) = second.get("/metrics");
        assert!(figures.contains("capsched_router_homes 1\n"), "{figures}");
        let (head, app) = second.get(&format!("/ws/v1/cluster/apps/{id}"));
        assert!(is_ok(&head), "{kind:?}: {head}\n{app}");
        assert_ne!(submit(&second, "root.adhoc"), id);
        let third = router(&store.address("routers"), dir.path());
        await_redirect(&third, &second);
    });
}

/// A server over real files and a store.
fn server(store: &str, dir: &Path) -> Server {
    let tokens = dir.join("tokens").display().to_string();
    let conf = "configs/capacity-scheduler/demo.xml";
    let arguments = [
        "serve", "--store", store, "--conf", conf, "--tokens", &tokens,
    ];
    Server::of(&arguments).with_token(TOKEN)
}

#[test]
fn a_server_changes_its_queues_and_a_standby_has_them_when_it_is_killed() {
    StoreServer::over_each(1, |kind, store| {
        let dir = files("127.0.0.1:1");
        let mut first = server(&store.address("servers"), dir.path());
        await_answer(&first, "/health/ready", is_ok);
        let second = server(&store.address("servers"), dir.path());
        let (head, _) = await_answer(&second, "/health/ready", |head| {
            head.starts_with("HTTP/1.1 503")
        });
        assert!(!is_ok(&head), "{kind:?}: {head}");
        let entry =
            json!({"key": "yarn.scheduler.capacity.maximum-am-resource-percent", "value": "0.25"});
        let change = json!({"global-updates": {"entry": entry}});
        let conf = "/ws/v1/cluster/scheduler-conf";
        let (head, said) = first.send("PUT", conf, "", &change);
        assert!(is_ok(&head), "{kind:?}: {head}\n{said}");
        first.child().kill().unwrap();
        first.child().wait().unwrap();

        await_answer(&second, "/health/ready", is_ok);
        let (head, kept) = second.get(conf);
        assert!(is_ok(&head), "{kind:?}: {head}\n{kept}");
        assert!(kept.contains("0.25"), "{kind:?}: {kept}");
    });
}

#[test]
fn a_server_or_router_ends_where_the_store_holds_what_it_cannot_read() {
    StoreServer::over_each(1, |kind, store| {
        let dir = files("127.0.0.1:1");
        let tokens = dir.path().join("tokens").display().to_string();
        let conf = "configs/capacity-scheduler/demo.xml";
        let command = format!("journal/{:020}", 1);
        for (at, key) in [
            command.as_str(),
            "snapshot/current",
            "conf/latest",
            "policy",
        ]
        .into_iter()
        .enumerate()
        {
            let address = store.address(&format!("unread-{at}"));
            let planted = open_shared(&address).unwrap();
            let token = planted.lead("a", Duration::from_secs(60)).unwrap();
            let batch = Batch::new().put(key, "of another program");
            planted.write(token, &batch).unwrap();
            planted.resign(token).unwrap();
            let arguments: &[&str] = match key {
                "policy" => &["router", "--store", &address, "--tokens", &tokens],
                _ => &[
                    "serve", "--store", &address, "--conf", conf, "--tokens", &tokens,
                ],
            };
            let (code, said) = ended(arguments);
            assert_eq!(code, Some(2), "{kind:?}: {said}");
            let last = said.lines().last().unwrap();
            for part in [
                &address,
                key,
                "`of another program`",
                "this program reads schema 1",
            ] {
                assert!(last.contains(part), "{kind:?}, {key}: {said}");
            }
            assert!(!said.contains("WARN"), "{kind:?}, {key}: {said}");
        }
    });
}

#[test]
fn a_leader_without_a_connection_to_the_store_ends_and_the_standby_leads() {
    StoreServer::over_each(1, |kind, store| {
        let dir = files("127.0.0.1:1");
        let link = store.link();
        let first = router(&link.address("routers"), dir.path());
        await_answer(&first, "/v1/policy", is_ok);
        let second = router(&store.address("routers"), dir.path());
        await_redirect(&second, &first);
        let heals = link.harm(true, Duration::from_secs(8));
        assert_eq!(await_end(first), Some(2), "{kind:?}");
        await_answer(&second, "/v1/policy", is_ok);
        heals.join().unwrap();
    });
}
