//! Closed enums: sets of reasons that are known in full, so that each can have its own counter.

use std::fmt::Debug;

/// A fieldless enum all of whose variants are known.
///
/// Implement it by [`closed_enum!`](crate::closed_enum), which refuses a list with a variant
/// missing.
pub trait Closed: Copy + Eq + Debug + Send + Sync + 'static {
    /// All variants, each at its [`Closed::index`].
    const ALL: &'static [Self];

    /// The position in [`Closed::ALL`].
    fn index(self) -> usize;

    /// The name in reports and metric labels: lower case, words joined by hyphens.
    fn name(self) -> &'static str;
}

/// Implements [`Closed`](crate::metrics::Closed) for a fieldless enum by listing its variants in
/// the order of their declaration, each with its name in reports.
///
/// ```
/// #[derive(Clone, Copy, PartialEq, Eq, Debug)]
/// enum Refusal {
///     TooBig,
///     TooLate,
/// }
/// capsched::closed_enum!(Refusal { TooBig => "too-big", TooLate => "too-late" });
///
/// use capsched::metrics::Closed;
/// assert_eq!(Refusal::ALL[Refusal::TooLate.index()].name(), "too-late");
/// ```
#[macro_export]
macro_rules! closed_enum {
    ($enum:ty { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $crate::metrics::Closed for $enum {
            const ALL: &'static [Self] = &[$(<$enum>::$variant),+];

            #[inline]
            fn index(self) -> usize {
                self as usize
            }

            fn name(self) -> &'static str {
                match self {
                    $(<$enum>::$variant => $name),+
                }
            }
        }

        const _: () = {
            let all = <$enum as $crate::metrics::Closed>::ALL;
            let mut idx = 0;
            while idx < all.len() {
                assert!(all[idx] as usize == idx, "list the variants in their order");
                idx += 1;
            }
        };
    };
}

/// Where the time of a decision goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Getting hold of a fresher snapshot.
    Refresh,
    /// Finding the most deserving child on each level, limits of children included.
    QueueOrder,
    /// Finding the next application of a leaf that is to be looked at.
    AppOrder,
    /// Limits of queue and user for that application.
    Headroom,
    /// Looking for a node, reservations included.
    NodePick,
    /// A whole pass of a proposer, the four phases above included.
    Propose,
    /// A batch's stay between its proposer and the committer.
    HandOff,
    /// Checking a proposal against the live ledger.
    Validate,
    /// Changing the ledger.
    Apply,
    /// Building and publishing a snapshot.
    Publish,
    /// From the ask's (intended) arrival to its committed container.
    EndToEnd,
    /// What the committer does at a stretch, while no other call is served: a part of a command, or what a turn does
    /// behind the last one; only where every decision is measured. Fetches may be carried out in its pauses.
    Part,
    /// The same from the end of one pause to that of the next, with the fetches that are carried out in it.
    Stretch,
}

crate::closed_enum!(Phase {
    Refresh => "refresh",
    QueueOrder => "queue-order",
    AppOrder => "app-order",
    Headroom => "headroom",
    NodePick => "node-pick",
    Propose => "propose",
    HandOff => "hand-off",
    Validate => "validate",
    Apply => "apply",
    Publish => "publish",
    EndToEnd => "end-to-end",
    Part => "part",
    Stretch => "stretch",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_stands_at_its_index_and_has_its_own_name() {
        for (idx, phase) in Phase::ALL.iter().enumerate() {
            assert_eq!(phase.index(), idx);
            let same = Phase::ALL
                .iter()
                .filter(|other| other.name() == phase.name());
            assert_eq!(same.count(), 1, "{}", phase.name());
        }
    }
}
