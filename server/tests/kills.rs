//! A resource manager is killed at random moments under load, and nothing that was answered is lost or doubled.
//!
//! `KILLS=1000 cargo test -p capsched-server --test kills -- --nocapture` kills it 1000 times; without `KILLS` it is
//! killed a few times. The process under test is this program once more.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
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
use capsched_server::store::{Durability, Durable, EmbeddedStore};

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

/// What the process under test does.
mod child {
    use super::*;

    pub(super) fn run(dir: &Path) {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let begun = clock.now_ns();
        let store = EmbeddedStore::open(&dir.join("data"), Arc::clone(&clock)).unwrap();
        let scheduler = pairs(&[
            ("root.queues", "a,b"),
            ("root.a.capacity", "50"),
            ("root.b.capacity", "50"),
            ("maximum-am-resource-percent", "0.5"),
        ]);
        let mut setup = Setup::new(Pairs::new(), scheduler);
        setup.mode = Mode::Heartbeat;
        let durable =
            Durable::start(setup, Some(Arc::new(store)), Durability::Strict, "test").unwrap();
        let rm = &*durable.rm;
        show(&durable);
        register(rm, dir);
        rm.finish_recovery().unwrap();
        let elapsed = |clock: &dyn Clock| (clock.now_ns() - begun) / 1_000;
        say(&format!("ready {}", elapsed(&*clock)));
        let allocated = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| applications(rm, &allocated));
            }
            scope.spawn(|| {
                loop {
                    beat(rm, &allocated, &|| elapsed(&*clock));
                }
            });
            scope.spawn(|| configurations(&durable));
        });
    }

    /// Everything that came back.
    fn show(durable: &Durable) {
        durable.rm.read(|books| {
            for app in books.apps() {
                say(&format!("app {} {}", app.id, app.state.name()));
            }
            for (name, _) in books.nodes().iter() {
                say(&format!("node {name}"));
            }
        });
        let state = durable.conf.as_ref().unwrap().state();
        let key = "yarn.scheduler.capacity.maximum-applications";
        let value = state.properties.get(key).unwrap_or("none");
        say(&format!("conf {} {value}", state.version));
    }

    /// Registers all nodes with what they run by the account of the parent.
    fn register(rm: &ResourceManager, dir: &Path) {
        let text = std::fs::read_to_string(dir.join("running")).unwrap_or_default();
        let mut running: BTreeMap<String, Vec<RunningContainer>> = BTreeMap::new();
        for line in text.lines() {
            let (name, id) = line.split_once(' ').unwrap();
            let id: ContainerId = id.parse().unwrap();
            let container = RunningContainer::new(id, ResourceVector::of(&[1024, 1]));
            running.entry(name.to_owned()).or_default().push(container);
        }
        for number in 0..NODES {
            let name = node(number);
            let registration = NodeRegistration {
                node: name.clone(),
                rack: "/default-rack".to_owned(),
                resource: vec![65_536, 64],
                http_port: 8042,
                version: "1".to_owned(),
                labels: None,
            };
            let runs = running.remove(&name).unwrap_or_default();
            let found = rm.register_running(USER, registration, runs).unwrap();
            for container in found.taken {
                say(&format!("taken {container}"));
            }
            for container in found.to_stop.iter().chain(&found.waiting) {
                say(&format!("stop {container}"));
            }
            say(&format!("registered {name}"));
        }
    }

    /// Submits applications, lets them run, kills some.
    fn applications(rm: &ResourceManager, allocated: &AtomicU64) {
        for turn in 0_u32.. {
            let Ok(Answer::Application(id)) = rm.execute(USER, Command::NewApplication) else {
                continue;
            };
            say(&format!("asks {id}"));
            let submission = Submission {
                application: id.clone(),
                queue: if turn % 2 == 0 { "root.a" } else { "root.b" }.to_owned(),
                master: vec![1024, 1],
                ..Submission::default()
            };
            let submitted = rm.execute(USER, Command::Submit(Box::new(submission)));
            if submitted.is_err() {
                continue;
            }
            say(&format!("submitted {id}"));
            serve(rm, &id, allocated);
            if turn % 3 != 0 {
                let kill = Command::Kill {
                    application: id.clone(),
                    diagnostics: String::new(),
                };
                rm.execute(USER, kill).unwrap();
                say(&format!("killed {id}"));
            }
        }
    }

    /// Runs two containers of an application, if it gets them soon.
    fn serve(rm: &ResourceManager, id: &str, allocated: &AtomicU64) {
        let app: ApplicationId = id.parse().unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
        let mut call = AskCall::asking(vec![ask]);
        for _ in 0..40 {
            thread::sleep(Duration::from_millis(2));
            let runs = rm.read(|books| {
                let app = books.app(app)?;
                app.attempt()?.master.as_ref().map(|_| ())
            });
            if runs.is_none() {
                continue;
            }
            let Ok(reply) = rm.ask(app, std::mem::take(&mut call), 0.0) else {
                return;
            };
            for granted in &reply.allocated {
                allocated.fetch_add(1, Ordering::Relaxed);
                say(&format!("run {} {}", granted.node, granted.container));
            }
        }
    }

    /// One heartbeat of every node.
    fn beat(rm: &ResourceManager, allocated: &AtomicU64, elapsed_us: &dyn Fn() -> u64) {
        let before = allocated.load(Ordering::Relaxed);
        for number in 0..NODES {
            let name = node(number).parse().unwrap();
            if rm.heartbeat(&name, NodeReport::AsExpected).is_err() {
                return;
            }
        }
        let masters = rm.read(|books| {
            let live = books.apps().filter(|app| !app.state.is_over());
            let masters = live.filter_map(|app| app.attempt()?.master.clone());
            masters.collect::<Vec<_>>()
        });
        if before == 0 && !masters.is_empty() && allocated.fetch_add(1, Ordering::Relaxed) == 0 {
            say(&format!("first {}", elapsed_us()));
        }
        for (container, node) in masters {
            say(&format!("master {node} {container}"));
        }
        thread::sleep(Duration::from_millis(2));
    }

    /// Changes the configuration again and again.
    fn configurations(durable: &Durable) {
        let conf = durable.conf.as_ref().unwrap();
        let caller = Caller {
            user: USER,
            groups: &[],
            real_user: None,
        };
        loop {
            let next = conf.state().version + 1000;
            let key = "yarn.scheduler.capacity.maximum-applications";
            let body = format!(r#"{{"global-updates": {{"{key}": "{next}"}}}}"#);
            let format = BodyFormat::Json {
                lists_are_empty: false,
            };
            let change = ConfChange::read(body.as_bytes(), format).unwrap();
            let now_ms = durable.rm.now_ms();
            let made = conf
                .change(&*durable.rm, &caller, &change, None, now_ms)
                .unwrap();
            say(&format!("changed {} {next}", made.state.version));
            thread::sleep(Duration::from_millis(5));
        }
    }
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

/// Runs the process until it is killed, some time after it said that it is ready, or before.
fn one_life(known: &mut Known, dir: &Path, moments: &mut Moments) -> Run {
    let mut process = Process::new(std::env::current_exe().unwrap())
        .args(["the_process_under_test", "--exact", "--nocapture"])
        .env(DIRECTORY, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(process.stdout.take().unwrap());
    let (lines, read) = mpsc::channel::<String>();
    let reader = thread::Builder::new().spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            // A line that was cut by the end was not answered whole.
            if let Some(line) = line.strip_prefix("@ ") {
                let _ = lines.send(line.to_owned());
            }
        }
    });
    let reader = reader.unwrap();
    let mut run = Run::default();
    let early = moments.next(8) == 0;
    let wait = Duration::from_millis(20 + moments.next(700));
    if !early {
        while !run.ready {
            let line = read.recv_timeout(Duration::from_secs(120));
            let line = line.expect("the process says that it is ready");
            known.take(&mut run, &line);
        }
    }
    thread::sleep(wait);
    process.kill().unwrap();
    process.wait().unwrap();
    reader.join().unwrap();
    for line in read.try_iter() {
        known.take(&mut run, &line);
    }
    known.nodes.extend(run.registered.iter().cloned());
    run
}

#[test]
fn nothing_that_was_answered_is_lost_or_doubled() {
    let kills = std::env::var("KILLS")
        .ok()
        .and_then(|text| text.parse().ok());
    let kills: u32 = kills.unwrap_or(20);
    let dir = tempfile::tempdir().unwrap();
    let mut known = Known::default();
    let mut moments = Moments(0x9e37_79b9_7f4a_7c15);
    let mut firsts = Vec::new();
    for _ in 0..kills {
        let run = one_life(&mut known, dir.path(), &mut moments);
        firsts.extend(run.first_us);
        known.write(dir.path());
    }
    firsts.sort_unstable();
    let median = firsts.get(firsts.len() / 2).copied().unwrap_or(0);
    let last = firsts.last().copied().unwrap_or(0);
    let mut out = std::io::stderr().lock();
    let _ = writeln!(
        out,
        "{kills} kills, {} applications, {} killed, {} containers placed, version {}; first allocation after \
         {median} us at the median, {last} us at most",
        known.submitted.len(),
        known.killed.len(),
        known.placed.len(),
        known.conf.0
    );
    assert!(
        !known.submitted.is_empty() && known.conf.0 > 1,
        "the load did nothing"
    );
}

/// The process under test: this program with a directory in its environment.
#[test]
fn the_process_under_test() {
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        child::run(&PathBuf::from(dir));
    }
}
