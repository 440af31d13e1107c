//! One placement rule: whom it matches, what it does, and what happens when that fails.

use std::fmt;

/// A placement rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) matcher: Matcher,
    pub(super) action: RuleAction,
    pub(super) fallback: Fallback,
}

/// Whom a rule matches. Texts may hold variables anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Matcher {
    Everyone,
    User(String),
    Group(String),
    Application(String),
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleAction {
    /// Places into a path whose parts may be variables.
    Place {
        pattern: String,
        create: bool,
    },
    /// Changes `%default` for the rules that follow.
    SetDefault(String),
    Reject,
}

/// What happens when a rule cannot place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    Skip,
    Reject,
    PlaceDefault,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.matcher {
            Matcher::Everyone => f.write_str("everyone")?,
            Matcher::User(name) => write!(f, "user {name}")?,
            Matcher::Group(name) => write!(f, "group {name}")?,
            Matcher::Application(name) => write!(f, "application {name}")?,
        }
        match &self.action {
            RuleAction::Place { pattern, .. } => write!(f, " to {pattern}"),
            RuleAction::SetDefault(value) => write!(f, " sets %default to {value}"),
            RuleAction::Reject => f.write_str(" is rejected"),
        }
    }
}
