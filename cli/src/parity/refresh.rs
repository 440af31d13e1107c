//! Recorded refreshes: a scenario whose whole configuration file is replaced on the way.

use anyhow::{Context, Result};
use capsched::api::{Reference, Rescheduler};
use capsched::config::Options;
use serde_json::{Value, json};

use super::compare::{Difference, differences};
use super::configuration::{drop_parts, outcome};
use super::player::Player;
use super::scenario::{Action, Scenario, Step};
use super::setting::{Accepted, Setting};
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
        Err(refused) => {
            let actual = json!({"accepted": false, "error": {"code": refused.words.first()}});
            return Ok(judge(differences(&json!({"accepted": true}), &actual)));
        }
    };
    let engine = setting.start(&accepted.loaded, &[])?;
    let preemption = Rescheduler::new(accepted.loaded.preemption);
    let mut player = Player::over(scenario, engine, preemption, Options::default());
    for (i, step) in scenario.steps.iter().enumerate() {
        let found = match &step.action {
            Action::Refresh { xml, .. } => match refresh(&mut player, &setting, xml, step)? {
                Ok(found) => found,
                Err(deliberate) => return Ok(Verdict::Deliberate(deliberate)),
            },
            action => differences(&step.expect, &player.step(action)?),
        };
        let verdict = Verdict::of_step(i, step.shown(), found);
        if !verdict.passed() {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Passed)
}

/// One refresh: its differences, or the code of a deliberate refusal.
fn refresh(
    player: &mut Player<'_>,
    setting: &Setting<'_>,
    xml: &str,
    step: &Step,
) -> Result<Result<Vec<Difference>, String>> {
    let outcome = match setting.read_again(xml, player.engine()) {
        Ok(accepted) => Ok(apply(player, &accepted)?),
        Err(refused) => Err(refused),
    };
    let mut actual = match outcome {
        Ok(after) => json!({"accepted": true, "after": after}),
        Err(refused) => {
            if step.expect["accepted"] == json!(true) && refused.is_deliberate() {
                return Ok(Err(refused.code));
            }
            json!({"accepted": false, "error": {"code": refused.words.first()}})
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
