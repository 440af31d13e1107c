//! What an access list of a queue grants.

/// What a queue's access lists grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueuePermission {
    /// Submit applications.
    Submit,
    /// Change and kill applications; includes submitting them.
    Administer,
}

impl QueuePermission {
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Submit => "acl_submit_applications",
            Self::Administer => "acl_administer_queue",
        }
    }
}
