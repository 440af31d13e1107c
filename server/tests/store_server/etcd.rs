//! How members of etcd are started.

use std::path::Path;
use std::process::Command;

/// Program and arguments of each member, by their ports for clients and those for each other.
pub(super) fn words(dir: &Path, ports: &[u16], peers: &[u16]) -> Option<Vec<Vec<String>>> {
    Command::new("etcd").arg("--version").output().ok()?;
    let members = 0..ports.len();
    Some(
        members
            .map(|number| member(dir, number, ports, peers))
            .collect(),
    )
}

fn member(dir: &Path, number: usize, ports: &[u16], peers: &[u16]) -> Vec<String> {
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let all = peers.iter().enumerate();
    let all: Vec<String> = all
        .map(|(at, port)| format!("m{at}={}", url(*port)))
        .collect();
    let data = dir.join(format!("m{number}")).display().to_string();
    let (client, peer) = (url(ports[number]), url(peers[number]));
    let arguments = [
        ["--name", &format!("m{number}")],
        ["--data-dir", &data],
        ["--listen-client-urls", &client],
        ["--advertise-client-urls", &client],
        ["--listen-peer-urls", &peer],
        ["--initial-advertise-peer-urls", &peer],
        ["--initial-cluster", &all.join(",")],
        ["--logger", "zap"],
    ];
    let words = ["etcd"].into_iter().chain(arguments.into_iter().flatten());
    words.map(str::to_owned).collect()
}
