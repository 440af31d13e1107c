//! Reads the placement rules and places submissions by them.

use super::directory::QueueDirectory;
use super::error::MappingError;
use super::query::PlacementQuery;
use super::rule::{Fallback, Matcher, Rule, RuleAction};
use super::target::resolve;
use super::validate::validate_target;
use super::variables::Variables;
use super::{json, legacy};
use crate::config::prefix::PREFIX;
use crate::config::source::PropertySource;

/// The placement rules of a scheduler.
// As CSMappingPlacementRule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementRules {
    rules: Vec<Rule>,
    override_queue: bool,
}

/// What the rules say about a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: the submitted queue stands.
    NoOpinion,
    /// The application goes to this queue.
    Place(PlacedLeaf),
    /// The application is refused by the rule at this position, from 0.
    Rejected {
        /// Position of the rule.
        rule: usize,
    },
}

/// A leaf, which may still have to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedLeaf {
    /// Name of the leaf.
    pub leaf: String,
    /// Path of its parent.
    pub parent: String,
}

impl PlacedLeaf {
    fn at(path: &str) -> Self {
        let (parent, leaf) = path.rsplit_once('.').unwrap_or(("", path));
        Self {
            leaf: leaf.trim().to_owned(),
            parent: parent.trim().to_owned(),
        }
    }

    /// The path of the leaf.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.{}", self.parent, self.leaf)
    }

    /// The queue that the submission is recorded with: as submitted when that is the name of the
    /// leaf but for the case of its letters, else the full path.
    // As RMAppManager.copyPlacementQueueToSubmissionContext.
    #[must_use]
    pub fn recorded_queue(&self, submitted: &str) -> String {
        if same_but_for_case(submitted, &self.leaf) {
            submitted.to_owned()
        } else {
            self.path()
        }
    }
}

impl PlacementRules {
    /// Reads the rules from the properties, in the format that they name.
    ///
    /// # Errors
    ///
    /// Every malformed rule; or the one fault that keeps the rules from being read.
    pub fn read(source: &impl PropertySource) -> Result<Self, Vec<MappingError>> {
        let format = source.filled(&format!("{PREFIX}mapping-rule-format"));
        let rules = match format.as_deref() {
            None | Some("legacy") => legacy::read(source)?,
            Some("json") => json::read(source)?,
            Some(other) => {
                return Err(vec![MappingError::Format {
                    value: other.to_owned(),
                }]);
            }
        };
        let override_queue = source.flag(&format!("{PREFIX}queue-mappings-override.enable"), false);
        Ok(Self {
            rules,
            override_queue,
        })
    }

    /// Checks that every target may come to be a leaf.
    ///
    /// # Errors
    ///
    /// Every rule whose target cannot.
    pub fn validate(&self, queues: &impl QueueDirectory) -> Result<(), Vec<MappingError>> {
        let mut errors = Vec::new();
        for rule in &self.rules {
            if let RuleAction::Place { pattern, .. } = &rule.action
                && let Err(problem) = validate_target(pattern, queues)
            {
                errors.push(MappingError::Target {
                    rule: rule.to_string(),
                    target: pattern.clone(),
                    problem,
                });
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// Number of rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Places an application by the first rule that has an answer.
    // As CSMappingPlacementRule.getPlacementForApp.
    #[must_use]
    pub fn place(&self, submission: &PlacementQuery<'_>, queues: &impl QueueDirectory) -> Decision {
        let named = submission.queue != "default";
        if named && !self.override_queue && !submission.recovered {
            return Decision::NoOpinion;
        }
        let decision = self.evaluate(submission, queues);
        match &decision {
            Decision::Place(place)
                if submission.recovered
                    && place.leaf != submission.queue
                    && place.path() != submission.queue =>
            {
                Decision::NoOpinion
            }
            _ => decision,
        }
    }

    fn evaluate(&self, submission: &PlacementQuery<'_>, queues: &impl QueueDirectory) -> Decision {
        let mut variables = Variables::of(submission, queues);
        for (at, rule) in self.rules.iter().enumerate() {
            if !matches(&rule.matcher, submission, &variables) {
                continue;
            }
            match &rule.action {
                RuleAction::Reject => return Decision::Rejected { rule: at },
                RuleAction::SetDefault(value) => {
                    let value = variables.replace(value).into_owned();
                    variables.set_default(value);
                    continue;
                }
                RuleAction::Place { pattern, create } => {
                    let answer = variables.replace_path(pattern);
                    if let Ok(path) = resolve(queues, &answer, *create) {
                        return Decision::Place(PlacedLeaf::at(&path));
                    }
                }
            }
            match rule.fallback {
                Fallback::Skip => {}
                Fallback::Reject => return Decision::Rejected { rule: at },
                Fallback::PlaceDefault => {
                    let default = variables.replace_path("%default");
                    return match resolve(queues, &default, false) {
                        Ok(path) => Decision::Place(PlacedLeaf::at(&path)),
                        Err(_) => Decision::Rejected { rule: at },
                    };
                }
            }
        }
        Decision::NoOpinion
    }
}

fn matches<D: QueueDirectory>(
    matcher: &Matcher,
    submission: &PlacementQuery<'_>,
    variables: &Variables<'_, D>,
) -> bool {
    match matcher {
        Matcher::Everyone => true,
        // The name is compared as it is, but `%user` in a rule has its dots replaced.
        Matcher::User(name) => variables.replace(name) == submission.user,
        Matcher::Group(name) => {
            let name = variables.replace(name);
            submission.groups.iter().any(|group| *group == *name)
        }
        Matcher::Application(name) => variables.replace(name) == submission.application,
    }
}

/// Whether two names differ in the case of letters at most, letter by letter.
// As String.equalsIgnoreCase of Java: a letter whose other case takes several stays as it is.
fn same_but_for_case(one: &str, other: &str) -> bool {
    fn single(letter: char, mut mapped: impl Iterator<Item = char>) -> char {
        let first = mapped.next();
        first.filter(|_| mapped.next().is_none()).unwrap_or(letter)
    }
    let folded = |letter: char| {
        let upper = single(letter, letter.to_uppercase());
        single(upper, upper.to_lowercase())
    };
    one.chars().map(folded).eq(other.chars().map(folded))
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
