//! The fast paths by name, and the switch that takes the slow path of each instead.
//!
//! A fast path answers what a slow path would answer, for less time. Its gate asks
//! [`FastPath::is_taken`] before anything else; `docs/FAST-PATHS.md` has one row for each.
//!
//! In ordinary builds the answer is the constant `true`, and the gate costs nothing. A build with
//! `--cfg capsched_slow` takes every slow path: equal hashes of both builds show that they agree. In such a
//! build the environment variable `CAPSCHED_SLOW` may list the paths that are slow, separated by
//! commas, so that the gain of one path is measured within one program: an empty list takes all fast paths.

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
    /// The first node with room is found by bounds of blocks instead of a scan.
    FitIndexBounds,
    /// Applications at the front of an order that get nothing are skipped together.
    SkippableHead,
    /// A lower bound of the headroom replaces the limits on the way down while none is near.
    HeadroomLowerBound,
    /// The first leaf is checked against all maxima on its way with one comparison.
    DistantMaximum,
    /// An ask for containers anywhere skips the locality and reservation steps.
    SimpleAsk,
    /// Consecutive simple asks are placed without a walk for each.
    BulkPlacement,
    /// A simple allocation is validated and applied with one look at its rows.
    SimpleAllocation,
    /// Ancestors of leaves are charged for many containers together.
    DeferredAncestorCharges,
    /// The committer decides by itself while every proposer is idle.
    InlineScheduling,
    /// A call runs the committer on the thread of the caller.
    CallerRuns,
}

impl FastPath {
    /// Whether the fast path is taken.
    #[cfg(not(capsched_slow))]
    #[inline(always)]
    #[must_use]
    pub const fn is_taken(self) -> bool {
        true
    }

    /// Whether the fast path is taken: no, unless `CAPSCHED_SLOW` is set and does not list it.
    ///
    /// # Panics
    ///
    /// When `CAPSCHED_SLOW` lists a name that is no fast path.
    #[cfg(capsched_slow)]
    #[inline]
    #[must_use]
    pub fn is_taken(self) -> bool {
        static SLOW: std::sync::OnceLock<Vec<FastPath>> = std::sync::OnceLock::new();
        !SLOW.get_or_init(listed).contains(&self)
    }
}

/// The paths that the environment lists as slow; all where it says nothing.
#[cfg(capsched_slow)]
fn listed() -> Vec<FastPath> {
    let Ok(list) = std::env::var("CAPSCHED_SLOW") else {
        return FastPath::ALL.to_vec();
    };
    let names = list.split(',').filter(|name| !name.is_empty());
    names
        .map(|name| {
            let mut all = FastPath::ALL.iter();
            let known = all.find(|path| format!("{path:?}") == name);
            *known.unwrap_or_else(|| panic!("CAPSCHED_SLOW: {name} is no fast path"))
        })
        .collect()
}
