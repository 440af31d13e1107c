//! The threaded modes under random commands of two clients, judged by an independent oracle.
//!
//! The oracle knows only the decisions, in their order. What it demands holds for every
//! interleaving: nodes are never overfull, containers are unique and end once, and nothing is left
//! when all applications have ended.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::EngineEnd;
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Event, Mode, NodeName, NodeReport, NodeSpec,
    ResourceVector, Threaded, TreeSettings,
};
use capsched::config;
use capsched::time::SystemClock;
use std::collections::{BTreeMap, BTreeSet};

const COMMANDS: usize = 120;

fn settings() -> TreeSettings {
    let p = "yarn.scheduler.capacity.";
    let lookup = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.";
    let lookup = format!("{lookup}ResourceUsageMultiNodeLookupPolicy");
    let pairs: BTreeMap<String, String> = [
        (
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.ordering-policy", "fair"),
        ("maximum-am-resource-percent", "1"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy", "default"),
        ("multi-node-sorting.policy.names", "default"),
        ("multi-node-sorting.policy.default.class", &lookup),
    ]
    .into_iter()
    .map(|(key, value)| (format!("{p}{key}"), value.to_owned()))
    .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

/// A xorshift generator: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// Each node has one size whenever it registers.
fn node(client: u32, i: usize) -> NodeName {
    format!("c{client}n{i}:1").parse().unwrap()
}

fn node_total(name: &NodeName) -> ResourceVector {
    if name.host().ends_with('0') {
        ResourceVector::of(&[4096, 4])
    } else {
        ResourceVector::of(&[8192, 6])
    }
}

/// A client with nodes and applications of its own.
struct Client<'a> {
    engine: &'a Threaded,
    number: u32,
    random: Random,
    apps: Vec<ApplicationId>,
    submitted: u32,
    nodes: BTreeSet<NodeName>,
    containers: Vec<ContainerId>,
}

impl Client<'_> {
    fn run(&mut self) {
        for i in 0..2 {
            self.add_node(i);
        }
        for _ in 0..COMMANDS {
            match self.random.below(20) {
                0 => {
                    let i = self.random.below(4);
                    self.add_node(i);
                }
                1 => {
                    let name = node(self.number, self.random.below(4));
                    let known = self.nodes.remove(&name);
                    assert_eq!(self.engine.remove_node(name).is_ok(), known);
                }
                2..=4 => self.submit(),
                5..=10 => self.ask(),
                11..=14 => self.finish_container(),
                15 if !self.apps.is_empty() => {
                    let i = self.random.below(self.apps.len());
                    let app = self.apps.swap_remove(i);
                    // The application may have ended with its master's node.
                    let _gone = self.engine.finish_app(app).is_err();
                }
                16 => self.engine.quiesce(),
                _ => self.heartbeats(),
            }
        }
    }

    fn add_node(&mut self, i: usize) {
        let name = node(self.number, i);
        let total = node_total(&name);
        let new = self.nodes.insert(name.clone());
        let added = self.engine.add_node(NodeSpec::new(name, total));
        assert_eq!(added.is_ok(), new);
    }

    fn heartbeats(&mut self) {
        for name in self.nodes.clone() {
            self.engine.heartbeat(name, NodeReport::AsExpected).unwrap();
        }
    }

    fn submit(&mut self) {
        self.submitted += 1;
        let id = ApplicationId::new(self.number * 10_000 + self.submitted);
        let master = (self.random.below(2) == 0).then(|| ResourceVector::of(&[1024, 1]));
        let spec = AppSpec {
            master,
            ..AppSpec::new(
                id,
                ["root.a", "root.b"][self.random.below(2)],
                &format!("u{}", self.random.below(3)),
            )
        };
        if self.engine.submit(spec).is_ok() {
            self.apps.push(id);
        }
    }

    fn ask(&mut self) {
        if self.apps.is_empty() {
            return;
        }
        let app = self.apps[self.random.below(self.apps.len())];
        let size = [[1024, 1], [2048, 1], [3072, 2]][self.random.below(3)];
        let count = [1, 2, 5, 0][self.random.below(4)];
        let mut call = AskCall {
            asks: vec![Ask::anywhere(ResourceVector::of(&size), count)],
            ..AskCall::default()
        };
        let of_app = |id: &&ContainerId| id.app == app;
        if self.random.below(4) == 0
            && let Some(id) = self.containers.iter().find(of_app)
        {
            call.release = vec![id.number];
        }
        // Refused while the master has no container, or when no node is large enough.
        if let Ok(reply) = self.engine.ask(app, call) {
            let granted = reply.allocated.iter().map(|granted| granted.container);
            self.containers.extend(granted);
        }
    }

    fn finish_container(&mut self) {
        if self.containers.is_empty() {
            return;
        }
        let i = self.random.below(self.containers.len());
        let id = self.containers.swap_remove(i);
        // It may have ended before, with its node or by a release.
        let _live = self.engine.container_finished(id);
        let again = self.engine.container_finished(id);
        assert!(!again, "{id} ended twice");
    }
}

/// What follows from the decisions so far.
#[derive(Default)]
struct Oracle {
    live: BTreeMap<ContainerId, (NodeName, ResourceVector)>,
    reserved: BTreeMap<ContainerId, NodeName>,
    ended: BTreeSet<ContainerId>,
    used: BTreeMap<NodeName, ResourceVector>,
    first: BTreeMap<ApplicationId, ContainerId>,
    started: BTreeSet<ApplicationId>,
    placed: usize,
}

impl Oracle {
    fn receive(&mut self, decision: &Event) {
        match decision {
            Event::Allocated {
                container,
                node,
                size,
                from_reservation,
                ..
            } => self.allocated(*container, node, *size, *from_reservation),
            Event::Reserved {
                container,
                node,
                again,
                ..
            } => {
                let before = self.reserved.insert(*container, node.clone());
                assert_eq!(before.as_ref(), again.then_some(node), "{container}");
                assert!(!self.live.contains_key(container), "{container} runs");
                let holders = self.reserved.values().filter(|other| *other == node);
                assert_eq!(holders.count(), 1, "{node} is reserved twice");
            }
            Event::Unreserved {
                container, node, ..
            } => {
                let held = self.reserved.remove(container);
                assert_eq!(held.as_ref(), Some(node), "{container}");
            }
            Event::ReservationMoved {
                container,
                from,
                to,
                ..
            } => {
                let held = self.reserved.insert(*container, to.clone());
                assert_eq!(held.as_ref(), Some(from), "{container}");
            }
            Event::Ended {
                container, node, ..
            } => {
                let (on, size) = self.live.remove(container).unwrap();
                assert_eq!(&on, node, "{container} ended elsewhere");
                *self.used.get_mut(node).unwrap() -= size;
                assert!(self.ended.insert(*container), "{container} ended twice");
            }
            Event::MasterStarted { app, container } => {
                assert!(self.started.insert(*app), "{app} started twice");
                assert!(container.is_none_or(|id| self.live.contains_key(&id)));
            }
            _ => {}
        }
    }

    fn allocated(&mut self, id: ContainerId, node: &NodeName, size: ResourceVector, held: bool) {
        self.placed += 1;
        assert!(!self.ended.contains(&id), "{id} was used before");
        let before = self.live.insert(id, (node.clone(), size));
        assert_eq!(before, None, "{id} was placed twice");
        let reserved = self.reserved.remove(&id);
        assert_eq!(reserved.as_ref(), held.then_some(node), "{id}");
        // Only one container, the master's, comes before the start of its application. Its number
        // is above 1 when an earlier number stands on a reservation that was overtaken.
        let first = self.first.entry(id.app).or_insert(id);
        assert!(*first == id || self.started.contains(&id.app), "{id}");
        let used = self.used.entry(node.clone()).or_default();
        *used += size;
        let total = node_total(node);
        assert!(used.fits_in(&total), "{node} holds {used} of {total}");
    }
}

fn simulate(mode: Mode, seed: u64) {
    let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
    let mut events = Vec::new();
    let mut clients: Vec<Client<'_>> = (1..=2)
        .map(|number| Client {
            engine: &engine,
            number,
            random: Random(seed * 2 + u64::from(number) + 0x9E37_79B9_7F4A_7C15),
            apps: Vec::new(),
            submitted: 0,
            nodes: BTreeSet::new(),
            containers: Vec::new(),
        })
        .collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(|| client.run()))
            .collect();
        while running.iter().any(|client| !client.is_finished()) {
            events.extend(engine.take_events());
            std::thread::yield_now();
        }
    });
    for client in &mut clients {
        for app in std::mem::take(&mut client.apps) {
            // The application may have ended with its master's node.
            let _gone = engine.finish_app(app).is_err();
        }
        client.heartbeats();
    }
    // Whoever waits for quiescence is answered early while events have no room.
    loop {
        engine.quiesce();
        let more = engine.take_events();
        if more.is_empty() {
            break;
        }
        events.extend(more);
    }
    let snapshot = engine.snapshot();
    for queue in snapshot.queues.iter() {
        for part in &queue.parts {
            assert_eq!(
                part.used.get(),
                ResourceVector::NONE,
                "{mode:?} seed {seed}"
            );
            assert_eq!(
                part.pending.get(),
                ResourceVector::NONE,
                "{mode:?} seed {seed}"
            );
        }
    }
    drop(clients);
    assert_eq!(engine.stop(), EngineEnd::Stopped);
    let mut oracle = Oracle::default();
    for event in &events {
        oracle.receive(event);
    }
    assert_eq!(oracle.live, BTreeMap::new(), "{mode:?} seed {seed}");
    assert_eq!(oracle.reserved, BTreeMap::new(), "{mode:?} seed {seed}");
    assert!(oracle.placed > 0, "{mode:?} seed {seed} placed nothing");
}

#[test]
fn asynchronous_proposers_keep_every_promise_under_random_commands() {
    for seed in 0..10 {
        let threads = 1 + usize::try_from(seed).unwrap() % 3;
        simulate(Mode::Asynchronous { threads }, seed);
    }
}

#[test]
fn global_proposers_keep_every_promise_under_random_commands() {
    for seed in 10..20 {
        let threads = 1 + usize::try_from(seed).unwrap() % 3;
        simulate(Mode::Global { threads }, seed);
    }
}
