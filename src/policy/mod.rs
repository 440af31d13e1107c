//! Orders and limits: pure functions of a state that say who goes first and how far.

mod app_order;
mod child_order;
mod constraint;
mod constraints;
mod limits;
mod locality;
mod surely;
mod user_bounds;

pub use app_order::{
    compare_active, compare_waiting, current_fair_key, fair_key, in_order, resorted, served_on,
};
pub use child_order::{
    child_claim, compare_children, first_child, is_idle, order_children, order_others,
    visited_children,
};
pub use constraint::{
    Applications, BatchNode, BatchOutcome, BatchPlacement, BatchRequest, ConstraintRegistry,
    ConstraintSyntaxError, NodeTags, QueryError, Reduce, RegistryError, RequestOrder, SpecItem,
    TagIndex, TagView, evaluate, parse_constraint, parse_placement_spec, place_batch,
};
pub use constraints::constraint_holds;
pub use limits::{
    Limits, ParentRoom, child_limit, compute_user_limit, headroom, last_user_limit, limit_under,
    master_limit, master_limit_under, may_kill, passes_maximum, pending_within_limits,
    published_limit, queue_current_limit, user_master_limits, user_value, weighted_value,
};
pub use locality::{Locality, may_use, reservations_starve, reservations_starve_after};
pub use surely::{is_granted, is_surely_over, surely_over_from};
pub use user_bounds::{maximum_rounded_down, user_bounds};
