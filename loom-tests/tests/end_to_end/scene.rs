//! A cluster of one node, and the turns of proposer and committer over it.

use std::collections::BTreeMap;
use std::sync::Arc;

use capsched::commit::{CommitOutcome, Conflict, Event, Ledger};
use capsched::config;
use capsched::id::{ApplicationId, NodeSlot, Version};
use capsched::proposer::{Candidates, Observation, Outcome, propose};
use capsched::queue::{AppSpec, Ask, AskCall, Exclusivity, NodeSpec};
use capsched::resource::ResourceVector;
use capsched::snapshot::{Snapshot, State};
use capsched::sync::{
    Parker, PublishedReader, Publisher, Received, RingReceiver, RingSender, Waker, parking,
    published, ring,
};
use loom::thread;

use super::Witnesses;

/// The application at the beginning, and the one that takes its place.
const APP: ApplicationId = ApplicationId::new(1);
const NEXT_APP: ApplicationId = ApplicationId::new(2);

/// The only node.
const NODE: NodeSlot = NodeSlot(0);

/// Size of each container in MiB and vcores.
const SIZE: [i64; 2] = [1024, 1];

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
    /// Why a decision on an older state is refused.
    pub(super) refusal: Conflict,
}

impl Scene {
    fn ledger(self) -> Ledger {
        let factor = format!("0.{:02}", 100 * self.limit / self.room);
        let pairs = [
            ("maximum-am-resource-percent", "1"),
            ("root.queues", "a"),
            ("root.a.capacity", "100"),
            (
                "root.a.user-limit-factor",
                if self.limit < self.room { &factor } else { "1" },
            ),
        ];
        let pairs = pairs.map(|(key, value)| {
            let key = format!("yarn.scheduler.capacity.{key}");
            (key, value.to_owned())
        });
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types);
        let settings = loaded.expect("the settings are sound").settings;
        let mut ledger = Ledger::new(settings, &[]).expect("they make a tree");
        ledger.track(true);
        let total = SIZE.map(|amount| amount * self.room);
        let node = NodeSpec::new(
            "n1:1".parse().expect("a name of a node"),
            ResourceVector::of(&total),
        );
        ledger.add_node(&node).expect("the node is sound");
        ledger.settle();
        submit(&mut ledger, APP, self.asked);
        for _ in 0..self.placed {
            let mut seen = Vec::new();
            let outcome = decide(ledger.state(), &mut seen);
            let committed = ledger.commit(&outcome, &seen);
            assert_eq!(committed, CommitOutcome::Committed);
            ledger.settle();
        }
        ledger.take_events();
        ledger
    }
}

fn submit(ledger: &mut Ledger, app: ApplicationId, asked: i32) {
    let spec = AppSpec::new(app, "root.a", "ann");
    let slot = ledger.submit(&spec).expect("the application is sound");
    ledger.settle();
    let ask = Ask::anywhere(ResourceVector::of(&SIZE), asked);
    let answer = ledger.ask(slot, &AskCall::asking(vec![ask]));
    answer.expect("the ask is sound");
    ledger.settle();
}

fn decide(state: &State, seen: &mut Vec<Observation>) -> Outcome {
    propose(state, &Candidates::node(NODE), Exclusivity::Respect, seen)
}

impl Scene {
    /// One execution: a proposer of `rounds` decisions against the committer, which changes the state
    /// by itself in its first turn.
    pub(super) fn play(self, rounds: u64, change: Option<Change>, w: &'static Witnesses) {
        let mut ledger = self.ledger();
        let settings = Arc::clone(&ledger.state().settings);
        let empty = Snapshot::empty(Arc::clone(&settings));
        let mut first = empty.next(ledger.state_to_publish());
        (first.taken, first.refused) = (vec![0], vec![0]);
        let first = Arc::new(first);
        let (publisher, snapshots) = published(first.version, Arc::clone(&first));
        let (waker, parker) = parking();
        let (bell, rest) = parking();
        let (sender, receiver) = ring(1);
        let proposer = Proposer {
            ring: sender.waking(waker),
            snapshots: snapshots.reader(),
            parker: rest,
            seen: Arc::new(empty),
            state: State::new(settings),
            placed: self.placed,
            sent: 0,
            w,
        };
        let mut committer = Committer {
            ledger,
            ring: receiver,
            change,
            publisher,
            snapshot: first,
            proposer: bell,
            parker,
            unpublished: 0,
            taken: 0,
            refused: 0,
            served: 0,
            outside: 0,
            refusal: self.refusal,
            room: self.room,
            // Who is at its limit still gets one more, as in the original.
            most: self.room.min(self.limit + 1),
            w,
        };
        let proposer = thread::spawn(move || proposer.run(rounds));
        committer.run();
        let sent = proposer.join().expect("the proposer does not panic");
        assert_eq!(committer.snapshot.taken, [sent], "P1: sent and taken");
    }
}

/// A decision on its way to the committer.
#[derive(Debug)]
struct Decision {
    /// The snapshot that it was made on.
    version: Version,
    /// Decisions of its proposer, this one included.
    number: u64,
    /// Whom it is for.
    app: ApplicationId,
    outcome: Outcome,
    seen: Vec<Observation>,
}

/// A proposer with its working copy.
struct Proposer {
    ring: RingSender<Decision>,
    snapshots: PublishedReader<Snapshot>,
    parker: Parker,
    /// The snapshot that its working copy equals.
    seen: Arc<Snapshot>,
    state: State,
    /// Containers that no proposer decided on, but stand in every snapshot.
    placed: u64,
    sent: u64,
    w: &'static Witnesses,
}

impl Proposer {
    /// Decides so many times, each time on a snapshot that shows its decision before; ends earlier
    /// when there is nothing to decide. The number of its decisions.
    fn run(mut self, rounds: u64) -> u64 {
        for _ in 0..rounds {
            self.catch_up();
            self.w
                .followed
                .met_if(self.seen.served + self.seen.outside > 0);
            let mut seen = Vec::new();
            let outcome = decide(&self.state, &mut seen);
            let Outcome::Proposed(proposal) = &outcome else {
                break;
            };
            self.sent += 1;
            let decision = Decision {
                version: self.seen.version,
                number: self.sent,
                app: self.state.apps[proposal.app].id,
                outcome,
                seen,
            };
            let sent = self.ring.try_send(decision);
            assert!(sent.is_ok(), "P3: an empty ring has no room");
            self.await_landing();
        }
        self.sent
    }

    fn taken(&self) -> u64 {
        self.seen.taken[0]
    }

    fn catch_up(&mut self) {
        let promised = self.snapshots.version();
        let newest = Arc::clone(self.snapshots.refresh());
        let (old, new) = (self.seen.version, newest.version);
        assert!(promised <= new, "E3: the version word is ahead");
        assert!(old <= new, "E3: a proposer went back");
        self.state.refresh(&self.seen, &newest, |_| {});
        self.seen = newest;
        self.check();
    }

    /// What a snapshot shows must be what its counts say, and no more than the node has.
    fn check(&self) {
        let seen = &self.seen;
        let node = &self.state.nodes[NODE];
        let (total, free) = (node.total.get(), node.free.get());
        assert!(free.memory() >= 0, "N1: the node is too full: {free:?}");
        assert!(self.taken() <= self.sent, "P1: taken and not sent");
        if seen.outside == 0 {
            let used = (total.memory() - free.memory()) / SIZE[0];
            let held = used.unsigned_abs() + u64::from(node.reserved.is_some());
            let committed = seen.taken[0] - seen.refused[0] + seen.served;
            assert_eq!(held, self.placed + committed, "P1: a snapshot's counts");
        }
    }

    // As the engine's proposers, without their look out for a while before they sleep.
    fn await_landing(&mut self) {
        loop {
            self.catch_up();
            if self.taken() >= self.sent {
                return;
            }
            let mut looks = 0;
            let (snapshots, known) = (&self.snapshots, self.seen.version);
            self.parker.park_until(|| {
                looks += 1;
                snapshots.version() > known
            });
            self.w.awaited.met_if(looks > 1);
        }
    }
}

/// What the committer does by itself.
#[derive(Clone, Copy)]
pub(super) enum Change {
    /// It decides, as it does while the proposers rest.
    Decide,
    /// It ends the application, and submits one that gets its slot.
    Replace,
}

/// The committer with its ledger; the model's main thread.
struct Committer {
    ledger: Ledger,
    ring: RingReceiver<Decision>,
    /// What it has still to do by itself.
    change: Option<Change>,
    publisher: Publisher<Snapshot>,
    snapshot: Arc<Snapshot>,
    proposer: Waker,
    parker: Parker,
    /// Changes that no snapshot shows yet.
    unpublished: u64,
    /// Decisions of the proposer, and those of them that were refused.
    taken: u64,
    refused: u64,
    /// Decisions of its own.
    served: u64,
    /// Applications that were replaced.
    outside: u64,
    refusal: Conflict,
    /// Containers that the node has room for, and the most that the only user may have.
    room: i64,
    most: i64,
    w: &'static Witnesses,
}

impl Committer {
    /// Runs until the proposer has left.
    // As the engine's committer, without its look out for a while before it publishes or sleeps.
    fn run(&mut self) {
        loop {
            let received = self.ring.try_recv();
            let left = matches!(received, Received::Finished);
            let mut any = false;
            if let Received::Item(decision) = received {
                any = true;
                self.commit(&decision);
            }
            if let Some(change) = self.change.take() {
                any = true;
                self.carry_out(change);
            }
            if any {
                self.ledger.settle();
            } else if self.unpublished > 0 {
                self.publish();
            } else if left {
                return;
            } else {
                let mut looks = 0;
                self.parker.park_until(|| {
                    looks += 1;
                    self.ring.has_news()
                });
                self.w.idle.met_if(looks > 1);
            }
        }
    }

    fn commit(&mut self, decision: &Decision) {
        self.taken += 1;
        assert_eq!(self.taken, decision.number, "P4: order of a ring");
        let present = decision.version == self.snapshot.version && self.unpublished == 0;
        self.ledger.defer(true);
        let outcome = self.ledger.commit(&decision.outcome, &decision.seen);
        self.ledger.defer(false);
        self.unpublished += 1;
        self.check();
        let events = self.ledger.take_events();
        match outcome {
            CommitOutcome::Committed => {
                let meant = |event: &Event| match event {
                    Event::Allocated { container, .. } | Event::Reserved { container, .. } => {
                        container.app == decision.app
                    }
                    _ => false,
                };
                assert!(events.iter().any(meant), "U8: committed for another one");
            }
            CommitOutcome::Rejected(conflict) => {
                assert!(!present, "P7: refused on the live state: {conflict}");
                assert_eq!(conflict, self.refusal, "another reason than expected");
                self.refused += 1;
                self.w.lost.met_if(true);
            }
            other => panic!("{other:?} of a decision with one node"),
        }
    }

    /// Every container is one user's, and on the one node.
    fn check(&self) {
        let containers = i64::from(self.ledger.state().nodes[NODE].containers);
        assert!(containers <= self.room, "N1: {containers} on the node");
        assert!(containers <= self.most, "U2: {containers} of the user");
    }

    fn carry_out(&mut self, change: Change) {
        self.ledger.settle();
        self.ledger.catch_up();
        match change {
            Change::Decide => self.decide(),
            Change::Replace => self.replace(),
        }
        self.unpublished += 1;
    }

    fn decide(&mut self) {
        let mut seen = Vec::new();
        let outcome = decide(self.ledger.state(), &mut seen);
        let committed = self.ledger.commit(&outcome, &seen);
        assert!(
            !matches!(committed, CommitOutcome::Rejected(_)),
            "P7: refused on the live state"
        );
        self.served += u64::from(committed.is_committed());
        self.check();
        self.ledger.take_events();
    }

    fn replace(&mut self) {
        let app = self.ledger.app(APP).expect("it ends once");
        self.ledger.end_app(app);
        self.ledger.settle();
        submit(&mut self.ledger, NEXT_APP, 1);
        let next = self.ledger.app(NEXT_APP);
        assert_eq!(next, Some(app), "the model is about a slot used again");
        self.ledger.take_events();
        self.outside += 1;
    }

    fn publish(&mut self) {
        self.ledger.catch_up();
        let mut next = self.snapshot.next(self.ledger.state_to_publish());
        (next.taken, next.refused) = (vec![self.taken], vec![self.refused]);
        next.served = self.served;
        next.outside = self.outside;
        self.w.together.met_if(self.unpublished > 1);
        self.unpublished = 0;
        self.snapshot = Arc::new(next);
        let next = Arc::clone(&self.snapshot);
        drop(self.publisher.publish(next.version, next));
        self.proposer.wake();
    }
}
