//! Plays recorded scenes of a resource manager's REST interface and compares every answer.
//!
//! A scene is a folder: `inputs.json` has the configuration and the script of what happened, `requests.jsonl` what the
//! recorded resource manager answered. Time is simulated. The player reads the inputs alone; the recorded answers are
//! compared afterwards.

mod compare;
mod difference;
mod markup;
mod player;
mod scene;

use capsched::api::Reference;

pub use difference::Difference;
pub use scene::{Recorded, Scene, SceneError};

/// What became of one recorded request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Compared {
    /// Position of the request in the script.
    pub step: usize,
    /// Method and path.
    pub request: String,
    /// What differs, in the order of the answer; nothing when it equals.
    pub differences: Vec<Difference>,
    /// The rule by which it differs, where that is meant.
    pub deliberate: Option<&'static str>,
}

/// What became of a scene.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Played {
    /// Name of the scene.
    pub name: String,
    /// Its requests in order.
    pub requests: Vec<Compared>,
}

impl Played {
    /// How many requests were answered as recorded.
    #[must_use]
    pub fn equal(&self) -> usize {
        let equal = |request: &&Compared| request.differences.is_empty();
        self.requests.iter().filter(equal).count()
    }
}

/// Plays a scene under the rules of a release.
///
/// # Errors
///
/// When it has steps that are unknown or cannot be carried out.
pub fn play(scene: &Scene, reference: Reference) -> Result<Played, SceneError> {
    let answers = player::answers(scene, reference)?;
    let mut requests = Vec::with_capacity(scene.recorded.len());
    let mut limits_broken = false;
    for recorded in &scene.recorded {
        let answer = answers.get(&recorded.step).ok_or_else(|| {
            SceneError(format!(
                "step {} of {} is no request",
                recorded.step, scene.name
            ))
        })?;
        let differences = compare::differences(recorded, answer);
        let deliberate = compare::deliberate(recorded, answer, limits_broken);
        requests.push(Compared {
            step: recorded.step,
            request: format!("{} {}", recorded.method, recorded.path),
            deliberate: deliberate.filter(|_| !differences.is_empty()),
            differences,
        });
        limits_broken |= compare::breaks_limits(recorded);
    }
    Ok(Played {
        name: scene.name.clone(),
        requests,
    })
}
