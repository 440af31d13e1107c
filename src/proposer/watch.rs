//! Steps of a pass, told to a caller who wants to know where its time goes.

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
}
