//! Where else a setting is looked for when a queue has no key of its own.

/// Where a setting is looked for when the queue has no key of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Nowhere else.
    Own,
    /// At the scheduler.
    Scheduler,
    /// At the ancestors, the nearest first.
    Ancestors,
    /// At the ancestors when the queue is a parent.
    ParentsInherit,
    /// At the ancestors, then in the site, by this index of a resource type.
    Allocation(usize),
    /// At the ancestors, unless this switch of the site is off.
    Protection(&'static str),
    /// At the ancestors; without any key that of the longest lifetime counts.
    Lifetime,
    /// At the ancestors, where the labels allow it.
    DefaultLabel,
    /// At the scheduler under another name; without one it follows from the capacity.
    Applications,
}
