//! Refreshes that are prepared on a copy, with other commands in between: they come to the same as in one piece, or
//! are found to be stale.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Desk, Mode, NodeName, NodeReport, NodeSpec,
    PartitionSpec, RefreshError, ResourceVector, Sequential, StateView, Threaded, TreeSettings,
};
use capsched::commit::{PreparedRefresh, TreeCopy};
use capsched::config;
use capsched::time::ManualClock;
use proptest::prelude::*;

use super::turns::{FETCHES, LONG, alone, beside_a_fetch, flat};

fn loaded(pairs: &[(String, String)]) -> TreeSettings {
    let key =
        |(key, value): &(String, String)| (format!("yarn.scheduler.capacity.{key}"), value.clone());
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let pairs = pairs.iter().map(key).collect();
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

/// What a tree may differ in.
#[derive(Clone, Debug)]
struct Shape {
    kind: Kind,
    /// What the first of two children has of 100.
    share: u32,
    factor: u32,
    masters: u32,
    fair: bool,
    /// Leaves besides the others.
    more: usize,
    parallel: u32,
    /// Levels below `root.a.p`, which is none with 0. With 1, `root.a.p.p1` is a leaf, and with 2 it is a parent.
    levels: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Percentages, of which the label has others.
    Percent,
    /// Weights; submissions create leaves below `root.b`.
    Weight,
    Absolute,
    /// Vectors outside legacy mode.
    Vector,
}

impl Shape {
    fn capacity(&self, share: u32) -> String {
        match self.kind {
            Kind::Percent => share.to_string(),
            Kind::Weight => format!("{share}w"),
            Kind::Absolute => format!("[memory={},vcores={}]", share * 128, share * 8),
            Kind::Vector => format!("[memory={}w,vcores={share}%]", share + 1),
        }
    }

    /// The capacity of a leaf below `root.a`.
    fn leaf_capacity(&self, share: u32) -> String {
        match self.kind {
            Kind::Absolute => format!("[memory={},vcores={}]", self.share * 20, self.share),
            _ => self.capacity(share),
        }
    }

    /// The capacity of a queue below `root.a.p`, in hundredths of that.
    fn deep_capacity(&self, share: u32) -> String {
        match self.kind {
            Kind::Percent => share.to_string(),
            Kind::Weight => "1w".to_owned(),
            Kind::Vector => format!("[memory=1w,vcores={share}%]"),
            Kind::Absolute => {
                let (memory, vcores) = (self.share * share / 5, self.share * share / 100);
                format!("[memory={memory},vcores={vcores}]")
            }
        }
    }

    /// The queues from `root.a.p` on.
    fn deep(&self) -> Vec<(String, String)> {
        let queues =
            |queue: &str, below: &str| (format!("root.a.{queue}.queues"), below.to_owned());
        let capacity = |queue: &str, share| {
            let capacity = self.deep_capacity(share);
            (format!("root.a.{queue}.capacity"), capacity)
        };
        let mut pairs = Vec::new();
        if self.levels > 0 {
            pairs.push(("root.a.p.capacity".to_owned(), self.leaf_capacity(1)));
            pairs.extend([queues("p", "p1"), capacity("p.p1", 100)]);
        }
        if self.levels > 1 {
            pairs.push(queues("p.p1", "y,x"));
            pairs.extend([capacity("p.p1.x", 60), capacity("p.p1.y", 40)]);
        }
        pairs
    }

    /// What has no counterpart in the other kinds.
    fn of_kind(&self) -> Vec<(String, String)> {
        let (one, other) = (self.share.to_string(), (100 - self.share).to_string());
        let of_label = |queue: &str, key: &str| format!("{queue}.accessible-node-labels{key}");
        let pairs = match self.kind {
            Kind::Percent => vec![
                (of_label("root", ""), "gpu"),
                (of_label("root", ".gpu.capacity"), "100"),
                (of_label("root.a", ".gpu.capacity"), &*one),
                (of_label("root.b", ".gpu.capacity"), &*other),
                (of_label("root.a.a1", ".gpu.capacity"), "100"),
            ],
            Kind::Weight => vec![("root.b.auto-queue-creation-v2.enabled".to_owned(), "true")],
            Kind::Vector => vec![("legacy-queue-mode.enabled".to_owned(), "false")],
            Kind::Absolute => Vec::new(),
        };
        let pairs = pairs.into_iter();
        pairs.map(|(key, value)| (key, value.to_owned())).collect()
    }

    fn settings(&self) -> TreeSettings {
        let order = if self.fair { "fair" } else { "fifo" };
        let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut leaves = vec!["a1".to_owned(), "a2".to_owned()];
        leaves.extend((0..self.more).map(|at| format!("more{at}")));
        let more = leaves.len();
        leaves.extend((self.levels > 0).then(|| "p".to_owned()));
        let (one, other) = (self.share, 100 - self.share);
        // What `root.a.p` has of 100.
        let taken = u32::from(self.levels > 0);
        let mut pairs = vec![
            text("root.queues", "a,b"),
            text("root.a.queues", &leaves.join(",")),
            text("root.a.capacity", &self.capacity(one)),
            text("root.b.capacity", &self.capacity(other)),
            text("root.a.a1.capacity", &self.leaf_capacity(other - taken)),
            text("root.a.a2.capacity", &self.leaf_capacity(one)),
            text("root.a.a1.ordering-policy", order),
            text("root.a.a2.max-parallel-apps", &self.parallel.to_string()),
            text("root.a.a1.user-limit-factor", &self.factor.to_string()),
            text(
                "maximum-am-resource-percent",
                &format!("0.{}", self.masters),
            ),
            text("schedule-asynchronously.enable", "false"),
        ];
        for name in &leaves[2..more] {
            let key = format!("root.a.{name}.capacity");
            pairs.push((key, self.leaf_capacity(0)));
        }
        pairs.extend(self.deep());
        pairs.extend(self.of_kind());
        loaded(&pairs)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Submit {
        app: u32,
        queue: usize,
        user: usize,
    },
    Ask {
        app: u32,
        memory: i64,
        count: i32,
        labelled: bool,
    },
    Beat {
        node: usize,
    },
    Finish {
        app: u32,
    },
    AddNode {
        node: usize,
    },
}

const QUEUES: [&str; 6] = [
    "root.a.a1",
    "root.a.a2",
    "root.b",
    "root.b.ann",
    "root.a.p.p1",
    "root.a.p.p1.x",
];

fn name(node: usize) -> NodeName {
    NodeName::new(&format!("n{node}"), 1).unwrap()
}

fn spec(node: usize) -> NodeSpec {
    let label = if node.is_multiple_of(3) { "gpu" } else { "" };
    NodeSpec {
        partition: label.to_owned(),
        ..NodeSpec::new(name(node), ResourceVector::of(&[8192, 16]))
    }
}

/// The same engine twice: one is refreshed in one piece, the other one by what was prepared.
struct Both {
    whole: Sequential,
    desk: Desk,
}

impl Both {
    fn of(settings: &TreeSettings) -> Self {
        let engine = || {
            let label = PartitionSpec {
                name: "gpu".to_owned(),
                exclusive: false,
            };
            let mut engine = Sequential::new(settings.clone(), &[label]).unwrap();
            for node in 0..4 {
                engine.add_node(&spec(node)).unwrap();
            }
            engine
        };
        Self {
            whole: engine(),
            desk: Desk::of(engine()),
        }
    }

    fn submit(&mut self, number: u32, queue: usize, user: usize) {
        let user = ["ann", "bob", "cy"][user];
        let spec = AppSpec::new(ApplicationId::new(number), QUEUES[queue], user);
        let spec = spec.with_master(ResourceVector::of(&[512, 1]));
        let submitted = self.whole.submit(&spec);
        assert_eq!(alone(&mut self.desk, |desk| desk.submit(spec)), submitted);
    }

    fn step(&mut self, step: &Step) {
        let app = ApplicationId::new;
        let (whole, desk) = (&mut self.whole, &mut self.desk);
        match *step {
            Step::Submit { app, queue, user } => self.submit(app, queue, user),
            Step::Ask {
                app: number,
                memory,
                count,
                labelled,
            } => {
                let ask = Ask {
                    partition: labelled.then(|| "gpu".to_owned()),
                    ..Ask::anywhere(ResourceVector::of(&[memory * 256, 1]), count)
                };
                let call = AskCall::asking(vec![ask]);
                let asked = whole.ask(app(number), &call);
                let answers = alone(desk, |desk| desk.ask(vec![(app(number), call)]));
                assert_eq!(answers, [asked]);
            }
            Step::Beat { node } => {
                let report = NodeReport::AsExpected;
                let reported = whole.heartbeat(&name(node), &report);
                let replies = alone(desk, |desk| desk.heartbeat_all(vec![(name(node), report)]));
                assert_eq!(replies, [reported]);
            }
            Step::Finish { app: number } => {
                let finished = whole.finish_app(app(number));
                assert_eq!(alone(desk, |desk| desk.finish_app(app(number))), finished);
            }
            Step::AddNode { node } => {
                let added = whole.add_node(&spec(node));
                assert_eq!(alone(desk, |desk| desk.add_node(spec(node))), added);
            }
        }
    }

    /// Refreshes both, with steps between the copy and its use; whether the copy was stale, if there was one.
    fn refresh(&mut self, settings: &TreeSettings, between: &[Step]) -> Option<bool> {
        let prepared = copy(&self.desk).prepare(Box::new(settings.clone()));
        between.iter().for_each(|step| self.step(step));
        let expected = self.whole.reconfigure(settings.clone());
        let Ok(prepared) = prepared else {
            let refreshed = alone(&mut self.desk, |desk| desk.reconfigure(settings.clone()));
            assert_eq!(refreshed, expected);
            return None;
        };
        let before = StateView::of(self.desk.ledger());
        let (refreshed, _) = alone(&mut self.desk, |desk| desk.install(prepared));
        if let Some(refreshed) = refreshed {
            assert_eq!(refreshed, expected);
            return Some(false);
        }
        assert_eq!(StateView::of(self.desk.ledger()), before);
        let again = copy(&self.desk)
            .prepare(Box::new(settings.clone()))
            .unwrap();
        let (refreshed, _) = alone(&mut self.desk, |desk| desk.install(again));
        assert_eq!(refreshed, Some(expected));
        Some(true)
    }

    /// The same with the labels that the cluster knows from then on.
    fn refresh_with_labels(
        &mut self,
        settings: &TreeSettings,
        labels: &[PartitionSpec],
        between: &[Step],
    ) {
        let copy = copy(&self.desk).with_labels(labels.to_vec());
        let prepared = copy.prepare(Box::new(settings.clone())).unwrap();
        between.iter().for_each(|step| self.step(step));
        let expected = self.whole.reconfigure_with_labels(settings.clone(), labels);
        let refreshed = alone(&mut self.desk, |desk| {
            desk.install_with_labels(prepared, labels.to_vec())
        });
        assert_eq!(refreshed, expected);
    }

    fn compare(&self) {
        let expected = StateView::of(self.whole.ledger());
        assert_eq!(StateView::of(self.desk.ledger()), expected);
    }
}

/// A copy of all queues of a desk.
fn copy(desk: &Desk) -> TreeCopy {
    let mut copy = TreeCopy::of(desk.ledger());
    assert!(copy.go_on(desk.ledger(), &mut { usize::MAX }));
    copy
}

fn shapes() -> impl Strategy<Value = Shape> {
    use Kind::{Absolute, Percent, Vector, Weight};
    let kinds = prop_oneof![Just(Percent), Just(Weight), Just(Absolute), Just(Vector)];
    let figures = (
        1..99_u32,
        1..4_u32,
        1..9_u32,
        any::<bool>(),
        0..4_usize,
        1..9_u32,
        0..3_u8,
    );
    (kinds, figures).prop_map(
        |(kind, (share, factor, masters, fair, more, parallel, levels))| Shape {
            kind,
            share,
            factor,
            masters,
            fair,
            more,
            parallel,
            levels,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let app = || 1..9_u32;
    let step = prop_oneof![
        2 => (app(), 0..6_usize, 0..3_usize)
            .prop_map(|(app, queue, user)| Step::Submit { app, queue, user }),
        4 => (app(), 1..12_i64, 0..9_i32, any::<bool>())
            .prop_map(|(app, memory, count, labelled)| Step::Ask { app, memory, count, labelled }),
        4 => (0..6_usize).prop_map(|node| Step::Beat { node }),
        1 => app().prop_map(|app| Step::Finish { app }),
    ];
    prop::collection::vec(step, 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever goes between the copy and its use.
    #[test]
    fn a_prepared_refresh_comes_to_the_same_as_one_in_one_piece(
        first in shapes(),
        next in shapes(),
        change_kind in prop::bool::weighted(0.1),
        before in steps(),
        between in steps(),
        node_comes in prop::bool::weighted(0.1),
        after in steps(),
    ) {
        let kind = if change_kind { next.kind } else { first.kind };
        let next = Shape { kind, ..next };
        let mut both = Both::of(&first.settings());
        before.iter().for_each(|step| both.step(step));
        let mut between = between;
        between.extend(node_comes.then_some(Step::AddNode { node: 5 }));
        both.refresh(&next.settings(), &between);
        both.compare();
        after.iter().for_each(|step| both.step(step));
        both.refresh(&first.settings(), &[]);
        both.compare();
    }
}

/// The label that the tests' nodes have, and some others.
fn label_sets() -> impl Strategy<Value = Vec<PartitionSpec>> {
    let others = prop::sample::subsequence(vec!["ssd", "new", "gpu"], 0..=2);
    others.prop_map(|others| {
        let names = std::iter::once("gpu").chain(others);
        let label = |name: &str| PartitionSpec {
            name: name.to_owned(),
            exclusive: name == "ssd",
        };
        names.map(label).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Labels that are new, come back or go, and lists that are refused since a label is there twice.
    #[test]
    fn a_prepared_refresh_with_labels_comes_to_the_same_as_one_in_one_piece(
        first in shapes(),
        next in shapes(),
        sets in [label_sets(), label_sets(), label_sets()],
        before in steps(),
        between in steps(),
        after in steps(),
    ) {
        let next = Shape { kind: first.kind, ..next };
        let mut both = Both::of(&first.settings());
        before.iter().for_each(|step| both.step(step));
        both.refresh_with_labels(&next.settings(), &sets[0], &between);
        both.compare();
        after.iter().for_each(|step| both.step(step));
        for labels in &sets[1..] {
            both.refresh_with_labels(&first.settings(), labels, &[]);
            both.compare();
        }
    }
}

fn shape() -> Shape {
    Shape {
        kind: Kind::Percent,
        share: 40,
        factor: 1,
        masters: 5,
        fair: false,
        more: 1,
        parallel: 5,
        levels: 0,
    }
}

#[test]
fn new_parents_are_taken_over_with_what_is_below_them() {
    let mut both = Both::of(&shape().settings());
    let next = Shape {
        levels: 2,
        ..shape()
    };
    assert_eq!(both.refresh(&next.settings(), &[]), Some(false));
    both.compare();
    let deep = QUEUES.len() - 1;
    both.submit(1, deep, 0);
    let queues = StateView::of(both.desk.ledger()).queues;
    assert!(queues.iter().any(|queue| queue.path == QUEUES[deep]));
    // The lists are in another order by now.
    assert_eq!(both.refresh(&next.settings(), &[]), Some(false));
    both.compare();
}

#[test]
fn commands_that_move_use_alone_leave_a_copy_current() {
    let mut both = Both::of(&shape().settings());
    let beats = || (0..4).map(|node| Step::Beat { node });
    let ask = |app| Step::Ask {
        app,
        memory: 4,
        count: 9,
        labelled: false,
    };
    both.step(&Step::Submit {
        app: 1,
        queue: 0,
        user: 0,
    });
    both.step(&Step::Submit {
        app: 2,
        queue: 1,
        user: 1,
    });
    beats().for_each(|step| both.step(&step));
    both.step(&ask(1));
    both.step(&ask(2));
    let next = Shape {
        share: 70,
        fair: true,
        more: 3,
        ..shape()
    };
    let between: Vec<_> = beats().chain([Step::Finish { app: 2 }, ask(1)]).collect();
    assert_eq!(both.refresh(&next.settings(), &between), Some(false));
    both.compare();
    let more = both.desk.ledger().queue("root.a.more2");
    assert!(more.is_some(), "the queue is new");
    // Back again: queues that are missing are not stopped.
    let refused = both.refresh(&shape().settings(), &[]);
    assert_eq!(refused, Some(false));
    both.compare();
}

#[test]
fn a_node_that_comes_and_a_first_use_of_a_label_make_a_copy_stale() {
    let node = Step::AddNode { node: 5 };
    let labelled = Step::Ask {
        app: 1,
        memory: 1,
        count: 1,
        labelled: true,
    };
    for step in [node, labelled] {
        let mut both = Both::of(&shape().settings());
        both.step(&Step::Submit {
            app: 1,
            queue: 1,
            user: 0,
        });
        (0..4).for_each(|node| both.step(&Step::Beat { node }));
        let stale = both.refresh(&shape().settings(), std::slice::from_ref(&step));
        assert_eq!(stale, Some(true), "{step:?}");
        both.compare();
    }
}

/// Starts and stops depend on which applications there are.
#[test]
fn a_refresh_that_stops_a_queue_is_not_prepared() {
    let both = Both::of(&shape().settings());
    let mut settings = shape().settings();
    for queue in &mut settings.queues {
        if &*queue.path == "root.b" {
            queue.state = Some(capsched::queue::ConfiguredState::Stopped);
        }
    }
    assert!(copy(&both.desk).prepare(Box::new(settings)).is_err());
}

/// Many queues are copied in parts, each beside a fetch, and taken over in one turn.
#[test]
fn a_refresh_of_many_queues_is_copied_in_parts() {
    let mut engine = Sequential::new(flat(3000, "50"), &[]).unwrap();
    for app in [LONG, FETCHES] {
        engine.submit(&AppSpec::new(app, "root.q7", "ann")).unwrap();
    }
    let mut desk = Desk::of(engine);
    let mut copy = TreeCopy::of(desk.ledger());
    let mut parts = 1;
    while !copy.go_on(desk.ledger(), &mut { 512 }) {
        let fetch = AskCall::default();
        assert!(alone(&mut desk, |desk| desk.ask(vec![(FETCHES, fetch)]))[0].is_ok());
        parts += 1;
    }
    assert!(parts >= 10, "{parts}");
    let prepared = copy.prepare(Box::new(flat(3100, "60"))).unwrap();
    let (turns, (refreshed, _)) = beside_a_fetch(&mut desk, |desk| desk.install(prepared));
    assert_eq!((turns, refreshed), (1, Some(Ok(()))));
    let mut whole = Sequential::new(flat(3000, "50"), &[]).unwrap();
    for app in [LONG, FETCHES] {
        whole.submit(&AppSpec::new(app, "root.q7", "ann")).unwrap();
    }
    whole.reconfigure(flat(3100, "60")).unwrap();
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
}

/// What is refused says why, and changes nothing.
#[test]
fn a_prepared_refresh_is_refused_as_one_in_one_piece() {
    let mut desk = Desk::of(Sequential::new(flat(30, "50"), &[]).unwrap());
    let before = StateView::of(desk.ledger());
    let prepared: Box<PreparedRefresh> = copy(&desk).prepare(Box::new(flat(20, "60"))).unwrap();
    let (refused, _) = alone(&mut desk, |desk| desk.install(prepared));
    assert!(
        matches!(&refused, Some(Err(RefreshError::NotStopped(path))) if path.starts_with("root.q2")),
        "{refused:?}"
    );
    assert_eq!(StateView::of(desk.ledger()), before);
}

/// A copy that the epoch overtook is of no use.
#[test]
fn a_copy_that_a_node_came_into_is_not_whole() {
    let mut desk = Desk::of(Sequential::new(flat(600, "50"), &[]).unwrap());
    let mut copy = TreeCopy::of(desk.ledger());
    assert!(!copy.go_on(desk.ledger(), &mut { 512 }));
    assert_eq!(alone(&mut desk, |desk| desk.add_node(spec(1))), Ok(()));
    assert!(copy.go_on(desk.ledger(), &mut { 512 }));
    assert!(!copy.is_whole() && copy.prepare(Box::new(flat(600, "60"))).is_err());
}

/// Calls of other threads go on meanwhile; at the end all queues are those of the last refresh.
#[test]
fn refreshes_beside_calls_of_other_threads_hold_as_a_whole() {
    let engine = Threaded::start(flat(40, "50"), &[], Mode::Heartbeat, ManualClock::at(0)).unwrap();
    std::thread::scope(|scope| {
        let refreshes = scope.spawn(|| {
            for number in 0..20 {
                let settings = flat(40 + number, if number % 2 == 0 { "60" } else { "70" });
                assert_eq!(engine.reconfigure(settings), Ok(()));
            }
        });
        let mut number = 0;
        while !refreshes.is_finished() {
            let app = ApplicationId::new(number % 7);
            let queue = format!("root.q{}", number % 40);
            // One that is there already is refused.
            let _ = engine.submit(AppSpec::new(app, &queue, "ann"));
            let _ = engine.finish_app(app);
            if number % 16 == 0 && number < 160 {
                let total = ResourceVector::of(&[4096, 4]);
                let node = usize::try_from(number).unwrap();
                assert_eq!(engine.add_node(NodeSpec::new(name(node), total)), Ok(()));
            }
            number += 1;
        }
    });
    let view = engine.inspect(StateView::of).unwrap();
    let leaf = |path: &str| view.queues.iter().any(|queue| queue.path == path);
    assert_eq!((leaf("root.q58"), leaf("root.q59")), (true, false));
}
