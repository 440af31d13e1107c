//! The cluster of one node that a model starts from, and what changes it.

use std::collections::BTreeMap;

use capsched::commit::{CommitOutcome, Conflict, Ledger};
use capsched::config;
use capsched::id::{ApplicationId, NodeName, NodeSlot};
use capsched::proposer::{Candidates, Observation, Outcome, propose};
use capsched::queue::{AppSpec, Ask, AskCall, Exclusivity, NodeSpec, TreeSettings};
use capsched::resource::ResourceVector;
use capsched::snapshot::State;

/// The application at the beginning, the one that takes its place, and one of another leaf.
pub(super) const APP: ApplicationId = ApplicationId::new(1);
pub(super) const NEXT_APP: ApplicationId = ApplicationId::new(2);
const OTHER_APP: ApplicationId = ApplicationId::new(3);

/// The only node.
pub(super) const NODE: NodeSlot = NodeSlot(0);

/// Size of each container in MiB and vcores.
pub(super) const SIZE: [i64; 2] = [1024, 1];

/// What a model starts from.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    /// Containers that the node has room for.
    pub(super) room: i64,
    /// Containers after which the user gets no more.
    pub(super) limit: i64,
    /// Containers that are placed before the threads start.
    pub(super) placed: u64,
    /// Containers that are asked for, those included.
    pub(super) asked: i32,
    /// Containers of another leaf beside them.
    pub(super) beside: u64,
    /// Why a decision on an older state is refused.
    pub(super) refusal: Conflict,
}

/// A scene with its configurations. They are read before the model starts: a reader of configurations
/// needs more stack than the threads of a model have.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    pub(super) scene: Scene,
    wide: &'static TreeSettings,
    /// The one that leaves half of the cluster to `root.p`.
    pub(super) tight: &'static TreeSettings,
}

impl Scene {
    pub(super) fn prepared(self) -> Prepared {
        let [wide, tight] = [100, 50].map(|most| &*Box::leak(Box::new(self.settings(most))));
        Prepared {
            scene: self,
            wide,
            tight,
        }
    }

    /// The queues, of which `root.p` gets so many percent of the cluster at most.
    fn settings(self, most_of_p: u32) -> TreeSettings {
        // Each leaf below `root.p` has a quarter of the cluster.
        let percent = 4 * 100 * self.limit / self.room;
        let factor = format!("{}.{:02}", percent / 100, percent % 100);
        let most = most_of_p.to_string();
        let pairs = [
            ("maximum-am-resource-percent", "1"),
            ("root.queues", "p,q"),
            ("root.p.capacity", "50"),
            ("root.p.maximum-capacity", &most),
            ("root.q.capacity", "50"),
            ("root.p.queues", "a,b"),
            ("root.p.a.capacity", "50"),
            ("root.p.a.user-limit-factor", &factor),
            ("root.p.b.capacity", "50"),
            ("root.p.b.user-limit-factor", "4"),
        ];
        let pairs = pairs.map(|(key, value)| {
            let key = format!("yarn.scheduler.capacity.{key}");
            (key, value.to_owned())
        });
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types);
        loaded.expect("the settings are sound").settings
    }

    /// Containers that no proposer decided on, but stand in every snapshot.
    pub(super) fn before(self) -> u64 {
        self.placed + self.beside
    }
}

impl Prepared {
    pub(super) fn ledger(self) -> Ledger {
        let scene = self.scene;
        let mut ledger = Ledger::new(self.wide.clone(), &[]).expect("they make a tree");
        ledger.track(true);
        ledger
            .add_node(&node(scene.room))
            .expect("the node is sound");
        ledger.drain_follow_ups();
        if let Ok(beside @ 1..) = i32::try_from(scene.beside) {
            submit(&mut ledger, OTHER_APP, ("root.p.b", "bob"), beside);
            place(&mut ledger, scene.beside);
        }
        submit(&mut ledger, APP, ("root.p.a", "ann"), scene.asked);
        place(&mut ledger, scene.placed);
        ledger.take_events();
        ledger
    }
}

/// The node, with room for so many containers.
pub(super) fn node(room: i64) -> NodeSpec {
    let total = SIZE.map(|amount| amount * room);
    NodeSpec::new(node_name(), ResourceVector::of(&total))
}

pub(super) fn node_name() -> NodeName {
    "n1:1".parse().expect("a name of a node")
}

/// Submits an application of a user to a leaf, which asks for so many containers.
pub(super) fn submit(
    ledger: &mut Ledger,
    app: ApplicationId,
    (leaf, user): (&str, &str),
    asked: i32,
) {
    let spec = AppSpec::new(app, leaf, user);
    let slot = ledger.submit(&spec).expect("the application is sound");
    ledger.drain_follow_ups();
    let ask = Ask::anywhere(ResourceVector::of(&SIZE), asked);
    let answer = ledger.ask(slot, &AskCall::asking(vec![ask]));
    answer.expect("the ask is sound");
    ledger.drain_follow_ups();
}

fn place(ledger: &mut Ledger, count: u64) {
    for _ in 0..count {
        let mut seen = Vec::new();
        let outcome = decide(ledger.state(), &mut seen);
        let committed = ledger.commit(&outcome, &seen);
        assert_eq!(committed, CommitOutcome::Committed);
        ledger.drain_follow_ups();
    }
}

/// A decision about the node.
pub(super) fn decide(state: &State, seen: &mut Vec<Observation>) -> Outcome {
    propose(state, &Candidates::node(NODE), Exclusivity::Respect, seen)
}
