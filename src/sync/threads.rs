//! Threads, channels for single answers, and how long to stay awake: std's, or shuttle's.
//!
//! loom models single protocols and starts its own threads; in its flavour these are std's.

#[cfg(not(capsched_shuttle))]
mod chosen {
    /// Starts a named thread.
    pub type ThreadBuilder = std::thread::Builder;
    /// The handle of a started thread.
    pub type JoinHandle<T> = std::thread::JoinHandle<T>;
    /// The end of a channel for one value that sends it.
    pub type OnceSender<T> = oneshot::Sender<T>;
    /// The end of such a channel that waits.
    pub type OnceReceiver<T> = oneshot::Receiver<T>;

    pub use oneshot::{TryRecvError, channel as once_channel};
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
    // Not shuttle's: whether a caller still waits decides nothing, and each look would be a place to switch threads.
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    pub use shuttle::sync::mpsc::TryRecvError;
    pub use shuttle::thread::ThreadId;

    /// The end of a channel for one value that sends it.
    #[derive(Debug)]
    pub struct OnceSender<T> {
        sender: shuttle::sync::mpsc::SyncSender<T>,
        sent: Arc<AtomicBool>,
    }

    /// The end of such a channel that waits.
    #[derive(Debug)]
    pub struct OnceReceiver<T> {
        receiver: shuttle::sync::mpsc::Receiver<T>,
        sent: Arc<AtomicBool>,
    }

    impl<T> OnceReceiver<T> {
        /// Waits for the value.
        ///
        /// # Errors
        ///
        /// Where none comes any more.
        pub fn recv(self) -> Result<T, shuttle::sync::mpsc::RecvError> {
            self.receiver.recv()
        }

        /// The value, if it was sent.
        ///
        /// # Errors
        ///
        /// Where there is none, or none comes any more.
        pub fn try_recv(&self) -> Result<T, TryRecvError> {
            self.receiver.try_recv()
        }

        /// Whether the value was sent.
        #[must_use]
        pub fn has_message(&self) -> bool {
            self.sent.load(Ordering::Acquire)
        }
    }

    impl<T> OnceSender<T> {
        /// Sends the value.
        ///
        /// # Errors
        ///
        /// The value, where nobody waits for it any more.
        pub fn send(self, value: T) -> Result<(), T> {
            self.sender.send(value).map_err(|refused| refused.0)?;
            self.sent.store(true, Ordering::Release);
            Ok(())
        }
    }

    /// A channel for one value.
    #[must_use]
    pub fn once_channel<T>() -> (OnceSender<T>, OnceReceiver<T>) {
        let (sender, receiver) = shuttle::sync::mpsc::sync_channel(1);
        let sent = Arc::new(AtomicBool::new(false));
        let sender = OnceSender {
            sender,
            sent: Arc::clone(&sent),
        };
        (sender, OnceReceiver { receiver, sent })
    }

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
