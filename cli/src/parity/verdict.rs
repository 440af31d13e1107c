//! What became of a recording, and how it is printed.

use serde_json::{Value, json};

use super::archive::RecordingPlace;
use super::compare::{Difference, differences};

use crate::output::{line, printable};

/// What became of one recording.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Everything agreed.
    Passed,
    /// Something did not.
    Failed {
        /// Number of the step from 0, and its input; nothing without steps.
        step: Option<(usize, Value)>,
        /// What did not agree.
        differences: Vec<Difference>,
    },
    /// Different here, and meant to be, by the rule of this code: refused, most often.
    Deliberate(String),
    /// The recording cannot be played.
    Broken(String),
}

/// The verdict of a comparison.
pub(super) fn judge(differences: Vec<Difference>) -> Verdict {
    if differences.is_empty() {
        return Verdict::Passed;
    }
    Verdict::Failed {
        step: None,
        differences,
    }
}

/// The verdict on a refused start. A recording without a word for the reason demands no code.
pub(super) fn judge_refusal(recorded: &Value, refusal: &Value) -> Verdict {
    if recorded["accepted"] == false && recorded["error"]["code"] == "other" {
        return Verdict::Passed;
    }
    judge(differences(recorded, refusal))
}

impl Verdict {
    /// The verdict of a step.
    pub(super) fn of_step(step: usize, input: Value, differences: Vec<Difference>) -> Self {
        if differences.is_empty() {
            return Self::Passed;
        }
        Self::Failed {
            step: Some((step, input)),
            differences,
        }
    }

    /// Whether everything agreed.
    pub(super) const fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// Prints the verdict on a recording, as one JSON object or as lines with at most `shown`
    /// differences.
    pub(super) fn print(&self, place: &RecordingPlace, name: &str, as_json: bool, shown: usize) {
        if as_json {
            line(self.to_json(place, name));
            return;
        }
        // Names, steps and values come from the recording.
        let line = |text: String| line(printable(&text));
        match self {
            Self::Passed => line(format!("pass  {name}")),
            Self::Deliberate(code) => line(format!("meant {name}: by {code}")),
            // A place begins with the file that stands for the name.
            Self::Broken(error) if error.starts_with(name) => line(format!("FAIL  {error}")),
            Self::Broken(error) => line(format!("FAIL  {name}: {error}")),
            Self::Failed { step, differences } => {
                match step {
                    Some((number, input)) => {
                        line(format!("FAIL  {name} at step {number}: {input}"));
                    }
                    None => line(format!("FAIL  {name}")),
                }
                for difference in differences.iter().take(shown) {
                    line(format!("      {difference}"));
                }
                if differences.len() > shown {
                    line(format!("      and {} more", differences.len() - shown));
                }
            }
        }
    }

    fn to_json(&self, place: &RecordingPlace, name: &str) -> Value {
        let mut object = json!({"scenario": name, "file": place.file, "passed": self.passed()});
        if let Some(line) = place.line {
            object["line"] = json!(line);
        }
        match self {
            Self::Passed => {}
            Self::Deliberate(code) => object["deliberate"] = json!(code),
            Self::Broken(error) => object["error"] = json!(printable(error)),
            Self::Failed { step, differences } => {
                if let Some((number, input)) = step {
                    object["step"] = json!(number);
                    object["input"] = input.clone();
                }
                let all = differences.iter().map(Difference::to_json);
                object["differences"] = all.collect();
            }
        }
        object
    }
}
