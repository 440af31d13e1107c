//! The onlooker that keeps moments of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsched::api::{AppSpec, ApplicationId, Ending, Event, Finding, Stepped};

use super::take::take;
use super::{Film, MOMENTS, Tally};
use crate::play::{CallRefused, Onlooker};

/// Width of the span between two moments at first, in ms.
const FIRST_MS: u64 = 1_000;

/// Keeps evenly spaced moments of a run in a film.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    film: &'a Film,
    width_ms: u64,
    /// When the next moment is kept.
    due_ms: u64,
    /// Whether something changed since the last moment that is kept.
    changed: bool,
    tally: Tally,
    known: BTreeMap<ApplicationId, Submission>,
}

/// What is known of an application from its submission.
#[derive(Clone, Debug)]
pub(super) struct Submission {
    pub(super) at_ms: u64,
    pub(super) user: Arc<str>,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(film: &'a Film) -> Self {
        Self {
            film,
            width_ms: FIRST_MS,
            due_ms: 0,
            changed: false,
            tally: Tally::default(),
            known: BTreeMap::new(),
        }
    }

    /// The same of a run that changes at known times: moments are so far apart from the beginning that the film keeps
    /// each one.
    pub(crate) fn of_changes(film: &'a Film, times_ms: &[u64]) -> Self {
        let mut new = Self::new(film);
        while most_moments(times_ms, new.width_ms) >= MOMENTS {
            new.width_ms = new.width_ms.saturating_mul(2);
        }
        new
    }

    fn keep(&mut self, at_ms: u64, engine: &Stepped) {
        self.tally.conflicts = engine.conflicts().values().sum();
        let moment = take(at_ms, engine, (self.tally, &self.known));
        if self.film.push(moment) {
            self.width_ms = self.width_ms.saturating_mul(2);
        }
        self.due_ms = (at_ms / self.width_ms + 1).saturating_mul(self.width_ms);
        self.changed = false;
    }

    fn refuse(&mut self, at_ms: u64, app: ApplicationId, why: &Finding) {
        self.tally.refused += 1;
        let text = format!("{app} refused: {} {}", why.reason, why.detail);
        self.film.note(at_ms, text);
    }
}

/// Moments of a run at most: the first and the last change of each span with a change, the beginning and the end.
fn most_moments(times_ms: &[u64], width_ms: u64) -> u64 {
    let spans: BTreeSet<u64> = times_ms.iter().map(|at| at / width_ms).collect();
    2 * spans.len() as u64 + 2
}

impl Onlooker for Recording<'_> {
    fn moment(&mut self, at_ms: u64, engine: &Stepped) {
        self.changed = true;
        if at_ms >= self.due_ms {
            self.keep(at_ms, engine);
        }
    }

    /// What changed shortly after a moment holds beyond the next one that is due.
    fn moves_on(&mut self, from_ms: u64, to_ms: u64, engine: &Stepped) {
        if self.changed && to_ms >= self.due_ms {
            self.keep(from_ms, engine);
        }
    }

    fn submitted(&mut self, at_ms: u64, app: &AppSpec) {
        self.tally.submitted += 1;
        let user = app.user.as_str().into();
        self.known.insert(app.id, Submission { at_ms, user });
    }

    fn decided(&mut self, at_ms: u64, decisions: &[Event]) {
        for decision in decisions {
            match decision {
                Event::Allocated { .. } => self.tally.placed += 1,
                Event::Reserved {
                    container, node, ..
                } => {
                    self.tally.reserved += 1;
                    self.film
                        .note(at_ms, format!("{container}: {node} is reserved for it"));
                }
                Event::Ended {
                    container, ending, ..
                } => {
                    self.tally.released += 1;
                    if *ending == Ending::Killed {
                        self.tally.killed += 1;
                        let text = format!("{container} was ended by the scheduler");
                        self.film.note(at_ms, text);
                    }
                }
                Event::AttemptEnded { app, attempt } => {
                    let text = format!("attempt {attempt} of {app} ended");
                    self.film.note(at_ms, text);
                }
                Event::AppEnded { app, cause } => {
                    self.film
                        .note(at_ms, format!("{app} ended: {}", cause.name()));
                }
                Event::MasterLost { app } => {
                    let text = format!("the container of the master of {app} was lost");
                    self.film.note(at_ms, text);
                }
                _ => {}
            }
        }
    }

    fn refused(&mut self, at_ms: u64, app: &AppSpec, (why, _): (Finding, &Stepped)) {
        self.refuse(at_ms, app.id, &why);
    }

    fn refused_call(
        &mut self,
        at_ms: u64,
        app: ApplicationId,
        (why, _): (Finding, CallRefused<'_>),
    ) {
        self.refuse(at_ms, app, &why);
    }

    fn over(&mut self, at_ms: u64, engine: &Stepped) {
        let last = self.film.at(u64::MAX).map(|last| last.at_ms);
        if last != Some(at_ms) {
            self.keep(at_ms, engine);
        }
        self.film.end();
    }

    fn ended(&mut self, _: u64, app: ApplicationId) {
        self.tally.ended += 1;
        self.known.remove(&app);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_changes_set_the_time_between_moments() {
        let film = Film::default();
        let width_ms = |times_ms: &[u64]| Recording::of_changes(&film, times_ms).width_ms;
        let each_second = |seconds: u64| (0..seconds).map(|s| 1_000 * s).collect::<Vec<u64>>();
        assert_eq!(width_ms(&[]), FIRST_MS);
        assert_eq!(width_ms(&each_second(126)), FIRST_MS);
        assert_eq!(width_ms(&each_second(127)), 2 * FIRST_MS);
        // What is rare takes no resolution from what is dense.
        let mut rare = each_second(120);
        rare.extend([5_000_000_000, 9_000_000_000]);
        assert_eq!(width_ms(&rare), FIRST_MS);
    }
}
