//! The policy as its owner runs it: by explicit rounds, by a clock that is moved by hand, or as a
//! monitor on a thread of its own.

use std::any::Any;

use super::extract::{decide_here, look};
use super::round::{Memory, Plan, plan};
use super::settings::Settings;
use super::view::{UserLimits, View};
use crate::commit::{Ledger, Verdict, Verdicts};
use crate::mode::{Access, Monitor, Threaded};

/// The preemption policy: its settings and what it asked back when.
#[derive(Clone, Debug, Default)]
pub struct Rescheduler {
    /// What it is configured with; may change between rounds.
    pub settings: Settings,
    memory: Memory,
    at_rest: bool,
}

impl Rescheduler {
    /// A policy that asked nothing back yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            memory: Memory::default(),
            at_rest: false,
        }
    }

    /// One round over the live state; nothing when the policy is off.
    // As ProportionalCapacityPreemptionPolicy.editSchedule.
    pub fn round(&mut self, ledger: &Ledger) -> Verdicts {
        if !self.settings.enabled {
            return Verdicts::default();
        }
        decide_here(ledger, |view, limits, now_ms| {
            self.decide(view, limits, now_ms)
        })
    }

    /// Whether the last round found nothing to do, and another one would not either as long as
    /// nothing but the time changes.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.at_rest
    }

    fn decide(&mut self, view: &View, limits: &mut dyn UserLimits, now_ms: u64) -> Vec<Verdict> {
        let memory = &mut self.memory;
        let Plan {
            verdicts, chosen, ..
        } = plan(view, &self.settings, limits, memory, now_ms);
        let reserved = view.nodes.iter().any(|node| node.reserved.is_some());
        self.at_rest = chosen.is_empty() && verdicts.is_empty() && !reserved;
        verdicts
    }
}

/// The ledger is looked at on the committer's thread; the round itself runs on the monitor's. What
/// the look computed on the way is not handed back: other rounds compute it again.
impl Monitor for Rescheduler {
    fn interval_ms(&self) -> Option<u64> {
        let interval = self.settings.monitoring_interval_ms.max(1);
        self.settings.enabled.then_some(interval)
    }

    fn round(&mut self, access: &Access) -> Verdicts {
        if !self.settings.enabled {
            return Verdicts::default();
        }
        let settings = self.settings.clone();
        let scene = access.inspect(move |ledger| look(ledger, &settings));
        let Some(mut scene) = scene else {
            return Verdicts::default();
        };
        let (view, limits) = (&scene.view, &mut scene.limits);
        Verdicts {
            observations: Vec::new(),
            verdicts: self.decide(view, limits, scene.now_ms),
        }
    }

    fn configure(&mut self, settings: Box<dyn Any + Send>) {
        if let Ok(settings) = settings.downcast::<Settings>() {
            self.settings = *settings;
        }
    }
}

impl Threaded {
    /// Takes over other settings of preemption from the next round on; what was asked back before
    /// is remembered. A changed interval counts from now. Whether there is a monitor to tell.
    pub fn configure_preemption(&self, settings: Settings) -> bool {
        self.configure_monitor(Box::new(settings))
    }
}
