//! What one visit of a leaf has found out.

use crate::id::QueueSlot;
use crate::resource::ResourceVector;

/// What one visit of a leaf has found out and its state does not know yet.
#[derive(Clone, Copy)]
pub(super) struct LeafVisit<const N: usize> {
    pub(super) leaf: QueueSlot,
    pub(super) limit: Option<ResourceVector<N>>,
    /// Whether the limit is to be noted, should nothing come of the visit.
    pub(super) computed: bool,
    /// What was handed to the leaf, until its limit is published.
    pub(super) handed: Option<ResourceVector<N>>,
}

impl<const N: usize> LeafVisit<N> {
    /// A visit of a leaf whose limit the pass does not publish.
    pub(super) fn without_notice(leaf: QueueSlot) -> Self {
        Self {
            leaf,
            limit: None,
            computed: false,
            handed: None,
        }
    }
}
