//! Planted bugs: each mutant is one wrong edit that a model or the simulator must notice.
//!
//! The switch exists only under `cfg(capsched_loom)`, `cfg(capsched_shuttle)` and
//! `cfg(capsched_mutants)`, which no feature sets. There the environment variable
//! `CAPSCHED_MUTANT` names the mutant of the process; in every other build [`injected`] is a
//! constant `false` and the wrong branch is not compiled in.

use crate::sync::Ordering;

macro_rules! mutants {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// One planted bug. Its documentation says what is done wrong.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Mutant {
            $($(#[$doc])+ $name,)+
        }

        impl Mutant {
            /// All planted bugs.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Whether the bug is one of the commit, which the simulator or the schedules of whole
            /// engines must notice; a model must notice the others.
            #[must_use]
            pub const fn is_of_the_commit(self) -> bool {
                matches!(
                    self,
                    Self::C1
                        | Self::C2
                        | Self::C4
                        | Self::C5
                        | Self::C6
                        | Self::C7
                        | Self::C8
                        | Self::C9
                        | Self::C11
                        | Self::C12
                        | Self::Q1
                        | Self::H2
                )
            }
        }
    };
}

mutants! {
    /// The pointer of a published value is stored Relaxed (in loom's stand-in for arc-swap).
    A1,
    /// The version word is stored Relaxed.
    A1Version,
    /// The version word is stored before the pointer.
    A2,
    /// The publisher accepts an older version.
    A4,
    /// A ring's item count is stored Relaxed.
    B1Ring,
    /// An inbox slot's stamp is stored Relaxed.
    B1Inbox,
    /// A ring's sender checks "closed" and then counts its item in a second step.
    B2Ring,
    /// An inbox's sender checks "closed" and then claims its slot in a second step.
    B2Inbox,
    /// A ring's receiver hands back one slot more than it emptied.
    B3Ring,
    /// An inbox's receiver frees its slot for the wrong lap.
    B3Inbox,
    /// An inbox's stamps do not tell "full" from "free in the next lap" at capacity one.
    B4,
    /// A full ring answers that it took the item.
    B5Ring,
    /// A full inbox answers that it took the item.
    B5Inbox,
    /// A ring's receiver takes from a slot without looking at the count.
    B6Ring,
    /// An inbox's receiver takes from a slot without looking at the stamp.
    B6Inbox,
    /// A ring is closed by a load and a store.
    B7Ring,
    /// An inbox is closed by a load and a store.
    B7Inbox,
    /// A ring's receiver takes the first emptiness after the close for the end.
    B8Ring,
    /// An inbox's receiver takes the first emptiness after the close for the end.
    B8Inbox,
    /// A ring's receiver hands a slot back Relaxed.
    B9Ring,
    /// An inbox's receiver hands a slot back Relaxed.
    B9Inbox,
    /// A sender that goes away leaves its ring open.
    B10Ring,
    /// The last sender that goes away leaves its inbox open.
    B10Inbox,
    /// A ring's sender wakes the receiver before it counts its item.
    B11Ring,
    /// An inbox's sender wakes the receiver before it fills its slot.
    B11Inbox,
    /// An inbox that loses its receiver keeps the items that it accepted.
    B12,
    /// A ring's receiver wakes a sender that waits for room before it hands the slot back.
    B13,
    /// A ring's receiver that closes does not wake a sender that waits for room.
    B14,
    /// A commit does not look at the room on the node.
    C1,
    /// A commit does not look at the registration of the node.
    C2,
    /// A refused proposal is not counted.
    C4,
    /// A refused proposal is counted twice.
    C5,
    /// A commit looks at the maximum of the leaf only.
    C6,
    /// A commit does not look at the limit of the user.
    C7,
    /// A commit charges the node and forgets the queues when the user had nothing there.
    C8,
    /// The loss of a node takes its capacity and leaves its containers.
    C9,
    /// A reservation is fulfilled whose container is another one.
    C11,
    /// Proposals for an ended application are committed.
    C12,
    /// A container that is killed stays charged to its queues.
    Q1,
    /// Observations of stale batches are applied to rows that others took over.
    H2,
    /// The last snapshot before slots are freed is taken for one that shows it.
    H2Late,
    /// The first snapshot that shows freed slots is taken for one that does not.
    H2Early,
    /// The collector of latencies copies an outbox and empties it in a second step.
    F5,
    /// The bell is rung without holding its lock.
    G1,
    /// The waker has no fence between its work and "does anybody sleep?".
    G2Waker,
    /// The sleeper has no fence between its announcement and its last look.
    G2Sleeper,
    /// The sleeper announces itself after its last look.
    G3,
    /// The sleeper takes its ticket after its announcement.
    G4,
    /// The waker rings before it withdraws the announcement.
    G6,
    /// Who calls the owner of a baton that was called already writes nothing.
    L1,
    /// Who asks for a baton does not release its work.
    L2,
    /// An owner lays its baton down though it was called.
    L3,
    /// An owner lays its baton down without release.
    L4,
    /// An owner lays down what the keeper claims and does not say so.
    L5,
    /// Who asks for a baton does not acquire what its last owner did.
    L6,
    /// An owner that is called back does not acquire the work.
    L7,
    /// A call takes the keeper's claim back.
    L8,
    /// The committer looks at the rings before it looks whether the proposers rest.
    R1,
    /// A proposer that rests does not release what it sent.
    R2,
    /// A proposer wakes the committer before it rests.
    R3,
    /// A shutdown is requested by a load and a store.
    S1,
    /// A shutdown wakes its threads before it is visible.
    S2,
    /// The end of a shutdown is announced to nobody.
    S3,
    /// An owner that dies without finishing leaves the waiters waiting.
    S4,
    /// A receiver finishes while an accepted item is on its way into its slot.
    S5,
}

/// Whether this process runs with that bug planted.
#[cfg(not(any(capsched_loom, capsched_shuttle, capsched_mutants)))]
#[inline(always)]
#[must_use]
pub const fn injected(_: Mutant) -> bool {
    false
}

/// Whether this process runs with that bug planted.
///
/// # Panics
///
/// When `CAPSCHED_MUTANT` names no mutant.
#[cfg(any(capsched_loom, capsched_shuttle, capsched_mutants))]
#[must_use]
pub fn injected(mutant: Mutant) -> bool {
    // Plain std: a checker must not see the switch.
    static CHOSEN: std::sync::OnceLock<Option<Mutant>> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var("CAPSCHED_MUTANT").ok()?;
        if name.is_empty() {
            return None;
        }
        let found = Mutant::ALL
            .iter()
            .find(|known| format!("{known:?}") == name);
        Some(*found.unwrap_or_else(|| panic!("CAPSCHED_MUTANT names no mutant: {name:?}")))
    });
    *chosen == Some(mutant)
}

/// The ordering of a store, or Relaxed when the bug is planted.
#[inline(always)]
pub(super) fn weakened(mutant: Mutant, order: Ordering) -> Ordering {
    weakened_to(mutant, Ordering::Relaxed, order)
}

/// The order, or another one when the mutant is planted.
pub(super) fn weakened_to(mutant: Mutant, weaker: Ordering, order: Ordering) -> Ordering {
    if injected(mutant) { weaker } else { order }
}
