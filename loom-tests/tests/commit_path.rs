//! Whole engines under shuttle: proposers, committer and sorter against a thread that removes
//! nodes, one that reconfigures, one that asks and one that releases.
//!
//! `cargo shuttle` runs it; `SHUTTLE_ITERATIONS` is the number of schedules for each scheduler.

#![cfg(capsched_shuttle)]
#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "../../tests/common/books.rs"]
mod books;
#[path = "commit_path/scene.rs"]
mod scene;

use capsched::api::Mode;
use scene::{End, Scene, Witnesses};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

/// Schedules for each scheduler, unless `SHUTTLE_ITERATIONS` says otherwise.
const ITERATIONS: usize = 500;

/// One in so many of them for each of the variants beside the scene that was asked for.
const VARIANTS: usize = 5;

/// What schedules are drawn from, unless `SHUTTLE_RANDOM_SEED` says otherwise.
const SEED: u64 = 1;

/// Changes of priority in a schedule of PCT, plus one.
const DEPTH: usize = 4;

/// Steps after which an execution is taken for one that never ends; ordinary ones need a hundredth.
const STEPS: usize = 2_000_000;

/// Stack of each thread in bytes.
const STACK: usize = 512 * 1024;

fn iterations() -> usize {
    let wished = std::env::var("SHUTTLE_ITERATIONS");
    wished.map_or(ITERATIONS, |number| number.parse().unwrap())
}

/// Runs a scene as often as the scheduler has schedules.
fn explore(scheduler: impl Scheduler + 'static, mode: Mode, end: End) {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::File(Some(env!("CARGO_TARGET_TMPDIR").into()));
    let scene = Scene::new(mode, end);
    let witnesses = Witnesses::default();
    let seen = witnesses.clone();
    let name = std::any::type_name_of_val(&scheduler);
    let run = Runner::new(scheduler, config).run(move || scene.play(&seen));
    witnesses.tell(name, mode, end, run);
    if std::env::var_os("CAPSCHED_MUTANT").is_none() {
        witnesses.demand(end, mode == GLOBAL && name.contains("Random"));
    }
}

const GLOBAL: Mode = Mode::Global { threads: 4 };
const ASYNCHRONOUS: Mode = Mode::Asynchronous { threads: 4 };

#[test]
fn four_global_proposers_under_random_schedules() {
    explore(
        RandomScheduler::new_from_seed(SEED, iterations()),
        GLOBAL,
        End::Calm,
    );
}

#[test]
fn four_global_proposers_under_pct_schedules() {
    explore(
        PctScheduler::new_from_seed(SEED, DEPTH, iterations()),
        GLOBAL,
        End::Calm,
    );
}

#[test]
fn four_asynchronous_proposers_under_both_schedulers() {
    let some = (iterations() / VARIANTS).max(1);
    explore(
        RandomScheduler::new_from_seed(SEED, some),
        ASYNCHRONOUS,
        End::Calm,
    );
    explore(
        PctScheduler::new_from_seed(SEED, DEPTH, some),
        ASYNCHRONOUS,
        End::Calm,
    );
}

#[test]
fn an_end_at_any_moment_under_both_schedulers() {
    let some = (iterations() / VARIANTS).max(1);
    for mode in [GLOBAL, ASYNCHRONOUS] {
        explore(
            RandomScheduler::new_from_seed(SEED, some),
            mode,
            End::Sudden,
        );
        explore(
            PctScheduler::new_from_seed(SEED, DEPTH, some),
            mode,
            End::Sudden,
        );
    }
}
