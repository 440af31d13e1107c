//! Access control: who may submit to a queue, administer it, or ask for a priority.
//!
//! The lists themselves are [settings](crate::queue::AccessList) of the queues; here they are
//! judged for a [`Caller`]. [`AccessTree`] holds the lists of all queues, where a grant of an
//! ancestor is a grant; [`AdminAccess`] knows the administrators of the cluster;
//! [`effective_priority`] bounds the priority of applications by leaf and user.

mod admin;
mod caller;
mod permission;
mod priority;
mod template;
mod tree;

pub use admin::AdminAccess;
pub use caller::Caller;
pub use permission::QueuePermission;
pub use priority::effective_priority;
pub use tree::AccessTree;

pub(super) use template::creation_depth;
