//! The turns of proposer and committer over a cluster of one node.

use std::sync::Arc;

use capsched::commit::{CommitOutcome, Event, Freed, Ledger, Unsettled};
use capsched::id::{AppSlot, ApplicationId, Version};
use capsched::proposer::{Observation, Outcome};
use capsched::snapshot::{Snapshot, State};
use capsched::sync::{
    Parker, PublishedReader, Publisher, Received, RingReceiver, RingSender, Waker, parking,
    published, ring,
};
use loom_tests::spawn_deep;

use super::Witnesses;
use super::cluster::{APP, NEXT_APP, NODE, Prepared, SIZE, decide, node, node_name, submit};

impl Prepared {
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
            placed: self.scene.before(),
            sent: 0,
            w,
        };
        let mut committer = Committer {
            ledger: Unsettled::new(ledger),
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
            prepared: self,
            room: self.scene.room,
            // Who is at its limit still gets one more, as in the original.
            most: self.scene.room.min(self.scene.limit + 1),
            live: i64::try_from(self.scene.before()).expect("a few containers"),
            freed: Freed::default(),
            changed: None,
            reloaded: false,
            w,
        };
        let proposer = spawn_deep(move || proposer.run(rounds));
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
    slot: AppSlot,
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
                slot: proposal.app,
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
    /// It loses the node, which comes back with another size and gets the same slot.
    ReplaceNode {
        /// Containers that it has room for then.
        room: i64,
    },
    /// It takes over a configuration that leaves half of the node to `root.p`.
    Reload,
}

/// The committer with its ledger; the model's main thread.
struct Committer {
    ledger: Unsettled<Ledger>,
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
    /// Changes that no proposal brought about.
    outside: u64,
    prepared: Prepared,
    /// Containers that the node has room for, and the most that the only user may have.
    room: i64,
    most: i64,
    /// Containers that live, by the events alone.
    live: i64,
    /// Which observations come too late, as the engine's committer reckons.
    freed: Freed,
    /// The first version that shows the change, after which what was decided before may not count.
    changed: Option<Version>,
    /// Whether the other configuration holds.
    reloaded: bool,
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
                self.ledger.drain_follow_ups();
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
        let outdated = self.changed.is_some_and(|at| decision.version < at);
        let before = self.observed(decision.slot);
        let stale = self.freed.outdates(decision.version);
        let seen = if stale { &[] } else { &*decision.seen };
        let outcome = self.ledger.batch().commit(&decision.outcome, seen);
        self.unpublished += 1;
        let events = self.receive();
        self.check();
        match outcome {
            CommitOutcome::Committed => {
                let meant = |event: &Event| match event {
                    Event::Allocated { container, .. } | Event::Reserved { container, .. } => {
                        container.app == decision.app
                    }
                    _ => false,
                };
                assert!(events.iter().any(meant), "U8: committed for another one");
                assert!(!outdated, "N11: committed on what is no more");
                let half = self.room / 2;
                assert!(!self.reloaded || self.live <= half, "Q4: {}", self.live);
            }
            CommitOutcome::Rejected(conflict) => {
                assert!(!present, "P7: refused on the live state: {conflict}");
                let expected = self.prepared.scene.refusal;
                assert_eq!(conflict, expected, "another reason than expected");
                self.refused += 1;
                self.w.lost.met_if(true);
            }
            other => panic!("{other:?} of a decision with one node"),
        }
        if outdated {
            let after = self.observed(decision.slot);
            assert_eq!(before, after, "an observation of what is no more");
        } else {
            self.check_observations(decision);
        }
    }

    /// What observations of passes leave at an application.
    fn observed(&self, slot: AppSlot) -> String {
        let app = &self.ledger.view().apps()[slot];
        let counters = app
            .keys
            .iter()
            .map(|asks| (asks.opportunities, asks.missed));
        format!("{:?}, {:?}", app.provider, counters.collect::<Vec<_>>())
    }

    /// What was observed on rows that are still the same ones must have been taken over.
    fn check_observations(&self, decision: &Decision) {
        let apps = self.ledger.view().apps();
        for observation in &decision.seen {
            if let Observation::Served { app, provider } = observation {
                self.w.observed.met_if(true);
                let known = apps[*app].provider;
                assert_eq!(known, Some(*provider), "an observation was lost");
            }
        }
    }

    /// Writes down what happened to containers.
    fn receive(&mut self) -> Vec<Event> {
        let events = self.ledger.exchange_events(Vec::new());
        for event in &events {
            self.live += match event {
                Event::Allocated { .. } => 1,
                Event::Ended { .. } => -1,
                _ => 0,
            };
        }
        events
    }

    /// Every container is on the one node, and those that the limits are about are one user's.
    fn check(&self) {
        let containers = i64::from(self.ledger.view().nodes()[NODE].containers);
        assert_eq!(containers, self.live, "N4: on the node, and in the events");
        assert!(containers <= self.room, "N1: {containers} on the node");
        assert!(containers <= self.most, "U2: {containers} of the user");
    }

    fn carry_out(&mut self, change: Change) {
        self.ledger.drain_follow_ups();
        match change {
            Change::Decide => self.decide(),
            Change::Replace => self.outsider(Self::replace),
            Change::ReplaceNode { room } => self.outsider(|committer| committer.replace_node(room)),
            Change::Reload => self.outsider(Self::reload),
        }
        self.unpublished += 1;
    }

    fn decide(&mut self) {
        let mut seen = Vec::new();
        let outcome = decide(self.ledger.charged().state(), &mut seen);
        let committed = self.ledger.commit_now(&outcome, &seen);
        assert!(
            !matches!(committed, CommitOutcome::Rejected(_)),
            "P7: refused on the live state"
        );
        self.served += u64::from(committed.is_committed());
        self.receive();
        self.check();
    }

    /// A change that no proposal brings about; it may free slots.
    fn outsider(&mut self, change: impl FnOnce(&mut Self)) {
        change(self);
        self.freed = Freed::behind(self.snapshot.version);
        self.outside += 1;
        self.receive();
        self.check();
    }

    fn replace(&mut self) {
        let ledger = self.ledger.settled();
        let app = ledger.app(APP).expect("it ends once");
        ledger.end_app(app);
        ledger.drain_follow_ups();
        submit(ledger, NEXT_APP, ("root.p.a", "ann"), 1);
        let next = ledger.app(NEXT_APP);
        assert_eq!(next, Some(app), "the model is about a slot used again");
        self.changed = Some(Version(self.snapshot.version.0 + 1));
    }

    fn replace_node(&mut self, room: i64) {
        let left = self.ledger.settled().remove_node(&node_name());
        left.expect("it leaves once");
        self.ledger.drain_follow_ups();
        self.receive();
        assert_eq!(self.live, 0, "N4: containers outlive their node");
        let slot = self.ledger.settled().add_node(&node(room));
        assert_eq!(slot, Ok(NODE), "the model is about a slot used again");
        self.ledger.drain_follow_ups();
        (self.room, self.most) = (room, room);
        self.changed = Some(Version(self.snapshot.version.0 + 1));
    }

    fn reload(&mut self) {
        let taken_over = self.ledger.settled().refresh(self.prepared.tight.clone());
        taken_over.expect("the settings are sound");
        self.ledger.drain_follow_ups();
        self.reloaded = true;
    }

    fn publish(&mut self) {
        let mut next = self.snapshot.next(self.ledger.settled().state_to_publish());
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
