//! The variables of one submission and their replacement.

use std::borrow::Cow;

use super::directory::QueueDirectory;
use super::query::PlacementQuery;
use super::target::path_parts;

/// Names of all variables, longer ones first so that none is replaced inside another.
pub(super) const NAMES: [&str; 6] = [
    "%secondary_group",
    "%primary_group",
    "%application",
    "%specified",
    "%default",
    "%user",
];

/// Values of the variables for one submission.
// As VariableContext and CSMappingPlacementRule.createVariableContext.
pub(super) struct Variables<'a, D> {
    queues: &'a D,
    /// Values in the order of [`NAMES`]; a variable without one stays as it is written.
    values: [Option<String>; 6],
    /// Groups of which the first one with a queue at the place of the variable is taken.
    other_groups: Vec<String>,
}

impl<'a, D: QueueDirectory> Variables<'a, D> {
    pub(super) fn of(submission: &PlacementQuery<'_>, queues: &'a D) -> Self {
        let specified = match submission.queue {
            "default" => "",
            queue => queue,
        };
        let (primary, others) = match submission.groups {
            [] => (None, &[][..]),
            [primary, others @ ..] => (Some(without_dots(primary)), others),
        };
        let no_others = others.is_empty() && primary.is_some();
        Self {
            queues,
            values: [
                no_others.then(String::new),
                primary,
                Some(submission.application.to_owned()),
                Some(specified.to_owned()),
                Some("root.default".to_owned()),
                Some(without_dots(submission.user)),
            ],
            other_groups: others.iter().map(|group| without_dots(group)).collect(),
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        let at = NAMES.iter().position(|known| *known == name)?;
        self.values[at].as_deref()
    }

    pub(super) fn set_default(&mut self, value: String) {
        self.values[4] = Some(value);
    }

    /// Replaces variables wherever they occur in a text.
    pub(super) fn replace<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !text.contains('%') {
            return Cow::Borrowed(text);
        }
        let mut text = text.to_owned();
        for (name, value) in NAMES.iter().zip(&self.values) {
            if let Some(value) = value
                && text.contains(name)
            {
                text = text.replace(name, value);
            }
        }
        Cow::Owned(text)
    }

    /// Replaces the parts of a path that are variables.
    pub(super) fn replace_path(&self, path: &str) -> String {
        let mut done: Vec<String> = Vec::new();
        for part in path_parts(path) {
            let value = match self.value(part) {
                Some(value) => value.to_owned(),
                None if part == NAMES[0] && !self.other_groups.is_empty() => {
                    self.secondary_group(&done)
                }
                None => part.to_owned(),
            };
            done.push(value);
        }
        done.join(".")
    }

    /// The first other group with a queue below the path written so far; empty without one.
    // As SecondaryGroupVariable.evaluateInPath.
    fn secondary_group(&self, before: &[String]) -> String {
        let mut prefix = before.join(".");
        if !before.is_empty() {
            prefix.push('.');
        }
        let mut groups = self.other_groups.iter();
        groups
            .find(|group| {
                self.queues
                    .find(&format!("{prefix}{group}"))
                    .queue()
                    .is_some()
            })
            .cloned()
            .unwrap_or_default()
    }
}

/// A user or group name as part of a path.
fn without_dots(name: &str) -> String {
    name.replace('.', "_dot_")
}
