//! Gangs that are placed, and which of them are forgotten.
//!
//! Tests: `tests/preemption/gangs.rs`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::id::ContainerId;

/// Members of a gang that are looked at at a time.
const LOOKS: usize = 64;

/// A gang of which the minimum was placed.
#[derive(Clone, Debug)]
pub(in crate::commit) struct PlacedGang {
    /// The containers of its minimum, ascending.
    pub(super) members: Arc<Vec<ContainerId>>,
    /// The first of them that is looked at next.
    next: usize,
}

impl PlacedGang {
    pub(super) fn new(mut members: Vec<ContainerId>) -> Self {
        members.sort_unstable();
        Self {
            members: Arc::new(members),
            next: 0,
        }
    }

    /// The members that are looked at now: after all of them, the first ones again.
    fn take_few(&mut self) -> Range<usize> {
        let from = self.next;
        let to = self.members.len().min(from + LOOKS);
        self.next = if to == self.members.len() { 0 } else { to };
        from..to
    }
}

/// The gangs that are placed. Those that lost a member are forgotten little by little, with the gangs that come.
#[derive(Clone, Debug, Default)]
pub(super) struct PlacedGangs {
    /// In the order in which they were placed.
    gangs: BTreeMap<u64, PlacedGang>,
    /// Gangs that were placed so far.
    count: u64,
    /// The gangs below were looked at in the present round.
    looked_at: u64,
}

impl PlacedGangs {
    pub(super) fn iter(&self) -> impl Iterator<Item = &PlacedGang> {
        self.gangs.values()
    }

    /// Notes a gang that was placed. Some members of two others are looked at, and a gang is forgotten where one of these
    /// does not live. One that lost all of them goes within as many calls as there are gangs; one that lost a few may stay
    /// for several rounds.
    pub(super) fn add(&mut self, gang: PlacedGang, lives: impl Fn(&ContainerId) -> bool) {
        for _ in 0..2 {
            let behind = self.gangs.range(self.looked_at..).next();
            let Some((&at, _)) = behind.or_else(|| self.gangs.first_key_value()) else {
                break;
            };
            self.looked_at = at + 1;
            let is_whole = |other: &mut PlacedGang| {
                let few = other.take_few();
                other.members[few].iter().all(&lives)
            };
            if !self.gangs.get_mut(&at).is_some_and(is_whole) {
                self.gangs.remove(&at);
            }
        }
        self.gangs.insert(self.count, gang);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ApplicationId;

    /// Four looks go over a gang.
    const MEMBERS: u32 = 256;

    const _: () = assert!(MEMBERS as usize == 4 * LOOKS);

    fn gang(of: u32) -> PlacedGang {
        let id = |number| ContainerId::new(ApplicationId::new(of), number);
        let members = (1..=MEMBERS).map(id);
        PlacedGang::new(members.collect())
    }

    fn app(gang: &PlacedGang) -> ApplicationId {
        gang.members[0].app
    }

    #[test]
    fn gangs_whose_members_all_ended_do_not_pile_up() {
        let mut placed = PlacedGangs::default();
        // One of a hundred lives on.
        let live: Vec<_> = (0..10).map(|of| ApplicationId::new(100 * of)).collect();
        for number in 0..1000 {
            placed.add(gang(number), |id| live.contains(&id.app));
            let lives = (number / 100 + 1) as usize;
            let count = placed.iter().count();
            assert!(count <= 2 * lives + 4, "{count} with {lives} that live");
        }
        assert!(placed.iter().is_sorted_by_key(app));
        let lives = placed.iter().filter(|gang| live.contains(&app(gang)));
        assert_eq!(lives.count(), live.len());
    }

    #[test]
    fn a_member_that_ended_is_found_wherever_it_is() {
        let first = ApplicationId::new(0);
        let last = ContainerId::new(first, MEMBERS);
        let mut placed = PlacedGangs::default();
        placed.add(gang(0), |_| true);
        for calls in 0.. {
            if !placed.iter().any(|gang| app(gang) == first) {
                break;
            }
            assert!(calls < 100);
            let looks = std::cell::Cell::new(0);
            placed.add(gang(1), |&id| {
                looks.set(looks.get() + 1);
                id != last
            });
            assert!(looks.get() <= 2 * LOOKS);
        }
    }
}
