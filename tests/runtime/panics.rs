//! Panics of clocks and of the engine's own threads: the engine ends, or goes on, and names the cause.

use std::time::Duration;

use capsched::api::{AppSpec, ApplicationId, Engine, EngineEnd, ResourceVector};

use crate::clocks::FailingClock;
use crate::engines::{MODES, settings, settings_with};

/// However the engine is at work when its clock fails, its end comes and names the clock if it was the
/// committer that read it.
#[test]
fn an_engine_whose_clock_fails_ends() {
    for mode in MODES {
        for awake in [Duration::ZERO, Duration::MAX] {
            let lifetime = [("root.a.maximum-application-lifetime", "60")];
            let settings = settings_with("DefaultResourceCalculator", &lifetime);
            let clock = FailingClock::default();
            let builder = Engine::builder(settings).mode(mode).awake(awake);
            let mut engine = builder.clock(clock.clone()).start().unwrap();
            let spec = AppSpec::new(ApplicationId::new(1), "root.a", "u");
            let spec = spec.with_master(ResourceVector::of(&[1024, 1]));
            engine.submit(spec).unwrap();
            engine.quiesce();
            clock.fail();
            if let EngineEnd::Poisoned(cause) = engine.end() {
                assert_eq!(cause.message, "the clock has failed", "{mode:?}");
                assert!(!cause.thread.is_empty());
            }
        }
    }
}

/// Threads that start afresh after a panic do not take the core of others, and the engine names the last one.
#[test]
fn panics_of_workers_are_counted_with_their_cause() {
    let mode = capsched::api::Mode::Global { threads: 1 };
    let clock = FailingClock::default();
    let builder = Engine::builder(settings()).mode(mode);
    let mut engine = builder.clock(clock.clone()).start().unwrap();
    engine.quiesce();
    assert_eq!(engine.worker_panics().last, None);
    clock.fail();
    // The sorter reads the clock before and behind each sort.
    while engine.worker_panics().count == 0 {
        std::thread::yield_now();
    }
    let last = engine.worker_panics().last.unwrap();
    assert_eq!(last.message, "the clock has failed");
    assert!(last.thread.starts_with("capsched-"), "{last}");
    let _: EngineEnd = engine.end();
}
