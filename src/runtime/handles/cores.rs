//! Which core a thread of the engine runs on.

use super::start::Placement;

/// The cores that the threads of one engine are put on, in turn.
#[derive(Debug)]
pub(in crate::runtime) struct Cores {
    cores: Vec<core_affinity::CoreId>,
    next: usize,
}

/// The core of one thread, if it has one.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct CoreSlot(Option<core_affinity::CoreId>);

impl Cores {
    pub(in crate::runtime) fn of(placement: Placement) -> Self {
        let cores = match placement {
            Placement::Anywhere => None,
            Placement::Pinned => core_affinity::get_core_ids(),
        };
        Self {
            cores: cores.unwrap_or_default(),
            next: 0,
        }
    }

    /// A core for one more thread.
    pub(in crate::runtime) fn slot(&mut self) -> CoreSlot {
        let slot = self.cores.get(self.next % self.cores.len().max(1)).copied();
        self.next += 1;
        CoreSlot(slot)
    }
}

impl CoreSlot {
    /// Moves the calling thread there. A refusal changes nothing but the speed.
    pub(in crate::runtime) fn take(self) {
        if let Some(core) = self.0 {
            core_affinity::set_for_current(core);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_are_placed_anywhere_have_no_core() {
        let mut cores = Cores::of(Placement::Anywhere);
        assert!(cores.slot().0.is_none() && cores.slot().0.is_none());
    }

    #[test]
    fn cores_are_used_in_turn_when_there_are_more_threads_than_cores() {
        let mut cores = Cores::of(Placement::Pinned);
        let number = cores.cores.len();
        let first: Vec<_> = (0..number).map(|_| cores.slot().0).collect();
        let again: Vec<_> = (0..number).map(|_| cores.slot().0).collect();
        assert_eq!(first, again);
        assert!(first.iter().all(Option::is_some));
    }
}
