//! Applications: submission, asks, movement and end.
//!
//! # What
//!
//! The calls of applications and of those who operate them. Each method of the ledger here is one call, or one part of a
//! call that names many items.
//!
//! # The life of an application
//!
//! 1. Submission is checked (`lifecycle`, `checks`), and the application waits in its leaf.
//! 2. Its leaf activates it while the limit for masters has room (`leaves::activation`). The container of its master is
//!    asked for.
//! 3. Its calls ask for containers, give them back and change them (`asks`, `scheduling_requests`, `updates`). The reply
//!    hands out what was placed since the last call (`answer`, `fetch`).
//! 4. An attempt may end and another one start (`attempts`). The application may move to another leaf (`movement`,
//!    `move_preparation`).
//! 5. It ends by a call, with its master or after its lifetime (`lifecycle`, `lifetime`).
//!
//! # Why calls have parts
//!
//! The ledger has one writer. A call of 100,000 asks would hold all others, so that it is carried out a bounded number of
//! items at a time (`ask_steps`, `budget`). What it asks is checked as a whole before the first part.

pub(super) mod answer;
pub(super) mod ask_error;
pub(super) mod ask_order;
pub(super) mod ask_steps;
pub(super) mod asks;
pub(super) mod attempt_numbers;
pub(super) mod attempts;
mod budget;
pub(super) mod checks;
pub(super) mod clock;
pub(super) mod correction;
pub(super) mod failed_masters;
mod fetch;
pub(super) mod lifecycle;
pub(super) mod lifetime;
pub(super) mod move_preparation;
pub(super) mod movement;
pub(super) mod operations;
pub(super) mod rollback;
pub(super) mod scheduling_requests;
pub(super) mod tags;
pub(super) mod unconfirmed;
pub(super) mod updates;
