//! What happens by time alone: following the engine's decisions, and what is overdue.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::sync::{AtomicBool, Ordering};

use crate::rm::ResourceManager;

/// Between two looks at decisions, so that events and applications are as they are in the engine.
const PUMP: Duration = Duration::from_millis(10);

/// Looks between two checks of what is overdue: a second.
const LOOKS: u32 = 100;

/// The thread that does it, until it is dropped.
#[derive(Debug)]
pub struct Background {
    stops: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Background {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    pub fn start(rm: Arc<ResourceManager>) -> io::Result<Self> {
        let stops = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stops);
        let builder = thread::Builder::new().name("rm-background".to_owned());
        let thread = builder.spawn(move || {
            let mut looks = 0;
            while !until.load(Ordering::Relaxed) {
                looks = (looks + 1) % LOOKS;
                if looks == 0 {
                    rm.tick();
                } else {
                    rm.pump();
                }
                thread::sleep(PUMP);
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
