//! Stores that servers share, started for one test program: members that can be killed, and connections that can be cut.

#[cfg(feature = "etcd")]
mod etcd;
mod link;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use capsched::sync::Mutex;
use capsched_server::store::open_shared;

pub(crate) use link::Link;

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    #[cfg(feature = "etcd")]
    Etcd,
    #[cfg(feature = "zookeeper")]
    ZooKeeper,
}

impl Kind {
    /// All kinds that this program was built with.
    pub(crate) const ALL: &[Self] = &[
        #[cfg(feature = "etcd")]
        Self::Etcd,
        #[cfg(feature = "zookeeper")]
        Self::ZooKeeper,
    ];

    fn scheme(self) -> &'static str {
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd => "etcd",
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper => "zookeeper",
        }
    }

    /// The address of a store with this prefix, by the ports of its members.
    fn address(self, ports: &[u16], prefix: &str) -> String {
        let hosts = ports.iter().map(|port| format!("127.0.0.1:{port}"));
        let hosts = hosts.collect::<Vec<_>>().join(",");
        format!("{}://{hosts}/{prefix}", self.scheme())
    }
}

/// One member, which ends when it is dropped.
struct Member {
    /// The program and its arguments.
    words: Vec<String>,
    process: Mutex<Child>,
}

/// The members of one store, which end when it is dropped.
pub(crate) struct StoreServer {
    kind: Kind,
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

fn launch(words: &[String]) -> std::io::Result<Child> {
    let (program, arguments) = words.split_first().unwrap();
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

impl StoreServer {
    /// Starts so many members. Nothing where that store is not installed, and a line says so.
    pub(crate) fn start(kind: Kind, count: usize) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let all = free_ports(2 * count);
        let (ports, peers) = all.split_at(count);
        let words = match kind {
            #[cfg(feature = "etcd")]
            Kind::Etcd => etcd::words(dir.path(), ports, peers),
            #[cfg(feature = "zookeeper")]
            Kind::ZooKeeper => zookeeper::words(dir.path(), ports, peers),
        };
        let members: Option<Vec<Arc<Member>>> = words.and_then(|words| {
            let members = words.into_iter().map(|words| {
                let process = Mutex::new(launch(&words).ok()?);
                Some(Arc::new(Member { words, process }))
            });
            members.collect()
        });
        let Some(members) = members else {
            let mut out = std::io::stderr().lock();
            let _ = writeln!(out, "skipped: no server of {kind:?} can be had here");
            return None;
        };
        let server = Self {
            kind,
            members,
            ports: ports.to_vec(),
            _dir: dir,
        };
        for _ in 0..600 {
            if open_shared(&server.address("ready")).is_ok() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("{kind:?} does not start");
    }

    /// Runs a case over a server of each kind that is installed, with so many members.
    pub(crate) fn over_each(count: usize, mut case: impl FnMut(Kind, Self)) {
        for kind in Kind::ALL {
            if let Some(server) = Self::start(*kind, count) {
                case(*kind, server);
            }
        }
    }

    /// The address of a store with this prefix.
    pub(crate) fn address(&self, prefix: &str) -> String {
        self.kind.address(&self.ports, prefix)
    }

    /// A way to each of the members.
    pub(crate) fn link(&self) -> Link {
        Link::to(self.kind, &self.ports)
    }

    /// Kills a member, and starts it again when a while is over.
    pub(crate) fn restart(&self, number: usize, lasts: Duration) -> thread::JoinHandle<()> {
        let member = Arc::clone(&self.members[number % self.members.len()]);
        member.kill();
        let later = thread::Builder::new().spawn(move || {
            thread::sleep(lasts);
            let mut process = member.lock();
            *process = launch(&member.words).unwrap();
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
