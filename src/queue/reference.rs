//! The release of Hadoop that is followed, and the rules in which the known releases differ.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A release of Hadoop whose Capacity Scheduler is the reference.
///
/// ```
/// use capsched::api::Reference;
/// assert_eq!("3.5".parse(), Ok(Reference::Hadoop35));
/// assert_eq!(Reference::default().to_string(), "3.5");
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Reference {
    /// Hadoop 3.4, as of 3.4.2.
    #[serde(rename = "3.4")]
    Hadoop34,
    /// Hadoop 3.5, as of 3.5.0.
    #[default]
    #[serde(rename = "3.5")]
    Hadoop35,
}

impl Reference {
    /// All known references, the oldest first.
    pub const ALL: [Self; 2] = [Self::Hadoop34, Self::Hadoop35];

    /// The name that options and files use: major and minor version.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hadoop34 => "3.4",
            Self::Hadoop35 => "3.5",
        }
    }

    /// The release that was compared with, as on Maven Central.
    #[must_use]
    pub const fn release(self) -> &'static str {
        match self {
            Self::Hadoop34 => "3.4.2",
            Self::Hadoop35 => "3.5.0",
        }
    }

    /// The reference of a release such as `3.5.0`, by its first two numbers.
    #[must_use]
    pub fn of_release(release: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|one| {
            let rest = release.strip_prefix(one.name());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// The reference that judges a recording, by what the recording says it was made with, such as
    /// `Hadoop 3.5.0`. One that names no known release was made with 3.4.2, whatever the default is.
    #[must_use]
    pub fn of_recording(made_with: &str) -> Self {
        let release = made_with.rsplit(' ').next().unwrap_or_default();
        Self::of_release(release).unwrap_or(Self::Hadoop34)
    }

    /// The release before this one; nothing for the oldest.
    #[must_use]
    pub fn before(self) -> Option<Self> {
        Self::ALL.into_iter().rfind(|one| *one < self)
    }

    /// The rules of the release.
    #[must_use]
    pub const fn rules(self) -> ReferenceRules {
        let since_35 = matches!(self, Self::Hadoop35);
        ReferenceRules {
            reference: self,
            asynchronous_by_default: since_35,
            constrained_pending_falls: since_35,
            request_before_nodes: since_35,
            passes_by_ended_attempts: since_35,
            vectors_without_memory: since_35,
            absolute_by_form: since_35,
            corrects_asks: since_35,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Reference {
    type Err = UnknownReference;

    fn from_str(text: &str) -> Result<Self, UnknownReference> {
        let mut all = Self::ALL.into_iter();
        all.find(|one| one.name() == text).ok_or(UnknownReference)
    }
}

/// The text names no known reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownReference;

impl fmt::Display for UnknownReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the references are 3.4 and 3.5")
    }
}

impl std::error::Error for UnknownReference {}

/// Each rule in which releases differ. Code reads the rule and never the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is a rule of its own, on in some releases"
)]
pub struct ReferenceRules {
    /// The release that these are the rules of.
    pub reference: Reference,
    /// `schedule-asynchronously.enable` is true where it is not set (YARN-7327).
    pub asynchronous_by_default: bool,
    /// Each container of a scheduling request lowers pending, as those of other requests do.
    // As SingleConstraintAppPlacementAllocator.decreasePendingNumAllocation.
    pub constrained_pending_falls: bool,
    /// A key is checked against limits once, before any node is looked at, and its partition
    /// and constraint are compared with each node after that.
    // As RegularContainerAllocator.preCheckRequest (YARN-11798).
    pub request_before_nodes: bool,
    /// A leaf passes by an attempt that moved away or ended and still stands in its order (YARN-11834).
    // As AbstractLeafQueue.assignContainers.
    pub passes_by_ended_attempts: bool,
    /// A capacity vector counts though it gives no memory (YARN-11646).
    // As QueueCapacityConfigParser.parse.
    pub vectors_without_memory: bool,
    /// A queue in legacy mode has an absolute capacity by the form of the value, whatever it
    /// guarantees (YARN-11641).
    // As AbstractParentQueue.getCapacityConfigurationTypeForQueues.
    pub absolute_by_form: bool,
    /// `yarn.resourcemanager.scheduler.autocorrect.container.allocation` is read (YARN-11702).
    pub corrects_asks: bool,
}

impl Default for ReferenceRules {
    fn default() -> Self {
        Reference::default().rules()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_releases_lead_back_to_the_reference() {
        for reference in Reference::ALL {
            assert_eq!(reference.name().parse(), Ok(reference));
            assert_eq!(Reference::of_release(reference.release()), Some(reference));
            assert_eq!(reference.rules().reference, reference);
        }
        assert_eq!("3.4.2".parse::<Reference>(), Err(UnknownReference));
        assert_eq!(Reference::of_release("3.50.1"), None);
        assert_eq!(Reference::of_release("2.10"), None);
        assert_eq!(Reference::Hadoop35.before(), Some(Reference::Hadoop34));
        assert_eq!(Reference::Hadoop34.before(), None);
    }

    #[test]
    fn a_recording_without_a_release_is_judged_by_3_4() {
        for unnamed in ["", "Hadoop", "Hadoop 2.10.1"] {
            let judge = Reference::of_recording(unnamed);
            assert_eq!(judge, Reference::Hadoop34, "{unnamed}");
        }
        for reference in Reference::ALL {
            let made_with = format!("Hadoop {}", reference.release());
            assert_eq!(Reference::of_recording(&made_with), reference);
        }
    }
}
