//! A handoff: a value with one owner at a time, moved between its home thread and others without a lock.
//!
//! # Protocol
//!
//! One word holds the state: the value is free, owned by a thread, or retained by its home thread for
//! good. While it is owned the word also says whether somebody signalled work, or the home thread claimed it.
//!
//! 1. A thread makes work visible and asks for the value. If the value is free, one compare-exchange makes
//!    the thread its owner. If it is owned, the word becomes "signalled", by a write even if it says so
//!    already: the write makes the work visible to the owner.
//! 2. An owner releases the value by a compare-exchange. If it finds "signalled", it stays the owner and
//!    looks for work again.
//! 3. The home thread claims instead of signalling. An owner that finds the claim when it releases the
//!    value wakes the home thread.
//! 4. At the end the home thread retains the value. Whoever asks from then on is answered so.
//!
//! Asking never waits: "owned by another" is an answer, and the owner does the work.

use crate::sync::mutant::weakened_to;
use crate::sync::slot::Slot;
use crate::sync::{AtomicU32, Mutant, Ordering, injected};

/// A value that threads own in turn.
#[derive(Debug)]
pub struct Handoff<T> {
    /// A [`HandoffState`].
    state: AtomicU32,
    slot: Slot<T>,
}

/// The answer to a request for the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Acquire<T> {
    /// The caller owns it now, and has to release it.
    Acquired(T),
    /// Another thread owns it, and will look at what the caller made visible.
    Busy,
    /// Its home thread owns it for good.
    Retained,
}

/// The result of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Released<T> {
    /// It is free.
    Free,
    /// It is free for its home thread, which has to be woken.
    ToHome,
    /// Somebody signalled work since it was acquired or last signalled: the caller still owns it.
    Signalled(T),
}

/// The states of the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HandoffState {
    Free,
    Owned,
    /// Owned, and somebody made work visible since.
    Signalled,
    /// Owned, and the home thread wants it.
    Claimed,
    /// Owned by the home thread for good.
    Retained,
}

impl HandoffState {
    const fn word(self) -> u32 {
        self as u32
    }

    fn of(word: u32) -> Self {
        let all = [
            Self::Free,
            Self::Owned,
            Self::Signalled,
            Self::Claimed,
            Self::Retained,
        ];
        let found = all.into_iter().find(|state| state.word() == word);
        found.expect("the word is only ever set to a state")
    }

    /// The state after a request by a thread that has made work visible.
    fn after_signal(self) -> Self {
        match self {
            Self::Free => Self::Owned,
            Self::Owned | Self::Signalled => Self::Signalled,
            Self::Claimed if injected(Mutant::HandoffCallEndsClaim) => Self::Signalled,
            Self::Claimed => Self::Claimed,
            Self::Retained => Self::Retained,
        }
    }

    /// The state after a request by the home thread.
    fn after_claim(self) -> Self {
        match self {
            Self::Free => Self::Owned,
            Self::Owned | Self::Signalled | Self::Claimed => Self::Claimed,
            Self::Retained => Self::Retained,
        }
    }
}

impl<T> Handoff<T> {
    /// A handoff whose value the home thread owns.
    #[must_use]
    pub fn owned() -> Self {
        Self {
            state: AtomicU32::new(HandoffState::Owned.word()),
            slot: Slot::new(),
        }
    }

    /// Acquires the value, or signals its owner, after the caller made its work visible.
    ///
    /// Cost: one read-modify-write.
    pub fn acquire_or_signal(&self) -> Acquire<T> {
        self.ask(HandoffState::after_signal)
    }

    /// The same by the home thread: an owner releases the value to it.
    pub fn acquire_or_claim(&self) -> Acquire<T> {
        self.ask(HandoffState::after_claim)
    }

    fn ask(&self, after: impl Fn(HandoffState) -> HandoffState) -> Acquire<T> {
        let mut found = self.state.load(Ordering::Relaxed);
        loop {
            let state = HandoffState::of(found);
            if state == HandoffState::Signalled && injected(Mutant::HandoffSecondCallLost) {
                return Acquire::Busy;
            }
            // Release, though the word may stay what it is: pairs with the Acquire in `release`, so that an
            // owner that was signalled sees the work. Acquire: pairs with the Release there; the slot is
            // filled, and what former owners did is seen.
            let order = weakened_to(
                Mutant::HandoffCallRelaxed,
                Ordering::Acquire,
                Ordering::AcqRel,
            );
            let order = weakened_to(Mutant::HandoffTakeRelaxed, Ordering::Release, order);
            let asked =
                self.state
                    .compare_exchange(found, after(state).word(), order, Ordering::Relaxed);
            match (asked, state) {
                (Err(other), _) => found = other,
                (Ok(_), HandoffState::Free) => return Acquire::Acquired(self.slot.take()),
                (Ok(_), HandoffState::Retained) => return Acquire::Retained,
                (Ok(_), _) => return Acquire::Busy,
            }
        }
    }

    /// Releases the value, unless somebody signalled work since it was acquired or last signalled.
    pub fn release(&self, value: T) -> Released<T> {
        self.slot.put(value);
        let mut found = HandoffState::Owned.word();
        let before = loop {
            let state = HandoffState::of(found);
            let (free, owned) = (HandoffState::Free.word(), HandoffState::Owned.word());
            let signalled =
                state == HandoffState::Signalled && !injected(Mutant::HandoffReleasedThoughCalled);
            // Release: pairs with the Acquire in `ask`; the slot is filled, and the next owner sees
            // what this one did. Acquire: pairs with the Release there; the signalled work is seen.
            let order = weakened_to(
                Mutant::HandoffReleaseRelaxed,
                Ordering::Acquire,
                Ordering::AcqRel,
            );
            let order = weakened_to(Mutant::HandoffRecallRelaxed, Ordering::Release, order);
            let next = if signalled { owned } else { free };
            let released = self
                .state
                .compare_exchange(found, next, order, Ordering::Relaxed);
            match released {
                Ok(_) => break state,
                Err(other) => found = other,
            }
        };
        match before {
            HandoffState::Signalled if !injected(Mutant::HandoffReleasedThoughCalled) => {
                Released::Signalled(self.slot.take())
            }
            HandoffState::Claimed if !injected(Mutant::HandoffClaimNotReported) => Released::ToHome,
            _ => Released::Free,
        }
    }

    /// Releases the value to the home thread, which has to be woken and looks at everything then.
    pub fn release_to_home(&self, value: T) {
        self.slot.put(value);
        // Release: pairs with the Acquire in `ask`.
        self.state.swap(HandoffState::Free.word(), Ordering::AcqRel);
    }

    /// The owner keeps the value for good, as the home thread does at the end.
    pub fn retain(&self) {
        // Acquire: pairs with the Release in `ask`; what was made visible before a signal is seen.
        self.state
            .swap(HandoffState::Retained.word(), Ordering::AcqRel);
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_acquired_once() {
        let handoff = Handoff::owned();
        assert_eq!(handoff.release(7), Released::Free);
        assert_eq!(handoff.acquire_or_signal(), Acquire::Acquired(7));
        assert_eq!(handoff.acquire_or_signal(), Acquire::Busy);
    }

    #[test]
    fn an_owner_that_was_signalled_keeps_it_once_for_all_signals() {
        let handoff = Handoff::owned();
        assert_eq!(handoff.acquire_or_signal(), Acquire::Busy);
        assert_eq!(handoff.acquire_or_signal(), Acquire::Busy);
        assert_eq!(handoff.release(7), Released::Signalled(7));
        assert_eq!(handoff.release(7), Released::Free);
    }

    #[test]
    fn a_claim_outlives_the_signals_around_it() {
        let handoff = Handoff::owned();
        for _ in 0..2 {
            assert_eq!(handoff.acquire_or_signal(), Acquire::Busy);
            assert_eq!(handoff.acquire_or_claim(), Acquire::Busy);
        }
        assert_eq!(handoff.acquire_or_signal(), Acquire::Busy);
        assert_eq!(handoff.release(7), Released::ToHome);
        assert_eq!(handoff.acquire_or_claim(), Acquire::Acquired(7));
        assert_eq!(handoff.release(7), Released::Free, "the claim is answered");
    }

    #[test]
    fn it_is_released_to_its_home_thread_though_somebody_signalled() {
        let handoff = Handoff::owned();
        assert_eq!(handoff.acquire_or_signal(), Acquire::Busy);
        handoff.release_to_home(7);
        assert_eq!(handoff.acquire_or_claim(), Acquire::Acquired(7));
    }

    #[test]
    fn what_is_retained_stays_retained() {
        let handoff = Handoff::<u32>::owned();
        assert_eq!(handoff.acquire_or_signal(), Acquire::Busy);
        handoff.retain();
        assert_eq!(handoff.acquire_or_signal(), Acquire::Retained);
        assert_eq!(handoff.acquire_or_claim(), Acquire::Retained);
    }
}
