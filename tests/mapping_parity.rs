//! Placement rules against the recorded placements of the original scheduler.

mod common;

use capsched::config::{
    Decision, DeclaredQueues, MappingError, PlacementRules, Submission, TagUserOverride,
    WorkflowPriorities,
};
use common::recordings::{folder, groups, properties, recordings, strings};
use serde_json::Value;

/// Differences between one recording and the rules.
fn differences(recording: &Value) -> Vec<String> {
    let source = properties(recording);
    let mut queues = DeclaredQueues::read(&source);
    let rules = PlacementRules::read(&source).and_then(|rules| {
        rules.validate(&queues)?;
        WorkflowPriorities::read(&source)?;
        Ok(rules)
    });
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
    let tag_user = TagUserOverride::read(&source);
    let submissions = recording["submissions"].as_array().into_iter().flatten();
    let mut differences = Vec::new();
    for (at, submission) in submissions.enumerate() {
        let text = |key: &str| submission[key].as_str().unwrap_or_default();
        let tags = strings(&submission["tags"]);
        let user = tag_user.user(text("user"), &tags);
        let decision = rules.place(
            &Submission {
                user,
                groups: &groups(recording, user),
                queue: text("queue"),
                application: text("name"),
                recovered: false,
            },
            &queues,
        );
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
    let agrees = match decision {
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
    let Some(folder) = folder("mappings") else {
        return;
    };
    let mut failures = Vec::new();
    let recordings = recordings(&folder);
    assert!(!recordings.is_empty(), "the folder holds recordings");
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

/// The verdict of the rules on a whole configuration, as a code; nothing when it is accepted.
fn verdict(recording: &Value) -> Option<&'static str> {
    let source = properties(recording);
    let read = PlacementRules::read(&source).and_then(|rules| {
        rules.validate(&DeclaredQueues::read(&source))?;
        WorkflowPriorities::read(&source)
    });
    read.err().map(|errors| errors[0].code())
}

#[test]
fn recorded_verdicts_on_rules_are_repeated() {
    let Some(folder) = folder("config/cases") else {
        return;
    };
    let mut failures = Vec::new();
    let mut judged = 0;
    for (name, recording) in recordings(&folder) {
        let want = recording["expect"]["error"]["code"].as_str();
        let about_rules = want.is_none_or(|code| code.contains("mapping"));
        let found = verdict(&recording);
        if about_rules {
            judged += 1;
            if found != want {
                failures.push(format!(
                    "{name}: {found:?}, want {want:?} ({})",
                    recording["description"]
                ));
            }
        }
    }
    assert!(judged > 0, "some recordings are about rules");
    assert!(failures.is_empty(), "of {judged}:\n{}", failures.join("\n"));
}
