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
mod starts;

use capsched::api::Reference;

pub use difference::Difference;
use player::Performance;
use starts::Starts;

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

/// Most plays of a scene in which chance decided something.
const MOST_PLAYS: usize = 500;

/// Plays a scene under the rules of a release.
///
/// Passes without heartbeats begin at random nodes in the original. Such a scene is played with other beginnings as
/// long as that brings its answers nearer to the recorded ones: it is repeated where one of them explains all answers.
///
/// # Errors
///
/// When it has steps that are unknown or cannot be carried out.
pub fn play(scene: &Scene, reference: Reference) -> Result<Played, SceneError> {
    let mut plays = 0;
    let mut best = Run::of(scene, reference, Starts::default())?.nearest(scene, &mut plays)?;
    for starts in best.starts.constant() {
        if best.different() == 0 || plays >= MOST_PLAYS {
            break;
        }
        let run = Run::of(scene, reference, starts)?.nearest(scene, &mut plays)?;
        if run.distance() < best.distance() {
            best = run;
        }
    }
    Ok(best.played)
}

/// One play of a scene.
struct Run {
    reference: Reference,
    played: Played,
    starts: Starts,
}

impl Run {
    fn of(scene: &Scene, reference: Reference, starts: Starts) -> Result<Self, SceneError> {
        let Performance {
            answers,
            starts,
            asynchronous,
        } = player::perform(scene, reference, starts)?;
        let mut requests = Vec::with_capacity(scene.recorded.len());
        let mut limits_broken = false;
        for recorded in &scene.recorded {
            let answer = answers.get(&recorded.step).ok_or_else(|| {
                SceneError(format!(
                    "step {} of {} is no request",
                    recorded.step, scene.name
                ))
            })?;
            let differences = compare::differences(recorded, answer, asynchronous);
            let deliberate = compare::deliberate(recorded, answer, limits_broken);
            requests.push(Compared {
                step: recorded.step,
                request: format!("{} {}", recorded.method, recorded.path),
                deliberate: deliberate.filter(|_| !differences.is_empty()),
                differences,
            });
            limits_broken |= compare::breaks_limits(recorded);
        }
        let name = scene.name.clone();
        let played = Played { name, requests };
        Ok(Self {
            reference,
            played,
            starts,
        })
    }

    /// The nearest run that is found by changing the beginning of one pass at a time.
    fn nearest(self, scene: &Scene, plays: &mut usize) -> Result<Self, SceneError> {
        let (mut best, mut unchanged, mut pass) = (self, 0, 0);
        while best.different() > 0 && unchanged < best.starts.count() && *plays < MOST_PLAYS {
            unchanged += 1;
            for starts in best.starts.others(pass) {
                let run = Self::of(scene, best.reference, starts)?;
                *plays += 1;
                if run.distance() < best.distance() {
                    best = run;
                    unchanged = 0;
                    break;
                }
            }
            pass = (pass + 1) % best.starts.count();
        }
        Ok(best)
    }

    /// How many requests differ in a way that is not meant.
    fn different(&self) -> usize {
        let requests = self.played.requests.iter();
        let different =
            |request: &&Compared| !request.differences.is_empty() && request.deliberate.is_none();
        requests.filter(different).count()
    }

    /// How far the answers are from the recorded ones: requests that differ, then values.
    fn distance(&self) -> (usize, usize) {
        let requests = self.played.requests.iter();
        let values = requests.map(|request| request.differences.len()).sum();
        (self.different(), values)
    }
}
