//! Accounting: the figures that containers move, and the one function that places a container.
//!
//! # What
//!
//! The ledger and the working copies of proposers hold the same [`State`](crate::snapshot::State). Each
//! figure in it that a container, a reservation or an ask moves is moved here, by functions that take the
//! state as an argument. Whoever owns a state may call them: the ledger, and a proposer for its copy.
//!
//! | module | figures |
//! | --- | --- |
//! | `place` | everything that one container moves, in a fixed order of steps |
//! | `place_together` | the same of many containers of one ask |
//! | `deferred_ancestor_charges` | what ancestors are charged with once for a batch of commits |
//! | `charge` | used, pending and used shares of queues, and the winner trees of siblings |
//! | `users` | use, usage ratio, activity and limit bounds of users |
//! | `prepared_use` | the same of many charges of a user, worked out before they are made |
//! | `fair_order` | places of applications in fair leaves |
//! | `skippable_head` | the applications that passes skip |
//! | `guarantee` | the guarantee that a used capacity is a share of |
//!
//! # When a figure of a queue is current
//!
//! | owner | `used`, `pending` | used shares and winner tree |
//! | --- | --- | --- |
//! | ledger, settled | always | both shares |
//! | ledger, with deferred charges | of leaves; `use_of` has that of ancestors | none of queues marked `behind` |
//! | working copy | after each placement | the share that decides among siblings |
//!
//! # Invariants
//!
//! * A function here depends on its arguments alone and writes only the state that it is given.
//! * There is one implementation of each figure; callers differ in what they add through a `Sink`.
//! * Used of a queue is the sum of its children's. Only the ledger may defer the ancestors of a leaf.

mod charge;
mod deferred_ancestor_charges;
mod fair_order;
mod guarantee;
mod place;
mod place_together;
mod prepared_use;
mod skippable_head;
mod users;

pub(crate) use charge::{
    Account, Charge, add_queue_pending, charge_on, charge_queues, update_used,
};
pub(crate) use deferred_ancestor_charges::{DeferredAncestorCharges, has_room_above};
pub(crate) use fair_order::{
    FairChange, mark_moved, mark_moved_in, move_to_place, place_in_order, sort_copy, sort_marked,
};
pub(crate) use guarantee::creator_of;
pub(crate) use place::{ContainerPlacement, PlacedIn, Sink, place};
pub(crate) use place_together::{PlacedTogether, place_together};
pub(crate) use prepared_use::PreparedUse;
pub use skippable_head::HeadGrowth;
pub(crate) use skippable_head::{
    SkippedApps, asks_nothing, grow_head, may_join, note_head_limit, note_user_limit,
};
pub(crate) use users::{
    charge_user, charge_user_each, count_own_weights, deactivate_user, follow_active_weight,
    recompute_usage_ratio, renew_bounds, sum_weights,
};
