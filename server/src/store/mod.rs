//! Stores that survive: one leader with a token writes, everybody reads and watches.
//!
//! | module | what it owns |
//! |---|---|
//! | `assembly` | a resource manager whose changes survive |
//! | `batch` | keys, versions, batches, and the [`Store`] trait |
//! | `embedded` | a store in one file, by redb |
//! | `etcd` | a store over etcd, where the feature `etcd` is on |
//! | `leadership` | the record of who leads a shared store, and what a process holds while it leads |
//! | `lease` | how a leader prolongs its lease, and when it may have ended |
//! | `schema` | the number that says in what form a store is |
//! | `shared` | which store an address names |
//! | `standby` | following the journal until the leader is gone |
//! | `journal` | the commands of a resource manager, in order, many in one write |
//! | `compaction` | snapshots that replace the beginning of the journal |
//! | `configurations` | versions of the scheduler's configuration as keys |
//! | `zookeeper` | a store over ZooKeeper, where the feature `zookeeper` is on |
//! | `check` | whether what a store holds is whole |
//!
//! # Invariants
//!
//! * A write is carried out only with the token of the present leader; the store itself checks it.
//! * Tokens ascend, over restarts too. A write is durable when it is answered.
//! * A batch is carried out whole or not at all.

mod assembly;
mod batch;
mod check;
mod compaction;
mod configurations;
mod embedded;
#[cfg(feature = "etcd")]
mod etcd;
mod journal;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod leadership;
mod lease;
mod schema;
mod shared;
mod standby;
#[cfg(feature = "zookeeper")]
mod zookeeper;

pub use assembly::{Durable, DurableFailure, KeepOptions, Lead};
pub use batch::{Batch, Entry, Revision, Store, StoreError, Token};
pub use check::{CheckReport, StoreProblem, check, check_directory};
pub use compaction::{Recorded, compact};
pub use configurations::KeyConfStore;
pub use embedded::EmbeddedStore;
#[cfg(feature = "etcd")]
pub use etcd::EtcdStore;
pub use journal::{Durability, JournalCounts, StoreJournal, StoredCommand};
pub(crate) use lease::LeaseKeeper;
pub use shared::open_shared;
pub use standby::Standby;
#[cfg(feature = "zookeeper")]
pub use zookeeper::ZooKeeperStore;
