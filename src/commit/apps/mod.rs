//! Applications: submission, asks, movement and end.

pub(super) mod answer;
pub(super) mod ask_error;
pub(super) mod asks;
mod checks;
pub(super) mod clock;
pub(super) mod correction;
pub(super) mod lifecycle;
pub(super) mod lifetime;
pub(super) mod movement;
pub(super) mod scheduling_requests;
pub(super) mod tags;
