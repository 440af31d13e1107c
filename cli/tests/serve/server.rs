//! `capsched serve --demo` as a process that ends with the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A server that is ended with the test.
pub(crate) struct Server {
    child: Child,
    address: String,
    #[cfg(feature = "grpc")]
    grpc: String,
    token: String,
}

impl Server {
    pub(crate) fn start(more: &[&str]) -> Self {
        let demo = ["serve", "--demo", "--nodes", "20", "--speed", "20"];
        Self::of(&[&demo, more].concat())
    }

    /// A server with the arguments given, at a port that the system chooses.
    pub(crate) fn of(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_capsched"))
            .args(args)
            .args(["--listen", "127.0.0.1:0", "--json"])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            address: said["address"].as_str().unwrap().to_owned(),
            #[cfg(feature = "grpc")]
            grpc: said["grpc"].as_str().unwrap_or_default().to_owned(),
            token: said["token"].as_str().unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Address for node agents and application masters; empty without `--grpc`.
    #[cfg(feature = "grpc")]
    pub(crate) fn grpc(&self) -> &str {
        &self.grpc
    }

    /// The administrator's token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The same server, asked with another token.
    pub(crate) fn with_token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    /// Head and body of an answer.
    pub(crate) fn get(&self, path: &str) -> (String, String) {
        self.ask("GET", path, "")
    }

    /// Head and body of the answer to a document.
    pub(crate) fn post(&self, path: &str, document: &Value) -> (String, String) {
        self.send("POST", path, "", document)
    }

    /// Head and body of the answer to a document with a method and further lines of the head.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        lines: &str,
        document: &Value,
    ) -> (String, String) {
        let body = document.to_string();
        let about = format!(
            "{lines}X-Requested-By: test\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.ask(method, path, &about)
    }

    fn ask(&self, method: &str, path: &str, rest: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n",
            self.address, self.token
        );
        let rest = if rest.is_empty() { "\r\n" } else { rest };
        stream.write_all((head + rest).as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Waits until a container is placed: a minute at most, however slow the machine is.
    pub(crate) fn await_containers(&self) {
        let placed = (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            let (_, metrics) = self.get("/metrics");
            let allocated = "capsched_events_total{kind=\"allocated\"} ";
            let count = metrics
                .lines()
                .find_map(|line| line.strip_prefix(allocated));
            count
                .and_then(|count| count.parse::<u64>().ok())
                .is_some_and(|count| count > 0)
        });
        assert!(placed);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already cannot be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
