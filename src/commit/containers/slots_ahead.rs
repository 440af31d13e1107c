//! Slots for containers that are to be placed together, made in parts before.
//!
//! Memory that is written first has pages to be made by the system, which takes longer than the records.

use super::store::Containers;

/// Slots that were made for some containers. Others may take them, so no more are made than there are containers.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commit) struct SlotsAhead {
    made: usize,
}

impl SlotsAhead {
    /// Goes on, with as many slots as the budget has; whether nothing is left to do.
    pub(in crate::commit) fn go_on(
        &mut self,
        containers: &mut Containers,
        count: usize,
        budget: &mut usize,
    ) -> bool {
        let most = count.saturating_sub(self.made).min(*budget);
        let made = containers.make_room(count, most);
        self.made += made;
        *budget -= made;
        made < most || self.made == count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::containers::container::Container;

    #[test]
    fn slots_are_made_in_parts() {
        let (mut containers, mut slots) = (Containers::default(), SlotsAhead::default());
        let mut parts = 0;
        while !slots.go_on(&mut containers, 1000, &mut 256) {
            parts += 1;
            assert!(parts < 10);
        }
        assert_eq!(parts, 3);
        assert_eq!(containers.make_room(1000, 1000), 0, "there is room");
        let again = SlotsAhead::default().go_on(&mut containers, 1000, &mut 1);
        assert!(again, "what is free serves");
    }

    #[test]
    fn it_ends_where_others_take_all_slots() {
        let (mut containers, mut slots) = (Containers::default(), SlotsAhead::default());
        let mut parts = 0;
        while !slots.go_on(&mut containers, 1000, &mut 100) {
            parts += 1;
            assert!(parts < 20, "no more are made than are needed");
            for _ in 0..100 {
                containers.store(Container::gone);
            }
        }
    }

    #[test]
    fn without_a_budget_nothing_is_done() {
        let (mut containers, mut slots) = (Containers::default(), SlotsAhead::default());
        assert!(!slots.go_on(&mut containers, 10, &mut 0));
        assert!(slots.go_on(&mut containers, 10, &mut { usize::MAX }));
        assert_eq!(slots.made, 10);
    }
}
