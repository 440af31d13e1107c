//! Steps of a pass, reported to a caller that measures where its time goes.

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

/// Receives each step as it ends; a pass goes through the steps any number of times.
pub trait Watch {
    /// A step has ended, and whatever comes next begins.
    fn ended(&mut self, step: Step);

    /// A key was looked at by a walk over nodes. `tried`: its limits let it come to a node.
    fn looked(&mut self, app: AppSlot, key: SchedulerKey, tried: bool) {
        let _ = (app, key, tried);
    }

    /// The limit of a leaf becomes the published one; it may be the same as before.
    fn limit_published(&mut self, leaf: QueueSlot, limit: PackedVector) {
        let _ = (leaf, limit);
    }
}
