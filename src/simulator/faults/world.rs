//! The world of a simulation: carries steps out on a pipeline and receives what it does.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::action::{Action, Follow};
use super::audit::full_check;
use super::books::{Books, all_of};
use super::digest::Digest;
use super::setup::{LABEL, Setup, VARIANTS, Variant, index, node_name, rack};
use super::{Summary, Violation, fault};
use crate::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Event, NodeName, NodeReport, Pipeline,
    ResourceVector,
};
use crate::simulator::Random;
use crate::time::ManualClock;

pub(super) type Checked = Result<(), Violation>;

/// Registrations of all nodes at one moment.
pub(super) type Registrations = Arc<BTreeMap<NodeName, u64>>;

/// A pipeline, its clients and the books.
pub(super) struct World<'a> {
    pub(super) setup: &'a Setup,
    pub(super) pipeline: Pipeline,
    pub(super) books: Books,
    variants: Vec<Variant>,
    pub(super) registered: Registrations,
    /// Registrations as of each version that a proposer may still refer to.
    pub(super) as_of: VecDeque<(u64, Registrations)>,
    pub(super) version: u64,
    steps: u64,
    unchecked: u16,
    /// Whether counters moved in a turn since somebody looked.
    pub(super) counted: bool,
    /// Whether proposals were refused since the last container was placed.
    pub(super) refused_before_rest: bool,
    /// Over everything that was decided.
    pub(super) digest: Digest,
    /// Batches committed, for sampling.
    pub(super) batches: u64,
    /// Reports of nodes that are on their way.
    pub(super) late: VecDeque<(NodeName, NodeReport)>,
    pub(super) summary: Summary,
}

impl<'a> World<'a> {
    pub(super) fn new(setup: &'a Setup) -> Self {
        let variants: Vec<_> = (0..VARIANTS).map(|v| setup.variant(v)).collect();
        let first = variants[0].settings.clone();
        let (mode, capacity) = (setup.mode(), usize::from(setup.capacity.max(1)));
        let clock = ManualClock::at(1_000_000);
        let pipeline = Pipeline::new(first, &setup.partitions(), mode, capacity, clock)
            .expect("the first configuration of every setup makes a tree");
        let version = pipeline.snapshot().version.0;
        let registered = Registrations::default();
        Self {
            setup,
            pipeline,
            books: Books::new(
                variants[0].configured.clone(),
                setup.halves_of_weight(),
                setup.counting(),
            ),
            variants,
            as_of: VecDeque::from([(version, Arc::clone(&registered))]),
            registered,
            version,
            steps: 0,
            unchecked: 0,
            counted: false,
            refused_before_rest: false,
            digest: Digest::new(),
            batches: 0,
            late: VecDeque::new(),
            summary: Summary::default(),
        }
    }

    /// Carries a step out; what it broke, if it broke anything.
    pub(super) fn step(&mut self, action: &Action) -> Checked {
        self.steps += 1;
        if !action.is_of_proposers() {
            // The committer carries out what commits brought about before anything else.
            self.pipeline.drain_follow_ups();
            self.receive()?;
        }
        self.carry_out(action)?;
        self.receive()?;
        self.unchecked += 1;
        if self.unchecked >= self.setup.audit_every {
            self.check()?;
        }
        Ok(())
    }

    /// Steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The full check; calls that wait are carried out first.
    pub(super) fn check(&mut self) -> Checked {
        self.unchecked = 0;
        self.pipeline.drain_follow_ups();
        self.receive()?;
        full_check(&self.books, &self.pipeline)?;
        let accounts = self.pipeline.accounts();
        if !accounts.balance() {
            return fault("P1", format!("decisions do not add up: {accounts:?}"));
        }
        Ok(())
    }

    /// Takes over what the engine delivered.
    pub(super) fn receive(&mut self) -> Checked {
        for decision in self.pipeline.take_events() {
            self.note(&decision)?;
        }
        Ok(())
    }

    pub(super) fn note(&mut self, decision: &Event) -> Checked {
        self.digest.add(decision);
        self.books.record(decision)
    }

    fn carry_out(&mut self, action: &Action) -> Checked {
        match *action {
            Action::AddNode { .. }
            | Action::RemoveNode { .. }
            | Action::ResizeNode { .. }
            | Action::RelabelNode { .. }
            | Action::Decommission { .. } => self.change_node(action),
            Action::Heartbeat { node, report } => self.heartbeat(node, report),
            Action::Submit { .. } => self.submit(action),
            Action::Ask { .. } => self.ask(action),
            Action::Finish { app, nth, twice } => self.finish(app, nth, twice),
            Action::End { app } => self.end(ApplicationId::new(app)),
            Action::Move { app, leaf } => self.move_app(ApplicationId::new(app), leaf),
            Action::Priority { app, priority } => {
                let app = ApplicationId::new(app);
                let wanted = i32::from(priority);
                let changed = self.pipeline.call(|e| e.change_priority(app, wanted));
                self.expect_known(app, changed.is_ok())
            }
            Action::Reload { variant } => self.reload(variant),
            Action::Turn { proposer, follow } => {
                self.with_proposer(proposer, |world, p| {
                    if follow != Follow::Never {
                        world.pipeline.catch_up(p, follow == Follow::Always);
                    }
                    world.counted |= world.pipeline.turn(p).counted;
                });
                Ok(())
            }
            Action::HandOver { proposer } => {
                self.with_proposer(proposer, |world, p| {
                    world.pipeline.hand_over(p);
                });
                Ok(())
            }
            Action::Restart { proposer } => {
                self.with_proposer(proposer, |world, p| world.pipeline.restart(p));
                Ok(())
            }
            Action::Die { proposer, decision } => {
                self.with_proposer(proposer, |world, p| {
                    let lost = world.pipeline.die_in_turn(p, decision);
                    world.summary.deaths += u64::from(lost.is_some());
                    world.summary.lost += lost.map_or(0, |lost| lost as u64);
                });
                Ok(())
            }
            Action::Distort { proposer, seed } => {
                let mut random = Random::new(u64::from(seed));
                self.with_proposer(proposer, |world, p| {
                    let mut below = |n: usize| index(random.below(n as u64));
                    world.pipeline.distort(p, &mut below);
                });
                Ok(())
            }
            Action::Commit { proposer } => self.commit(proposer),
            Action::Publish => self.publish(),
            Action::Sort => {
                self.pipeline.sort_nodes();
                Ok(())
            }
            Action::Advance { ms } => {
                self.pipeline.advance(Duration::from_millis(u64::from(ms)));
                Ok(())
            }
        }
    }

    fn with_proposer(&mut self, proposer: u8, act: impl FnOnce(&mut Self, usize)) {
        let count = self.pipeline.proposers();
        if count > 0 {
            act(self, usize::from(proposer) % count);
        }
    }

    fn expect_known(&self, app: ApplicationId, known: bool) -> Checked {
        if known && !self.books.apps.contains_key(&app) {
            return fault(
                "U8",
                format!("the engine takes calls for {app}, which ended"),
            );
        }
        Ok(())
    }

    fn submit(&mut self, action: &Action) -> Checked {
        let &Action::Submit {
            app,
            leaf,
            user,
            master,
        } = action
        else {
            return Ok(());
        };
        let id = ApplicationId::new(app);
        let user = format!("u{user}");
        let spec = AppSpec::new(id, &self.setup.leaf(leaf), &user);
        let spec = if master {
            spec.with_master(ResourceVector::of(&[1024, 1]))
        } else {
            spec
        };
        if let Ok(submitted) = self.pipeline.call(|engine| engine.submit(&spec)) {
            let queue = submitted.queue.to_string();
            self.books.submitted(id, user, queue, master);
        }
        Ok(())
    }

    fn ask(&mut self, action: &Action) -> Checked {
        let &Action::Ask {
            app,
            priority,
            size,
            count,
            place,
            label,
            release,
        } = action
        else {
            return Ok(());
        };
        let app = ApplicationId::new(app);
        let priority = 1 + i32::from(priority);
        let label = self.setup.label(label);
        let anywhere = Ask {
            priority,
            partition: (!label.is_empty()).then(|| LABEL.to_owned()),
            ..Ask::anywhere(
                self.setup.container_size(size),
                i32::try_from(count).unwrap_or(i32::MAX),
            )
        };
        let mut call = AskCall::asking(vec![anywhere.clone()]);
        if place > 0 {
            let at = |place: String| Ask {
                place,
                ..anywhere.clone()
            };
            let host = node_name(place - 1).host().to_owned();
            call.asks.extend([at(host), at(rack(place - 1))]);
        }
        if release && let Some(id) = self.nth_container(app, count) {
            call.release.push(id.number);
        }
        let reply = self.pipeline.call(|engine| engine.ask(app, &call));
        self.expect_known(app, reply.is_ok())?;
        if let Ok(reply) = reply {
            let size = self.setup.container_size(size);
            self.books.asked(app, (priority, 0), i64::from(count), size);
            self.receive()?;
            // An application that gives its master back ends with the call, after the answer.
            if self.books.apps.contains_key(&app) {
                self.books.replied(app, &reply)?;
            }
        }
        Ok(())
    }

    fn nth_container(&self, app: ApplicationId, nth: u32) -> Option<ContainerId> {
        let own = all_of(app);
        let count = self.books.live.range(own.clone()).count();
        let nth = usize::try_from(nth).ok()?.checked_rem(count)?;
        self.books.live.range(own).nth(nth).map(|(id, _)| *id)
    }

    fn finish(&mut self, app: u32, nth: u8, twice: bool) -> Checked {
        let app = ApplicationId::new(app);
        let unknown = ContainerId::new(app, 1);
        let id = self.nth_container(app, u32::from(nth)).unwrap_or(unknown);
        for _ in 0..=u8::from(twice) {
            let lives = self.books.live.contains_key(&id);
            let ended = self.pipeline.call(|engine| engine.container_finished(id));
            self.receive()?;
            if ended != lives {
                return fault("K4", format!("{id} lived: {lives}, and ended: {ended}"));
            }
        }
        Ok(())
    }

    pub(super) fn end(&mut self, app: ApplicationId) -> Checked {
        let known = self.books.apps.contains_key(&app);
        let ended = self.pipeline.call(|engine| engine.finish_app(app)).is_ok();
        if known != ended {
            return fault(
                "U8",
                format!("{app} was known: {known}, and ended: {ended}"),
            );
        }
        self.receive()?;
        self.books.app_ended(app)
    }

    fn move_app(&mut self, app: ApplicationId, leaf: u8) -> Checked {
        let queue = self.setup.leaf(leaf);
        // A move to the same leaf forgets what the user of an application uses, as recorded of the
        // reference.
        if self
            .books
            .apps
            .get(&app)
            .is_some_and(|book| book.leaf == queue)
        {
            return Ok(());
        }
        let moved = self.pipeline.call(|engine| engine.move_app(app, &queue));
        self.expect_known(app, moved.is_ok())?;
        if moved.is_ok() {
            self.books.app_moved(app, queue);
        }
        Ok(())
    }

    fn reload(&mut self, variant: u8) -> Checked {
        let broken = variant % VARIANTS == VARIANTS - 1;
        let variant = &self.variants[usize::from(variant % VARIANTS)];
        let settings = variant.settings.clone();
        let configured = variant.configured.clone();
        self.pipeline.drain_follow_ups();
        let before = Digest::of_settings(self.pipeline.engine());
        let reloaded = self.pipeline.call(|engine| engine.reconfigure(settings));
        if reloaded.is_err() {
            // Whole or not at all: the check compares everything else with the books.
            self.summary.reloads_refused += 1;
            if Digest::of_settings(self.pipeline.engine()) != before {
                return fault("F1", "a refused configuration left something".to_owned());
            }
            return self.check();
        }
        if broken {
            return fault("F1", "a tree without its parents was taken over".to_owned());
        }
        self.summary.reloads += 1;
        self.books.configured = configured;
        Ok(())
    }
}
