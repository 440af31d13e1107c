//! Shortening a failing list of steps while it fails by the same invariant.

use super::action::{Action, Family};
use super::{Replay, Setup, Violation, run};

/// Steps that shortening may carry out in all, so that it ends within about a minute.
const EFFORT: usize = 3_000_000;

/// A shorter list of steps that breaks the same invariant: whole families of faults go first,
/// then ever smaller pieces, then numbers become small. The list must fail.
#[must_use]
pub fn shrink(setup: &Setup, actions: &[Action], violation: &Violation) -> Replay {
    let mut search = Search {
        setup,
        id: violation.id,
        text: violation.text.clone(),
        left: EFFORT,
    };
    let mut best = actions.to_vec();
    for family in Family::ALL {
        let without = best.iter().filter(|action| action.family() != Some(family));
        let without: Vec<_> = without.copied().collect();
        search.try_instead(&mut best, without);
    }
    let mut piece = best.len() / 2;
    while piece > 0 {
        let mut from = 0;
        while from < best.len() {
            let mut without = best.clone();
            without.drain(from..(from + piece).min(best.len()));
            if !search.try_instead(&mut best, without) {
                from += piece;
            }
        }
        piece /= 2;
    }
    for i in 0..best.len() {
        if let Action::Ask { count, .. } = best[i]
            && count > 1
        {
            let mut simpler = best.clone();
            if let Action::Ask { count, .. } = &mut simpler[i] {
                *count = 1;
            }
            search.try_instead(&mut best, simpler);
        }
    }
    Replay {
        invariant: search.id.to_owned(),
        text: search.text,
        setup: setup.clone(),
        actions: best,
    }
}

struct Search<'a> {
    setup: &'a Setup,
    id: &'static str,
    text: String,
    left: usize,
}

impl Search<'_> {
    /// Takes a candidate if it fails in the same way, cut after the failing step.
    fn try_instead(&mut self, best: &mut Vec<Action>, mut candidate: Vec<Action>) -> bool {
        if candidate.len() >= best.len() && candidate == *best || self.left < candidate.len() {
            return false;
        }
        self.left -= candidate.len();
        match run(self.setup, &candidate).failure {
            Some((steps, violation)) if violation.id == self.id => {
                candidate.truncate(steps);
                self.text = violation.text;
                *best = candidate;
                true
            }
            _ => false,
        }
    }
}
