//! The ledger and working copies: charges, caches and fast paths against what they must equal.

#[path = "../common/trees.rs"]
mod trees;

mod active_users;
mod attempts;
mod bad_proposals;
mod bulk_placement;
mod copied_shares;
mod correction;
mod creation;
mod deferred_charges;
mod demand;
mod failed_masters;
mod full_nodes;
mod gangs;
mod lifetimes;
mod mends;
mod movement;
mod operations;
mod opportunistic;
#[cfg(debug_assertions)]
mod passes;
mod property;
mod recovery;
mod removed_users;
mod scheduling_requests;
#[cfg(debug_assertions)]
mod simple_asks;
#[cfg(debug_assertions)]
mod skippable_head;
mod too_large_asks;
mod updates;
mod user_bounds;
mod working_copies;
