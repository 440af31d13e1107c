//! A submission as the placement rules see it.

/// An application that is to be placed.
#[derive(Clone, Copy, Debug)]
pub struct PlacementQuery<'a> {
    /// The user that the rules see.
    pub user: &'a str,
    /// The user's groups, the primary one first.
    pub groups: &'a [String],
    /// The queue as submitted; `default` when the client named none.
    pub queue: &'a str,
    /// Name of the application.
    pub application: &'a str,
    /// Whether the application is recovered, and `queue` is the leaf it was in.
    pub recovered: bool,
}
