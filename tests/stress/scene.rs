//! The cluster of all runs: queues, nodes, users, and what an engine is asked while it is at rest.

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Event, NodeName, NodeReport, NodeSpec, ResourceVector,
    Threaded, TreeSettings,
};
use capsched::config;

use crate::books::{Apps, Books, Limits, Seen, Space, containers};
use crate::client::Known;

/// Numbers of the clients.
pub(crate) const CLIENTS: [u32; 2] = [1, 2];

/// Nodes that each client adds and removes.
pub(crate) const NODES: u32 = 4;

/// Size of each in MiB and vcores.
const TOTAL: [i64; 2] = [8192, 8];

/// The most that the leaves below `root.b` get together where all nodes are there: seven tenths.
const MOST_OF_B: [i64; 2] = [45_875, 44];

/// The limit of a user in `root.a`, where all nodes are there: its half.
const LIMIT_IN_A: [i64; 2] = [32_768, 32];

pub(crate) const LEAVES: [&str; 3] = ["root.a", "root.b.x", "root.b.y"];
pub(crate) const USERS: [&str; 2] = ["ann", "bob"];

/// Who asks for more than there is at once: everybody, those below `root.b`, one user of `root.a`.
const CROWDS: [&[(&str, &str)]; 3] = [
    &[("root.a", "ann"), ("root.b.x", "bob"), ("root.b.y", "ann")],
    &[("root.b.x", "ann"), ("root.b.y", "bob")],
    &[("root.a", "bob"), ("root.a", "bob")],
];

/// Rounds of these.
const ROUNDS: u32 = 6;

/// Containers that each of them asks for.
const CROWD: i32 = 60;

pub(crate) fn settings() -> TreeSettings {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    };
    let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    set("resource-calculator", dominant);
    set("maximum-am-resource-percent", "1");
    set("multi-node-placement-enabled", "true");
    set("root.queues", "a,b");
    set("root.b.queues", "x,y");
    for (queue, most) in [("a", "100"), ("b", "70"), ("b.x", "100"), ("b.y", "100")] {
        set(&format!("root.{queue}.capacity"), "50");
        set(&format!("root.{queue}.maximum-capacity"), most);
        let factor = if queue == "a" { "1" } else { "10" };
        set(&format!("root.{queue}.user-limit-factor"), factor);
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

/// Node `i` of a client.
pub(crate) fn node(client: u32, i: u32) -> NodeName {
    format!("n{}:1", client * 10 + i).parse().unwrap()
}

pub(crate) fn spec(name: NodeName) -> NodeSpec {
    NodeSpec::new(name, ResourceVector::of(&TOTAL))
}

/// Books of runs whose containers are no larger than this.
pub(crate) fn books(largest: [i64; 2]) -> Books {
    // Who is within the limit may have one more.
    let user = ResourceVector::of(&LIMIT_IN_A) + ResourceVector::of(&largest);
    Books::new(Limits {
        nodes: vec![ResourceVector::of(&TOTAL)],
        queues: BTreeMap::from([("root.b", ResourceVector::of(&MOST_OF_B))]),
        users: USERS.map(|name| (("root.a", name), user)).into(),
        // Clients ask for all sizes.
        sizes: BTreeMap::new(),
    })
}

/// Waits until an engine is at rest, while its events are read: one without room for them waits, too.
pub(crate) fn rest(engine: &Threaded) -> Vec<Event> {
    let mut events = Vec::new();
    std::thread::scope(|scope| {
        let quiet = scope.spawn(|| engine.quiesce());
        while !quiet.is_finished() {
            engine.append_events(&mut events);
            std::thread::yield_now();
        }
    });
    // An engine whose last events nobody reads rests, and goes on once they are read. Only while
    // nobody reads does an answer to quiescence say that there is something to read, or nothing left to do.
    loop {
        engine.quiesce();
        let before = events.len();
        engine.append_events(&mut events);
        if events.len() == before {
            return events;
        }
    }
}

/// What happens to an engine at rest, one thing after the other; held against the books each time.
pub(crate) struct Rests<'a> {
    pub(crate) engine: &'a Threaded,
    pub(crate) books: &'a mut Books,
    /// What is there.
    pub(crate) known: Known,
}

impl Rests<'_> {
    fn receive(&mut self) {
        for event in rest(self.engine) {
            self.books.receive(&event);
        }
    }

    /// Lets all nodes report, by which the space of what ended is free and others take it; then holds
    /// what is live and what is shown against the books.
    pub(crate) fn check_at_rest(&mut self) {
        self.receive();
        for _ in 0..2 {
            for name in &self.known.nodes {
                let report = NodeReport::AsExpected;
                self.engine.heartbeat(name.clone(), report).unwrap();
            }
            self.receive();
        }
        let look = |ledger: &capsched::commit::Ledger| (Seen::live(ledger), containers(ledger));
        let (seen, live) = self.engine.inspect(look).unwrap();
        self.books.compare(&seen, Space::Exact);
        seen.add_up();
        assert_eq!(&live, self.books.live(), "containers of the ledger");
        self.known.agree(&seen);
        let shown = Seen::published(&self.engine.snapshot());
        assert_eq!(shown, seen, "what is shown at rest");
    }

    /// Ends all applications; nothing is left of them.
    pub(crate) fn clear(&mut self) {
        for app in self.known.apps.split_off(0) {
            self.engine.finish_app(app).unwrap();
        }
        self.check_at_rest();
        assert!(self.books.is_empty(), "something outlived its application");
    }

    /// All nodes join, and applications ask for more than there is, again and again: the proposers take
    /// the same room, what is left below the maximum of `root.b`, and what is left to a user of `root.a`.
    pub(crate) fn crowd(&mut self) {
        for client in CLIENTS {
            for name in (0..NODES).map(|i| node(client, i)) {
                if self.known.nodes.insert(name.clone()) {
                    self.engine.add_node(spec(name)).unwrap();
                }
            }
        }
        for round in 0..ROUNDS {
            let crowd = &CROWDS[round as usize % CROWDS.len()];
            let mut calls = Vec::new();
            for ((leaf, user), number) in crowd.iter().copied().zip(1..) {
                let app = ApplicationId::new(1_000_000 + round * 10 + number);
                self.engine.submit(AppSpec::new(app, leaf, user)).unwrap();
                self.books.know(Apps::from([(app, (leaf, user))]));
                self.known.apps.push(app);
                let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), CROWD);
                calls.push((app, AskCall::asking(vec![ask])));
            }
            let answers = self.engine.ask_all(calls);
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            self.check_at_rest();
            self.clear();
        }
    }
}
