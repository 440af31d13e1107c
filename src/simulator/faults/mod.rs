//! Deterministic simulation: a seed decides cluster, clients, faults and every interleaving.
//!
//! A [`crate::api::Pipeline`] runs committer and proposers step by step; the simulation is their
//! scheduler. Books that are kept from outputs alone judge every step. After the last step the
//! faults end: everything that fits is placed, and when all applications have ended nothing is
//! left. A failing list of steps is shortened and can be replayed.
//!
//! Not judged here: how soon a leaf or an application is served and who goes before it (L2, L3), which are
//! those of the recordings; how often a snapshot is published (L9), which the seed decides instead.

mod action;
mod audit;
mod books;
mod commits;
mod configured;
mod digest;
mod finish;
mod limits;
mod nodes;
mod setup;
mod shrink;
mod sums;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::api::CommitOutcome;
use action::Draw;
use world::World;

pub use action::{Action, Follow, NodeReportKind};
pub use setup::{Families, Setup, SetupLabel, SetupMode};
pub use shrink::shrink;

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Id of the invariant.
    pub id: &'static str,
    /// What was seen.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, self.text)
    }
}

/// A violation.
fn fault<T>(id: &'static str, text: String) -> Result<T, Violation> {
    Err(Violation { id, text })
}

/// What a simulation met, so that one that meets nothing is noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Steps carried out, those of the calm end included.
    pub steps: u64,
    /// Containers placed.
    pub allocated: u64,
    /// Reservations made or kept.
    pub reserved: u64,
    /// Decisions by what became of them.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Those of them that were refused.
    pub refused: u64,
    /// Configurations taken over.
    pub reloads: u64,
    /// Configurations refused.
    pub reloads_refused: u64,
    /// Proposers that died in the midst of a turn.
    pub deaths: u64,
    /// Decisions that were lost with them, made and not closed in a batch.
    pub lost: u64,
    /// Decisions that were made on the live state as it was at their commit.
    pub made_on_live: u64,
    /// Refused proposals around which the state was compared.
    pub refusals_watched: u64,
    /// Reports of nodes that arrived late.
    pub late_reports: u64,
    /// Ends in rest at which a pass over the live state found nothing to place.
    pub rests_judged: u64,
    /// Those at which it found something, and which are excused: what is refused for ever stood before.
    pub rests_excused: u64,
}

impl Summary {
    fn count(&mut self, outcome: CommitOutcome) {
        use crate::metrics::Closed;
        *self.outcomes.entry(outcome.name()).or_default() += 1;
        self.refused += u64::from(outcome.is_refused());
    }

    /// What a run over many seeds must have met and this one did not, so that it says nothing about it.
    #[must_use]
    pub fn unmet(&self) -> Vec<&'static str> {
        let rests = self.rests_judged + self.rests_excused;
        [
            ("containers", self.allocated > 0),
            ("reservations", self.reserved > 0),
            ("reloads", self.reloads > 0),
            ("refused reloads", self.reloads_refused > 0),
            ("proposers that die in a turn", self.deaths > 0),
            ("decisions lost with their proposer", self.lost > 0),
            ("decisions made on the live state", self.made_on_live > 0),
            ("refused proposals under watch", self.refusals_watched > 0),
            ("late reports", self.late_reports > 0),
            // What is excused from L1 must stay rare.
            ("rests that were judged", self.rests_judged * 10 > rests * 9),
        ]
        .into_iter()
        .filter_map(|(what, met)| (!met).then_some(what))
        .collect()
    }

    /// Adds what another simulation met.
    pub fn merge(&mut self, other: &Self) {
        for (own, more) in [
            (&mut self.steps, other.steps),
            (&mut self.allocated, other.allocated),
            (&mut self.reserved, other.reserved),
            (&mut self.refused, other.refused),
            (&mut self.reloads, other.reloads),
            (&mut self.reloads_refused, other.reloads_refused),
            (&mut self.deaths, other.deaths),
            (&mut self.lost, other.lost),
            (&mut self.made_on_live, other.made_on_live),
            (&mut self.refusals_watched, other.refusals_watched),
            (&mut self.late_reports, other.late_reports),
            (&mut self.rests_judged, other.rests_judged),
            (&mut self.rests_excused, other.rests_excused),
        ] {
            *own += more;
        }
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
    }
}

/// How a simulation ended.
#[derive(Clone, Debug)]
pub struct GameOutcome {
    /// What it met.
    pub summary: Summary,
    /// A hash over all decisions: equal for equal runs.
    pub digest: u64,
    /// What broke, and after how many steps.
    pub failure: Option<(usize, Violation)>,
}

/// A failure that can be replayed: the setup and the steps that lead to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Id of the invariant that breaks.
    pub invariant: String,
    /// What was seen.
    pub text: String,
    /// What the seed decided.
    pub setup: Setup,
    /// The steps; the last one breaks it, or the calm end after it does.
    pub actions: Vec<Action>,
}

/// Draws the steps of a setup's seed.
#[must_use]
pub fn draw(setup: &Setup, steps: usize) -> Vec<Action> {
    let mut draw = Draw::new(setup);
    (0..steps).map(|_| draw.step()).collect()
}

/// Carries steps out, then lets everything come to rest and go away. A panic counts as the
/// violation `panic`.
#[must_use]
pub fn run(setup: &Setup, actions: &[Action]) -> GameOutcome {
    let mut world = World::new(setup);
    let mut done = 0;
    let played = catch_unwind(AssertUnwindSafe(|| {
        for action in actions {
            done += 1;
            world.step(action)?;
        }
        world.come_to_rest()?;
        world.drain()
    }));
    let result = played.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Violation {
            id: "panic",
            text: text.unwrap_or_default(),
        })
    });
    world.summary.steps = world.steps();
    world.summary.allocated = world.books.allocated;
    world.summary.reserved = world.books.kept;
    GameOutcome {
        digest: world.digest.value(),
        summary: std::mem::take(&mut world.summary),
        failure: result.err().map(|violation| (done, violation)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_keep_every_promise() {
        let mut met = Summary::default();
        for seed in 0..40 {
            let setup = Setup::of(seed);
            let outcome = run(&setup, &draw(&setup, 1000));
            assert_eq!(outcome.failure, None, "seed {seed}");
            met.merge(&outcome.summary);
        }
        assert_eq!(met.unmet(), [""; 0], "{met:?}");
        assert!(met.outcomes.len() > 5, "{met:?}");
    }

    // A proposal whose exchange is another application's counted against the wrong queues; one for a
    // reservation of another key left asks that were served twice; reservations on nodes that are
    // leaving were proposed and refused.
    #[test]
    fn seeds_that_broke_once_hold() {
        for seed in [2586, 4406, 8849] {
            let setup = Setup::of(seed);
            let outcome = run(&setup, &draw(&setup, 3000));
            assert_eq!(outcome.failure, None, "seed {seed}");
        }
    }

    #[test]
    fn what_was_not_met_is_named() {
        assert_eq!(Summary::default().unmet().len(), 10);
        let excused = Summary {
            rests_judged: 8,
            rests_excused: 2,
            ..Summary::default()
        };
        assert!(excused.unmet().contains(&"rests that were judged"));
        let judged = Summary {
            rests_judged: 19,
            rests_excused: 1,
            ..Summary::default()
        };
        assert!(!judged.unmet().contains(&"rests that were judged"));
    }

    #[test]
    fn a_seed_gives_the_same_decisions_every_time() {
        for seed in 0..5 {
            let setup = Setup::of(seed);
            let actions = draw(&setup, 800);
            assert_eq!(run(&setup, &actions).digest, run(&setup, &actions).digest);
        }
    }
}
