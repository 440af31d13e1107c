//! What hands a container to its application: the reply to its next call, or the event of the allocation.
//!
//! Tests: `tests/runtime/hand_out.rs`.

/// What hands a container to its application. From then on its end is final; before it, the scheduler asks for a
/// container that was lost or given back again by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandOut {
    /// The reply to the application's next call, as in YARN. Events show containers before that.
    // As AbstractYarnScheduler.recoverResourceRequestForContainer, of containers that were not acquired.
    #[default]
    Reply,
    /// The event that a container was allocated. Replies list no containers then.
    Event,
}
