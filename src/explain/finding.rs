//! What an explanation says: a reason, the setting behind it, the evidence.

use std::sync::Arc;

use super::evidence::Evidence;
use super::reason::Reason;
use crate::resource::ResourceVector;

/// A reason with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The reason.
    pub reason: Reason,
    /// The setting that decides it, by its full name; nothing where none does.
    pub property: Option<String>,
    /// What is asked, used and allowed, as a sentence without a full stop.
    pub detail: String,
    /// The same as figures.
    pub evidence: Evidence,
}

impl Finding {
    /// A finding without a setting.
    #[must_use]
    pub fn new(reason: Reason, detail: String) -> Self {
        Self {
            reason,
            property: None,
            detail,
            evidence: Evidence::default(),
        }
    }

    /// The same with the setting of a queue.
    #[must_use]
    pub fn by_queue_setting(mut self, path: &str, setting: &str) -> Self {
        self.property = Some(format!("yarn.scheduler.capacity.{path}.{setting}"));
        self
    }

    /// The same with a setting by its full name.
    #[must_use]
    pub fn by_setting(mut self, name: impl Into<String>) -> Self {
        self.property = Some(name.into());
        self
    }

    /// The same with figures.
    #[must_use]
    pub fn shown_by(mut self, evidence: Evidence) -> Self {
        self.evidence = evidence;
        self
    }
}

/// Containers of one application that wait for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// How many containers; for an application without a master, that of the master.
    pub containers: u64,
    /// Size of one of them.
    pub size: ResourceVector,
    /// Why.
    pub finding: Finding,
}

/// Amounts with the names of their types, those of nothing left out.
#[must_use]
pub fn amounts(of: &ResourceVector, types: &[Arc<str>]) -> String {
    amounts_beside(of, of, types)
}

/// The same with a 0 for each type of which something else has some: a limit of none beside an ask.
#[must_use]
pub fn amounts_beside(of: &ResourceVector, beside: &ResourceVector, types: &[Arc<str>]) -> String {
    let shown = |(index, name): (usize, &Arc<str>)| {
        let any = of[index] != 0 || beside[index] != 0;
        any.then(|| format!("{name} {}", of[index]))
    };
    let parts: Vec<String> = types.iter().enumerate().filter_map(shown).collect();
    if parts.is_empty() {
        return "nothing".to_owned();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_name_their_types_and_leave_nothing_out_but_nothing() {
        let types: Vec<Arc<str>> = vec!["memory-mb".into(), "vcores".into(), "gpu".into()];
        let size = ResourceVector::of(&[1024, 0, 2]);
        assert_eq!(amounts(&size, &types), "memory-mb 1024, gpu 2");
        assert_eq!(amounts(&ResourceVector::NONE, &types), "nothing");
        let limit = ResourceVector::of(&[4096, 0, 0]);
        assert_eq!(
            amounts_beside(&limit, &size, &types),
            "memory-mb 4096, gpu 0"
        );
    }
}
