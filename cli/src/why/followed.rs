//! One application followed through a run: what it waited for, moment by moment, and what was refused.

use capsched::api::{
    AppSpec, ApplicationId, Finding, NextStep, SettingsEditor, Stepped, Timeline, UnderWay,
    WaitExplainer, Waiting, next_steps_of_refusal, next_steps_of_refused_call,
};

use super::preempted::{RoundSpan, Rounds};
use crate::play::{CallRefused, Onlooker};

/// A refusal with its moment.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    /// Virtual ms.
    pub(super) at_ms: u64,
    /// Why.
    pub(super) finding: Finding,
    /// What was seen to help, on a copy of the engine at that moment.
    pub(super) steps: Vec<NextStep>,
}

/// Follows one application.
pub(super) struct Followed<'a> {
    app: ApplicationId,
    editor: &'a dyn SettingsEditor,
    timeline: Timeline,
    rounds: Rounds,
    refused: Vec<Refused>,
    over: bool,
}

/// What was seen of an application.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// What it waited for.
    pub(super) timeline: Timeline,
    /// What rounds of preemption did for it.
    pub(super) rounds: Vec<RoundSpan>,
    /// Its submission and calls that were refused.
    pub(super) refused: Vec<Refused>,
}

impl<'a> Followed<'a> {
    pub(super) fn new(app: ApplicationId, editor: &'a dyn SettingsEditor) -> Self {
        Self {
            app,
            editor,
            timeline: Timeline::default(),
            rounds: Rounds::default(),
            refused: Vec::new(),
            over: false,
        }
    }

    /// What was seen up to the last moment.
    pub(super) fn finish(mut self, at_ms: u64) -> Course {
        if !self.over {
            self.timeline.end(at_ms);
        }
        let ended = self.timeline.spans().last().map(|last| last.to_ms);
        Course {
            rounds: self.rounds.finish(ended.unwrap_or(at_ms)),
            timeline: self.timeline,
            refused: self.refused,
        }
    }

    fn refuse(&mut self, at_ms: u64, finding: Finding, steps: Vec<NextStep>) {
        self.refused.push(Refused {
            at_ms,
            finding,
            steps,
        });
    }
}

impl Onlooker for Followed<'_> {
    fn moment(&mut self, at_ms: u64, engine: &Stepped) {
        let ledger = engine.engine().ledger();
        if self.over {
            return;
        }
        let Some(slot) = ledger.app(self.app) else {
            return;
        };
        let under_way = UnderWay {
            preemption: engine
                .preemption()
                .last_verdict(self.app)
                .cloned()
                .into_iter()
                .collect(),
            ..UnderWay::default()
        };
        let explainer = WaitExplainer::new(ledger.state());
        let waits = explainer.with(under_way).waiting(slot);
        let containers = waits.iter().map(|wait| wait.containers).sum();
        let rank = |wait: &&Waiting| (wait.finding.reason, std::cmp::Reverse(wait.containers));
        let first = waits.iter().min_by_key(rank);
        self.timeline
            .note(at_ms, first.map(|wait| &wait.finding), containers);
        self.rounds.look(at_ms, self.app, engine);
    }

    fn refused(&mut self, at_ms: u64, app: &AppSpec, (why, engine): (Finding, &Stepped)) {
        if app.id == self.app {
            let steps = next_steps_of_refusal(engine, app, &why, self.editor);
            self.refuse(at_ms, why, steps);
        }
    }

    fn refused_call(
        &mut self,
        at_ms: u64,
        app: ApplicationId,
        (why, of): (Finding, CallRefused<'_>),
    ) {
        if app == self.app {
            let steps = of.call.map_or_else(Vec::new, |call| {
                next_steps_of_refused_call(of.engine, (app, call), &why, self.editor)
            });
            self.refuse(at_ms, why, steps);
        }
    }

    fn ended(&mut self, at_ms: u64, app: ApplicationId) {
        if app == self.app {
            self.timeline.end(at_ms);
            self.over = true;
        }
    }
}
