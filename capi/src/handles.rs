//! Handles: integers with a kind and a generation, so that one that was given back is refused.
//!
//! Bits 63 to 32 are the generation, from 1; bits 31 to 28 the kind; bits 27 to 0 the place in the table.

use std::sync::PoisonError;

use capsched::sync::{Mutex, MutexGuard};

use crate::abi;
use crate::fault::{Answer, Fault};

/// Places of a table at most.
const PLACES: usize = 1 << 28;

/// What handles of one kind stand for.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    kind: u64,
    places: Mutex<Vec<Place<T>>>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Handles<T> {
    pub(crate) const fn new(kind: u64) -> Self {
        let places = Mutex::new(Vec::new());
        Self { kind, places }
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place<T>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle for a value. A place whose generations are used up is not used again.
    pub(crate) fn add(&self, value: T) -> Answer<u64> {
        let mut places = self.places();
        let free = |place: &Place<T>| place.value.is_none() && place.generation < u32::MAX;
        let at = places.iter().position(free).unwrap_or_else(|| {
            places.push(Place {
                generation: 0,
                value: None,
            });
            places.len() - 1
        });
        if at >= PLACES {
            let text = "there are too many handles";
            return Err(Fault::new(abi::CAPSCHED_ERR_LIMIT, "limit", text));
        }
        let place = &mut places[at];
        place.generation += 1;
        place.value = Some(value);
        let index = u64::try_from(at).unwrap_or(u64::MAX);
        Ok(u64::from(place.generation) << 32 | self.kind << 28 | index)
    }

    /// Does something with what a handle stands for; nothing when there is no such handle.
    fn with<R>(&self, handle: u64, act: impl FnOnce(&mut Option<T>) -> Option<R>) -> Answer<R> {
        let mut places = self.places();
        let index = usize::try_from(handle & 0x0fff_ffff).unwrap_or(usize::MAX);
        let of_kind = (handle >> 28 & 0xf) == self.kind;
        let place = places
            .get_mut(index)
            .filter(|place| of_kind && u64::from(place.generation) == handle >> 32);
        place
            .and_then(|place| act(&mut place.value))
            .ok_or_else(|| {
                let text = format_args!("{handle:#x} is no such handle, or was given back");
                Fault::new(abi::CAPSCHED_ERR_HANDLE, "handle", text)
            })
    }

    pub(crate) fn get(&self, handle: u64) -> Answer<T>
    where
        T: Clone,
    {
        self.with(handle, |value| value.clone())
    }

    /// Takes a value out; the handle is refused from now on.
    pub(crate) fn take(&self, handle: u64) -> Answer<T> {
        self.with(handle, Option::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_was_given_back_is_refused_though_its_place_is_used_again() {
        let handles = Handles::new(1);
        let first = handles.add("a").unwrap();
        assert_eq!(handles.take(first), Ok("a"));
        let second = handles.add("b").unwrap();
        assert_ne!(first, second);
        for none in [
            first,
            0,
            u64::MAX,
            second ^ 1 << 28,
            second + 1,
            second & 0xffff_ffff,
        ] {
            assert_eq!(
                handles.get(none).unwrap_err().code,
                abi::CAPSCHED_ERR_HANDLE
            );
            assert_eq!(
                handles.take(none).unwrap_err().code,
                abi::CAPSCHED_ERR_HANDLE
            );
        }
        assert_eq!(handles.get(second), Ok("b"));
    }
}
