//! A thread that looks at what waits, so that timelines have what nobody asked for.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::sync::{AtomicBool, Ordering};

use super::pending::PendingWatch;

/// Between two checks of whether a look is due or the end has come.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks as often as the watch allows, until it is dropped.
#[derive(Debug)]
pub struct WaitsFollower {
    stops: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl WaitsFollower {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    pub fn start(watch: Arc<PendingWatch>) -> io::Result<Self> {
        let stops = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stops);
        let builder = thread::Builder::new().name("waits-follower".to_owned());
        let thread = builder.spawn(move || {
            while !until.load(Ordering::Relaxed) {
                watch.follow();
                thread::sleep(PAUSE);
            }
        })?;
        Ok(Self {
            stops,
            thread: Some(thread),
        })
    }
}

impl Drop for WaitsFollower {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
