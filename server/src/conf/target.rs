//! The scheduler that a configuration is for.

use std::fmt;

use capsched::config::{self, Issue, Report};

use super::properties::ConfProperties;
use crate::rm::{Command, CommandError, ResourceManager};

/// In front of every refusal, as in the answers of the reference.
const REFUSED: &str = "Failed to re-init queues : ";

/// Why a scheduler refuses a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfRefusal {
    /// The reason, in a sentence.
    pub message: String,
    /// Everything that was found, by queue and property.
    pub issues: Vec<Issue>,
}

impl ConfRefusal {
    /// The refusal of a configuration that is not valid.
    #[must_use]
    pub fn of_report(report: &Report) -> Self {
        let first = report.first_error().map(|error| error.message.as_str());
        Self {
            message: format!("{REFUSED}{}", first.unwrap_or_default()),
            issues: config::issues(report),
        }
    }

    /// The refusal of a live scheduler.
    #[must_use]
    pub fn of_scheduler(text: &str) -> Self {
        Self {
            message: format!("{REFUSED}{text}"),
            issues: vec![Issue::error("refresh_refused", text)],
        }
    }
}

impl fmt::Display for ConfRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfRefusal {}

/// A scheduler that takes configurations.
pub trait ConfTarget {
    /// Takes a configuration over, as a whole or not at all. `user` is in whose name.
    ///
    /// # Errors
    ///
    /// When it is refused; the scheduler is as it was then.
    fn refresh(&self, user: &str, next: &ConfProperties) -> Result<(), ConfRefusal>;

    /// Judges a configuration against the live scheduler without taking it over.
    ///
    /// # Errors
    ///
    /// When it would be refused.
    // The reference judges on a scheduler without applications, and may accept what its refresh then refuses.
    fn judge(&self, next: &ConfProperties) -> Result<(), ConfRefusal>;
}

impl ConfTarget for ResourceManager {
    fn refresh(&self, user: &str, next: &ConfProperties) -> Result<(), ConfRefusal> {
        let scheduler = next.as_map().clone();
        let refreshed = self.execute(user, Command::RefreshQueues { scheduler });
        refreshed.map(drop).map_err(|error| of_command(&error))
    }

    fn judge(&self, next: &ConfProperties) -> Result<(), ConfRefusal> {
        let tried = self.try_refresh(next.as_map());
        tried.map_err(|error| of_command(&error))
    }
}

fn of_command(error: &CommandError) -> ConfRefusal {
    ConfRefusal::of_scheduler(error.text())
}
