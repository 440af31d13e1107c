//! A resource manager around the engine: what `capsched serve` runs.
//!
//! | module | what it owns |
//! |---|---|
//! | [`cells`] | a router before several clusters: what `capsched router` runs |
//! | `clock` | the clock that parts share |
//! | [`conf`] | the scheduler's configuration: changes, versions, log, roll back |
//! | [`daemon`] | routes, layers, the address that is listened on |
//! | [`debug`] | threads, memory and profiles, on a listener of its own |
//! | [`demo`] | a simulated cluster that lives |
//! | [`effects`] | what a refresh changes for the applications that run |
//! | `grpc` | node agents and application masters over gRPC, where the feature `grpc` is on |
//! | [`health`], [`metrics`] | what monitoring systems read |
//! | [`openapi`] | a description of all routes |
//! | [`page`] | the scheduler page and its own routes |
//! | `private` | directories and files that nobody else reads |
//! | [`rm`] | the daemon's core: engine, applications, nodes, labels, events, and the commands that change them |
//! | [`security`] | who calls, what callers may do, what a request may look like |
//! | [`store`] | what survives: one leader, journal, versions of the configuration |
//! | [`replay`] | recorded scenes of the REST interface, played and compared |
//! | [`rest`] | YARN's REST interface in the wire formats of Hadoop 3.4 and 3.5 |

pub mod cells;
mod clock;
pub mod conf;
pub mod daemon;
pub mod debug;
pub mod demo;
pub mod effects;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod health;
pub mod metrics;
pub mod openapi;
pub mod page;
mod private;
pub mod replay;
pub mod rest;
pub mod rm;
pub mod security;
pub mod store;

/// uPlot, which draws charts. See NOTICE.
pub const CHART_SCRIPT: &str = include_str!("../assets/vendor/uPlot.iife.min.js");

/// The style of [`CHART_SCRIPT`].
pub const CHART_STYLE: &str = include_str!("../assets/vendor/uPlot.min.css");
