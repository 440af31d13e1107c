//! The thread that owns the ledger: it takes commands and proposals, commits and publishes.

pub(super) mod caller_runs;
pub(super) mod fate;
pub(super) mod idle;
pub(super) mod inline_scheduling;
pub(super) mod publication;
pub(super) mod publish_backoff;
pub(super) mod turn;
