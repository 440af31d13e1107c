//! What a stretch of nodes without a carried out attempt came to.

/// A stretch of nodes of one kind that are counted: the number of the attempt that is known, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) struct CountedNodes {
    /// The last of them.
    pub(in crate::runtime) last: usize,
    /// Which of the known attempts covers them.
    pub(in crate::runtime) attempt: usize,
    /// How many.
    pub(in crate::runtime) count: u64,
}

/// What the nodes of one stretch came to.
pub(in crate::runtime) type Stretch = Vec<CountedNodes>;
