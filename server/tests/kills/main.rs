//! A resource manager is killed at random moments under load, and nothing that was answered is lost or doubled.
//!
//! `KILLS=1000 cargo test -p capsched-server --test kills -- --nocapture` kills it 1000 times; without `KILLS` it is
//! killed a few times. `SEED` chooses other moments, and `LEASE_MS` another lease of leaders over a shared store. The
//! process under test is this program once more.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

mod child;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod failover;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
#[path = "../store_server/mod.rs"]
#[expect(dead_code, reason = "no request is held up here")]
mod store_server;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use capsched::api::{
    ApplicationId, Ask, AskCall, ContainerId, Mode, NodeReport, ResourceVector, RunningContainer,
};
use capsched::config::Caller;
use capsched::sync::{AtomicU64, Ordering};
use capsched::time::{Clock, SystemClock};
use capsched_server::conf::{BodyFormat, ConfChange};
use capsched_server::rm::{
    Answer, AppState, Command, NodeRegistration, Pairs, ResourceManager, Setup, Submission,
};
use capsched_server::store::{Durability, Durable, EmbeddedStore, KeepOptions};

/// The store of the process under test; unset: one in its directory.
const STORE: &str = "CAPSCHED_KILLS_STORE";
const DIRECTORY: &str = "CAPSCHED_KILLS_DIRECTORY";
/// Longest silence of a process that runs.
const LONGEST: Duration = Duration::from_secs(300);
const NODES: u32 = 20;
const USER: &str = "yarn";

fn node(number: u32) -> String {
    format!("n{number}:8041")
}

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    let pair = |(key, value): &(&str, &str)| {
        (
            format!("yarn.scheduler.capacity.{key}"),
            (*value).to_owned(),
        )
    };
    pairs.iter().map(pair).collect()
}

/// One line of what was answered, as one write.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A parent that is gone reads nothing.
    let _ = writeln!(out, "@ {line}").and_then(|()| out.flush());
}

/// What the parent knows: everything that was answered, and what nodes run.
#[derive(Default)]
struct Known {
    asked: BTreeSet<String>,
    submitted: BTreeSet<String>,
    killed: BTreeSet<String>,
    /// Applications that their queue refused.
    failed: BTreeSet<String>,
    nodes: BTreeSet<String>,
    /// Node and container that runs on it.
    running: BTreeMap<String, String>,
    /// Containers that were ever placed.
    placed: BTreeMap<String, String>,
    conf: (u64, String),
}

/// What one run of the process said.
#[derive(Default)]
struct Run {
    apps: BTreeMap<String, String>,
    nodes: BTreeSet<String>,
    registered: BTreeSet<String>,
    taken: BTreeSet<String>,
    stopped: BTreeSet<String>,
    ready: bool,
    ready_us: Option<u64>,
    first_us: Option<u64>,
    /// A change that was refused.
    refused: Option<String>,
}

fn application_of(container: &str) -> String {
    let id: ContainerId = container.parse().unwrap();
    id.app.to_string()
}

impl Known {
    /// Takes a line of the process, and checks what it says of an earlier run.
    fn take(&mut self, run: &mut Run, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["app", id, state] => {
                assert!(self.asked.contains(id), "{id} was never submitted");
                let twice = run.apps.insert(id.to_owned(), state.to_owned());
                assert_eq!(twice, None, "{id} came back twice");
            }
            ["node", name] => {
                run.nodes.insert(name.to_owned());
            }
            ["conf", version, value] => {
                let version: u64 = version.parse().unwrap();
                assert!(version >= self.conf.0, "version {} was lost", self.conf.0);
                if version == self.conf.0 {
                    assert_eq!(value, self.conf.1, "version {version} is another one");
                }
            }
            ["taken", container] => {
                assert!(
                    run.taken.insert(container.to_owned()),
                    "{container} was taken twice"
                );
            }
            ["stop", container] => {
                run.stopped.insert(container.to_owned());
                self.running.remove(container);
            }
            ["registered", name] => {
                run.registered.insert(name.to_owned());
            }
            ["ready", us] => {
                run.ready = true;
                run.ready_us = us.parse().ok();
                self.check(run);
            }
            ["first", us] => run.first_us = us.parse().ok(),
            ["refused", ..] => run.refused = Some(line.to_owned()),
            ["asks", id] => assert!(self.asked.insert(id.to_owned()), "{id} was given out twice"),
            ["submitted", id] => {
                self.submitted.insert(id.to_owned());
            }
            ["failed", id] => {
                self.failed.insert(id.to_owned());
            }
            ["killed", id] => {
                self.killed.insert(id.to_owned());
                self.running
                    .retain(|container, _| application_of(container) != id);
            }
            ["changed", version, value] => self.conf = (version.parse().unwrap(), value.to_owned()),
            ["run", node, container] => {
                let before = self.placed.insert(container.to_owned(), node.to_owned());
                assert_eq!(before, None, "{container} was placed twice");
                self.start(node, container);
            }
            ["master", node, container] => {
                let before = self.placed.insert(container.to_owned(), node.to_owned());
                assert!(
                    before.is_none_or(|before| before == node),
                    "{container} moved"
                );
                self.start(node, container);
            }
            _ => {}
        }
    }

    fn start(&mut self, node: &str, container: &str) {
        if !self.killed.contains(&application_of(container)) {
            self.running.insert(container.to_owned(), node.to_owned());
        }
    }

    /// Compares what came back with what was answered.
    fn check(&self, run: &Run) {
        for id in &self.submitted {
            assert!(run.apps.contains_key(id), "{id} was answered and is lost");
        }
        for id in &self.killed {
            assert_eq!(run.apps[id], "KILLED", "{id} was killed and lives");
        }
        for id in &self.failed {
            assert_eq!(run.apps[id], "FAILED", "{id} was refused and lives");
        }
        for name in &self.nodes {
            assert!(run.nodes.contains(name), "the node {name} is lost");
        }
        for container in self.running.keys() {
            let live = run.apps.get(&application_of(container));
            let ended = live.is_none_or(|state| state == "KILLED");
            let kept = run.taken.contains(container);
            assert!(kept || ended, "{container} runs and is not known any more");
            assert!(
                !(kept && ended),
                "{container} of an application that ended was taken"
            );
        }
    }

    /// What nodes run, for the next process.
    fn write(&self, dir: &Path) {
        let lines = self.running.iter();
        let lines: String = lines
            .map(|(container, node)| format!("{node} {container}\n"))
            .collect();
        std::fs::write(dir.join("running"), lines).unwrap();
    }
}

/// Numbers without a pattern, the same for one seed.
struct Moments(u64);

impl Moments {
    fn seeded() -> Self {
        Self(number("SEED", 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// A process under test, with the lines that it says.
struct Spawned {
    process: Child,
    lines: mpsc::Receiver<String>,
    reader: thread::JoinHandle<()>,
}

fn spawn(dir: &Path, store: Option<&str>) -> Spawned {
    let mut command = Process::new(std::env::current_exe().unwrap());
    command
        .args(["the_process_under_test", "--exact", "--nocapture"])
        .env(DIRECTORY, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(store) = store {
        command.env(STORE, store);
    }
    let mut process = command.spawn().unwrap();
    let out = BufReader::new(process.stdout.take().unwrap());
    let (said, lines) = mpsc::channel::<String>();
    let reader = thread::Builder::new().spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            // A line that was cut by the end was not answered whole.
            if let Some(line) = line.strip_prefix("@ ") {
                let _ = said.send(line.to_owned());
            }
        }
    });
    Spawned {
        process,
        lines,
        reader: reader.unwrap(),
    }
}

impl Spawned {
    /// The next line; nothing when the process has ended.
    fn line(&self) -> Option<String> {
        match self.lines.recv_timeout(LONGEST) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the process says nothing any more"),
        }
    }

    /// Takes what is left of the lines of a process that has ended or is killed now.
    fn end(mut self, known: &mut Known, run: &mut Run) {
        // One that has ended already cannot be killed.
        let _ = self.process.kill();
        self.process.wait().unwrap();
        self.reader.join().unwrap();
        for line in self.lines.try_iter() {
            known.take(run, &line);
        }
        known.nodes.extend(run.registered.iter().cloned());
    }

    /// Lets the process run until it is killed, some time after it said that it is ready, or before.
    fn live(self, known: &mut Known, moments: &mut Moments) -> Run {
        let mut run = Run::default();
        let early = moments.next(8) == 0;
        let wait = Duration::from_millis(20 + moments.next(700));
        if !early {
            while !run.ready {
                let line = self.line().expect("the process says that it is ready");
                known.take(&mut run, &line);
            }
        }
        thread::sleep(wait);
        self.end(known, &mut run);
        run
    }
}

/// What a number of kills came to.
#[derive(Default)]
struct Lives {
    known: Known,
    /// Time to the first allocation, in us: from the start of a process, or from its lead.
    firsts: Vec<u64>,
    /// Time until all is back and all nodes are registered, in us, counted as that.
    readies: Vec<u64>,
}

/// Kills a process again and again.
fn kill_often(kills: u32) -> Lives {
    let dir = tempfile::tempdir().unwrap();
    let mut lives = Lives::default();
    let mut moments = Moments::seeded();
    for _ in 0..kills {
        let run = spawn(dir.path(), None).live(&mut lives.known, &mut moments);
        assert_eq!(run.refused, None, "a change was refused");
        lives.take(&run);
        lives.known.write(dir.path());
    }
    lives
}

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The value below which so many thousandths of an ordered list lie.
fn quantile(of: &[u64], thousandths: usize) -> u64 {
    let at = (of.len() * thousandths / 1000).min(of.len().saturating_sub(1));
    of.get(at).copied().unwrap_or(0)
}

impl Lives {
    fn take(&mut self, run: &Run) {
        self.firsts.extend(run.first_us);
        self.readies.extend(run.ready_us);
    }

    fn show(&mut self, kills: u32) {
        self.firsts.sort_unstable();
        self.readies.sort_unstable();
        let (known, mut out) = (&self.known, std::io::stderr().lock());
        let _ = writeln!(
            out,
            "{kills} kills, {} applications, {} killed, {} refused by their queue, {} containers placed, version {}; 0 lost, \
             0 doubled; ready after {} us at the median, {} us at most; first allocation after {} us at the median, {} us at most",
            known.submitted.len(),
            known.killed.len(),
            known.failed.len(),
            known.placed.len(),
            known.conf.0,
            quantile(&self.readies, 500),
            quantile(&self.readies, 1000),
            quantile(&self.firsts, 500),
            quantile(&self.firsts, 1000),
        );
        assert!(
            !known.submitted.is_empty() && known.conf.0 > 1,
            "the load did nothing"
        );
    }
}

#[test]
fn nothing_that_was_answered_is_lost_or_doubled() {
    let kills = u32::try_from(number("KILLS", 20)).unwrap();
    kill_often(kills).show(kills);
}

/// The process under test: this program with a directory in its environment.
#[test]
fn the_process_under_test() {
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        child::run(&PathBuf::from(dir));
    }
}
