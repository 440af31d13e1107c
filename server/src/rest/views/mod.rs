//! What the documents say: one file for each group of views.

pub(super) mod activity;
pub(super) mod app;
pub(super) mod app_activity;
pub(super) mod cluster;
pub(super) mod health;
pub(super) mod labels;
pub(super) mod leaf;
pub(super) mod node;
pub(super) mod queue;
pub(super) mod queue_counts;
pub(super) mod resource;
