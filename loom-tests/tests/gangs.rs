//! M14: the commit of a gang against a decision for the same room.
//!
//! Threads: a proposer, which decides for a small container on a snapshot and then reads two more, and the committer (main),
//! which commits that decision before the gang, after it, or not at all before it publishes. The cluster has two nodes; the
//! gang needs all of their room. Snapshot, ring, `propose` and ledger are the engine's own.
//! Property: every snapshot shows all members of the gang or none; either the gang is placed and the small container
//! is refused, or the gang waits and the small container is placed; no node is too full.
//! Fails when: GangInPart is planted.

use std::collections::BTreeMap;
use std::sync::Arc;

use capsched::commit::{CommitOutcome, Ledger};
use capsched::config;
use capsched::id::{ApplicationId, NodeSlot, PartitionId};
use capsched::proposer::{Candidates, Observation, Outcome, propose};
use capsched::queue::{AppSpec, Ask, AskCall, Exclusivity, GangAsk, NodeSpec, TreeSettings};
use capsched::resource::ResourceVector;
use capsched::snapshot::{Snapshot, State};
use capsched::sync::{PublishedReader, Received, RingReceiver, RingSender, published, ring};
use loom_tests::{Witness, explore_engine, spawn_deep};

const SMALL: ApplicationId = ApplicationId::new(1);
const GANG: ApplicationId = ApplicationId::new(2);

/// Members of the gang, of the size of the small container; each node has room for two.
const MEMBERS: u32 = 4;

fn size(count: i64) -> ResourceVector {
    ResourceVector::of(&[1024 * count, count])
}

/// The settings are read before the model starts: a reader needs more stack than its threads have.
fn settings() -> &'static TreeSettings {
    let pairs = [
        ("maximum-am-resource-percent", "1"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "4"),
        ("root.b.user-limit-factor", "4"),
    ];
    let pairs =
        pairs.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types);
    Box::leak(Box::new(loaded.expect("the settings are sound").settings))
}

fn ledger(settings: &TreeSettings) -> Ledger {
    let mut ledger = Ledger::new(settings.clone(), &[]).expect("they make a tree");
    ledger.track(true);
    for name in ["n1:1", "n2:1"] {
        let name = name.parse().expect("a name of a node");
        ledger
            .add_node(&NodeSpec::new(name, size(2)))
            .expect("the node is sound");
        ledger.drain_follow_ups();
    }
    for (app, leaf) in [(SMALL, "root.a"), (GANG, "root.b")] {
        ledger
            .submit(&AppSpec::new(app, leaf, "ann"))
            .expect("the application is sound");
        ledger.drain_follow_ups();
    }
    let small = ledger.app(SMALL).expect("it was submitted");
    let call = AskCall::asking(vec![Ask::anywhere(size(1), 1)]);
    ledger.ask(small, &call).expect("the ask is sound");
    ledger.drain_follow_ups();
    ledger.take_events();
    ledger
}

/// Members of the gang that a state has.
fn members(state: &State) -> i64 {
    let of = |id| move |row: &&capsched::queue::App| row.id == id && !row.stage.is_over();
    let used = state.apps.iter().find(of(GANG));
    used.map_or(0, |row| {
        row.part(PartitionId::DEFAULT).used.get().memory() / 1024
    })
}

fn check(state: &State) {
    let members = members(state);
    assert!(
        members == 0 || members == i64::from(MEMBERS),
        "{members} members are placed"
    );
    let full = state.nodes.iter().all(|row| row.free.get().memory() >= 0);
    assert!(full, "N1: a node is too full");
}

/// A decision with what was observed on the way.
type Decision = (Outcome, Vec<Observation>);

struct Reader {
    snapshots: PublishedReader<Snapshot>,
    ring: RingSender<Decision>,
    seen: Arc<Snapshot>,
    state: State,
}

impl Reader {
    fn look(&mut self) {
        let newest = Arc::clone(self.snapshots.refresh());
        self.state.refresh(&self.seen, &newest, |_| {});
        self.seen = newest;
        check(&self.state);
    }

    fn run(mut self) {
        self.look();
        let mut seen = Vec::new();
        let candidates = Candidates::node(NodeSlot(0));
        let outcome = propose(&self.state, &candidates, Exclusivity::Respect, &mut seen);
        if matches!(outcome, Outcome::Proposed(_)) {
            assert!(
                self.ring.try_send((outcome, seen)).is_ok(),
                "an empty ring has room"
            );
        }
        self.look();
        self.look();
    }
}

/// Commits the decision that is there, if one is; what it came to.
fn commit_next(ledger: &mut Ledger, ring: &mut RingReceiver<Decision>) -> Option<CommitOutcome> {
    let Received::Item((outcome, seen)) = ring.try_recv() else {
        return None;
    };
    let committed = ledger.commit(&outcome, &seen);
    ledger.drain_follow_ups();
    Some(committed)
}

#[test]
fn a_gang_races_with_a_decision_for_its_room() {
    static PLACED: Witness = Witness::of("the gang was placed and the decision refused");
    static WAITS: Witness = Witness::of("the decision was committed and the gang waits");
    static LATE: Witness = Witness::of("the gang was placed before the proposer decided");
    let settings = settings();
    explore_engine(&[&PLACED, &WAITS, &LATE], move || {
        let mut ledger = ledger(settings);
        let scheduler = Arc::clone(&ledger.state().settings);
        let empty = Snapshot::empty(Arc::clone(&scheduler));
        let first = Arc::new(empty.next(ledger.state_to_publish()));
        let (mut publisher, snapshots) = published(first.version, Arc::clone(&first));
        let (sender, mut receiver) = ring(1);
        let reader = Reader {
            snapshots: snapshots.reader(),
            ring: sender,
            seen: Arc::new(empty),
            state: State::new(scheduler),
        };
        let reader = spawn_deep(move || reader.run());
        let mut committed = commit_next(&mut ledger, &mut receiver);
        let slot = ledger.app(GANG).expect("it was submitted");
        let gang = GangAsk::of(MEMBERS, size(1), 1000);
        ledger.ask_gang(slot, &gang).expect("the gang is sound");
        ledger.serve_gangs();
        ledger.drain_follow_ups();
        let next = Arc::new(first.next(ledger.state_to_publish()));
        drop(publisher.publish(next.version, next));
        reader.join().expect("the proposer does not panic");
        committed = committed.or_else(|| commit_next(&mut ledger, &mut receiver));
        check(ledger.state());
        let placed = members(ledger.state()) > 0;
        assert_eq!(placed, ledger.waiting_gangs().is_empty());
        let small = committed.is_some_and(CommitOutcome::is_committed);
        assert!(placed != small, "one of them has the room");
        PLACED.met_if(placed && committed.is_some());
        WAITS.met_if(small);
        LATE.met_if(placed && committed.is_none());
    });
}
