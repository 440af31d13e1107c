//! Rounds of preemption, and what one would come to.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use capsched::api::{AppSpec, PreemptionSettings, Rescheduler, Threaded};
use capsched::commit::PreemptionRound;
use capsched::time::ManualClock;

use super::Scene;
use super::hold::Holds;
use super::site::{self, Sizes, app, asks, fill, submit};

/// From one round that is due to the next, so long that the monitor does not wake by itself.
const INTERVAL: Duration = Duration::from_secs(3600);

pub(super) const SCENES: &[Scene] = &[
    Scene {
        call: "preempt_now",
        size: half,
        make: now,
    },
    Scene {
        call: "preempt_if_due",
        size: half,
        make: if_due,
    },
    Scene {
        call: "explain_preemption",
        size: half,
        make: explain,
    },
];

fn half(sizes: &Sizes) -> String {
    format!("half of {} containers", sizes.items)
}

/// One queue has all containers, and the other one waits for its half. Rounds run by calls alone.
fn contended(sizes: &Sizes) -> Result<(Threaded, ManualClock)> {
    let each = sizes.items / i32::try_from(sizes.nodes)?;
    let mut engine = site::with_nodes(sizes, 0, each)?;
    submit(&engine, 0)?;
    fill(&engine, 0, sizes.nodes, sizes.items)?;
    engine.submit(AppSpec::new(app(1), "root.b", "bob"))?;
    // No node reports any more: a reservation would count as part of the half.
    engine.ask(app(1), asks(sizes.items / 2))?;
    engine.take_events();
    let clock = ManualClock::at(0);
    let mut settings = PreemptionSettings {
        enabled: true,
        observe_only: true,
        monitoring_interval_ms: u64::try_from(INTERVAL.as_millis())?,
        total_per_round: 1.0,
        natural_termination_factor: 1.0,
        ..PreemptionSettings::default()
    };
    let policy = Rescheduler::new(settings.clone());
    engine.start_monitor(Box::new(policy), clock.clone())?;
    // The first round is due at once, whoever runs it. It only observes.
    let _first = engine.preempt_if_due();
    settings.observe_only = false;
    ensure!(engine.configure_preemption(settings), "no monitor");
    Ok((engine, clock))
}

/// A round asks the whole half back.
fn check(round: Option<PreemptionRound>, sizes: &Sizes) -> Result<()> {
    let marks = round.context("no round ran")?.marks.len();
    let half = usize::try_from(sizes.items / 2)?;
    ensure!(marks == half, "{marks} asked back, not {half}");
    Ok(())
}

fn now(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    loop {
        let (engine, _) = contended(sizes)?;
        if !holds.beside_fetches_once(&engine, || check(engine.preempt_now(), sizes))? {
            return Ok(());
        }
    }
}

fn if_due(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    loop {
        let (engine, clock) = contended(sizes)?;
        let call = || {
            // By now the monitor rests. Before, it might have run the round by itself.
            clock.advance(INTERVAL);
            check(engine.preempt_if_due(), sizes)
        };
        if !holds.beside_fetches_once(&engine, call)? {
            return Ok(());
        }
    }
}

fn explain(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let (engine, _) = contended(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let verdicts = calls.make(|| engine.explain_preemption());
            ensure!(!verdicts.is_empty(), "nothing waits");
        }
        Ok(())
    })
}
