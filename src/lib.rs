//! YARN's Capacity Scheduler rebuilt as a lock-free scheduling engine.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::time::Duration;
//!
//! use capsched::api::*;
//! use capsched::config;
//!
//! // What `capacity-scheduler.xml` would say; `config::load` reads such files.
//! let queues = [("root.queues", "prod,dev"), ("root.prod.capacity", "70"), ("root.dev.capacity", "30")];
//! let queues = queues.map(|(key, value)| {
//!     (format!("yarn.scheduler.capacity.{key}"), value.to_owned())
//! });
//! let types = ["memory-mb".to_owned(), "vcores".to_owned()];
//! let loaded = config::from_pairs(&BTreeMap::new(), &queues.into(), &types)?;
//! let engine = Engine::builder(loaded.settings)
//!     .mode(Mode::Global { threads: 1 })
//!     .start()?;
//!
//! engine.add_node(NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[65_536, 32])))?;
//! let app = ApplicationId::new(1);
//! engine.submit(AppSpec::new(app, "root.prod", "ann"))?;
//! let ask = Ask::anywhere(ResourceVector::of(&[4096, 1]), 2);
//! engine.ask(app, AskCall::asking(vec![ask]))?;
//!
//! let (mut events, mut placed) = (Vec::new(), 0);
//! while placed < 2 && engine.await_events(&mut events, Duration::from_secs(60)).is_some() {
//!     let allocated = |event: &Event| matches!(event, Event::Allocated { .. });
//!     placed += events.drain(..).filter(allocated).count();
//! }
//! assert_eq!((placed, engine.stop()), (2, EngineEnd::Stopped));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/` shows more: an own resource manager, a restart, an asynchronous host. The features `simulator` and
//! `files` are on by default; who links the engine alone turns them off, and with them csv, gzip and zstd.
//! Rust 1.95 or newer builds it.
//!
//! The floors below are listed lowest first; a floor may use only floors above it in this list,
//! by the edges of the table in `tests/tidy.rs`. The promise to outsiders is `api`, `config` and
//! `simulator`; the other floors are public for the packages of this repository.

pub mod fast_path;

pub mod id;
pub mod time;

pub mod sync;

pub mod metrics;
pub mod resource;

pub mod cluster;
pub mod queue;
pub mod snapshot;

pub mod policy;

pub mod accounting;
pub mod proposer;

pub mod commit;
pub mod runtime;

pub mod rescheduler;

pub mod config;
pub mod explain;

pub mod api;
#[cfg(feature = "simulator")]
pub mod simulator;
