//! What becomes of a decision at the commit, and how it is counted.

use crate::commit::Conflict;
use crate::metrics::Closed;

/// What became of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum CommitOutcome {
    /// A container was placed, or a reservation made, kept or given up.
    Committed,
    /// A container was placed on the alternate of its proposal.
    CommittedElsewhere,
    /// The proposal did not hold.
    Rejected(Conflict),
    /// There was nothing to commit.
    Nothing,
}

impl CommitOutcome {
    /// Whether it changed what the proposal was about.
    #[must_use]
    pub const fn is_committed(self) -> bool {
        matches!(self, Self::Committed | Self::CommittedElsewhere)
    }

    /// Whether the proposal was refused.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        matches!(self, Self::Rejected(_))
    }
}

/// Outcomes that are no refusals; these come first.
const OTHERS: [CommitOutcome; 3] = [
    CommitOutcome::Committed,
    CommitOutcome::CommittedElsewhere,
    CommitOutcome::Nothing,
];

impl Closed for CommitOutcome {
    const ALL: &'static [Self] = &{
        let mut all = [Self::Committed; OTHERS.len() + Conflict::ALL.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = match index.checked_sub(OTHERS.len()) {
                None => OTHERS[index],
                Some(conflict) => Self::Rejected(Conflict::ALL[conflict]),
            };
            index += 1;
        }
        all
    };

    #[inline]
    fn index(self) -> usize {
        match self {
            Self::Committed => 0,
            Self::CommittedElsewhere => 1,
            Self::Nothing => 2,
            Self::Rejected(conflict) => OTHERS.len() + conflict.index(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::CommittedElsewhere => "committed-elsewhere",
            Self::Nothing => "nothing",
            Self::Rejected(conflict) => conflict.name(),
        }
    }
}

impl From<Conflict> for CommitOutcome {
    fn from(conflict: Conflict) -> Self {
        Self::Rejected(conflict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_stands_at_its_index() {
        for (index, outcome) in CommitOutcome::ALL.iter().enumerate() {
            assert_eq!(outcome.index(), index, "{outcome:?}");
        }
        assert_eq!(CommitOutcome::ALL.len(), 3 + Conflict::ALL.len());
    }
}
