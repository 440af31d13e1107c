//! The policy as its owner runs it: by explicit rounds, by a clock that is moved by hand, or as a
//! monitor on a thread of its own.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use super::explain::{AppVerdict, WhyNot, explain};
use super::round::{Memory, RoundPlan, plan};
use super::scene::{Scene, decide_here, look, look_at_copy, look_in_parts, partition_names};
use super::settings::Settings;
use super::view::{LimitLookup, RoundInput};
use crate::commit::{Ledger, PlacedCopy, PreemptionReason, Verdict, Verdicts};
use crate::id::{ApplicationId, ContainerId, QueuePath};
use crate::metrics::Closed;
use crate::resource::ResourceVector;
use crate::runtime::{Access, Monitor, Threaded};
use crate::snapshot::State;

/// The preemption policy: its settings and what it asked back when.
#[derive(Clone, Debug, Default)]
pub struct Rescheduler {
    /// What it is configured with; may change between rounds.
    pub settings: Settings,
    memory: Memory,
    at_rest: bool,
    /// What the last round chose, ascending: a container that is chosen again is not counted again.
    last: Vec<ContainerId>,
    counts: [u64; PreemptionReason::ALL.len()],
    record: Option<Record>,
    /// Applications that waited in some round, by what the round did for them; kept with the
    /// record.
    waits: [u64; WhyNot::ALL.len()],
    /// Rounds so far.
    rounds: u64,
    /// What the last round did for each application that waited then; kept with the record.
    verdicts: Vec<AppVerdict>,
}

/// What was chosen so far, by application and reason.
type Record = BTreeMap<(ApplicationId, PreemptionReason), Taken>;

/// What was chosen of one application for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taken {
    /// The application.
    pub app: ApplicationId,
    /// Full path of its leaf when the last of them was chosen.
    pub queue: QueuePath,
    /// Why.
    pub reason: PreemptionReason,
    /// Containers and reservations. One that is chosen in round after round counts once.
    pub containers: u64,
    /// Their sizes together.
    pub size: ResourceVector,
}

impl Rescheduler {
    /// A policy that asked nothing back yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// The same policy, which remembers of whom it chose what: for simulations, because the record
    /// grows with the applications.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.record = Some(Record::new());
        self
    }

    /// What was chosen so far, by application and reason; empty unless the policy records.
    pub fn taken(&self) -> impl Iterator<Item = &Taken> {
        self.record.iter().flat_map(BTreeMap::values)
    }

    /// Applications that waited in rounds so far, by what the round did for them: one count for
    /// each application and round. Zero unless the policy records.
    pub fn waits(&self) -> impl Iterator<Item = (WhyNot, u64)> {
        WhyNot::ALL.iter().copied().zip(self.waits)
    }

    /// Rounds so far.
    #[must_use]
    pub const fn rounds(&self) -> u64 {
        self.rounds
    }

    /// What the last round did for an application; nothing when it did not wait then, and unless the
    /// policy records.
    #[must_use]
    pub fn last_verdict(&self, app: ApplicationId) -> Option<&AppVerdict> {
        let at = self
            .verdicts
            .binary_search_by_key(&app, |verdict| verdict.app);
        at.ok().map(|at| &self.verdicts[at])
    }

    /// Containers and reservations chosen so far for a reason, also when the policy only observes.
    #[must_use]
    pub fn count(&self, reason: PreemptionReason) -> u64 {
        self.counts[reason.index()]
    }

    /// One round over the live state; nothing when it has nothing to do.
    // As ProportionalCapacityPreemptionPolicy.editSchedule.
    pub fn round(&mut self, ledger: &Ledger) -> Verdicts {
        if !self.settings.is_active() {
            return Verdicts::default();
        }
        let names = partition_names(ledger.state());
        decide_here(ledger, |view, limits, now_ms| {
            self.decide((view, &names), limits, now_ms)
        })
    }

    /// One round over a copy of what nodes hold, with a state of the same moment; nothing when it has nothing to do.
    pub fn round_on_copy(&mut self, state: &State, placed: &PlacedCopy) -> Verdicts {
        if !self.settings.is_active() {
            return Verdicts::default();
        }
        let scene = look_at_copy(state, placed, &self.settings);
        self.decide_scene(scene)
    }

    /// What a look computed on the way is not handed back: other rounds compute it again.
    fn decide_scene(&mut self, mut scene: Scene) -> Verdicts {
        let (view, limits) = ((&scene.view, &*scene.names), &mut scene.limits);
        Verdicts {
            observations: Vec::new(),
            verdicts: self.decide(view, limits, scene.now_ms),
        }
    }

    /// Whether the last round found nothing to do, and another one would not either as long as
    /// nothing but the time changes.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.at_rest
    }

    /// Why preemption helps the applications that wait, or does not: each with one reason, as a
    /// round would find it now. Nothing changes by it.
    #[must_use]
    pub fn explain(&self, ledger: &Ledger) -> Vec<AppVerdict> {
        self.explain_scene(look(ledger, &self.settings))
    }

    /// The same of a look that was taken before.
    fn explain_scene(&self, mut scene: Scene) -> Vec<AppVerdict> {
        let settings = Settings {
            observe_only: true,
            ..self.settings.clone()
        };
        let mut memory = Memory::default();
        let limits = &mut scene.limits;
        let plan = plan(&scene.view, &settings, limits, &mut memory, scene.now_ms);
        explain(
            &scene.view,
            &plan,
            &self.settings,
            &self.memory,
            &scene.names,
        )
    }

    /// `names`: those of the partitions of the view.
    fn decide(
        &mut self,
        (view, names): (&RoundInput, &[Arc<str>]),
        limits: &mut dyn LimitLookup,
        now_ms: u64,
    ) -> Vec<Verdict> {
        let plan = plan(view, &self.settings, limits, &mut self.memory, now_ms);
        self.note(view, &plan);
        self.rounds += 1;
        if self.record.is_some() {
            self.verdicts = explain(view, &plan, &self.settings, &self.memory, names);
            self.verdicts.sort_by_key(|verdict| verdict.app);
            for verdict in &self.verdicts {
                self.waits[verdict.reason.index()] += 1;
            }
        }
        self.at_rest = plan.chosen.is_empty()
            && plan.verdicts.is_empty()
            && view.nodes.iter().all(|node| node.reserved.is_none());
        plan.verdicts
    }

    fn note(&mut self, view: &RoundInput, plan: &RoundPlan) {
        let dropped = |verdict: &&Verdict| verdict.reason == PreemptionReason::ReservationTimeout;
        let dropped = plan.verdicts.iter().filter(dropped);
        let dropped = dropped.map(|verdict| (verdict.container, verdict.reason));
        let mut all: Vec<_> = dropped.chain(plan.chosen.iter().copied()).collect();
        all.sort_by_key(|&(id, _)| id);
        all.dedup_by_key(|&mut (id, _)| id);
        let mut fresh = all.clone();
        fresh.retain(|(id, _)| self.last.binary_search(id).is_err());
        for (_, reason) in &fresh {
            self.counts[reason.index()] += 1;
        }
        if let Some(record) = &mut self.record
            && !fresh.is_empty()
        {
            for row in &view.containers {
                let Ok(at) = fresh.binary_search_by_key(&row.id, |&(id, _)| id) else {
                    continue;
                };
                let reason = fresh[at].1;
                let app = &view.apps[row.app];
                let queue = view.queues[app.queue].path.clone();
                let taken = record.entry((app.id, reason)).or_insert_with(|| Taken {
                    app: app.id,
                    queue: queue.clone(),
                    reason,
                    containers: 0,
                    size: ResourceVector::NONE,
                });
                taken.queue = queue;
                taken.containers += 1;
                taken.size += row.size;
            }
        }
        self.last = all.into_iter().map(|(id, _)| id).collect();
    }
}

/// A question to a policy on its own thread.
struct Question(SyncSender<Vec<AppVerdict>>);

/// The ledger is looked at through the committer, in parts; the round itself runs on the monitor's thread.
impl Monitor for Rescheduler {
    fn interval_ms(&self) -> Option<u64> {
        self.settings.interval_ms()
    }

    fn round(&mut self, access: &Access) -> Verdicts {
        if !self.settings.is_active() {
            return Verdicts::default();
        }
        let looked = look_in_parts(access, &self.settings);
        looked.map_or_else(|_| Verdicts::default(), |scene| self.decide_scene(scene))
    }

    fn message(&mut self, message: Box<dyn Any + Send>, access: &Access) {
        let question = match message.downcast::<Settings>() {
            Ok(settings) => {
                self.settings = *settings;
                return;
            }
            Err(other) => other.downcast::<Question>(),
        };
        if let Ok(question) = question {
            let found = look_in_parts(access, &self.settings);
            let answer = found.map_or_else(|_| Vec::new(), |scene| self.explain_scene(scene));
            // Whoever asked may have given up.
            drop(question.0.try_send(answer));
        }
    }
}

impl Threaded {
    /// Takes over other settings of preemption from the next round on; what was asked back before
    /// is remembered. A changed interval counts from now. Whether there is a monitor to notify.
    pub fn configure_preemption(&self, settings: Settings) -> bool {
        self.notify_monitor(Box::new(settings))
    }

    /// Why preemption helps the applications that wait, or does not, as a round would find it now;
    /// empty once the engine has shut down.
    #[must_use]
    pub fn explain_preemption(&self) -> Vec<AppVerdict> {
        let (sender, receiver) = sync_channel(1);
        self.notify_monitor(Box::new(Question(sender)));
        receiver.recv().unwrap_or_default()
    }
}
