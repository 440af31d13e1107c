//! Placement rules against the recorded placements of the original scheduler.

use crate::common::recordings::recordings;
use crate::configurations::{groups, loaded, strings};
use capsched::config::{
    Decision, DeclaredQueues, Loaded, MappingError, PlacementQuery, PlacementRules,
    TagUserOverride, WorkflowPriorities,
};
use serde_json::Value;

/// Reads and validates the rules of a configuration.
fn rules(loaded: &Loaded, queues: &DeclaredQueues) -> Result<PlacementRules, Vec<MappingError>> {
    let rules = PlacementRules::read(&*loaded.properties)?;
    rules.validate(queues)?;
    WorkflowPriorities::read(&*loaded.properties)?;
    Ok(rules)
}

/// Differences between one recording and the rules.
fn differences(recording: &Value) -> Vec<String> {
    let loaded = match loaded(recording) {
        Ok(loaded) => loaded,
        Err(report) => return vec![format!("not loaded: {report:?}")],
    };
    let mut queues = DeclaredQueues::of(&loaded.settings.queues);
    let rules = rules(&loaded, &queues);
    let want = &recording["start"];
    let rules = match (rules, want["accepted"].as_bool()) {
        (Ok(rules), Some(true)) => rules,
        (Ok(_), _) => return vec![format!("accepted, want {}", want["error"]["code"])],
        (Err(errors), Some(true)) => return vec![format!("refused: {}", errors[0])],
        (Err(errors), _) => {
            let code = want["error"]["code"].as_str();
            let found: Vec<&str> = errors.iter().map(MappingError::code).collect();
            return if found.iter().any(|found| Some(*found) == code) {
                Vec::new()
            } else {
                vec![format!("refused as {found:?}, want {code:?}")]
            };
        }
    };
    let tag_user = TagUserOverride::read(&*loaded.properties);
    let submissions = recording["submissions"].as_array().into_iter().flatten();
    let mut differences = Vec::new();
    for (at, submission) in submissions.enumerate() {
        // What follows a refresh is played by `capsched parity` alone, on a live scheduler.
        if submission.get("refresh").is_some() {
            break;
        }
        let text = |key: &str| submission[key].as_str().unwrap_or_default();
        let tags = strings(&submission["tags"]);
        let place = |user: &str| {
            let submission = PlacementQuery {
                user,
                groups: &groups(recording, user),
                queue: text("queue"),
                application: text("name"),
                recovered: false,
            };
            rules.place(&submission, &queues)
        };
        // The lists of these recordings let everybody submit.
        let named = tag_user.named(text("user"), &tags).map(place);
        let named = named.filter(|decision| *decision != Decision::NoOpinion);
        let decision = named.unwrap_or_else(|| place(text("user")));
        let expect = &submission["expect"];
        if let Err(difference) = compare(&decision, expect, text("queue")) {
            differences.push(format!("submission {at} ({}): {difference}", text("user")));
        }
        if let Some(leaf) = expect["queue"].as_str() {
            queues.created(leaf);
        }
    }
    differences
}

fn compare(decision: &Decision, expect: &Value, submitted: &str) -> Result<(), String> {
    let rejected = expect["error"]["code"] == "mapping_rejected";
    let placed = &expect["placed"];
    // The resource manager refuses the empty queue whatever a rule places.
    let refused = submitted.is_empty() && expect["refused_by"] == "resource manager";
    let agrees = match decision {
        Decision::Place(_) | Decision::NoOpinion if refused => true,
        Decision::Rejected { .. } => rejected,
        Decision::NoOpinion => !rejected && placed.is_null(),
        Decision::Place(place) => {
            !rejected
                && placed["queue"] == place.leaf.as_str()
                && placed["parent"] == place.parent.as_str()
                && expect["queue_of_submission"]
                    .as_str()
                    .is_none_or(|queue| queue == place.recorded_queue(submitted))
        }
    };
    if agrees {
        Ok(())
    } else {
        Err(format!("{decision:?}, want {expect}"))
    }
}

#[test]
fn recorded_placements_are_repeated() {
    let mut failures = Vec::new();
    let recordings = recordings("mappings");
    for (name, recording) in &recordings {
        for difference in differences(recording) {
            failures.push(format!("{name}: {difference}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} differences in {} recordings:\n{}",
        failures.len(),
        recordings.len(),
        failures.join("\n")
    );
}

/// The verdict on the rules of a configuration, as a code or as accepted; nothing when it is
/// refused for something else.
fn verdict(recording: &Value) -> Option<Result<(), String>> {
    let loaded = match loaded(recording) {
        Ok(loaded) => loaded,
        Err(report) => {
            let code = report.first_error()?.code;
            return code.contains("mapping").then(|| Err(code.to_owned()));
        }
    };
    let queues = DeclaredQueues::of(&loaded.settings.queues);
    Some(match rules(&loaded, &queues) {
        Ok(_) => Ok(()),
        Err(errors) => Err(errors[0].code().to_owned()),
    })
}

#[test]
fn recorded_verdicts_on_rules_are_repeated() {
    let mut failures = Vec::new();
    let mut judged = 0;
    let recordings = recordings("config/cases");
    for (name, recording) in &recordings {
        let want = recording["expect"]["error"]["code"].as_str();
        let about_rules = want.is_none_or(|code| code.contains("mapping"));
        let Some(found) = verdict(recording).filter(|_| about_rules) else {
            continue;
        };
        judged += 1;
        if found.as_ref().err().map(String::as_str) != want {
            let changes = &recording["description"];
            failures.push(format!("{name}: {found:?}, want {want:?} ({changes})"));
        }
    }
    let some = recordings.is_empty() || judged > 0;
    assert!(some, "some recordings are about rules");
    assert!(failures.is_empty(), "of {judged}:\n{}", failures.join("\n"));
}
