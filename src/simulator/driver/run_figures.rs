//! The figures of a run up to the last container that was placed or ended.

use super::record::Use;
use crate::api::MAX_TYPES;

/// Figures of a run up to the last container that was placed or ended: what comes after is waiting
/// for nothing to happen.
#[derive(Clone, Debug, Default)]
pub(super) struct RunFigures {
    pub(super) at_ms: u64,
    pub(super) usage: Use,
    pub(super) packing: Use,
    /// Sum and number of the fairness gaps, and the largest.
    pub(super) gaps: (u64, u64, u32),
    /// Largest use of each type, in thousandths.
    pub(super) most: [u32; MAX_TYPES],
}
