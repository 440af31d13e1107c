//! Access control: who may submit to a queue, administer it, or ask for a priority.
//!
//! An [`AccessList`] names users and groups. [`QueueAccess`] holds the two lists of every queue,
//! where a grant of an ancestor is a grant; [`AdminAccess`] knows the administrators of the
//! cluster; [`PriorityAccess`] bounds the priority of applications by leaf and user.

mod admin;
mod list;
mod priority;
mod queue;
mod template;

pub use admin::AdminAccess;
pub use list::{AccessList, Caller};
pub use priority::{PriorityAccess, PriorityAclError, PriorityRefusal};
pub use queue::{QueueAccess, QueuePermission};

/// Prefix of the scheduler's properties.
const PREFIX: &str = "yarn.scheduler.capacity.";
