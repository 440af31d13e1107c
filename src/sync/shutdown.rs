//! The end of an engine: anybody may ask for it, the owner drains and says when it is over.
//!
//! # Protocol
//!
//! 1. Anybody requests the end: running becomes draining, once; then the threads are woken.
//! 2. The owner (the committer's thread) sees the request, closes the rings and the inbox, and
//!    takes and answers items until each says finished. The closed bit and not the phase decides
//!    whether an item is accepted, so each accepted item is answered.
//! 3. The owner finishes: stopped, and whoever waits for the end is woken.
//! 4. An owner that is dropped without finishing, as by a panic, leaves the engine poisoned and
//!    wakes the waiters as well: nobody waits for an answer that cannot come.

use crossbeam_utils::CachePadded;

use crate::sync::{Arc, AtomicU32, Mutant, Ordering, Parker, Waker, injected, parking};

/// A shutdown that wakes the threads of `wakers` when it is requested.
#[must_use]
pub fn shutdown(wakers: Vec<Waker>) -> (Shutdown, ShutdownOwner) {
    let (end_waker, end) = parking();
    let shared = Arc::new(ShutdownState {
        phase: CachePadded::new(AtomicU32::new(ShutdownPhase::Running.word())),
        wakers,
        end,
    });
    let handle = Shutdown(Arc::clone(&shared));
    let owner = ShutdownOwner {
        shared,
        end_waker,
        finished: false,
    };
    (handle, owner)
}

/// How far the end has come; phases only go forward.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ShutdownPhase {
    /// Nobody asked for the end.
    Running,
    /// The end is requested; accepted items are still answered.
    Draining,
    /// Every accepted item was answered.
    Stopped,
    /// The owner died; accepted items may stay without an answer.
    Poisoned,
}

impl ShutdownPhase {
    const fn word(self) -> u32 {
        match self {
            Self::Running => 0,
            Self::Draining => 1,
            Self::Stopped => 2,
            Self::Poisoned => 3,
        }
    }

    const fn of(word: u32) -> Self {
        match word {
            0 => Self::Running,
            1 => Self::Draining,
            2 => Self::Stopped,
            _ => Self::Poisoned,
        }
    }
}

/// What a request found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requested {
    /// This call began the end.
    First,
    /// It had begun, and this far it had come.
    Already(ShutdownPhase),
}

/// How an engine ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Ended {
    /// Every accepted item was answered.
    Stopped,
    /// The owner died before it had answered them all.
    Poisoned,
}

#[derive(Debug)]
struct ShutdownState {
    /// Made draining by whoever asks first, stopped or poisoned by the owner.
    phase: CachePadded<AtomicU32>,
    wakers: Vec<Waker>,
    end: Parker,
}

impl ShutdownState {
    fn phase(&self) -> ShutdownPhase {
        // Acquire: pairs with the Release of `end`; what the owner did is seen by who sees the end.
        ShutdownPhase::of(self.phase.load(Ordering::Acquire))
    }

    fn begin(&self) -> Requested {
        let (running, draining) = (
            ShutdownPhase::Running.word(),
            ShutdownPhase::Draining.word(),
        );
        if injected(Mutant::ShutdownRequestNotAtomic) {
            let before = self.phase();
            if before == ShutdownPhase::Running {
                self.phase.store(draining, Ordering::Release);
                return Requested::First;
            }
            return Requested::Already(before);
        }
        // Release: pairs with the Acquire in `phase`.
        let begun =
            self.phase
                .compare_exchange(running, draining, Ordering::AcqRel, Ordering::Acquire);
        match begun {
            Ok(_) => Requested::First,
            Err(found) => Requested::Already(ShutdownPhase::of(found)),
        }
    }

    fn wake_threads(&self) {
        for waker in &self.wakers {
            waker.wake();
        }
    }
}

/// The handle of everybody; clones belong to the same engine.
#[derive(Clone, Debug)]
pub struct Shutdown(Arc<ShutdownState>);

impl Shutdown {
    /// Asks for the end; returns at once.
    pub fn request(&self) -> Requested {
        if injected(Mutant::ShutdownWakesEarly) {
            self.0.wake_threads();
            return self.0.begin();
        }
        let requested = self.0.begin();
        if requested == Requested::First {
            self.0.wake_threads();
        }
        requested
    }

    /// How far the end has come.
    #[must_use]
    pub fn phase(&self) -> ShutdownPhase {
        self.0.phase()
    }

    /// Whether threads should come to an end; for the last look before parking.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.phase() != ShutdownPhase::Running
    }

    /// Sleeps until the owner is done. Does not ask for the end.
    pub fn wait(&self) -> Ended {
        self.0
            .end
            .park_until(|| self.phase() >= ShutdownPhase::Stopped);
        match self.phase() {
            ShutdownPhase::Stopped => Ended::Stopped,
            _ => Ended::Poisoned,
        }
    }
}

/// The handle of the thread that drains; there is one.
#[derive(Debug)]
pub struct ShutdownOwner {
    shared: Arc<ShutdownState>,
    end_waker: Waker,
    finished: bool,
}

impl ShutdownOwner {
    /// Whether the end was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.shared.phase() != ShutdownPhase::Running
    }

    /// Says that every accepted item was answered; the caller has drained all its queues.
    pub fn finish(mut self) {
        self.finished = true;
        self.end(ShutdownPhase::Stopped);
    }

    fn end(&self, phase: ShutdownPhase) {
        // Release: pairs with the Acquire in `ShutdownState::phase`; the answers are given. A swap, so
        // that a request at the same moment is either before it or finds the end.
        self.shared.phase.swap(phase.word(), Ordering::AcqRel);
        self.shared.wake_threads();
        if !injected(Mutant::ShutdownEndUnannounced) {
            self.end_waker.wake();
        }
    }
}

impl Drop for ShutdownOwner {
    fn drop(&mut self) {
        if !self.finished && !injected(Mutant::ShutdownOwnerDiesSilently) {
            self.end(ShutdownPhase::Poisoned);
        }
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_begun_once() {
        let (handle, owner) = shutdown(Vec::new());
        assert!(!owner.is_requested());
        assert_eq!(handle.request(), Requested::First);
        assert_eq!(
            handle.request(),
            Requested::Already(ShutdownPhase::Draining)
        );
        assert!(owner.is_requested());
        owner.finish();
        assert_eq!(handle.wait(), Ended::Stopped);
        assert_eq!(handle.request(), Requested::Already(ShutdownPhase::Stopped));
    }

    #[test]
    fn an_owner_that_dies_poisons_the_engine() {
        let (handle, owner) = shutdown(Vec::new());
        drop(owner);
        assert_eq!(handle.wait(), Ended::Poisoned);
        assert_eq!(handle.phase(), ShutdownPhase::Poisoned);
    }

    #[test]
    fn phases_survive_their_word() {
        for phase in [
            ShutdownPhase::Running,
            ShutdownPhase::Draining,
            ShutdownPhase::Stopped,
            ShutdownPhase::Poisoned,
        ] {
            assert_eq!(ShutdownPhase::of(phase.word()), phase);
        }
    }
}
