//! Applications: submission, asks, movement and end.

pub(super) mod answer;
pub(super) mod ask_error;
pub(super) mod ask_order;
pub(super) mod ask_steps;
pub(super) mod asks;
pub(super) mod attempt_numbers;
pub(super) mod attempts;
pub(super) mod checks;
pub(super) mod clock;
pub(super) mod correction;
pub(super) mod failed_masters;
pub(super) mod lifecycle;
pub(super) mod lifetime;
pub(super) mod movement;
pub(super) mod operations;
pub(super) mod rollback;
pub(super) mod scheduling_requests;
pub(super) mod tags;
pub(super) mod unconfirmed;
pub(super) mod updates;
