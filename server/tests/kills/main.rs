//! A resource manager is killed at random moments under load, and nothing that was answered is lost or doubled.
//!
//! `KILLS=1000 cargo test -p capsched-server --test kills -- --nocapture` kills it 1000 times; without `KILLS` it is
//! killed a few times. `SEED` chooses other moments. The process under test is this program once more.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

mod child;
#[cfg(feature = "etcd")]
#[path = "../etcd_server/mod.rs"]
mod etcd_server;

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
    Answer, Command, NodeRegistration, Pairs, ResourceManager, Setup, Submission,
};
use capsched_server::store::{Durability, Durable, EmbeddedStore, KeepOptions};

/// The store of the process under test; unset: one in its directory.
const STORE: &str = "CAPSCHED_KILLS_STORE";
const DIRECTORY: &str = "CAPSCHED_KILLS_DIRECTORY";
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
    ready_ms: Option<u64>,
    first_us: Option<u64>,
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
            ["ready", _] => {
                run.ready = true;
                run.ready_ms = Some(SystemClock::new().now_ms());
                self.check(run);
            }
            ["first", us] => run.first_us = us.parse().ok(),
            ["asks", id] => assert!(self.asked.insert(id.to_owned()), "{id} was given out twice"),
            ["submitted", id] => {
                self.submitted.insert(id.to_owned());
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
    /// Lets the process run until it is killed, some time after it said that it is ready, or before.
    fn live(mut self, known: &mut Known, moments: &mut Moments) -> Run {
        let mut run = Run::default();
        let early = moments.next(8) == 0;
        let wait = Duration::from_millis(20 + moments.next(700));
        if !early {
            while !run.ready {
                let line = self.lines.recv_timeout(Duration::from_secs(120));
                let line = line.expect("the process says that it is ready");
                known.take(&mut run, &line);
            }
        }
        thread::sleep(wait);
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.reader.join().unwrap();
        for line in self.lines.try_iter() {
            known.take(&mut run, &line);
        }
        known.nodes.extend(run.registered.iter().cloned());
        run
    }
}

/// What a number of kills came to.
#[derive(Default)]
struct Lives {
    known: Known,
    /// Time to the first allocation, in us: from the start of a process, or from its lead.
    firsts: Vec<u64>,
    /// From the end of a leader to the next one that is ready, in ms.
    failovers: Vec<u64>,
}

/// Kills a process again and again. Over a store for several, another one waits to lead all the time.
fn kill_often(kills: u32, store: Option<&str>) -> Lives {
    let dir = tempfile::tempdir().unwrap();
    let clock = SystemClock::new();
    let mut lives = Lives::default();
    let mut moments = Moments(number("SEED", 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut standby, mut killed_ms): (Option<Spawned>, Option<u64>) = (None, None);
    for _ in 0..kills {
        let leader = standby.take().unwrap_or_else(|| spawn(dir.path(), store));
        if store.is_some() {
            standby = Some(spawn(dir.path(), store));
        }
        let run = leader.live(&mut lives.known, &mut moments);
        if let (Some(killed), Some(ready)) = (killed_ms, run.ready_ms) {
            lives.failovers.push(ready.saturating_sub(killed));
        }
        killed_ms = Some(clock.now_ms());
        lives.firsts.extend(run.first_us);
        lives.known.write(dir.path());
    }
    if let Some(mut last) = standby {
        last.process.kill().unwrap();
        last.process.wait().unwrap();
    }
    lives.firsts.sort_unstable();
    lives.failovers.sort_unstable();
    lives
}

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

impl Lives {
    fn show(&self, kills: u32) {
        let middle = |of: &[u64]| of.get(of.len() / 2).copied().unwrap_or(0);
        let last = |of: &[u64]| of.last().copied().unwrap_or(0);
        let (known, mut out) = (&self.known, std::io::stderr().lock());
        let _ = writeln!(
            out,
            "{kills} kills, {} applications, {} killed, {} containers placed, version {}; first allocation after \
             {} us at the median, {} us at most; failover after {} ms at the median, {} ms at most",
            known.submitted.len(),
            known.killed.len(),
            known.placed.len(),
            known.conf.0,
            middle(&self.firsts),
            last(&self.firsts),
            middle(&self.failovers),
            last(&self.failovers),
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
    kill_often(kills, None).show(kills);
}

#[cfg(feature = "etcd")]
#[test]
fn nothing_is_lost_or_doubled_when_a_standby_leads() {
    let Some(server) = etcd_server::EtcdServer::start() else {
        let mut out = std::io::stderr().lock();
        let _ = writeln!(out, "skipped: etcd is not installed");
        return;
    };
    let kills = u32::try_from(number("KILLS", 6)).unwrap();
    let lives = kill_often(kills, Some(&server.address("kills")));
    lives.show(kills);
    assert!(!lives.failovers.is_empty(), "no standby led");
}

/// The process under test: this program with a directory in its environment.
#[test]
fn the_process_under_test() {
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        child::run(&PathBuf::from(dir));
    }
}
