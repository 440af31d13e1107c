//! Numbers for the names of nodes and queues: a number stands for its name as long as the engine lives.

use std::hash::Hash;
use std::sync::PoisonError;

use capsched::id::Map;
use capsched::sync::Mutex;

/// Numbers from 1 on, in the order in which names were first seen.
#[derive(Debug)]
pub(crate) struct Names<K>(Mutex<NumberedNames<K>>);

#[derive(Debug)]
struct NumberedNames<K> {
    numbers: Map<K, u32>,
    names: Vec<K>,
}

impl<K: Clone + Eq + Hash> Names<K> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(NumberedNames {
            numbers: Map::default(),
            names: Vec::new(),
        }))
    }

    fn with<R>(&self, act: impl FnOnce(&mut NumberedNames<K>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of a name, which it gets now if it has none.
    pub(crate) fn number(&self, name: &K) -> u32 {
        self.with(|known| {
            if let Some(&number) = known.numbers.get(name) {
                return number;
            }
            known.names.push(name.clone());
            let number = u32::try_from(known.names.len()).unwrap_or(u32::MAX);
            known.numbers.insert(name.clone(), number);
            number
        })
    }

    /// The number that a name has already.
    pub(crate) fn known(&self, name: &K) -> Option<u32> {
        self.with(|known| known.numbers.get(name).copied())
    }

    pub(crate) fn name(&self, number: u32) -> Option<K> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.with(|known| known.names.get(at).cloned())
    }
}
