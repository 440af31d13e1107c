//! An etcd server of a test's own, where etcd is installed.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use capsched_server::store::EtcdStore;

/// A server that ends when it is dropped.
pub(crate) struct EtcdServer {
    process: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

/// A port that is free now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl EtcdServer {
    /// Starts a server; nothing where etcd is not installed.
    pub(crate) fn start() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let (port, peers) = (free_port(), free_port());
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(dir.path().join("data"))
            .args(["--listen-client-urls", &url(port)])
            .args(["--advertise-client-urls", &url(port)])
            .args(["--listen-peer-urls", &url(peers)])
            .args(["--initial-advertise-peer-urls", &url(peers)])
            .args(["--initial-cluster", &format!("default={}", url(peers))])
            .args(["--logger", "zap"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = Self {
            process,
            port,
            _dir: dir,
        };
        for _ in 0..200 {
            if EtcdStore::open(&server.address("ready")).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("etcd does not start");
    }

    /// The address of a store with this prefix.
    pub(crate) fn address(&self, prefix: &str) -> String {
        format!("etcd://127.0.0.1:{}/{prefix}", self.port)
    }
}

impl Drop for EtcdServer {
    fn drop(&mut self) {
        // One that has ended already needs no end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
