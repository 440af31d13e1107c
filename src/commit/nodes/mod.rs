//! Nodes as the ledger keeps them: registration, loss, reports, overcommitment.

mod description;
mod labels;

pub(super) mod history;
pub(super) mod life;
pub(super) mod overcommit;
pub(super) mod recovery;
pub(super) mod registration;
