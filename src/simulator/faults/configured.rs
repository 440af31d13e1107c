//! What is configured of the queues of a run.

/// What is configured of a queue below root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configured {
    /// What is guaranteed, in percent of the parent's.
    pub(super) share: i64,
    /// The most that it may use, in percent of the parent's.
    pub(super) most: i64,
    /// How many times the guarantee a user may have; only of leaves.
    pub(super) factor: i64,
}
