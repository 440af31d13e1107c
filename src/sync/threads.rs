//! Threads, channels for single answers, and how long to stay awake: std's, or shuttle's.
//!
//! loom models single protocols and starts its own threads; in its flavour these are std's.

#[cfg(not(capsched_shuttle))]
mod chosen {
    /// Starts a named thread.
    pub type ThreadBuilder = std::thread::Builder;
    /// The handle of a started thread.
    pub type JoinHandle<T> = std::thread::JoinHandle<T>;
    /// The end of a channel that answers.
    pub type SyncSender<T> = std::sync::mpsc::SyncSender<T>;
    /// The end of a channel that waits.
    pub type Receiver<T> = std::sync::mpsc::Receiver<T>;

    pub use std::sync::mpsc::{TryRecvError, sync_channel};
    pub use std::thread::ThreadId;

    /// Which thread calls.
    #[must_use]
    pub fn thread_id() -> ThreadId {
        std::thread::current().id()
    }

    /// The name of the thread that calls, if it has one.
    #[must_use]
    pub fn thread_name() -> Option<String> {
        std::thread::current().name().map(str::to_owned)
    }

    /// Looks for something to do before a thread sleeps.
    pub const SPINS: u32 = 1000;
}

#[cfg(capsched_shuttle)]
mod chosen {
    /// Starts a named thread.
    pub type ThreadBuilder = shuttle::thread::Builder;
    /// The handle of a started thread.
    pub type JoinHandle<T> = shuttle::thread::JoinHandle<T>;
    /// The end of a channel that answers.
    pub type SyncSender<T> = shuttle::sync::mpsc::SyncSender<T>;
    /// The end of a channel that waits.
    pub type Receiver<T> = shuttle::sync::mpsc::Receiver<T>;

    pub use shuttle::sync::mpsc::{TryRecvError, sync_channel};
    pub use shuttle::thread::ThreadId;

    /// Which thread calls.
    #[must_use]
    pub fn thread_id() -> ThreadId {
        shuttle::thread::current().id()
    }

    /// The name of the thread that calls, if it has one.
    #[must_use]
    pub fn thread_name() -> Option<String> {
        shuttle::thread::current().name().map(str::to_owned)
    }

    /// Looks for something to do before a thread sleeps. Each gives the turn to the scheduler, so
    /// that more of them only make a schedule longer.
    pub const SPINS: u32 = 2;
}

pub use chosen::*;
