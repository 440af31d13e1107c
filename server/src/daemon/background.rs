//! What happens by time alone: following the engine's decisions, what is overdue, and looks at what waits.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::sync::{AtomicBool, Ordering};

use crate::page::Following;
use crate::rm::ResourceManager;

/// Between two looks at decisions, so that events and applications are as they are in the engine.
const PUMP: Duration = Duration::from_millis(10);

/// Looks between two checks of what is overdue: a second.
const LOOKS: u32 = 100;

/// Between two checks of whether a look at what waits is due.
const WAITS_CHECK: Duration = Duration::from_millis(100);

/// A thread that does something again and again, until it is dropped.
#[derive(Debug)]
pub struct Background {
    stops: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Background {
    /// Follows the decisions of the engine, and ends what is overdue.
    ///
    /// # Errors
    ///
    /// When the system refuses the thread.
    pub fn start(rm: Arc<ResourceManager>) -> io::Result<Self> {
        let mut looks = 0;
        Self::repeat("rm-background", PUMP, move || {
            looks = (looks + 1) % LOOKS;
            if looks == 0 {
                rm.tick();
            } else {
                rm.pump();
            }
        })
    }

    /// Looks at what waits as often as the watch allows, so that no request waits for a look, and timelines have what
    /// nobody asked for.
    pub(super) fn follow_waits(following: Following) -> io::Result<Self> {
        Self::repeat("waits-follower", WAITS_CHECK, move || following.follow())
    }

    fn repeat(
        name: &str,
        pause: Duration,
        mut step: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let stops = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stops);
        let builder = thread::Builder::new().name(name.to_owned());
        let thread = builder.spawn(move || {
            while !until.load(Ordering::Relaxed) {
                step();
                thread::sleep(pause);
            }
        })?;
        Ok(Self {
            stops,
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
