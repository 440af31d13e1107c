//! Homes: the cell that each application was submitted to. The oldest are forgotten above a limit.

use std::collections::BTreeMap;

use capsched::api::ApplicationId;
use serde::{Deserialize, Serialize};

use super::names::CellName;

/// The home of one application, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Home {
    /// The cell.
    pub(super) cell: CellName,
    /// Ascends from home to home.
    number: u64,
}

/// What claiming a home found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The application had no home; now it has this one.
    First {
        home: Home,
        /// Applications whose homes are forgotten for it.
        forgotten: Vec<ApplicationId>,
    },
    /// The application has a home already: it was submitted before.
    Known(CellName),
}

/// Homes by application.
#[derive(Clone, Debug)]
pub(super) struct Homes {
    homes: BTreeMap<ApplicationId, Home>,
    /// Applications by the numbers of their homes.
    order: BTreeMap<u64, ApplicationId>,
    next: u64,
    most: usize,
}

impl Homes {
    /// No home; at most so many, and at least one.
    pub(super) fn new(most: usize) -> Self {
        Self {
            homes: BTreeMap::new(),
            order: BTreeMap::new(),
            next: 1,
            most: most.max(1),
        }
    }

    /// Enters a home that was stored.
    pub(super) fn restore(&mut self, app: ApplicationId, home: Home) {
        self.next = self.next.max(home.number.saturating_add(1));
        self.order.insert(home.number, app);
        self.homes.insert(app, home);
    }

    /// The cell of an application.
    pub(super) fn of(&self, app: ApplicationId) -> Option<&CellName> {
        self.homes.get(&app).map(|home| &home.cell)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.homes.len()
    }

    /// Applications whose cell fails a test.
    pub(super) fn count(&self, test: impl Fn(&CellName) -> bool) -> usize {
        self.homes.values().filter(|home| test(&home.cell)).count()
    }

    /// Makes a cell the home of an application that has none.
    pub(super) fn claim(&mut self, app: ApplicationId, cell: &CellName) -> Claim {
        if let Some(known) = self.of(app) {
            return Claim::Known(known.clone());
        }
        let home = Home {
            cell: cell.clone(),
            number: self.next,
        };
        self.restore(app, home.clone());
        let mut forgotten = Vec::new();
        // Two at most, so that a limit which became lower is reached step by step.
        while self.homes.len() > self.most && forgotten.len() < 2 {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            self.homes.remove(&oldest);
            forgotten.push(oldest);
        }
        Claim::First { home, forgotten }
    }

    /// Makes another cell the home of an application that has one.
    pub(super) fn change(&mut self, app: ApplicationId, cell: &CellName) -> Option<Home> {
        let home = self.homes.get_mut(&app)?;
        home.cell = cell.clone();
        Some(home.clone())
    }

    /// Forgets the home of an application.
    pub(super) fn forget(&mut self, app: ApplicationId) {
        if let Some(home) = self.homes.remove(&app) {
            self.order.remove(&home.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> CellName {
        CellName::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn the_first_home_counts_and_the_oldest_are_forgotten() {
        let mut homes = Homes::new(2);
        let [a, b, c] = [1, 2, 3].map(ApplicationId::new);
        for app in [a, b] {
            let claim = homes.claim(app, &cell("east"));
            assert!(matches!(claim, Claim::First { forgotten, .. } if forgotten.is_empty()));
        }
        assert_eq!(homes.claim(a, &cell("west")), Claim::Known(cell("east")));
        let claim = homes.claim(c, &cell("west"));
        assert!(matches!(claim, Claim::First { forgotten, .. } if forgotten == [a]));
        assert_eq!((homes.of(a), homes.len()), (None, 2));
        assert_eq!(homes.count(|of| *of == cell("west")), 1);
    }

    #[test]
    fn a_home_that_moves_keeps_its_place_and_one_that_is_forgotten_can_be_claimed() {
        let mut homes = Homes::new(2);
        let [a, b, c] = [1, 2, 3].map(ApplicationId::new);
        homes.claim(a, &cell("east"));
        homes.claim(b, &cell("east"));
        let moved = homes.change(a, &cell("west")).unwrap();
        assert_eq!((&moved.cell, moved.number), (&cell("west"), 1));
        assert!(
            matches!(homes.claim(c, &cell("east")), Claim::First { forgotten, .. } if forgotten == [a])
        );
        homes.forget(b);
        assert!(matches!(homes.claim(b, &cell("west")), Claim::First { .. }));
        assert_eq!(homes.change(a, &cell("west")), None);
    }
}
