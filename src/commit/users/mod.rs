//! Users of leaves: records, activity and cached limits.

pub(super) mod records;
pub(super) mod removed;
pub(super) mod user_limit_cache;
