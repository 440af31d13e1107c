//! The fast paths by name, the switch that takes the slow path of each, and planted flaws.
//!
//! A fast path answers what a slow path would answer, for less time. Its gate asks
//! [`FastPath::is_taken`] before anything else; `docs/FAST-PATHS.md` has one row for each.
//!
//! # Switches
//!
//! * In ordinary optimised builds every fast path is taken: the answer is a constant, and a gate costs
//!   nothing.
//! * A build with `--cfg capsched_slow` takes every slow path. There the environment variable
//!   `CAPSCHED_SLOW` may list the paths that are slow, separated by commas, so that the gain of one path is
//!   measured within one program. An empty list takes all fast paths.
//! * Builds with assertions may run a closure with some slow paths ([`with_slow`]) or with one
//!   [`PlantedFlaw`] ([`with_flaw`]), on the present thread. Tests of what a fast path saves take all of
//!   them ([`AllFast`]). `tests/simulation/fast_paths.rs` compares decisions so, and shows that the
//!   comparison notices each flaw.

#[cfg(any(capsched_slow, debug_assertions))]
use std::cell::Cell;

macro_rules! fast_paths {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// One fast path. Its documentation names what it saves.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum FastPath {
            $($(#[$doc])+ $name,)+
        }

        impl FastPath {
            /// All fast paths, in the order of the floors that hold them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

fast_paths! {
    /// Amounts of clusters that count memory and vcores alone are two numbers instead of eight.
    NarrowVectors,
    /// A used share is a product with a prepared inverse instead of a quotient.
    PreparedDivisor,
    /// The first child of a queue is read from a winner tree instead of a comparison of all children.
    WinnerTree,
    /// Demand by partition stands apart as bits: a pass skips an application without reading it.
    DemandBits,
    /// What of a user limit stays while capacities stay is computed once an epoch.
    UserBounds,
    /// A leaf that surely uses less than its guarantee needs no product to find that out.
    CalmLeaf,
    /// A user below the guaranteed minimum or the active average skips the limit check.
    GrantedUser,
    /// Users far above their limit are skipped without computing it.
    UserSurelyOver,
    /// A computed user limit is reused within one version of the leaf's users.
    UserLimitCache,
    /// The weight of a leaf's active users is their number, where no user has a weight of its own.
    UnitWeights,
    /// The first node with room is found by bounds of blocks instead of a scan.
    FitIndexBounds,
    /// Applications at the front of an order that get nothing are skipped together.
    SkippableHead,
    /// A lower bound of the headroom replaces the limits on the way down while none is near.
    HeadroomLowerBound,
    /// An ask for containers anywhere skips the locality and reservation steps.
    SimpleAsk,
    /// Consecutive simple asks are placed without a walk for each.
    BulkPlacement,
    /// A simple allocation is validated and applied with one look at its rows.
    SimpleAllocation,
    /// Ancestors of leaves are charged for many containers together.
    DeferredAncestorCharges,
    /// One of the applications that wait with equal masters of one user is looked at for all of them.
    WaitingClasses,
    /// Without threads, attempts, heartbeats and rounds that surely come to nothing are counted, not carried out.
    FruitlessAttempts,
    /// A refresh is worked out on a copy of the queues, by the thread of its caller.
    PreparedRefresh,
    /// The members of a gang are placed together, with sums and one list after the other.
    GangTogether,
    /// A round of preemption on a thread of its own looks at a copy of what nodes hold, made in parts.
    PlacedCopy,
    /// A fetch is carried out in a pause of a long change.
    FetchInPause,
}

/// One wrong edit of a fast path, for the tests that must notice it. Its documentation says what it does
/// wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedFlaw {
    /// A quotient between two floats is rounded without a division.
    DivisorRoundsMidpoint,
    /// A charge does not move a child in the winner tree.
    WinnerTreeKeepsUse,
    /// A new ask does not set the bit of its partition.
    DemandBitsMissNewAsk,
    /// The bounds of user limits are kept after capacities changed.
    UserBoundsSurviveEpoch,
    /// A leaf counts as below its guarantee whatever it uses.
    CalmLeafAlways,
    /// The user limit factor does not bound a user who skips the check.
    GrantedUserIgnoresFactor,
    /// A pass over the live state counts waiting users where it computes a limit, and not for a granted user.
    GrantedUserMovesCount,
    /// Users count as over their limit though active users weigh less than before.
    UserSurelyOverIgnoresWeight,
    /// A cached user limit is used in a later version of the leaf's users.
    UserLimitCacheIgnoresVersion,
    /// A weight of a user's own counts as 1.
    UnitWeightsIgnoreOwn,
    /// Freed room does not raise the bound of its block.
    FitIndexBoundsStayLow,
    /// An application of the skippable head that asks again stays in it.
    SkippableHeadKeepsAsker,
    /// The skippable head is kept when a user on whose use it depends uses less.
    SkippableHeadKeepsBound,
    /// The lower bound of the headroom leaves out the maximum of the leaf.
    HeadroomBoundIgnoresLeaf,
    /// A simple ask is placed beyond the headroom.
    SimpleAskIgnoresHeadroom,
    /// A simple ask does not count the scheduling opportunity.
    SimpleAskDropsCounter,
    /// A bulk placement ignores the user limit.
    BulkPlacementSkipsUserGate,
    /// A bulk placement does not count the scheduling opportunity.
    BulkPlacementDropsCounter,
    /// A bulk placement counts as one decision of its proposer, however many containers it places.
    BulkPlacementCountsOneDecision,
    /// A simple allocation takes a node that is reserved.
    SimpleAllocationIgnoresReservation,
    /// Deferred charges are not compared with the room of the ancestors.
    DeferredChargesIgnoreRoom,
    /// Settling forgets the pending amount of the ancestors.
    DeferredChargesLosePending,
    /// After one application of a class is activated, no other is looked at.
    WaitingClassesStopAtFirst,
    /// What attempts came to is known after a change as well.
    FruitlessAttemptsSurviveChange,
    /// An attempt that is counted moves no counter.
    FruitlessAttemptsDropCounter,
    /// A prepared refresh is taken over though a queue counts elsewhere since.
    PreparedRefreshIsStale,
    /// Members of a gang that are placed together count as one scheduling opportunity.
    GangTogetherDropsCounter,
    /// What nodes hold is kept in a copy though it changed since.
    PlacedCopyIsStale,
    /// What a fetch computes for its user is kept though its leaf is configured otherwise right after.
    FetchInPauseKeepsBounds,
}

impl PlantedFlaw {
    /// Every flaw with the fast path that it breaks.
    pub const ALL: &'static [(FastPath, Self)] = &[
        (FastPath::PreparedDivisor, Self::DivisorRoundsMidpoint),
        (FastPath::WinnerTree, Self::WinnerTreeKeepsUse),
        (FastPath::DemandBits, Self::DemandBitsMissNewAsk),
        (FastPath::UserBounds, Self::UserBoundsSurviveEpoch),
        (FastPath::CalmLeaf, Self::CalmLeafAlways),
        (FastPath::GrantedUser, Self::GrantedUserIgnoresFactor),
        (FastPath::GrantedUser, Self::GrantedUserMovesCount),
        (FastPath::UserSurelyOver, Self::UserSurelyOverIgnoresWeight),
        (FastPath::UserLimitCache, Self::UserLimitCacheIgnoresVersion),
        (FastPath::UnitWeights, Self::UnitWeightsIgnoreOwn),
        (FastPath::FitIndexBounds, Self::FitIndexBoundsStayLow),
        (FastPath::SkippableHead, Self::SkippableHeadKeepsAsker),
        (FastPath::SkippableHead, Self::SkippableHeadKeepsBound),
        (FastPath::HeadroomLowerBound, Self::HeadroomBoundIgnoresLeaf),
        (FastPath::SimpleAsk, Self::SimpleAskIgnoresHeadroom),
        (FastPath::SimpleAsk, Self::SimpleAskDropsCounter),
        (FastPath::BulkPlacement, Self::BulkPlacementSkipsUserGate),
        (FastPath::BulkPlacement, Self::BulkPlacementDropsCounter),
        (
            FastPath::BulkPlacement,
            Self::BulkPlacementCountsOneDecision,
        ),
        (
            FastPath::SimpleAllocation,
            Self::SimpleAllocationIgnoresReservation,
        ),
        (
            FastPath::DeferredAncestorCharges,
            Self::DeferredChargesIgnoreRoom,
        ),
        (
            FastPath::DeferredAncestorCharges,
            Self::DeferredChargesLosePending,
        ),
        (FastPath::WaitingClasses, Self::WaitingClassesStopAtFirst),
        (
            FastPath::FruitlessAttempts,
            Self::FruitlessAttemptsSurviveChange,
        ),
        (
            FastPath::FruitlessAttempts,
            Self::FruitlessAttemptsDropCounter,
        ),
        (FastPath::PreparedRefresh, Self::PreparedRefreshIsStale),
        (FastPath::GangTogether, Self::GangTogetherDropsCounter),
        (FastPath::PlacedCopy, Self::PlacedCopyIsStale),
        (FastPath::FetchInPause, Self::FetchInPauseKeepsBounds),
    ];
}

impl FastPath {
    /// Whether the fast path is taken.
    #[cfg(not(any(capsched_slow, debug_assertions)))]
    #[inline(always)]
    #[must_use]
    pub const fn is_taken(self) -> bool {
        true
    }

    /// Whether the fast path is taken: as the thread or the environment says.
    ///
    /// # Panics
    ///
    /// When `CAPSCHED_SLOW` lists a name that is no fast path.
    #[cfg(any(capsched_slow, debug_assertions))]
    #[inline]
    #[must_use]
    pub fn is_taken(self) -> bool {
        SLOW.with(Cell::get) & self.bit() == 0
    }

    #[cfg(any(capsched_slow, debug_assertions))]
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

#[cfg(any(capsched_slow, debug_assertions))]
thread_local! {
    /// The slow paths of this thread, a bit for each.
    static SLOW: Cell<u32> = Cell::new(slow_at_start());
    /// The flaw that is planted on this thread.
    static PLANTED: Cell<Option<PlantedFlaw>> = const { Cell::new(None) };
}

/// No slow path, in builds without the flag.
#[cfg(all(debug_assertions, not(capsched_slow)))]
fn slow_at_start() -> u32 {
    0
}

/// The slow paths that the environment lists; all where it says nothing.
#[cfg(capsched_slow)]
fn slow_at_start() -> u32 {
    let Ok(list) = std::env::var("CAPSCHED_SLOW") else {
        return bits(FastPath::ALL);
    };
    let names = list.split(',').filter(|name| !name.is_empty());
    let named = names.map(|name| {
        let mut all = FastPath::ALL.iter();
        let known = all.find(|path| format!("{path:?}") == name);
        *known.unwrap_or_else(|| panic!("CAPSCHED_SLOW: {name} is no fast path"))
    });
    bits(&named.collect::<Vec<_>>())
}

#[cfg(any(capsched_slow, debug_assertions))]
fn bits(paths: &[FastPath]) -> u32 {
    paths.iter().fold(0, |bits, path| bits | path.bit())
}

/// Takes every fast path on the present thread until it is dropped: for tests of what a fast path saves.
#[derive(Debug)]
pub struct AllFast {
    #[cfg(any(capsched_slow, debug_assertions))]
    before: u32,
}

impl AllFast {
    /// Takes every fast path from now on.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            #[cfg(any(capsched_slow, debug_assertions))]
            before: SLOW.with(|slow| slow.replace(0)),
        }
    }
}

impl Drop for AllFast {
    fn drop(&mut self) {
        #[cfg(any(capsched_slow, debug_assertions))]
        SLOW.with(|slow| slow.set(self.before));
    }
}

/// Runs a closure with some slow paths on the present thread, and all other fast paths as before.
#[cfg(debug_assertions)]
pub fn with_slow<T>(paths: &[FastPath], body: impl FnOnce() -> T) -> T {
    let before = SLOW.with(|slow| slow.replace(slow.get() | bits(paths)));
    let _restored = Restored(move || SLOW.with(|slow| slow.set(before)));
    body()
}

/// Runs a closure with a planted flaw on the present thread.
#[cfg(debug_assertions)]
pub fn with_flaw<T>(flaw: PlantedFlaw, body: impl FnOnce() -> T) -> T {
    let before = PLANTED.with(|planted| planted.replace(Some(flaw)));
    let _restored = Restored(move || PLANTED.with(|planted| planted.set(before)));
    body()
}

/// Calls its closure when it is dropped, after a panic as well.
#[cfg(debug_assertions)]
struct Restored<F: FnMut()>(F);

#[cfg(debug_assertions)]
impl<F: FnMut()> Drop for Restored<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Whether a flaw is planted; never in optimised builds without assertions.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) const fn is_planted(_: PlantedFlaw) -> bool {
    false
}

/// Whether a flaw is planted on the present thread.
#[cfg(debug_assertions)]
#[inline]
pub(crate) fn is_planted(flaw: PlantedFlaw) -> bool {
    PLANTED.with(Cell::get) == Some(flaw)
}
