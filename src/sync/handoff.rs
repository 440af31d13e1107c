//! A baton: a value with one owner at a time, which lies where others find it while its keeper rests.
//!
//! # Protocol
//!
//! One word says where the value is: it lies here, it is away, or it is kept for good. While it is
//! away the word also says whether somebody wants something of it.
//!
//! 1. Whoever has made work visible asks. If the value lies here, one compare-exchange makes it the
//!    asker's. If it is away, the word becomes "called", also when it says so already: so the work
//!    is visible to the owner.
//! 2. An owner that is called back when it wants to lay the value down keeps it and looks again.
//! 3. The keeper claims instead of calling, and is woken by an owner that laid down what it claims.
//! 4. The keeper keeps the value for good at the end. Who asks from then on is told so.
//!
//! Asking never waits: that the value is away is an answer, and whoever has it does the work.

use crate::sync::mutant::weakened_to;
use crate::sync::slot::Slot;
use crate::sync::{AtomicU32, Mutant, Ordering, injected};

/// A value that its keeper lays down while it rests, and others take meanwhile.
#[derive(Debug)]
pub struct Handoff<T> {
    /// A [`Place`].
    place: AtomicU32,
    slot: Slot<T>,
}

/// What asking for the value came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Asked<T> {
    /// It is the asker's now, who lays it down again.
    Taken(T),
    /// Somebody has it and will look at what the asker made visible.
    Away,
    /// Its keeper keeps it for good.
    Kept,
}

/// What laying the value down came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Laid<T> {
    /// It lies here.
    Down,
    /// It lies here for its keeper, who has to be woken.
    DownForKeeper,
    /// Somebody asked since it was taken, with work or in vain: it stays with its owner.
    CalledBack(T),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Here,
    Away,
    /// Away, and somebody made work visible since.
    Called,
    /// Away, and its keeper wants it.
    Claimed,
    Kept,
}

impl Place {
    const fn word(self) -> u32 {
        self as u32
    }

    fn of(word: u32) -> Self {
        let all = [
            Self::Here,
            Self::Away,
            Self::Called,
            Self::Claimed,
            Self::Kept,
        ];
        let found = all.into_iter().find(|place| place.word() == word);
        found.expect("the word is only ever set to a place")
    }

    /// What it becomes when somebody who has made work visible asks.
    fn after_call(self) -> Self {
        match self {
            Self::Here => Self::Away,
            Self::Away | Self::Called => Self::Called,
            Self::Claimed if injected(Mutant::HandoffCallEndsClaim) => Self::Called,
            Self::Claimed => Self::Claimed,
            Self::Kept => Self::Kept,
        }
    }

    /// What it becomes when the keeper asks.
    fn after_claim(self) -> Self {
        match self {
            Self::Here => Self::Away,
            Self::Away | Self::Called | Self::Claimed => Self::Claimed,
            Self::Kept => Self::Kept,
        }
    }
}

impl<T> Handoff<T> {
    /// The place of a value that its keeper has.
    #[must_use]
    pub fn away() -> Self {
        Self {
            place: AtomicU32::new(Place::Away.word()),
            slot: Slot::new(),
        }
    }

    /// Takes the value, or calls back whoever has it, after the asker made visible what it is
    /// wanted for. Costs one read-modify-write.
    pub fn take_or_call(&self) -> Asked<T> {
        self.ask(Place::after_call)
    }

    /// The same by the keeper: whoever has the value lays it down for it.
    pub fn take_or_claim(&self) -> Asked<T> {
        self.ask(Place::after_claim)
    }

    fn ask(&self, after: impl Fn(Place) -> Place) -> Asked<T> {
        let mut found = self.place.load(Ordering::Relaxed);
        loop {
            let place = Place::of(found);
            if place == Place::Called && injected(Mutant::HandoffSecondCallLost) {
                return Asked::Away;
            }
            // Release, though the word may stay what it is: pairs with the Acquire in `lay_down`,
            // so that an owner that is called back sees the work. Acquire: pairs with the Release
            // there; what former owners did is seen, and the slot is filled.
            let order = weakened_to(
                Mutant::HandoffCallRelaxed,
                Ordering::Acquire,
                Ordering::AcqRel,
            );
            let order = weakened_to(Mutant::HandoffTakeRelaxed, Ordering::Release, order);
            let asked =
                self.place
                    .compare_exchange(found, after(place).word(), order, Ordering::Relaxed);
            match (asked, place) {
                (Err(other), _) => found = other,
                (Ok(_), Place::Here) => return Asked::Taken(self.slot.take()),
                (Ok(_), Place::Kept) => return Asked::Kept,
                (Ok(_), _) => return Asked::Away,
            }
        }
    }

    /// Lays the value down, unless somebody called since it was taken or last called back.
    pub fn lay_down(&self, value: T) -> Laid<T> {
        self.slot.put(value);
        let mut found = Place::Away.word();
        let before = loop {
            let place = Place::of(found);
            let (here, away) = (Place::Here.word(), Place::Away.word());
            let called = place == Place::Called && !injected(Mutant::HandoffReleasedThoughCalled);
            // Release: pairs with the Acquire in `ask`; the slot is filled, and the next owner sees
            // what this one did. Acquire: pairs with the Release there; the caller's work is seen.
            let order = weakened_to(
                Mutant::HandoffReleaseRelaxed,
                Ordering::Acquire,
                Ordering::AcqRel,
            );
            let order = weakened_to(Mutant::HandoffRecallRelaxed, Ordering::Release, order);
            let next = if called { away } else { here };
            let laid = self
                .place
                .compare_exchange(found, next, order, Ordering::Relaxed);
            match laid {
                Ok(_) => break place,
                Err(other) => found = other,
            }
        };
        match before {
            Place::Called if !injected(Mutant::HandoffReleasedThoughCalled) => {
                Laid::CalledBack(self.slot.take())
            }
            Place::Claimed if !injected(Mutant::HandoffClaimNotReported) => Laid::DownForKeeper,
            _ => Laid::Down,
        }
    }

    /// Lays the value down for its keeper, who has to be woken and looks at everything then.
    pub fn lay_down_for_keeper(&self, value: T) {
        self.slot.put(value);
        // Release: pairs with the Acquire in `ask`.
        self.place.swap(Place::Here.word(), Ordering::AcqRel);
    }

    /// Whoever has the value keeps it for good.
    pub fn keep(&self) {
        // Acquire: pairs with the Release in `ask`; what was made visible before a call is seen.
        self.place.swap(Place::Kept.word(), Ordering::AcqRel);
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_lies_here_is_taken_once() {
        let baton = Handoff::away();
        assert_eq!(baton.lay_down(7), Laid::Down);
        assert_eq!(baton.take_or_call(), Asked::Taken(7));
        assert_eq!(baton.take_or_call(), Asked::Away);
    }

    #[test]
    fn an_owner_that_was_called_keeps_it_once_for_all_calls() {
        let baton = Handoff::away();
        assert_eq!(baton.take_or_call(), Asked::Away);
        assert_eq!(baton.take_or_call(), Asked::Away);
        assert_eq!(baton.lay_down(7), Laid::CalledBack(7));
        assert_eq!(baton.lay_down(7), Laid::Down);
    }

    #[test]
    fn a_claim_outlives_the_calls_around_it() {
        let baton = Handoff::away();
        for _ in 0..2 {
            assert_eq!(baton.take_or_call(), Asked::Away);
            assert_eq!(baton.take_or_claim(), Asked::Away);
        }
        assert_eq!(baton.take_or_call(), Asked::Away);
        assert_eq!(baton.lay_down(7), Laid::DownForKeeper);
        assert_eq!(baton.take_or_claim(), Asked::Taken(7));
        assert_eq!(baton.lay_down(7), Laid::Down, "the claim is answered");
    }

    #[test]
    fn for_its_keeper_it_is_laid_down_though_somebody_called() {
        let baton = Handoff::away();
        assert_eq!(baton.take_or_call(), Asked::Away);
        baton.lay_down_for_keeper(7);
        assert_eq!(baton.take_or_claim(), Asked::Taken(7));
    }

    #[test]
    fn what_is_kept_stays_kept() {
        let baton = Handoff::<u32>::away();
        assert_eq!(baton.take_or_call(), Asked::Away);
        baton.keep();
        assert_eq!(baton.take_or_call(), Asked::Kept);
        assert_eq!(baton.take_or_claim(), Asked::Kept);
    }
}
