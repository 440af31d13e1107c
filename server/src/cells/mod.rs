//! Cells: clusters with a resource manager each, behind one router that sends applications to the cell of their queue.
//!
//! | part | what it does |
//! |---|---|
//! | [`Policy`] | which cell an application of a queue goes to, and where it goes while that cell is down |
//! | [`RouterStore`] | what survives: the policy with its version, and the home of every application |
//! | [`CellStates`] | which cells are up, by their health |
//! | `client` | calls of a cell, and whether a failed one was sent |
//! | `forward` | requests for one cell: submissions, and everything about one application |
//! | `merge` | requests for all cells: lists are joined, metrics are added |
//! | [`CellRouter`] | the routes |
//!
//! # Invariants
//!
//! * The home of an application is stored before its submission is sent. A submission goes to another cell only while no
//!   cell can have it: the connection was not made, or a standby answered.
//! * A node belongs to the cell that it registers with; the router sends nothing to nodes.
//! * A request that some cell cannot answer fails and names the cell, unless partial answers are allowed.
// As FederationInterceptorREST: the home of an application is kept, and answers of all cells are joined.

mod client;
mod figures;
mod forward;
mod homes;
mod merge;
mod names;
mod policy;
mod routes;
mod states;
mod store;

pub use client::{CaProblem, CellClient};
pub use names::{CellAddress, CellName};
pub use policy::{CellChoice, MOST_CELLS, Policy, PolicyProblem, RouteProblem, Rule};
pub use routes::{Administrators, CellRouter, RouterOptions};
pub use states::CellStates;
pub use store::{PolicyChange, RouterStore, VersionedPolicy};
