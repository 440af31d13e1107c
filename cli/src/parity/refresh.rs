//! Recorded refreshes: a scenario whose whole configuration file is replaced on the way.

use anyhow::{Context, Result};
use capsched::api::{Reference, Rescheduler, TreeSettings};
use capsched::config::{self, Options};
use serde_json::{Value, json};

use super::compare::{Difference, differences};
use super::configuration::{drop_parts, outcome};
use super::player::Player;
use super::scenario::{Action, Scenario, Step};
use super::setting::{Accepted, Refused, Setting};
use super::verdict::{Verdict, judge};

/// Plays a scenario with refreshes up to the first step that differs.
pub(super) fn play(scenario: &Scenario, reference: Reference) -> Result<Verdict> {
    let setting = Setting {
        site: &scenario.site,
        resource_types: &scenario.resource_types,
        cluster_labels: &scenario.cluster_labels,
        reference,
    };
    let xml = scenario.xml.as_deref().context("there is no `xml`")?;
    let accepted = match setting.read(xml) {
        Ok(accepted) => accepted,
        Err(refused) => return Ok(not_started(scenario, &refused)),
    };
    let mut live = Live::of(&accepted);
    let engine = setting.start(&accepted.loaded, &[])?;
    let preemption = Rescheduler::new(accepted.loaded.preemption);
    let mut player = Player::over(scenario, engine, preemption, Options::default());
    for (i, step) in scenario.steps.iter().enumerate() {
        let found = match &step.action {
            Action::Refresh { xml, .. } => {
                match refresh(&mut player, &setting, &mut live, xml, step)? {
                    Ok(found) if live.explains(&found) => {
                        return Ok(Verdict::Deliberate(MODE_AT_REFRESH.to_owned()));
                    }
                    Ok(found) => found,
                    Err(deliberate) => return Ok(Verdict::Deliberate(deliberate)),
                }
            }
            action => differences(&step.expect, &player.step(action)?),
        };
        let verdict = Verdict::of_step(i, step.shown(), found);
        if !verdict.passed() {
            return Ok(player.explained(verdict));
        }
        player.note_refusal(&step.expect);
    }
    Ok(Verdict::Passed)
}

/// The verdict on a configuration that was refused at the start.
pub(super) fn not_started(scenario: &Scenario, refused: &Refused) -> Verdict {
    let first = &scenario.steps[0];
    let recorded = match first.action {
        Action::Start {} => first.expect.clone(),
        _ => json!({"accepted": true}),
    };
    let actual = json!({"accepted": false, "error": {"code": refused.words.first()}});
    match judge(differences(&recorded, &actual)) {
        Verdict::Failed { .. } if refused.is_deliberate(&recorded) => {
            Verdict::Deliberate(refused.code.clone())
        }
        verdict => verdict,
    }
}

/// One refresh: its differences, or the code of a deliberate refusal.
fn refresh(
    player: &mut Player<'_>,
    setting: &Setting<'_>,
    live: &mut Live,
    xml: &str,
    step: &Step,
) -> Result<Result<Vec<Difference>, String>> {
    let outcome = match setting.read_again(xml, player.engine()) {
        Ok(accepted) => {
            live.settings = accepted.loaded.settings.clone();
            Ok(apply(player, &accepted)?)
        }
        Err(refused) => Err(refused),
    };
    let mut actual = match outcome {
        Ok(after) => json!({"accepted": true, "after": after}),
        Err(refused) => {
            let word = json!(live.reported(&refused, player));
            if word != step.expect["error"]["code"] && refused.is_deliberate(&step.expect) {
                return Ok(Err(refused.code));
            }
            json!({"accepted": false, "error": {"code": word}})
        }
    };
    // What the reference does to itself when it refuses is a record, not a demand.
    let mut wanted = step.expect.clone();
    drop_parts(
        &mut wanted,
        &["state_unchanged", "configuration_kept", "changed"],
    );
    for side in [&mut wanted, &mut actual] {
        by_path(side);
    }
    Ok(Ok(differences(&wanted, &actual)))
}

/// The code of a refresh that leaves legacy mode, which the reference does in part.
pub(super) const MODE_AT_REFRESH: &str = "W_MODE_AT_REFRESH";

/// What follows from the division of resources.
const DIVIDED: [&str; 12] = [
    ".cap",
    ".abs_cap",
    ".max_cap",
    ".abs_max_cap",
    ".used_cap",
    ".abs_used_cap",
    ".norm_weight",
    ".max_apps",
    ".max_apps_per_user",
    ".am_limit",
    ".user_am_limit",
    ".last_limit",
];

/// Refusals before the present queues are touched.
const BEFORE_REFRESH: [&str; 3] = ["xml_syntax", "xml_include", "scheduler_allocation_limits"];

/// What the scheduler runs with.
#[derive(Debug)]
struct Live {
    /// Whether it started in legacy mode.
    legacy_at_start: bool,
    settings: TreeSettings,
}

impl Live {
    fn of(accepted: &Accepted) -> Self {
        let settings = accepted.loaded.settings.clone();
        Self {
            legacy_at_start: settings.scheduler.legacy_queue_mode,
            settings,
        }
    }

    /// The word that the reference reports for a refused refresh. It goes back to the present
    /// configuration and, when that is refused too, reports this refusal in place of the first.
    // As CapacityScheduler.reinitialize.
    fn reported(&self, refused: &Refused, player: &Player<'_>) -> Option<String> {
        let own = refused.words.first().cloned();
        if own
            .as_deref()
            .is_some_and(|own| BEFORE_REFRESH.contains(&own))
        {
            return own;
        }
        if refused.adds_queues {
            return Some("queue_not_stopped".to_owned());
        }
        match player.engine().check_reconfigure(&self.settings) {
            Ok(()) => own,
            Err(back) => Some(config::word(back.code()).to_owned()),
        }
    }

    /// Whether a change of mode explains all differences of a refresh.
    fn explains(&self, found: &[Difference]) -> bool {
        let divided = |found: &Difference| {
            let kind = found.kind();
            let inside = kind.starts_with(".after.queues.") || kind.starts_with(".after.apps.");
            inside && DIVIDED.iter().any(|part| kind.ends_with(part))
        };
        let leaves = self.legacy_at_start && !self.settings.scheduler.legacy_queue_mode;
        leaves && !found.is_empty() && found.iter().all(divided)
    }
}

/// Takes over an accepted configuration; the state afterwards.
fn apply(player: &mut Player<'_>, accepted: &Accepted) -> Result<Value> {
    player.refresh(accepted.loaded.settings.clone())?;
    let mut after = outcome(accepted, player.engine());
    drop_parts(&mut after, &["nodes"]);
    Ok(after)
}

/// Puts the queues in the order of their paths: that of children after a refresh means nothing.
fn by_path(answer: &mut Value) {
    let queues = answer.pointer_mut("/after/queues");
    if let Some(queues) = queues.and_then(Value::as_array_mut) {
        queues.sort_by_key(|queue| queue["path"].to_string());
    }
}
