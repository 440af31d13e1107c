//! An etcd of a test's own, where etcd is installed: members that can be killed, and connections that can be cut.

mod link;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use capsched::sync::Mutex;
use capsched_server::store::EtcdStore;

pub(crate) use link::Link;

/// One member, which ends when it is dropped.
struct Member {
    arguments: Vec<String>,
    process: Mutex<Child>,
}

/// The members of one etcd, which end when it is dropped.
pub(crate) struct EtcdServer {
    members: Vec<Arc<Member>>,
    ports: Vec<u16>,
    _dir: tempfile::TempDir,
}

/// Ports that are free now.
fn free_ports(count: usize) -> Vec<u16> {
    let bound: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let ports = bound.iter().map(|one| one.local_addr().unwrap().port());
    ports.collect()
}

fn launch(arguments: &[String]) -> std::io::Result<Child> {
    Command::new("etcd")
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// The arguments of one member of several, by its port for clients and that for the other members.
fn arguments(dir: &Path, number: usize, ports: &[u16], peers: &[u16]) -> Vec<String> {
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let all = peers.iter().enumerate();
    let all: Vec<String> = all
        .map(|(at, port)| format!("m{at}={}", url(*port)))
        .collect();
    let data = dir.join(format!("m{number}")).display().to_string();
    let (client, peer) = (url(ports[number]), url(peers[number]));
    [
        ["--name", &format!("m{number}")],
        ["--data-dir", &data],
        ["--listen-client-urls", &client],
        ["--advertise-client-urls", &client],
        ["--listen-peer-urls", &peer],
        ["--initial-advertise-peer-urls", &peer],
        ["--initial-cluster", &all.join(",")],
        ["--logger", "zap"],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

impl EtcdServer {
    /// Starts so many members; nothing where etcd is not installed.
    pub(crate) fn of(count: usize) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let all = free_ports(2 * count);
        let (ports, peers) = all.split_at(count);
        let mut members = Vec::new();
        for number in 0..count {
            let arguments = arguments(dir.path(), number, ports, peers);
            let process = Mutex::new(launch(&arguments).ok()?);
            members.push(Arc::new(Member { arguments, process }));
        }
        let server = Self {
            members,
            ports: ports.to_vec(),
            _dir: dir,
        };
        for _ in 0..200 {
            if EtcdStore::open(&server.address("ready")).is_ok() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("etcd does not start");
    }

    /// The address of a store with this prefix.
    pub(crate) fn address(&self, prefix: &str) -> String {
        let hosts = self.ports.iter().map(|port| format!("127.0.0.1:{port}"));
        format!("etcd://{}/{prefix}", hosts.collect::<Vec<_>>().join(","))
    }

    /// The ports for clients.
    pub(crate) fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Kills a member, and starts it again when a while is over.
    pub(crate) fn restart(&self, number: usize, lasts: Duration) -> thread::JoinHandle<()> {
        let member = Arc::clone(&self.members[number % self.members.len()]);
        member.kill();
        let later = thread::Builder::new().spawn(move || {
            thread::sleep(lasts);
            let mut process = member.lock();
            *process = launch(&member.arguments).unwrap();
        });
        later.unwrap()
    }
}

impl Member {
    fn lock(&self) -> capsched::sync::MutexGuard<'_, Child> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kill(&self) {
        let mut process = self.lock();
        // One that has ended already needs no end.
        let _ = process.kill();
        let _ = process.wait();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}
