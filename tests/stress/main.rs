//! Real threads under injected faults: every call has one answer, every proposal one outcome, and
//! the sums hold, at rest and after an end at any moment. `cargo test --profile stress --test stress`
//! runs it optimised, `CAPSCHED_STRESS_STEPS` makes it longer.
//!
//! Seen to fail, as `.ci/stress-canaries` demands, when a bug of the commit is planted: without faults
//! C1, C4, C5, C8, C9 and Q1, with decisions on old snapshots C6 and C7, with proposals that cannot
//! hold C2, C11 and C12. H2 is not noticed.
#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "../common/books.rs"]
mod books;
mod client;
mod fault;
mod run;
mod scene;

use std::num::NonZeroUsize;

use capsched::api::{BadProposals, Latencies, Mode};

use fault::Fault;
use run::{Plan, Sum, run};

const MODES: [Mode; 3] = [
    Mode::Asynchronous { threads: 2 },
    Mode::Global { threads: 1 },
    Mode::Global { threads: 3 },
];

/// Runs in every mode with some faults, each until it came and was met by what it may harm. A proposer
/// reads its clock for a few decisions only, so that a run may end before: the next one, with other clients,
/// counts on from there.
fn run_all(plans: impl Fn(Mode) -> Vec<Plan>) {
    for mode in MODES {
        for plan in plans(mode) {
            let mut all = Sum::default();
            let came = (1..=50).any(|seed| {
                let readings = all.readings;
                let sum = run(Plan {
                    seed,
                    readings,
                    ..plan
                });
                assert!(sum.placed > 0, "{plan:?}");
                all += sum;
                let met = all.refused > 0 || mode.threads() == 1;
                met && (all.hits > 0 || !plan.fault.is_of_the_clock())
            });
            assert!(came, "in fifty runs of {plan:?}: {all:?}");
        }
    }
}

#[test]
fn the_sums_hold_without_faults() {
    run_all(|mode| vec![Plan::of(mode, Fault::None)]);
}

#[test]
fn reservations_are_made_and_fulfilled() {
    for mode in MODES {
        let mut all = Sum::default();
        let met = (1..=100).any(|seed| {
            all += run(Plan {
                seed,
                ..Plan::of(mode, Fault::None)
            });
            all.reserved > 0 && all.fulfilled > 0
        });
        assert!(met, "in a hundred runs in {mode:?}: {all:?}");
    }
}

#[test]
fn every_commit_has_one_event_where_nobody_reserves() {
    // This mode takes nodes one by one, and passes by what has no room for the least.
    for mode in [1, 2].map(|threads| Mode::Asynchronous { threads }) {
        let sum = run(Plan {
            sizes: &[[1024, 1]],
            ..Plan::of(mode, Fault::None)
        });
        assert_eq!((sum.placed > 0, sum.reserved), (true, 0), "{mode:?}");
    }
}

#[test]
fn a_proposer_that_panics_starts_afresh_and_nothing_is_lost() {
    // A batch has 64 decisions, so that one without a panic comes in either case.
    run_all(|mode| {
        let often = Plan::of(mode, Fault::ProposerPanics(5));
        let within_decisions = Plan {
            latencies: Latencies::All,
            ..Plan::of(mode, Fault::ProposerPanics(331))
        };
        vec![often, within_decisions]
    });
}

#[test]
fn a_proposer_that_stalls_on_an_old_snapshot_harms_nobody() {
    run_all(|mode| {
        let often = Plan::of(mode, Fault::ProposerStalls(3));
        let within_decisions = Plan {
            latencies: Latencies::All,
            ..Plan::of(mode, Fault::ProposerStalls(13))
        };
        vec![often, within_decisions]
    });
}

#[test]
fn limits_hold_against_decisions_on_old_snapshots() {
    // The clients alone do not bring it about in every run that two proposers go up to the same limit.
    for mode in MODES.into_iter().filter(|mode| mode.threads() > 1) {
        let mut all = Sum::default();
        let met = (1..=100).any(|seed| {
            all += run(Plan {
                latencies: Latencies::All,
                steps: 0,
                seed,
                ..Plan::of(mode, Fault::ProposerStalls(13))
            });
            all.beyond.iter().all(|refused| *refused > 0)
        });
        assert!(met, "in a hundred runs in {mode:?}: {all:?}");
    }
}

#[test]
fn a_slow_committer_answers_everything() {
    run_all(|mode| vec![Plan::of(mode, Fault::CommitterIsSlow(3))]);
}

#[test]
fn distorted_proposals_break_nothing() {
    run_all(|mode| {
        let distorted = |seed| Plan::of(mode, Fault::BadProposers(BadProposals::Distorted(seed)));
        (1..=4).map(distorted).collect()
    });
}

#[test]
fn proposals_that_cannot_hold_are_refused_and_change_nothing() {
    // Nobody but proposers decides in this mode.
    for threads in [1, 2] {
        for seed in 1..=4 {
            let mode = Mode::Asynchronous { threads };
            let plan = Plan::of(mode, Fault::BadProposers(BadProposals::Void(seed)));
            let sum = run(Plan { seed, ..plan });
            assert!(sum.proposed > 0, "{plan:?}");
            assert_eq!(sum.refused, sum.proposed, "{plan:?}");
            assert_eq!((sum.placed, sum.reserved), (0, 0), "{plan:?}");
        }
    }
}

#[test]
fn queues_of_one_lose_nothing() {
    run_all(|mode| {
        let faults = [
            Fault::None,
            Fault::ProposerPanics(5),
            Fault::ProposerStalls(3),
            Fault::CommitterIsSlow(3),
            Fault::BadProposers(BadProposals::Distorted(1)),
        ];
        let cramped = |fault| Plan {
            capacity: NonZeroUsize::new(1),
            ..Plan::of(mode, fault)
        };
        faults.map(cramped).to_vec()
    });
}

#[test]
fn an_end_at_any_moment_answers_every_call() {
    let mut sum = Sum::default();
    for mode in MODES {
        for (looks, seed) in [1, 3, 10, 40, 150].into_iter().zip(1..) {
            for fault in [Fault::None, Fault::ProposerStalls(2)] {
                for capacity in [None, NonZeroUsize::new(1)] {
                    sum += run(Plan {
                        stop_after: Some(looks),
                        capacity,
                        seed,
                        ..Plan::of(mode, fault)
                    });
                }
            }
        }
    }
    // An end at the first looks finds nothing yet; that all do would be another matter.
    assert!(sum.placed > 0 && sum.hits > 0 && sum.looks > 0, "{sum:?}");
    assert!(sum.cut > 0, "every run was over before its end: {sum:?}");
}
