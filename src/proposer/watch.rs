//! Steps of a pass, told to a caller who wants to know where its time goes.

use crate::id::{AppSlot, QueueSlot, SchedulerKey};
use crate::resource::PackedVector;

/// A part of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From a queue to the leaf below it that is looked at next.
    QueueOrder,
    /// From the last application, or the leaf, to the next application.
    AppOrder,
    /// Its limits of queue and user.
    Headroom,
    /// Its asks and the nodes for them.
    NodePick,
}

/// Hears of each step as it ends; a pass goes through the steps any number of times.
pub trait Watch {
    /// A step has ended, and whatever comes next begins.
    fn ended(&mut self, step: Step);

    /// A key was looked at by a walk over nodes. `tried`: its limits let it come to a node.
    fn looked(&mut self, app: AppSlot, key: SchedulerKey, tried: bool) {
        let _ = (app, key, tried);
    }

    /// A leaf is told its limit, which it may know.
    fn told(&mut self, leaf: QueueSlot, limit: PackedVector) {
        let _ = (leaf, limit);
    }

    /// The limit that a leaf was told becomes the published one, which it may be.
    fn published(&mut self, leaf: QueueSlot) {
        let _ = leaf;
    }
}
