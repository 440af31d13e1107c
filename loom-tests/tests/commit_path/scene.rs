//! The scene: a small cluster, four applications, and threads that change what they count on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, ContainerId, Engine, Latencies, Mode,
    NodeError, NodeName, NodeReport, NodeSpec, RefreshError, ResourceVector, Threaded,
    TreeSettings,
};
use capsched::config;
use capsched::id::PartitionId;
use capsched::snapshot::Snapshot;
use capsched::sync::Ended;
use capsched::time::ManualClock;
use shuttle::rand::{Rng, thread_rng};

use crate::books::{self, Apps, Books};

#[expect(
    clippy::disallowed_types,
    reason = "counts over all schedules, where a word of shuttle belongs to one of them"
)]
type Count = std::sync::atomic::AtomicU64;

/// Nodes of the cluster.
const NODES: u32 = 6;

/// Size of each in MiB and vcores.
const TOTAL: [i64; 2] = [4096, 4];

/// The most that the queues below `root.p` get together in the end: three fifths of the cluster.
const MOST_OF_P: [i64; 2] = [14_745, 14];

/// Applications: number, leaf, user, size of a container, containers.
const APPS: [(u32, &str, &str, [i64; 2], i32); 4] = [
    (1, "root.a", "ann", [1024, 1], 6),
    (2, "root.p.x", "bob", [3072, 2], 3),
    (3, "root.p.y", "ann", [2048, 2], 4),
    (4, "root.a", "cid", [4096, 3], 2),
];

/// How the scene ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// When everybody is done and the engine at rest.
    Calm,
    /// In the midst of calls.
    Sudden,
}

/// What happened in all schedules together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witnesses(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    placed: Count,
    reserved: Count,
    fulfilled: Count,
    moved: Count,
    refused: Count,
    killed: Count,
    /// Decisions of the committer itself.
    served: Count,
    /// Looks that it took on the thread of its caller.
    lent: Count,
}

impl Witnesses {
    fn note(&self, books: &Books, last: &Snapshot) {
        let counts = &self.0;
        for (count, number) in [
            (&counts.placed, books.placed),
            (&counts.reserved, books.reservations),
            (&counts.fulfilled, books.fulfilled),
            (&counts.moved, books.moved),
            (&counts.refused, books.refused),
            (&counts.killed, books.killed),
            (&counts.served, last.served),
            (&counts.lent, books.lent),
        ] {
            count.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Says what was explored.
    #[expect(
        clippy::print_stdout,
        reason = "numbers of a long run are what it is for"
    )]
    pub(crate) fn tell(&self, scheduler: &str, mode: Mode, end: End, schedules: usize) {
        let scheduler = scheduler.rsplit("::").next().unwrap_or(scheduler);
        println!(
            "{scheduler}, {mode:?}, {end:?}: {schedules} schedules, {:?}",
            self.0
        );
    }

    /// What the scene is for must have happened. `rests`: whether the schedules let all proposers
    /// rest at once, so that the committer decides by itself; with priorities they seldom do.
    pub(crate) fn demand(&self, rests: bool) {
        let counts = &self.0;
        let served = counts.served.load(Ordering::Relaxed);
        assert!(served > 0 || !rests, "no decision of the committer");
        let lent = counts.lent.load(Ordering::Relaxed);
        assert!(lent > 0 || !rests, "no work on the thread of a caller");
        for (count, what) in [
            (&counts.placed, "a container was placed"),
            (&counts.reserved, "a reservation was made"),
            (&counts.fulfilled, "a reservation was fulfilled"),
            (&counts.refused, "a proposal was refused"),
            (&counts.killed, "a lost node killed a container"),
        ] {
            assert!(count.load(Ordering::Relaxed) > 0, "in no schedule: {what}");
        }
    }
}

/// What every schedule starts from.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    mode: Mode,
    end: End,
    wide: TreeSettings,
    tight: TreeSettings,
}

fn settings(most_of_p: &str) -> TreeSettings {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    };
    let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    set("resource-calculator", dominant);
    set("maximum-am-resource-percent", "1");
    set("multi-node-placement-enabled", "true");
    set("root.queues", "a,p");
    set("root.p.queues", "x,y");
    for queue in ["a", "p", "p.x", "p.y"] {
        set(&format!("root.{queue}.capacity"), "50");
        set(&format!("root.{queue}.maximum-capacity"), "100");
    }
    set("root.p.maximum-capacity", most_of_p);
    for leaf in ["a", "p.x", "p.y"] {
        set(&format!("root.{leaf}.user-limit-factor"), "10");
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

fn node(number: u32) -> NodeName {
    format!("n{number}:1").parse().unwrap()
}

fn spec(number: u32) -> NodeSpec {
    NodeSpec::new(node(number), ResourceVector::of(&TOTAL))
}

/// Whether a call was carried out; one that was refused as closed is an answer, too.
fn open<T, E: PartialEq + std::fmt::Debug>(answer: Result<T, E>, closed: &E) -> bool {
    match answer {
        Ok(_) => true,
        Err(why) => {
            assert_eq!(&why, closed, "a call was refused");
            false
        }
    }
}

impl Scene {
    pub(crate) fn new(mode: Mode, end: End) -> Self {
        Self {
            mode,
            end,
            wide: settings("60"),
            tight: settings("50"),
        }
    }

    /// One execution.
    pub(crate) fn play(&self, witnesses: &Witnesses) {
        let engine = Engine::builder(self.wide.clone()).sequential().unwrap();
        let clock = ManualClock::default();
        let engine = Threaded::take_over(engine, self.mode, clock, Latencies::Off).unwrap();
        let apps: Apps = APPS
            .iter()
            .map(|(number, leaf, user, ..)| (ApplicationId::new(*number), (*leaf, *user)))
            .collect();
        let mut books = Books::new(ResourceVector::of(&TOTAL), apps);
        for number in 0..NODES {
            engine.add_node(spec(number)).unwrap();
        }
        shuttle::thread::scope(|scope| {
            scope.spawn(|| ask(&engine));
            scope.spawn(|| remove_nodes(&engine));
            scope.spawn(|| self.reconfigure(&engine));
            scope.spawn(|| release(&engine));
            for event in engine.take_events() {
                books.hear(&event);
            }
            if self.end == End::Sudden {
                pause(9);
                engine.request_stop();
            }
        });
        match self.end {
            End::Calm => settle(&engine, &mut books),
            End::Sudden => while engine.add_node(spec(0)) != Err(NodeError::Closed) {},
        }
        assert_eq!(engine.worker_panics(), 0, "a proposer panicked");
        hear(&engine, &mut books);
        let (ended, last) = engine.stop_with_state();
        assert_eq!(ended, Ended::Stopped);
        witnesses.note(&books, &last);
        books::add_up(&last);
        if self.end == End::Calm {
            assert!(
                last.queues
                    .iter()
                    .all(|queue| queue.part(PartitionId::DEFAULT).used.is_none())
            );
            assert!(last.nodes.iter().all(|node| node.allocated.is_none()));
        }
    }

    /// The reloader: tightens a limit and widens it again.
    fn reconfigure(&self, engine: &Threaded) {
        for settings in [&self.tight, &self.wide] {
            pause(6);
            let answer = engine.reconfigure(settings.clone());
            if let Err(why) = answer {
                assert!(matches!(why, RefreshError::Closed), "{why}");
                return;
            }
        }
    }
}

fn ask(engine: &Threaded) {
    for (number, leaf, user, size, count) in APPS {
        let app = ApplicationId::new(number);
        let closed = capsched::api::SubmitError::Closed;
        if !open(engine.submit(AppSpec::new(app, leaf, user)), &closed) {
            return;
        }
        let asks = vec![Ask::anywhere(ResourceVector::of(&size), count)];
        if !open(engine.ask(app, AskCall::asking(asks)), &AskError::Closed) {
            return;
        }
    }
}

/// Lets others take their turns, some or many of them.
fn pause(doublings: u32) {
    for _ in 0..1 << thread_rng().gen_range(0..=doublings) {
        shuttle::thread::yield_now();
    }
}

/// Loses nodes, one after the other, and takes each back.
fn remove_nodes(engine: &Threaded) {
    for _ in 0..3 {
        pause(6);
        let number = thread_rng().gen_range(0..NODES);
        if !open(engine.remove_node(node(number)), &NodeError::Closed)
            || !open(engine.add_node(spec(number)), &NodeError::Closed)
        {
            return;
        }
    }
}

/// Fetches containers and gives some of them back, in either way; nodes report meanwhile.
fn release(engine: &Threaded) {
    let mut held: Vec<ContainerId> = Vec::new();
    for _ in 0..3 {
        pause(6);
        for (number, ..) in APPS {
            let app = ApplicationId::new(number);
            match engine.ask(app, AskCall::default()) {
                Ok(reply) => held.extend(reply.allocated.iter().map(|one| one.container)),
                Err(AskError::Closed) => return,
                // Not submitted yet.
                Err(AskError::UnknownApplication(_)) => {}
                Err(why) => panic!("{why}"),
            }
        }
        if held.is_empty() {
            continue;
        }
        let one = held.swap_remove(thread_rng().gen_range(0..held.len()));
        if thread_rng().gen_bool(0.5) {
            let _gone_with_its_node = engine.container_finished(one);
            assert!(!engine.container_finished(one), "{one} ended twice");
        } else {
            let call = AskCall {
                release: vec![one.number],
                ..AskCall::default()
            };
            if !open(engine.ask(one.app, call), &AskError::Closed) {
                return;
            }
        }
        let number = thread_rng().gen_range(0..NODES);
        match engine.heartbeat(node(number), NodeReport::AsExpected) {
            Ok(_) | Err(NodeError::Unknown(_)) => {}
            Err(NodeError::Closed) => return,
            Err(why) => panic!("{why}"),
        }
    }
}

fn hear(engine: &Threaded, books: &mut Books) {
    for event in engine.take_events() {
        books.hear(&event);
    }
}

/// Lets the engine come to rest and holds it against the books; then all applications end, and
/// nothing may be left.
fn settle(engine: &Threaded, books: &mut Books) {
    // A heartbeat frees the space of containers that were given back, which others then take.
    for _ in 0..2 {
        engine.quiesce();
        for number in 0..NODES {
            engine
                .heartbeat(node(number), NodeReport::AsExpected)
                .unwrap();
        }
    }
    engine.quiesce();
    hear(engine, books);
    books.compare(engine, &[("root.p", ResourceVector::of(&MOST_OF_P))]);
    // Those that end with their applications are killed, too.
    let lost = books.killed;
    for (number, ..) in APPS {
        engine.finish_app(ApplicationId::new(number)).unwrap();
    }
    for _ in 0..2 {
        for number in 0..NODES {
            engine
                .heartbeat(node(number), NodeReport::AsExpected)
                .unwrap();
        }
    }
    engine.quiesce();
    hear(engine, books);
    assert!(books.is_empty(), "something outlived its application");
    books.compare(engine, &[]);
    books.outcomes(engine);
    books.killed = lost;
}
