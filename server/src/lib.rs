//! A resource manager around the engine: what `capsched serve` runs.
//!
//! | module | what it owns |
//! |---|---|
//! | [`conf`] | the scheduler's configuration: changes, versions, log, roll back |
//! | [`rm`] | the daemon's core: engine, applications, nodes, labels, events, and the commands that change them |
//! | [`store`] | what survives: one leader, journal, versions of the configuration |

pub mod conf;
pub mod rm;
pub mod store;
