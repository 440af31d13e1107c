//! Fates: what becomes of each proposal, counted by the committer.

use crate::commit::Conflict;
use crate::metrics::Closed;

/// What became of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Applied.
    Committed,
    /// Applied on the alternate node.
    CommittedElsewhere,
    /// Not applied.
    Refused(Conflict),
}

/// Fates that are no refusals; these come first.
const ACCEPTED: [Fate; 2] = [Fate::Committed, Fate::CommittedElsewhere];

impl Closed for Fate {
    const ALL: &'static [Self] = &{
        let mut all = [Self::Committed; ACCEPTED.len() + Conflict::ALL.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = match index.checked_sub(ACCEPTED.len()) {
                None => ACCEPTED[index],
                Some(conflict) => Self::Refused(Conflict::ALL[conflict]),
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
            Self::Refused(conflict) => ACCEPTED.len() + conflict.index(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::CommittedElsewhere => "committed-elsewhere",
            Self::Refused(conflict) => conflict.name(),
        }
    }
}

impl Fate {
    /// Whether the proposal was refused.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

impl From<Conflict> for Fate {
    fn from(conflict: Conflict) -> Self {
        Self::Refused(conflict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_stands_at_its_index() {
        for (index, fate) in Fate::ALL.iter().enumerate() {
            assert_eq!(fate.index(), index, "{fate:?}");
        }
        assert_eq!(Fate::ALL.len(), 2 + Conflict::ALL.len());
    }
}
