//! The exported calls, by what they are about.

pub mod apps;
pub mod attempts;
pub mod engine;
pub mod events;
pub mod nodes;
pub mod queues;
pub mod requests;
pub mod views;
