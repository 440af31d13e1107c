//! What would help the work that a run left: steps tried on copies of its engine at the end.

use std::time::Duration;

use capsched::api::{
    ApplicationId, ModeKind, NextStep, Reason, SettingsEditor, Stepped, next_steps_while,
};
use capsched::time::{Clock, SystemClock};
use serde_json::{Value, json};

use super::figures::grouped;

/// Reasons of a run that steps are tried for, those with most containers first.
pub(super) const REASONS: usize = 3;

/// Time after which no further change of a run is tried.
const TIME: Duration = Duration::from_secs(2);

/// What the trials for one application came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    /// The first step that helped.
    Helps(NextStep),
    /// Nothing that was tried helps, and what that means.
    Nothing(&'static str),
    /// The time for trials was over before one helped.
    OutOfTime,
}

/// Trials at the end of one run.
pub(super) struct Trials<'a> {
    /// A copy of the engine at the end.
    pub(super) engine: &'a Stepped,
    /// What edits the configuration of the run.
    pub(super) editor: &'a dyn SettingsEditor,
    clock: SystemClock,
    until_ns: u64,
}

impl<'a> Trials<'a> {
    /// Trials that may start within [`TIME`] from now.
    pub(super) fn new(engine: &'a Stepped, editor: &'a dyn SettingsEditor) -> Self {
        Self::within(TIME, engine, editor)
    }

    fn within(time: Duration, engine: &'a Stepped, editor: &'a dyn SettingsEditor) -> Self {
        let clock = SystemClock::new();
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            engine,
            editor,
            until_ns: clock.now_ns().saturating_add(time_ns),
            clock,
        }
    }

    /// Tries steps for an application; nothing when it does not wait for this reason first.
    pub(super) fn of(&self, app: ApplicationId, reason: Reason) -> Option<Tried> {
        let why = self.engine.explain(app)?;
        why.dominant().filter(|found| found.reason == reason)?;
        let in_time = || self.clock.now_ns() < self.until_ns;
        let steps = next_steps_while(self.engine, &why, self.editor, &in_time);
        Some(match steps.into_iter().next() {
            Some(step) => Tried::Helps(step),
            None if in_time() => Tried::Nothing(reason.without_step()),
            None => Tried::OutOfTime,
        })
    }
}

/// A step and what it brings.
pub(crate) fn step_text(step: &NextStep) -> String {
    let gain = match (step.lets_in, step.admits) {
        (true, _) => "lets it in".to_owned(),
        (false, 1) => "1 more container at once".to_owned(),
        (false, n) => format!("{} more containers at once", grouped(n)),
    };
    format!("{}: {gain}", step.what)
}

/// A step as JSON.
pub(crate) fn step_json(step: &NextStep) -> Value {
    let change = step.change.as_ref();
    let change = change.map(|(property, value)| json!({"property": property, "value": value}));
    json!({"what": step.what, "set": change, "admits": step.admits, "lets_in": step.lets_in})
}

impl Tried {
    /// The result in one sentence.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Helps(step) => format!("would help, tried on a copy: {}", step_text(step)),
            Self::Nothing(meaning) => (*meaning).to_owned(),
            Self::OutOfTime => "not tried to the end: the time for trials was over".to_owned(),
        }
    }

    /// The result as JSON.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Helps(step) => json!({"result": "helps", "step": step_json(step)}),
            Self::Nothing(_) => json!({"result": "nothing helps", "step": null}),
            Self::OutOfTime => json!({"result": "out of time", "step": null}),
        }
    }
}

/// The copy of an engine with threads that trials run on.
pub(super) fn copy_of(engine: &capsched::api::Threaded, mode: ModeKind) -> Option<Stepped> {
    engine
        .inspect(move |ledger| Stepped::trial_of(ledger, mode))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use capsched::api::example;

    #[test]
    fn without_time_nothing_is_tried_and_with_it_the_step_is_found() {
        let (engine, app) = (example::cluster(), ApplicationId::new(1));
        let reason = engine.explain(app).unwrap().dominant().unwrap().reason;
        let late = Trials::within(Duration::ZERO, &engine, &());
        assert_eq!(late.of(app, reason), Some(Tried::OutOfTime));
        let Some(Tried::Helps(step)) = Trials::new(&engine, &()).of(app, reason) else {
            panic!("the next round serves it");
        };
        assert!(step_text(&step).ends_with("1 more container at once"));
    }
}
