//! Shortening a failing list of steps while it fails by the same invariant.

use super::action::{Action, Family};
use super::setup::{Extras, QUEUE_CAPACITY, SetupLabel};
use super::{Replay, Setup, Violation, run};

/// Steps that shortening may carry out in all, so that it ends within about a minute.
const EFFORT: usize = 3_000_000;

/// A shorter list of steps that breaks the same invariant: whole families of faults go first,
/// then ever smaller pieces, then numbers become small. The list must fail.
#[must_use]
pub fn shrink(setup: &Setup, actions: &[Action], violation: &Violation) -> Replay {
    shrink_by(setup, actions, violation, |setup, actions| {
        run(setup, actions).failure
    })
}

/// After how many steps a list fails, and how.
type Failure = Option<(usize, Violation)>;

fn shrink_by(
    setup: &Setup,
    actions: &[Action],
    violation: &Violation,
    judge: impl FnMut(&Setup, &[Action]) -> Failure,
) -> Replay {
    let mut search = Search {
        setup: setup.clone(),
        best: actions.to_vec(),
        id: violation.id,
        text: violation.text.clone(),
        left: EFFORT,
        judge,
    };
    for family in Family::ALL {
        let kept = search.best.iter();
        let without = kept.filter(|action| action.family() != Some(family));
        let without = without.copied().collect();
        search.try_steps(without);
    }
    search.simplify_setup();
    search.leave_pieces_out();
    search.lower_numbers();
    Replay {
        invariant: search.id.to_owned(),
        text: search.text,
        setup: search.setup,
        actions: search.best,
    }
}

struct Search<J> {
    setup: Setup,
    best: Vec<Action>,
    id: &'static str,
    text: String,
    left: usize,
    judge: J,
}

impl<J: FnMut(&Setup, &[Action]) -> Failure> Search<J> {
    /// What no step belongs to is switched off in the setup: short queues, several proposers, a second
    /// partition, settings that most clusters do without.
    fn simplify_setup(&mut self) {
        let simpler: [fn(&mut Setup); 4] = [
            |setup| setup.capacity = QUEUE_CAPACITY,
            |setup| setup.proposers = setup.proposers.min(1),
            |setup| setup.label = SetupLabel::None,
            |setup| setup.extras = Extras::default(),
        ];
        for simplify in simpler {
            let mut setup = self.setup.clone();
            simplify(&mut setup);
            if setup != self.setup {
                self.try_instead(setup, self.best.clone());
            }
        }
    }

    fn leave_pieces_out(&mut self) {
        let mut piece = self.best.len().div_ceil(2);
        while piece > 0 {
            let mut from = 0;
            while from < self.best.len() {
                let mut without = self.best.clone();
                without.drain(from..(from + piece).min(self.best.len()));
                if !self.try_steps(without) {
                    from += piece;
                }
            }
            piece /= 2;
        }
    }

    fn lower_numbers(&mut self) {
        for i in 0..self.best.len() {
            let mut simpler = self.best.clone();
            if let Some(Action::Ask { count, .. }) = simpler.get_mut(i)
                && *count > 1
            {
                *count = 1;
                self.try_steps(simpler);
            }
        }
    }

    fn try_steps(&mut self, steps: Vec<Action>) -> bool {
        steps != self.best && self.try_instead(self.setup.clone(), steps)
    }

    /// Takes a candidate if it fails in the same way, cut after the failing step.
    fn try_instead(&mut self, setup: Setup, mut steps: Vec<Action>) -> bool {
        if self.left < steps.len() {
            return false;
        }
        self.left -= steps.len();
        match (self.judge)(&setup, &steps) {
            Some((failing, violation)) if violation.id == self.id => {
                steps.truncate(failing);
                self.text = violation.text;
                (self.setup, self.best) = (setup, steps);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw;
    use super::*;

    fn of(id: &'static str) -> Violation {
        let text = format!("breaks {id}");
        Violation { id, text }
    }

    /// Fails by `N1` at an ask that comes after the loss of a node, and by another invariant where no
    /// node was lost.
    fn judge(_: &Setup, steps: &[Action]) -> Failure {
        let is_loss = |step: &Action| matches!(step, Action::RemoveNode { .. });
        let Some(loss) = steps.iter().position(is_loss) else {
            return Some((steps.len(), of("Q4")));
        };
        let behind = &steps[loss..];
        let is_ask = |step: &Action| matches!(step, Action::Ask { count, .. } if *count > 0);
        let ask = behind.iter().position(is_ask)?;
        Some((loss + ask + 1, of("N1")))
    }

    fn setup() -> Setup {
        let mut setup = Setup::of(3);
        setup.faults.nodes = true;
        setup.capacity = 1;
        setup.proposers = 3;
        setup.extras.weights = true;
        setup
    }

    #[test]
    fn a_failing_list_becomes_short_and_fails_by_the_same_invariant() {
        let setup = setup();
        let actions = draw(&setup, 800);
        let (steps, violation) = judge(&setup, &actions).unwrap();
        assert_eq!(violation, of("N1"));
        let found = shrink_by(&setup, &actions[..steps], &violation, judge);
        assert!(
            matches!(
                found.actions[..],
                [Action::RemoveNode { .. }, Action::Ask { count: 1, .. }]
            ),
            "{:?}",
            found.actions
        );
        assert_eq!(found.invariant, "N1");
        assert_eq!(judge(&found.setup, &found.actions), Some((2, of("N1"))));
    }

    #[test]
    fn what_does_not_matter_in_the_setup_is_switched_off() {
        let setup = setup();
        let actions = draw(&setup, 800);
        // It takes a short queue, and nothing else of the setup.
        let short =
            |setup: &Setup, steps: &[Action]| judge(setup, steps).filter(|_| setup.capacity == 1);
        let found = shrink_by(&setup, &actions, &of("N1"), short);
        let left = (
            found.setup.capacity,
            found.setup.proposers,
            found.setup.extras,
        );
        assert_eq!(left, (1, 1, Extras::default()));
        let found = shrink_by(&setup, &actions, &of("N1"), judge);
        assert_eq!(found.setup.capacity, QUEUE_CAPACITY);
    }

    #[test]
    fn a_list_that_cannot_be_shortened_stays_as_it_is() {
        let setup = setup();
        let actions = draw(&setup, 40);
        let all = actions.len();
        let whole = |_: &Setup, steps: &[Action]| {
            let same = steps == actions;
            Some((steps.len(), of(if same { "N1" } else { "Q4" }))).filter(|_| steps.len() <= all)
        };
        let found = shrink_by(&setup, &actions, &of("N1"), whole);
        assert_eq!(found.actions, actions);
    }

    #[test]
    fn shortening_ends_though_every_candidate_takes_long() {
        let setup = setup();
        let actions = draw(&setup, 5000);
        let mut steps_taken = 0;
        let never = |_: &Setup, steps: &[Action]| {
            steps_taken += steps.len();
            None
        };
        let found = shrink_by(&setup, &actions, &of("N1"), never);
        assert_eq!(found.actions, actions);
        assert!(steps_taken <= EFFORT);
    }
}
