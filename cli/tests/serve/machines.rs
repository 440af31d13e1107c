//! `capsched node-agent` and `capsched app` as processes that load `capsched serve`.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::server::Server;

/// A simulated client of a server, as a process.
fn client(server: &Server, args: &[&str]) -> Child {
    let address = format!("http://{}", server.grpc());
    Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(args)
        .args(["--server", &address, "--user", "yarn", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a client printed, once it succeeded.
fn figures(client: Child) -> Value {
    let output = client.wait_with_output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn node_agents_run_the_containers_of_applications() {
    let conf = "configs/capacity-scheduler/demo.xml";
    let server = Server::of(&[
        "serve",
        "--conf",
        conf,
        "--grpc",
        "127.0.0.1:0",
        "--insecure-simple",
    ]);
    let agents = [
        "node-agent",
        "--simulate",
        "200",
        "--duration",
        "12",
        "--lasts",
        "100..2000",
    ];
    let applications = [
        "app",
        "--simulate",
        "20",
        "--duration",
        "8",
        "--queue",
        "root.prod.serving",
    ];
    let (agents, applications) = (client(&server, &agents), client(&server, &applications));
    let (applications, agents) = (figures(applications), figures(agents));
    assert!(applications["done"].as_u64() > Some(0), "{applications}");
    assert_eq!(applications["refused"], 0, "{applications}");
    for what in ["launched", "finished"] {
        assert!(agents[what].as_u64() > Some(0), "{agents}");
    }
    assert_eq!(
        (&agents["doubled"], &agents["oversubscribed"]),
        (&Value::from(0), &Value::from(0)),
        "{agents}"
    );
}
