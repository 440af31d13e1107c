//! Scenes of the REST interface: each request of one is a recording of its own.

use anyhow::Result;
use capsched::api::Reference;
use capsched_server::replay::{self, Scene};
use serde_json::{Value, json};

use super::compare::Difference;
use super::verdict::Verdict;

/// Reads a scene.
pub(super) fn read(value: Value) -> Result<Scene> {
    Ok(Scene::of_value(value)?)
}

/// Plays a scene; what became of each request, with its step, method and path.
pub(super) fn play(scene: &Scene, reference: Reference) -> Vec<(String, Verdict)> {
    let played = match replay::play(scene, reference) {
        Ok(played) => played,
        Err(error) => return vec![(scene.name.clone(), Verdict::Broken(error.to_string()))],
    };
    let one = |request: replay::Compared| {
        let name = format!("{} {} {}", played.name, request.step, request.request);
        let verdict = match request.deliberate {
            _ if request.differences.is_empty() => Verdict::Passed,
            Some(rule) => Verdict::Deliberate(rule.to_owned()),
            None => Verdict::Failed {
                step: Some((request.step, json!(request.request))),
                differences: request.differences.iter().map(difference).collect(),
            },
        };
        (name, verdict)
    };
    played.requests.into_iter().map(one).collect()
}

fn difference(of: &replay::Difference) -> Difference {
    let text = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    Difference::new(of.place.clone(), text(&of.recorded), text(&of.answered))
}
