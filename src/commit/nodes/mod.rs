//! Nodes as the ledger keeps them: registration, loss, reports, overcommitment.

pub(super) mod history;
pub(super) mod overcommit;
pub(super) mod registration;
