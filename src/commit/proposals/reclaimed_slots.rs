//! Which observations come too late: those of rows that others may have taken over since.

use crate::id::Version;
use crate::sync::{Mutant, injected};

/// Since when the slots of the live state are those that they are: the first version that shows all
/// that was freed so far. At the beginning nothing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freed(Version);

impl Freed {
    /// Slots may be freed now, where `shown` is the version that was published last: no snapshot up to
    /// that one shows it, and the next one does.
    #[must_use]
    pub fn behind(shown: Version) -> Self {
        if injected(Mutant::FreedSlotShownLate) {
            return Self(shown);
        }
        Self(Version(shown.0 + 1))
    }

    /// Whether what was observed on a version may be about rows that are others' by now.
    #[must_use]
    pub fn outdates(self, observed: Version) -> bool {
        if injected(Mutant::FreedSlotShownEarly) {
            return observed <= self.0;
        }
        observed < self.0 && !injected(Mutant::ObserveOnReusedSlot)
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_was_observed_before_the_next_publication_is_outdated() {
        let freed = Freed::behind(Version(7));
        assert!(freed.outdates(Version(6)));
        assert!(freed.outdates(Version(7)));
        assert!(!freed.outdates(Version(8)));
        assert!(!Freed::default().outdates(Version(0)));
    }
}
