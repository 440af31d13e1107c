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
                    Self::SkipRoomCheck
                        | Self::SkipRegistrationCheck
                        | Self::RefusalNotCounted
                        | Self::RefusalCountedTwice
                        | Self::SkipAncestorMaximum
                        | Self::SkipUserLimitCheck
                        | Self::SkipQueueCharge
                        | Self::LostNodeKeepsContainers
                        | Self::FulfilOtherReservation
                        | Self::CommitForEndedApp
                        | Self::KilledStaysCharged
                        | Self::ObserveOnReusedSlot
                )
            }
        }
    };
}

mutants! {
    /// The pointer of a published value is stored Relaxed (in loom's stand-in for arc-swap).
    PublishPointerRelaxed,
    /// The version word is stored Relaxed.
    PublishVersionRelaxed,
    /// The version word is stored before the pointer.
    PublishVersionBeforePointer,
    /// The publisher accepts an older version.
    PublishOlderVersion,
    /// A ring's item count is stored Relaxed.
    RingCountRelaxed,
    /// An inbox slot's stamp is stored Relaxed.
    InboxStampRelaxed,
    /// A ring's sender checks "closed" and then counts its item in a second step.
    RingCloseThenCount,
    /// An inbox's sender checks "closed" and then claims its slot in a second step.
    InboxCloseThenClaim,
    /// A ring's receiver hands back one slot more than it emptied.
    RingFreesTooMuch,
    /// An inbox's receiver frees its slot for the wrong lap.
    InboxFreesWrongLap,
    /// An inbox's stamps do not separate "full" from "free in the next lap" at capacity one.
    InboxFullLooksFree,
    /// A full ring answers that it took the item.
    RingFullAccepts,
    /// A full inbox answers that it took the item.
    InboxFullAccepts,
    /// A ring's receiver takes from a slot without looking at the count.
    RingTakesWithoutCount,
    /// An inbox's receiver takes from a slot without looking at the stamp.
    InboxTakesWithoutStamp,
    /// A ring is closed by a load and a store.
    RingCloseNotAtomic,
    /// An inbox is closed by a load and a store.
    InboxCloseNotAtomic,
    /// A ring's receiver takes the first emptiness after the close for the end.
    RingEmptyTakenForEnd,
    /// An inbox's receiver takes the first emptiness after the close for the end.
    InboxEmptyTakenForEnd,
    /// A ring's receiver hands a slot back Relaxed.
    RingSlotRelaxed,
    /// An inbox's receiver hands a slot back Relaxed.
    InboxSlotRelaxed,
    /// A sender that goes away leaves its ring open.
    RingSenderLeavesOpen,
    /// The last sender that goes away leaves its inbox open.
    InboxSendersLeaveOpen,
    /// A ring's sender wakes the receiver before it counts its item.
    RingWakesBeforeCount,
    /// An inbox's sender wakes the receiver before it fills its slot.
    InboxWakesBeforeFill,
    /// An inbox that loses its receiver keeps the items that it accepted.
    InboxKeepsAfterReceiver,
    /// A ring's receiver wakes a sender that waits for room before it hands the slot back.
    RingWakesSenderTooEarly,
    /// A ring's receiver that closes does not wake a sender that waits for room.
    RingCloseWakesNoSender,
    /// A commit does not look at the room on the node.
    SkipRoomCheck,
    /// A commit does not look at the registration of the node.
    SkipRegistrationCheck,
    /// A refused proposal is not counted.
    RefusalNotCounted,
    /// A refused proposal is counted twice.
    RefusalCountedTwice,
    /// A commit looks at the maximum of the leaf only.
    SkipAncestorMaximum,
    /// A commit does not look at the limit of the user.
    SkipUserLimitCheck,
    /// A commit charges the node and forgets the queues when the user had nothing there.
    SkipQueueCharge,
    /// The loss of a node takes its capacity and leaves its containers.
    LostNodeKeepsContainers,
    /// A reservation is fulfilled whose container is another one.
    FulfilOtherReservation,
    /// Proposals for an ended application are committed.
    CommitForEndedApp,
    /// A container that is killed stays charged to its queues.
    KilledStaysCharged,
    /// Observations of stale batches are applied to rows that others took over.
    ObserveOnReusedSlot,
    /// Of a gang only the members on its first node are placed.
    GangInPart,
    /// The last snapshot before slots are freed is taken for one that shows it.
    FreedSlotShownLate,
    /// The first snapshot that shows freed slots is taken for one that does not.
    FreedSlotShownEarly,
    /// The collector of latencies copies an outbox and empties it in a second step.
    LatenciesCopiedThenEmptied,
    /// The bell is rung without holding its lock.
    BellWithoutLock,
    /// The waker has no fence between its work and "does anybody sleep?".
    WakerWithoutFence,
    /// The sleeper has no fence between its announcement and its last look.
    SleeperWithoutFence,
    /// The sleeper announces itself after its last look.
    SleeperAnnouncesLate,
    /// The sleeper takes its ticket after its announcement.
    SleeperTicketLate,
    /// The waker rings before it withdraws the announcement.
    WakerRingsEarly,
    /// A signal to the owner of a handoff that was signalled already writes nothing.
    HandoffSecondCallLost,
    /// A request for a handoff does not release the work that was made visible.
    HandoffCallRelaxed,
    /// An owner releases the value though it was signalled.
    HandoffReleasedThoughCalled,
    /// An owner releases the value without a release ordering.
    HandoffReleaseRelaxed,
    /// An owner releases what the home thread claims and does not report it.
    HandoffClaimNotReported,
    /// A request for a handoff does not acquire what the last owner did.
    HandoffTakeRelaxed,
    /// An owner that is called back does not acquire the work.
    HandoffRecallRelaxed,
    /// A signal withdraws the claim of the home thread.
    HandoffCallEndsClaim,
    /// The committer looks at the rings before it looks whether the proposers are idle.
    QuietRingsFirst,
    /// A proposer that rests does not release what it sent.
    QuietIdleRelaxed,
    /// A proposer wakes the committer before it rests.
    QuietWakeBeforeIdle,
    /// A shutdown is requested by a load and a store.
    ShutdownRequestNotAtomic,
    /// A shutdown wakes its threads before it is visible.
    ShutdownWakesEarly,
    /// The end of a shutdown is announced to nobody.
    ShutdownEndUnannounced,
    /// An owner that dies without finishing leaves the waiters waiting.
    ShutdownOwnerDiesSilently,
    /// A receiver finishes while an accepted item is on its way into its slot.
    ShutdownDropsAccepted,
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
