//! The scene: a small cluster, four applications, and threads that change what they count on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use capsched::api::EngineEnd;
use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, CommitOutcome, Conflict,
    ContainerId, Engine, Latencies, Mode, NodeError, NodeName, NodeReport, NodeSpec, RefreshError,
    ResourceVector, SubmitError, Threaded, TreeSettings,
};
use capsched::commit::Ledger;
use capsched::config;
use capsched::snapshot::Snapshot;
use capsched::time::ManualClock;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use crate::books::{Apps, Books, Limits, Seen, Space, containers};

type Outcomes = capsched::metrics::Counts<CommitOutcome>;

#[expect(
    clippy::disallowed_types,
    reason = "counts over all schedules, where a word of shuttle belongs to one of them"
)]
type Count = std::sync::atomic::AtomicU64;

/// Nodes of the cluster.
const NODES: u32 = 6;

/// Size of each in MiB and vcores, and of one that was lost and comes back: the largest containers fit there
/// no more.
const TOTAL: [i64; 2] = [4096, 4];
const SMALL: [i64; 2] = [3072, 3];

/// The most that the queues below `root.p` get together in the end: three fifths of the cluster.
const MOST_OF_P: [i64; 2] = [14_745, 14];

/// After that much a user of `root.a` gets no more: three tenths of its half of the cluster, rounded up to whole
/// smallest containers. Who has no more than that still gets one container.
const MOST_OF_USER: [i64; 2] = [4096, 4];

/// An application that asks for containers.
struct App {
    number: u32,
    leaf: &'static str,
    user: &'static str,
    size: [i64; 2],
    count: i32,
}

const fn app(
    number: u32,
    leaf: &'static str,
    user: &'static str,
    size: [i64; 2],
    count: i32,
) -> App {
    App {
        number,
        leaf,
        user,
        size,
        count,
    }
}

/// The applications in the order in which they come.
const APPS: [App; 5] = [
    app(1, "root.a", "ann", [1024, 1], 9),
    app(2, "root.p.x", "bob", [3072, 2], 3),
    app(SHORT, "root.p.y", "ann", [2048, 2], 4),
    app(AFTER_SHORT, "root.p.y", "dan", [2048, 1], 2),
    app(4, "root.a", "cid", [4096, 3], 2),
];

/// The one that ends before the others, and the one that comes then and gets its slot. Their containers
/// differ in size, so that one of the first is not taken for one of the second.
const SHORT: u32 = 3;
const AFTER_SHORT: u32 = 5;

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
    refused: Count,
    killed: Count,
    ended_with_app: Count,
    /// Refusals because the application, the node or the room of the user was gone.
    app_gone: Count,
    node_gone: Count,
    over_user_limit: Count,
    /// Schedules in which somebody was refused as closed.
    cut: Count,
    /// Decisions of the committer itself.
    served: Count,
    /// Looks that it took on the thread of its caller.
    lent: Count,
}

/// What was met before the applications that stay end: those that end then would be counted as killed, too.
#[derive(Clone, Copy, Debug)]
struct Settled {
    /// Containers killed of applications that stay, as by a lost node, and of the one that ends.
    killed: u64,
    ended_with_app: u64,
    /// Looks at the ledger that the committer took on the thread of their caller.
    lent: u64,
}

impl Settled {
    fn of(books: &Books) -> Self {
        let short = ApplicationId::new(SHORT);
        let ended_with_app = books.killed.get(&short).copied().unwrap_or(0);
        Self {
            killed: books.killed.values().sum::<u64>() - ended_with_app,
            ended_with_app,
            lent: 0,
        }
    }
}

impl Witnesses {
    fn note(&self, books: &Books, settled: Settled, outcomes: &Outcomes, last: &Snapshot) {
        let refused = |conflict| outcomes.get(CommitOutcome::Rejected(conflict));
        let counts = &self.0;
        for (count, number) in [
            (&counts.placed, books.placed),
            (&counts.reserved, books.reservations),
            (&counts.fulfilled, books.fulfilled),
            (&counts.refused, books.refusals()),
            (&counts.killed, settled.killed),
            (&counts.ended_with_app, settled.ended_with_app),
            (&counts.app_gone, refused(Conflict::AppGone)),
            (&counts.node_gone, refused(Conflict::NodeGone)),
            (&counts.over_user_limit, refused(Conflict::OverUserLimit)),
            (&counts.served, last.served),
            (&counts.lent, settled.lent),
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
    pub(crate) fn demand(&self, end: End, rests: bool) {
        let counts = &self.0;
        if end == End::Sudden {
            return demand(&[
                (&counts.placed, "a container was placed"),
                (&counts.cut, "the end came in the midst of calls"),
            ]);
        }
        if rests {
            demand(&[
                (&counts.served, "the committer decided by itself"),
                (&counts.lent, "it worked on the thread of a caller"),
                (&counts.app_gone, "a proposal came after its application"),
                (&counts.node_gone, "a proposal came after its node"),
            ]);
        }
        demand(&[
            (&counts.placed, "a container was placed"),
            (&counts.reserved, "a reservation was made"),
            (&counts.fulfilled, "a reservation was fulfilled"),
            (&counts.refused, "a proposal was refused"),
            (&counts.killed, "a lost node killed a container"),
            (
                &counts.ended_with_app,
                "an application ended with its containers",
            ),
            (
                &counts.over_user_limit,
                "a proposal came after its user had enough",
            ),
        ]);
    }
}

fn demand(events: &[(&Count, &str)]) {
    for (count, what) in events {
        assert!(count.load(Ordering::Relaxed) > 0, "in no schedule: {what}");
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
    set("schedule-asynchronously.enable", "false");
    set("root.queues", "a,p");
    set("root.p.queues", "x,y");
    for queue in ["a", "p", "p.x", "p.y"] {
        set(&format!("root.{queue}.capacity"), "50");
        set(&format!("root.{queue}.maximum-capacity"), "100");
    }
    set("root.p.maximum-capacity", most_of_p);
    for (leaf, factor) in [("a", "0.3"), ("p.x", "10"), ("p.y", "10")] {
        set(&format!("root.{leaf}.user-limit-factor"), factor);
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

fn node(number: u32) -> NodeName {
    format!("n{number}:1").parse().unwrap()
}

fn spec(number: u32, total: [i64; 2]) -> NodeSpec {
    NodeSpec::new(node(number), ResourceVector::of(&total))
}

/// Books that know the applications and what holds for them.
fn new_books() -> Books {
    let (mut apps, mut users, mut sizes) = (Apps::new(), BTreeMap::new(), BTreeMap::new());
    for app in APPS {
        let id = ApplicationId::new(app.number);
        let size = ResourceVector::of(&app.size);
        apps.insert(id, (app.leaf, app.user));
        sizes.insert(id, size);
        if app.leaf == "root.a" {
            // Each of its users has one application.
            let most = ResourceVector::of(&MOST_OF_USER) + size;
            users.insert((app.leaf, app.user), most);
        }
    }
    let mut books = Books::new(Limits {
        nodes: [TOTAL, SMALL].map(|size| ResourceVector::of(&size)).into(),
        queues: BTreeMap::from([("root.p", ResourceVector::of(&MOST_OF_P))]),
        users,
        sizes,
    });
    books.know(apps);
    books
}

/// The answer to a call that is sound, and nothing when it was refused as closed.
fn carried_out<T, E: PartialEq + std::fmt::Debug>(answer: Result<T, E>, closed: &E) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(why) => {
            assert_eq!(&why, closed, "a call was refused");
            None
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
        let mut engine = Threaded::take_over(engine, self.mode, clock, Latencies::Off).unwrap();
        let mut books = new_books();
        for number in 0..NODES {
            engine.add_node(spec(number, TOTAL)).unwrap();
        }
        let done = thread::scope(|scope| {
            let calls = [
                scope.spawn(|| ask(&engine)),
                scope.spawn(|| remove_nodes(&engine)),
                scope.spawn(|| self.reconfigure(&engine)),
                scope.spawn(|| release(&engine)),
            ];
            for event in engine.take_events() {
                books.receive(&event);
            }
            if self.end == End::Sudden {
                pause(9);
                engine.request_stop();
            }
            calls.map(|thread| thread.join().unwrap().is_some())
        });
        let (settled, space) = match self.end {
            End::Calm => (Some(settle(&engine, &mut books)), Space::Exact),
            End::Sudden => {
                while engine.add_node(spec(0, TOTAL)) != Err(NodeError::Closed) {}
                (None, Space::Held)
            }
        };
        assert_eq!(engine.worker_panics().count, 0, "a proposer panicked");
        assert_eq!(engine.end(), EngineEnd::Stopped);
        receive(&engine, &mut books);
        let (outcomes, last) = (engine.outcomes(), engine.snapshot());
        let settled = settled.unwrap_or_else(|| Settled::of(&books));
        witnesses.note(&books, settled, &outcomes, &last);
        let cut = done.contains(&false);
        witnesses.0.cut.fetch_add(cut.into(), Ordering::Relaxed);
        let seen = Seen::published(&last);
        books.compare(&seen, space);
        seen.add_up();
        books.outcomes(&outcomes, &last);
        assert_eq!(books.moved, 0, "only preemption moves reservations");
        if self.end == End::Calm {
            assert!(!cut, "a call was refused as closed");
            assert!(books.is_empty(), "something was placed after all ended");
        }
    }

    /// The reloader: tightens a limit and widens it again. Nothing when the engine closed meanwhile, as of
    /// the other threads.
    fn reconfigure(&self, engine: &Threaded) -> Option<()> {
        for settings in [&self.tight, &self.wide] {
            pause(6);
            let answer = engine.reconfigure(settings.clone());
            if let Err(why) = answer {
                assert!(matches!(why, RefreshError::Closed), "{why}");
                return None;
            }
        }
        Some(())
    }
}

/// The applications come and ask; one of them ends soon, and its slot goes to the next one.
fn ask(engine: &Threaded) -> Option<()> {
    for app in APPS {
        let id = ApplicationId::new(app.number);
        if app.number == AFTER_SHORT {
            pause(5);
            let short = ApplicationId::new(SHORT);
            carried_out(engine.finish_app(short), &AppError::Closed)?;
        }
        let spec = AppSpec::new(id, app.leaf, app.user);
        carried_out(engine.submit(spec), &SubmitError::Closed)?;
        let asks = vec![Ask::anywhere(ResourceVector::of(&app.size), app.count)];
        carried_out(engine.ask(id, AskCall::asking(asks)), &AskError::Closed)?;
    }
    Some(())
}

/// Lets others take their turns, some or many of them.
fn pause(doublings: u32) {
    for _ in 0..1 << thread_rng().gen_range(0..=doublings) {
        thread::yield_now();
    }
}

/// Loses nodes, one after the other, and takes each back with less than it had.
fn remove_nodes(engine: &Threaded) -> Option<()> {
    for _ in 0..3 {
        pause(6);
        let number = thread_rng().gen_range(0..NODES);
        carried_out(engine.remove_node(node(number)), &NodeError::Closed)?;
        carried_out(engine.add_node(spec(number, SMALL)), &NodeError::Closed)?;
    }
    Some(())
}

/// A call of an application that is not there yet, or not any more, comes to nothing.
fn call(engine: &Threaded, app: ApplicationId, call: AskCall) -> Option<AskReply> {
    match engine.ask(app, call) {
        Err(AskError::UnknownApplication(_)) => Some(AskReply::default()),
        answer => carried_out(answer, &AskError::Closed),
    }
}

/// Fetches containers and gives some of them back, in either way; nodes report meanwhile.
fn release(engine: &Threaded) -> Option<()> {
    let mut held: Vec<ContainerId> = Vec::new();
    for _ in 0..3 {
        pause(6);
        for app in APPS {
            let reply = call(engine, ApplicationId::new(app.number), AskCall::default())?;
            held.extend(reply.allocated.iter().map(|one| one.container));
        }
        if held.is_empty() {
            continue;
        }
        let one = held.swap_remove(thread_rng().gen_range(0..held.len()));
        if thread_rng().gen_bool(0.5) {
            let _gone_with_its_node = engine.container_finished(one);
            assert!(!engine.container_finished(one), "{one} ended twice");
        } else {
            let release = AskCall {
                release: vec![one.number],
                ..AskCall::default()
            };
            call(engine, one.app, release)?;
        }
        let number = thread_rng().gen_range(0..NODES);
        match engine.heartbeat(node(number), NodeReport::AsExpected) {
            Err(NodeError::Unknown(_)) => {}
            answer => drop(carried_out(answer, &NodeError::Closed)?),
        }
    }
    Some(())
}

fn receive(engine: &Threaded, books: &mut Books) {
    for event in engine.take_events() {
        books.receive(&event);
    }
}

/// Holds an engine at rest, whose nodes all have reported, against the books and against the
/// applications that have not ended; whether the committer took the look on this thread.
fn compare(engine: &Threaded, books: &Books, apps: &BTreeSet<ApplicationId>) -> bool {
    let look = |ledger: &Ledger| {
        let (seen, live) = (Seen::live(ledger), containers(ledger));
        (seen, live, thread::current().id())
    };
    let (seen, live, taken_on) = engine.inspect(look).unwrap();
    books.compare(&seen, Space::Exact);
    seen.add_up();
    assert!(seen.nodes().cloned().eq((0..NODES).map(node)), "{seen:?}");
    assert_eq!(&seen.apps, apps, "applications");
    assert_eq!(&live, books.live(), "containers of the ledger");
    taken_on == thread::current().id()
}

/// Lets all nodes report, twice: that frees the space of containers that were given back, which others
/// then take. At rest in the end.
fn report(engine: &Threaded) {
    for _ in 0..2 {
        engine.quiesce();
        for number in 0..NODES {
            let name = node(number);
            engine.heartbeat(name, NodeReport::AsExpected).unwrap();
        }
    }
    engine.quiesce();
}

/// Lets the engine come to rest and holds it against the books; then all applications end, and
/// nothing may be left.
fn settle(engine: &Threaded, books: &mut Books) -> Settled {
    report(engine);
    receive(engine, books);
    let stay = APPS.iter().filter(|app| app.number != SHORT);
    let stay = stay.map(|app| ApplicationId::new(app.number)).collect();
    let mut settled = Settled::of(books);
    settled.lent += u64::from(compare(engine, books, &stay));
    for app in APPS {
        let id = ApplicationId::new(app.number);
        let ended = engine.finish_app(id);
        let is_over = ended == Err(AppError::Unknown(id));
        assert_eq!(is_over, app.number == SHORT, "{id}: {ended:?}");
    }
    report(engine);
    receive(engine, books);
    assert!(books.is_empty(), "something outlived its application");
    settled.lent += u64::from(compare(engine, books, &BTreeSet::new()));
    settled
}
