//! Gangs over many seeds: whole or nothing, within their time, and others wait no longer than the stated bound.
//!
//! `GANG_SEEDS=10000 cargo test --profile stress -p capsched --test simulation gangs` is the long run.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Closeness, Engine, Event, GangAsk, GangEvent, GangStep,
    ModeKind, NodeName, NodeSpec, NodeState, ResourceVector, Scheduler, Sequential, Stepped,
    TreeSettings,
};
use capsched::config;
use capsched::simulator::import::{ImportOptions, NativeWriter, Source, native};
use capsched::simulator::{AuditBooks, Driver, DriverSettings, Job, Random, Ready, ResourceTypes};

/// Steps of a run.
const STEPS: usize = 150;

/// Seeds of the short run.
const SEEDS: u64 = 150;

/// Longest time that a gang of these runs may wait, in ms.
const LONGEST_MS: u64 = 4_000;

fn settings(global: bool) -> TreeSettings {
    let lookup = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                  ResourceUsageMultiNodeLookupPolicy";
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let mut pairs = vec![
        ("resource-calculator", calculator),
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "2"),
        ("root.b.maximum-capacity", "80"),
    ];
    if global {
        pairs.extend([
            ("multi-node-placement-enabled", "true"),
            ("multi-node-sorting.policy", "default"),
            ("multi-node-sorting.policy.names", "default"),
            ("multi-node-sorting.policy.default.class", lookup),
        ]);
    }
    let own =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let pairs: BTreeMap<String, String> = pairs.into_iter().map(own).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

fn node(i: u64) -> NodeName {
    format!("n{i}:1").parse().unwrap()
}

fn size(units: u64) -> ResourceVector {
    let units = i64::try_from(units).unwrap();
    ResourceVector::of(&[1024 * units, units])
}

/// What all seeds met together.
#[derive(Debug, Default)]
struct Met {
    placed: u64,
    expired: u64,
    holds: u64,
    waited_for_hold: u64,
}

/// One run: a cluster that nodes leave and join, applications that ask for small containers and for gangs.
struct Run {
    seed: u64,
    engine: Stepped,
    books: AuditBooks,
    random: Random,
    now_ms: u64,
    apps: Vec<ApplicationId>,
    next_app: u32,
    nodes: BTreeSet<u64>,
    live: Vec<capsched::api::ContainerId>,
    /// Since when nodes are held, and how long they were in all.
    held_since: Option<u64>,
    last_hold_ms: u64,
    last_end: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mode = [
            ModeKind::Heartbeat,
            ModeKind::Asynchronous,
            ModeKind::Global,
        ][(seed % 3) as usize];
        let engine = Engine::builder(settings(mode == ModeKind::Global))
            .sequential()
            .unwrap();
        let mut run = Self {
            engine: Stepped::new(engine, mode),
            books: AuditBooks::default(),
            seed,
            random: Random::new(seed),
            now_ms: 0,
            apps: Vec::new(),
            next_app: 1,
            nodes: BTreeSet::new(),
            live: Vec::new(),
            held_since: None,
            last_hold_ms: 0,
            last_end: 0,
        };
        for i in 0..6 {
            run.add_node(i);
        }
        run
    }

    fn add_node(&mut self, i: u64) {
        let spec = NodeSpec {
            rack: format!("/rack-{}", i % 3),
            attributes: vec![("site/hall".to_owned(), format!("h{}", i % 2))],
            ..NodeSpec::new(node(i), size(4 + i % 3))
        };
        self.books.node_added(&spec);
        self.engine.add_node(spec).unwrap();
        self.nodes.insert(i);
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }

    fn step(&mut self, met: &mut Met) {
        match self.below(20) {
            0 if self.apps.len() < 6 => self.submit(),
            1 if self.apps.len() > 2 => self.end_app(),
            2 if self.nodes.len() > 3 => {
                let at = self.index(self.nodes.len());
                let i = *self.nodes.iter().nth(at).unwrap();
                self.nodes.remove(&i);
                self.engine.remove_node(&node(i)).unwrap();
                self.follow(met);
                self.books.node_removed(&node(i));
            }
            3 => {
                let i = self.below(9);
                if !self.nodes.contains(&i) {
                    self.add_node(i);
                }
            }
            4..=6 => self.ask_gang(),
            7..=9 => self.ask_small(),
            10..=13 if !self.live.is_empty() => {
                let at = self.index(self.live.len());
                let id = self.live[at];
                let _ = self.engine.container_finished(id);
            }
            14 | 15 => {
                self.now_ms += self.below(400);
                self.engine.advance(self.now_ms);
            }
            _ => {
                self.engine.tick();
            }
        }
        self.follow(met);
    }

    fn submit(&mut self) {
        let id = ApplicationId::new(self.next_app);
        self.next_app += 1;
        let (queue, user) =
            [("root.a", "ann"), ("root.b", "bob"), ("root.a", "cid")][self.index(3)];
        self.engine.submit(AppSpec::new(id, queue, user)).unwrap();
        self.books.submitted(id, user, false);
        self.apps.push(id);
    }

    fn end_app(&mut self) {
        let at = self.index(self.apps.len());
        let id = self.apps.remove(at);
        self.engine.finish_app(id).unwrap();
        let mut met = Met::default();
        self.follow(&mut met);
        self.books.app_ended(id);
        self.live.retain(|container| container.app != id);
    }

    fn app(&mut self) -> Option<ApplicationId> {
        let count = self.apps.len() as u64;
        let at = usize::try_from(self.below(count.max(1))).unwrap();
        self.apps.get(at).copied()
    }

    fn ask_gang(&mut self) {
        let Some(app) = self.app() else { return };
        let close = match self.below(4) {
            0 => Closeness::Rack,
            1 => Closeness::Attribute("site/hall".to_owned()),
            _ => Closeness::Anywhere,
        };
        let gang = GangAsk {
            // A key of its own, so that no other ask has it.
            request_id: i64::try_from(100 + self.random.below(1_000_000)).unwrap(),
            elastic: u32::try_from(self.random.below(3)).unwrap(),
            close,
            ..GangAsk::of(
                u32::try_from(1 + self.random.below(6)).unwrap(),
                size(1 + self.random.below(4)),
                1 + self.random.below(LONGEST_MS),
            )
        };
        self.books.gang_asked(app, &gang, self.now_ms);
        self.engine.ask_gang(app, gang).unwrap();
    }

    fn ask_small(&mut self) {
        let Some(app) = self.app() else { return };
        let count = i32::try_from(self.below(4)).unwrap();
        let call = AskCall::asking(vec![Ask::anywhere(size(1), count)]);
        self.books.asked(app, &call);
        let mut reply = self.engine.ask(app, call).unwrap();
        reply.headroom = ResourceVector::NONE;
        self.books.replied(app, &reply);
    }

    fn take_events(&mut self, met: &mut Met) {
        let mut events = Vec::new();
        self.engine.events(&mut events);
        for event in &events {
            self.books.event(event);
            match event {
                Event::Allocated { container, .. } => self.live.push(*container),
                Event::Ended { container, .. } | Event::Unreserved { container, .. } => {
                    self.live.retain(|live| live != container);
                }
                Event::Gang(GangEvent { step, .. }) => match step {
                    GangStep::Placed { .. } => met.placed += 1,
                    GangStep::Holds { .. } => met.holds += 1,
                    GangStep::Expired { .. } => met.expired += 1,
                    other => panic!("{other:?}"),
                },
                _ => {}
            }
        }
    }

    /// Takes the events, and looks at the holds.
    fn follow(&mut self, met: &mut Met) {
        self.take_events(met);
        // Nothing is lost before it is taken over: it would be asked for again.
        for app in self.apps.clone() {
            let mut reply = self.engine.ask(app, AskCall::default()).unwrap();
            // A call serves gangs, too: what it placed is in the reply.
            self.take_events(met);
            // A node that leaves takes capacity that is used.
            reply.headroom = ResourceVector::NONE;
            self.books.replied(app, &reply);
        }
        self.books.gangs_at(self.now_ms);
        self.judge_holds(met);
        assert!(
            self.books.violations().is_empty(),
            "seed {}: {:?}",
            self.seed,
            self.books.findings()
        );
    }

    /// Every held node has a gang that waits, nodes are held no longer than a gang may wait, and after a hold
    /// none follows for as long.
    fn judge_holds(&mut self, met: &mut Met) {
        let ledger = self.engine.engine().ledger();
        let nodes = ledger.state().nodes.iter();
        let held = nodes.filter(|row| row.state == NodeState::Held).count();
        let waiting = ledger.waiting_gangs();
        let holders = waiting
            .iter()
            .filter(|gang| ledger.nodes_held_for(gang).count() > 0);
        let holders: Vec<_> = holders.collect();
        assert!(
            holders.len() <= 1,
            "one gang of the partition holds at a time"
        );
        let of_holders: usize = holders
            .iter()
            .map(|gang| ledger.nodes_held_for(gang).count())
            .sum();
        assert_eq!(held, of_holders);
        assert!(waiting.iter().all(|gang| gang.deadline_ms > self.now_ms));
        match (self.held_since, held > 0) {
            (None, true) => {
                let rest = self.now_ms - self.last_end;
                assert!(
                    rest >= self.last_hold_ms,
                    "after {} ms of rest for {}",
                    rest,
                    self.last_hold_ms
                );
                self.held_since = Some(self.now_ms);
            }
            (Some(since), true) => {
                assert!(self.now_ms - since < LONGEST_MS);
                met.waited_for_hold = met.waited_for_hold.max(self.now_ms - since);
            }
            (Some(since), false) => {
                self.held_since = None;
                (self.last_hold_ms, self.last_end) = (self.now_ms - since, self.now_ms);
            }
            (None, false) => {}
        }
    }
}

#[test]
fn over_many_seeds_gangs_are_whole_in_time_and_leave_room_for_others() {
    let seeds = std::env::var("GANG_SEEDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut met = Met::default();
    for seed in 1..=seeds.unwrap_or(SEEDS) {
        let mut run = Run::new(seed);
        for _ in 0..STEPS {
            run.step(&mut met);
        }
        // What is left is given up, and nothing is held any more.
        run.now_ms += LONGEST_MS;
        run.engine.advance(run.now_ms);
        run.follow(&mut met);
        assert!(
            run.engine.engine().ledger().waiting_gangs().is_empty(),
            "seed {seed}"
        );
        run.books.check();
        assert!(
            run.books.violations().is_empty(),
            "seed {seed}: {:?}",
            run.books.findings()
        );
    }
    assert!(
        met.placed > 0 && met.expired > 0 && met.holds > 0,
        "{met:?}"
    );
}

#[test]
fn an_auditor_notices_a_part_of_a_gang() {
    let mut books = AuditBooks::default();
    let app = ApplicationId::new(1);
    books.submitted(app, "ann", false);
    books.node_added(&NodeSpec::new(node(0), size(9)));
    books.gang_asked(app, &GangAsk::of(2, size(1), 100), 0);
    let mut engine = Sequential::new(settings(false), &[]).unwrap();
    engine.add_node(&NodeSpec::new(node(0), size(9))).unwrap();
    engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    engine.ask_gang(app, &GangAsk::of(2, size(1), 100)).unwrap();
    let events = engine.take_events();
    let of_gang = |event: &&Event| matches!(event, Event::Allocated { .. } | Event::Gang(_));
    let events: Vec<_> = events.iter().filter(of_gang).collect();
    assert_eq!(events.len(), 3);
    // The second member is lost.
    books.event(events[0]);
    books.event(events[2]);
    assert_eq!(books.violations().get("G1"), Some(&1));
    books.gang_asked(app, &GangAsk::of(2, size(1), 100), 0);
    books.gangs_at(100);
    assert_eq!(books.violations().get("G2"), None);
    books.gangs_at(101);
    assert_eq!(books.violations().get("G2"), Some(&1));
}

/// A trace of two jobs: small containers that fill the cluster, and a gang.
fn trace(gang: &str) -> String {
    let header = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    let job = |at_ms: u64, name: &str, tasks: &str| {
        format!(
            "{{\"job\":{{\"at_ms\":{at_ms},\"name\":\"{name}\",\"user\":\"u\",\"queue\":\"root.a\",\"tasks\":[{tasks}]}}}}\n"
        )
    };
    let small = "{\"size\":[1024,1],\"count\":12,\"priority\":20,\"run\":{\"same\":9000}}";
    let gang = format!(
        "{{\"size\":[2048,2],\"count\":4,\"priority\":20,\"run\":{{\"same\":1000}},\"gang\":{gang}}}"
    );
    format!(
        "{header}{}{}",
        job(0, "small", small),
        job(1000, "gang", &gang)
    )
}

#[test]
fn a_trace_with_a_gang_is_replayed_and_written_again() {
    let text = trace("{\"minimum\":3,\"within_ms\":5000,\"close\":\"rack\"}");
    let options = ImportOptions::default();
    let mut jobs = native(Source::text("t", &text), &options).unwrap();
    let jobs: Vec<Job> = jobs.by_ref().map(Result::unwrap).collect();
    let terms = jobs[1].tasks[0].gang.clone().unwrap();
    assert_eq!(
        (terms.minimum, terms.within_ms, terms.close),
        (3, 5000, Closeness::Rack)
    );
    let mut writer = NativeWriter::new(Vec::new(), &ResourceTypes::default()).unwrap();
    for job in &jobs {
        writer.job(job).unwrap();
    }
    let again = String::from_utf8(writer.into_inner()).unwrap();
    let again = native(Source::text("t", &again), &options).unwrap();
    let again: Vec<Job> = again
        .map(|job| Job {
            line: 0,
            ..job.unwrap()
        })
        .collect();
    let jobs: Vec<Job> = jobs.into_iter().map(|job| Job { line: 0, ..job }).collect();
    assert_eq!(again, jobs);

    for mode in [
        ModeKind::Heartbeat,
        ModeKind::Asynchronous,
        ModeKind::Global,
    ] {
        let engine = Engine::builder(settings(mode == ModeKind::Global))
            .sequential()
            .unwrap();
        let mut driver = Driver::new(
            Stepped::new(engine, mode),
            DriverSettings {
                round_ms: (mode != ModeKind::Heartbeat).then_some(1000),
                rounds_look_at_all: mode == ModeKind::Global,
                ..DriverSettings::default()
            },
        );
        for i in 0..4 {
            let spec = NodeSpec {
                rack: format!("/rack-{}", i / 2),
                ..NodeSpec::new(node(i), size(4))
            };
            driver.node_arrives(0, spec);
        }
        let report = driver.run(&mut Ready::new(jobs.clone()), &mut ()).unwrap();
        let counts = &report.counts;
        assert_eq!(
            (counts.finished, counts.completed, counts.refused_calls),
            (2, 16, 0),
            "{mode:?}: {report}"
        );
        assert!(report.violations.is_empty(), "{mode:?}: {report}");
    }
}

#[test]
fn gangs_of_a_trace_out_of_range_are_refused_with_line_and_value() {
    for (gang, value) in [
        ("{\"minimum\":0,\"within_ms\":1}", "a gang of 0"),
        ("{\"minimum\":5,\"within_ms\":1}", "a gang of 5"),
        ("{\"minimum\":2,\"within_ms\":0}", "within_ms 0"),
        ("{\"minimum\":2,\"within_ms\":3600001}", "within_ms 3600001"),
        ("{\"minimum\":-1,\"within_ms\":1}", "-1"),
        ("{\"minimum\":2}", "within_ms"),
        ("{\"minimum\":2,\"within_ms\":1,\"close\":\"moon\"}", "moon"),
        ("{\"minimum\":2,\"within_ms\":1,\"colour\":1}", "colour"),
    ] {
        let text = trace(gang);
        let mut jobs = native(Source::text("t", &text), &ImportOptions::default()).unwrap();
        assert!(jobs.next().unwrap().is_ok());
        let error = jobs.next().unwrap().unwrap_err();
        assert!(
            error.line == 3 && error.message.contains(value),
            "{gang}: {error}"
        );
    }
}
