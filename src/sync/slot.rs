//! A place for one value that the protocol around it gives to one side at a time.
//!
//! The lock makes the slot safe code; it is never contended, because the words of the protocol say
//! whose turn it is. A contended lock is a broken protocol and panics. Under loom the slot asks
//! for more than the lock needs: each access must happen after the other side's last one by the
//! protocol's own words, so that an ordering too weak is found here and the lock could be taken
//! away without a new proof.

// A plain std lock in models too: loom must not see it, or it would order what it shall check.
#[expect(
    clippy::disallowed_types,
    reason = "in models the lock must be invisible to loom"
)]
type Lock<T> = std::sync::Mutex<T>;

#[derive(Debug)]
pub(super) struct Slot<T> {
    place: Lock<Place<T>>,
}

#[derive(Debug)]
struct Place<T> {
    value: Option<T>,
    #[cfg(capsched_loom)]
    access: loom::cell::UnsafeCell<()>,
}

impl<T> Slot<T> {
    pub(super) fn new() -> Self {
        Self {
            place: Lock::new(Place {
                value: None,
                #[cfg(capsched_loom)]
                access: loom::cell::UnsafeCell::new(()),
            }),
        }
    }

    /// Fills the empty slot.
    pub(super) fn put(&self, value: T) {
        let before = self.exchange(Some(value));
        assert!(before.is_none(), "a filled slot was filled again");
    }

    /// Empties the filled slot.
    pub(super) fn take(&self) -> T {
        self.exchange(None)
            .expect("the protocol hands the receiver filled slots only")
    }

    #[inline]
    fn exchange(&self, value: Option<T>) -> Option<T> {
        let mut place = self
            .place
            .try_lock()
            .expect("the protocol gives a slot to one side at a time");
        #[cfg(capsched_loom)]
        place.access.with_mut(|_| ());
        std::mem::replace(&mut place.value, value)
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_gives_back_what_was_put() {
        let slot = Slot::new();
        slot.put(7);
        assert_eq!(slot.take(), 7);
        slot.put(8);
        assert_eq!(slot.take(), 8);
    }

    #[test]
    #[should_panic(expected = "filled again")]
    fn a_filled_slot_is_not_overwritten() {
        let slot = Slot::new();
        slot.put(7);
        slot.put(8);
    }

    #[test]
    #[should_panic(expected = "filled slots only")]
    fn an_empty_slot_has_nothing_to_take() {
        Slot::<u32>::new().take();
    }
}
