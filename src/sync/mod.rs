//! The concurrent protocols and the facade over std, loom and shuttle; no other floor names an atomic.
//!
//! `README.md` beside this file states each protocol in numbered steps. `loom-tests/` explores
//! them and kills the mutants of [`Mutant`].
//!
//! # Invariants
//!
//! * There is no `unsafe` here: a [`ring`] and an [`inbox`] hand values over in slots whose lock is
//!   never contended, because the protocol gives each slot to one side at a time.
//! * Nothing here sleeps for a time or spins on another thread, but for the receiver of an [`inbox`]
//!   that is dropped while an item is on its way; who has nothing to do parks.
//! * Protocols use no sequentially consistent load or store, which loom cannot explore, but
//!   read-modify-writes on one word and explicit fences.
//! * A refused call gives its value back.

mod arc_cell;
mod facade;
mod handoff;
mod inbox;
mod mutant;
mod parking;
mod proposer_status;
mod publish;
mod ring;
mod shutdown;
mod slot;
mod tail;
mod threads;

pub use facade::{
    Arc, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering,
    fence, spin_loop, yield_now,
};
#[cfg(capsched_loom)]
pub use facade::{Flavour, with_flavour};
pub use handoff::{Acquire, Handoff, Released};
pub use inbox::{InboxReceiver, InboxSender, inbox};
pub use mutant::{Mutant, injected};
pub use parking::{Parked, Parker, Waker, parking};
pub use proposer_status::{ProposerStatus, is_quiet};
pub use publish::{Published, PublishedReader, Publisher, published};
pub use ring::{RingReceiver, RingSender, ring};
pub use shutdown::{Ended, Requested, Shutdown, ShutdownOwner, ShutdownPhase, shutdown};
pub use tail::{Received, SendCounts, TrySendError};
pub use threads::{
    JoinHandle, OnceReceiver, OnceSender, SPINS, ThreadBuilder, ThreadId, TryRecvError,
    once_channel, thread_id, thread_name,
};
