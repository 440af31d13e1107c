//! Containers: records, the lists that name them, and preemption.
//!
//! # What
//!
//! `store` owns one record for each container and reservation, in a list that grows without moving (`slab`). Applications
//! and nodes name records by slot: live ones by number (`live`), those that are not fetched by order (`unfetched`), and
//! those that a node launches or stops at its next report.
//!
//! # The life of a container
//!
//! 1. A commit adds the record, reserved or allocated (`proposals::sink`).
//! 2. It is handed to its application by a reply or by the event (`hand_out`, `acquire`).
//! 3. Its node reports that it was launched.
//! 4. It ends: released, exited, preempted, expired, or with its node or application (`ending`). Its charges go at once.
//!    Its space on the node goes when the node reports, where the reference waits for that.
//! 5. Its slot is free after the call that ended it.
//!
//! # Cost
//!
//! Placing and ending are a few writes each, whatever the number of containers.

mod acquire;
pub(super) mod container;
pub(super) mod ending;
pub(super) mod hand_out;
pub(super) mod in_passes;
pub(super) mod live;
mod live_lists;
pub(super) mod live_numbers;
mod named;
pub(super) mod of_apps;
mod on_nodes;
pub(super) mod placed_copy;
pub(super) mod preempt;
mod reservations;
pub(super) mod running_copy;
pub(super) mod slab;
pub(super) mod slot;
pub(super) mod slots_ahead;
pub(super) mod store;
pub(super) mod unfetched;
pub(super) mod updates;
