//! Snapshots over random runs: saved, written, read and loaded, they go on with the same decisions.

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Event, NodeName, NodeReport, NodeSpec,
    Scheduler, Stepped,
};
use capsched::simulator::Random;
use capsched::simulator::journal::{Call, Journaled, SnapshotError, SnapshotHead, StateSnapshot};

use crate::cluster::{app, gib};

/// Seeds of each mode.
const SEEDS: u64 = 12;

/// Calls before a snapshot, and behind it.
const CALLS: (usize, usize) = (150, 80);

const USAGE_POLICY: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                            ResourceUsageMultiNodeLookupPolicy";

fn head(mode: &str, random: &mut Random) -> SnapshotHead {
    let flag = |on: bool| if on { "true" } else { "false" };
    let mut pairs = vec![
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.b.maximum-capacity", "80"),
        ("root.a.user-limit-factor", "2"),
        ("maximum-am-resource-percent", "0.5"),
        ("schedule-asynchronously.enable", flag(mode != "heartbeat")),
    ];
    if mode == "global" {
        pairs.extend([
            ("multi-node-placement-enabled", "true"),
            ("multi-node-sorting.policy.names", "usage"),
            ("multi-node-sorting.policy", "usage"),
            ("multi-node-sorting.policy.usage.class", USAGE_POLICY),
        ]);
    }
    if random.below(2) == 0 {
        pairs.push(("root.a.ordering-policy", "fair"));
    }
    let pair =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    SnapshotHead {
        types: ["memory-mb", "vcores"].map(str::to_owned).into(),
        site: BTreeMap::new(),
        scheduler: pairs.into_iter().map(pair).collect(),
        labels: Vec::new(),
        mode: mode.to_owned(),
        reference: "3.4".to_owned(),
        preemption: [None, Some(false), Some(true)][usize::try_from(random.below(3)).unwrap()],
        every_beat: random.below(2) == 0,
        at_ms: 0,
        recovers: false,
        left_out: Vec::new(),
    }
}

/// Where the random calls of a run stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    nodes: Vec<NodeName>,
    next_node: u32,
    next_app: u32,
    live: Vec<ContainerId>,
    now_ms: u64,
}

fn pick<T: Clone>(from: &[T], random: &mut Random) -> Option<T> {
    let at = random.below(from.len().max(1) as u64);
    from.get(usize::try_from(at).unwrap()).cloned()
}

impl Course {
    /// One random call. It depends on the decisions so far and on nothing else.
    pub(crate) fn call(&mut self, engine: &mut impl Scheduler, random: &mut Random) {
        match random.below(12) {
            0 | 1 => self.submit(engine, random),
            2..=4 => self.ask(engine, random),
            5 | 6 => {
                if let Some(node) = pick(&self.nodes, random) {
                    drop(engine.heartbeat(&node, NodeReport::AsExpected));
                }
            }
            7 => {
                engine.schedule();
            }
            8 => {
                self.now_ms += random.below(4_000);
                engine.advance(self.now_ms);
            }
            9 => {
                if let Some(container) = pick(&self.live, random) {
                    let _refused = engine.container_finished(container);
                }
            }
            10 => self.of_nodes(engine, random),
            _ => self.rare(engine, random),
        }
    }

    fn submit(&mut self, engine: &mut impl Scheduler, random: &mut Random) {
        let queue = ["root.a", "root.b", "root.none"][usize::try_from(random.below(3)).unwrap()];
        let user = ["ann", "bob"][usize::try_from(random.below(2)).unwrap()];
        self.next_app += 1;
        let mut spec = AppSpec::new(app(self.next_app), queue, user);
        if random.below(2) == 0 {
            spec = spec.with_master(gib(1));
        }
        drop(engine.submit(spec));
    }

    fn any_app(&self, random: &mut Random) -> ApplicationId {
        app(1 + u32::try_from(random.below(u64::from(self.next_app) + 1)).unwrap())
    }

    fn ask(&mut self, engine: &mut impl Scheduler, random: &mut Random) {
        let size = gib(1 + i64::try_from(random.below(6)).unwrap());
        let mut ask = Ask::anywhere(size, i32::try_from(random.below(5)).unwrap());
        ask.priority = 1 + i32::try_from(random.below(2)).unwrap();
        let mut call = AskCall::asking(vec![ask]);
        if random.below(4) == 0
            && let Some(node) = pick(&self.nodes, random)
        {
            call.blacklist_add.push(node.host().to_owned());
        }
        drop(engine.ask(self.any_app(random), call));
    }

    fn of_nodes(&mut self, engine: &mut impl Scheduler, random: &mut Random) {
        if self.nodes.len() < 2 || random.below(3) > 0 {
            self.next_node += 1;
            let name: NodeName = format!("n{}:8041", self.next_node).parse().unwrap();
            if engine.add_node(NodeSpec::new(name.clone(), gib(8))).is_ok() {
                self.nodes.push(name);
            }
        } else if let Some(node) = pick(&self.nodes, random) {
            drop(engine.remove_node(&node));
            self.nodes.retain(|other| *other != node);
        }
    }

    fn rare(&self, engine: &mut impl Scheduler, random: &mut Random) {
        match random.below(4) {
            0 => drop(engine.finish_app(self.any_app(random))),
            1 => {
                engine.schedule_part(1 + random.below(3));
            }
            2 => {
                if let Some(first) = pick(&self.nodes, random) {
                    engine.pass_heartbeats(&first, 1 + random.below(5));
                }
            }
            _ => {
                if !engine.looks_may_bring() {
                    engine.pass_rounds(1 + random.below(3));
                }
            }
        }
    }

    /// Takes the decisions since the last call.
    pub(crate) fn gather(&mut self, engine: &mut impl Scheduler) -> Vec<Event> {
        let mut events = Vec::new();
        engine.events(&mut events);
        for event in &events {
            match event {
                Event::Allocated { container, .. } => self.live.push(*container),
                Event::Ended { container, .. } | Event::Unreserved { container, .. } => {
                    self.live.retain(|live| live != container)
                }
                _ => {}
            }
        }
        events
    }
}

/// A random run up to a snapshot: the engine with its journal, the snapshot, and where the calls stand.
pub(crate) fn saved(
    mode: &str,
    random: &mut Random,
) -> (Journaled<Stepped>, StateSnapshot, Course) {
    let mut head = head(mode, random);
    let mut engine = Journaled::new(head.engine().unwrap());
    let mut course = Course::default();
    for _ in 0..CALLS.0 {
        course.call(&mut engine, random);
        course.gather(&mut engine);
    }
    head.at_ms = course.now_ms;
    let snapshot = StateSnapshot {
        head,
        calls: engine.take_calls(),
        state: StateSnapshot::fingerprint(engine.scheduler()),
    };
    (engine, snapshot, course)
}

pub(crate) fn packed(snapshot: &StateSnapshot) -> Vec<u8> {
    snapshot.write(Vec::new()).unwrap()
}

#[test]
fn a_loaded_snapshot_goes_on_with_the_same_decisions() {
    let mut decided = 0;
    for mode in ["heartbeat", "asynchronous", "global"] {
        for seed in 0..SEEDS {
            let mut random = Random::new(seed);
            let (mut engine, snapshot, mut course) = saved(mode, &mut random);
            let read = StateSnapshot::read(&packed(&snapshot)[..]).unwrap();
            assert_eq!(read, snapshot, "{mode} {seed}");
            let mut loaded = read.head.engine().unwrap();
            read.replay(&mut loaded).unwrap();
            let mut other = course.clone();
            drop(other.clone().gather(&mut loaded));
            let mut same = random.clone();
            for call in 0..CALLS.1 {
                course.call(&mut engine, &mut random);
                other.call(&mut loaded, &mut same);
                let (a, b) = (course.gather(&mut engine), other.gather(&mut loaded));
                assert_eq!(a, b, "{mode} {seed}: call {call} behind the snapshot");
                decided += a.len();
            }
            let [a, b] = [engine.scheduler(), &loaded].map(StateSnapshot::fingerprint);
            assert_eq!(a, b, "{mode} {seed}");
            assert_eq!(engine.scheduler().explain_all(), loaded.explain_all());
        }
    }
    assert!(decided > 500, "{decided}");
}

#[test]
fn a_file_that_is_cut_or_changed_is_refused_or_leads_to_the_same_state() {
    let mut random = Random::new(7);
    let (_, snapshot, _) = saved("heartbeat", &mut random);
    let whole = packed(&snapshot);
    for end in (0..whole.len()).step_by(7) {
        let found = StateSnapshot::read(&whole[..end]);
        let refused = matches!(
            found,
            Err(SnapshotError::Truncated(_) | SnapshotError::Foreign(_))
        );
        assert!(refused, "{end} of {}: {found:?}", whole.len());
    }
    for _ in 0..400 {
        let mut changed = whole.clone();
        let at = usize::try_from(random.below(whole.len() as u64)).unwrap();
        changed[at] ^= 1 << random.below(8);
        let Ok(found) = StateSnapshot::read(&changed[..]) else {
            continue;
        };
        // What can be read either is refused when it is loaded, or leads to the state that it says.
        let Ok(mut engine) = found.head.engine() else {
            continue;
        };
        if found.replay(&mut engine).is_ok() {
            assert_eq!(StateSnapshot::fingerprint(&engine), found.state);
        }
    }
}

#[test]
fn another_number_of_calls_or_another_state_is_noticed() {
    let mut random = Random::new(11);
    let (_, snapshot, _) = saved("global", &mut random);
    let places = |call: &Call| matches!(call, Call::AddNode { .. });
    let mut fewer = snapshot;
    fewer.calls.retain(|call| !places(call));
    let read = StateSnapshot::read(&packed(&fewer)[..]).unwrap();
    let mut engine = read.head.engine().unwrap();
    assert_eq!(read.replay(&mut engine), Err(SnapshotError::OtherState));
}
