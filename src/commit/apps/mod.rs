//! Applications: submission, asks, activation, attempts, movement and end.

pub(super) mod activation;
pub(super) mod answer;
pub(super) mod ask_error;
pub(super) mod asks;
pub(super) mod attempts;
pub(super) mod clock;
pub(super) mod correction;
pub(super) mod lifecycle;
pub(super) mod lifetime;
pub(super) mod movement;
pub(super) mod parallel;
pub(super) mod scheduling_requests;
pub(super) mod tags;
