//! Whether a scheduling request's constraint holds on a node.

use crate::cluster::Node;
use crate::id::AppSlot;
use crate::queue::KeyAsks;
use crate::snapshot::State;

/// Whether the containers of a key may be placed on a node; always for keys without constraint.
#[must_use]
pub fn constraint_holds(_state: &State, _app: AppSlot, asks: &KeyAsks, _node: &Node) -> bool {
    asks.constrained.is_none()
}
