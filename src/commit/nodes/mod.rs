//! Nodes as the ledger keeps them: registration, loss, reports, overcommitment.
//!
//! # The life of a node
//!
//! 1. It registers with its total, label and attributes (`registration`, `description`). Capacities of all queues follow.
//! 2. Its reports say which containers were launched and which ended. A node that has nothing to report costs no look at
//!    its containers (`watch`).
//! 3. It may get another total, label or attributes, and may be decommissioned and come back (`life`, `labels`,
//!    `known_labels`, `label_removal`).
//! 4. A total below what runs there is enforced only while the node is decommissioned (`overcommit`).
//! 5. It is lost or leaves: its containers end, and its incarnation makes proposals for it void.
//!
//! While a scheduler recovers, nodes report containers that it does not know yet (`recovery`, `recovered`).

mod description;
pub(super) mod known_labels;
pub(super) mod label_removal;
mod labels;
mod largest_total;

pub(super) mod history;
pub(super) mod life;
pub(super) mod node_error;
pub(super) mod overcommit;
pub(super) mod recovered;
mod recovery;
pub(super) mod registration;
pub(super) mod watch;
