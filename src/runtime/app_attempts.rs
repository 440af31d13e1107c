//! Ends and starts of attempts, on engines with and without threads.
//!
//! Tests: `tests/commit/attempts.rs`.

use super::{Sequential, Threaded};
use crate::commit::AppError;
use crate::id::{ApplicationId, ContainerId};

impl Sequential {
    /// Ends the attempt of an application. The application stays in its queue with what it keeps
    /// ([`Restarts`](crate::queue::Restarts)), and asks for nothing until [`Self::start_attempt`].
    ///
    /// # Errors
    ///
    /// When no live application has the number, or its attempt ended already.
    pub fn end_attempt(&mut self, app: ApplicationId) -> Result<(), AppError> {
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        self.note_change();
        let result = self.ledger.end_attempt(slot);
        self.follow_up();
        result
    }

    /// Starts the next attempt of an application, which enters its queue anew and asks for its master's container;
    /// the number of the attempt.
    ///
    /// # Errors
    ///
    /// When no live application has the number, or an attempt of it runs.
    pub fn start_attempt(&mut self, app: ApplicationId) -> Result<u32, AppError> {
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        self.note_change();
        let result = self.ledger.start_attempt(slot);
        self.follow_up();
        result
    }

    /// Goes on with the end of an attempt as far as the budget has items; whether the rest is few enough for
    /// [`Self::end_attempt`].
    fn end_part_of_attempt(&mut self, app: ApplicationId, budget: &mut usize) -> bool {
        let Some(slot) = self.ledger.app(app) else {
            return true;
        };
        self.note_change();
        let few = self.ledger.end_part_of_attempt(slot, budget);
        self.follow_up();
        few
    }
}

/// Ends an attempt in parts.
#[derive(Debug)]
pub(super) struct EndAttempt {
    app: ApplicationId,
    /// Its number, once a part was carried out.
    begun: Option<u32>,
}

impl EndAttempt {
    pub(super) const fn of(app: ApplicationId) -> Self {
        let begun = None;
        Self { app, begun }
    }

    /// Goes on; what it came to once the attempt ended, also if it did so between two parts.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<(), AppError>> {
        let running = engine.ledger.running_attempt(self.app);
        if self.begun.is_some() && running != self.begun {
            return Some(Ok(()));
        }
        self.begun = running;
        let ends = engine.end_part_of_attempt(self.app, budget);
        ends.then(|| engine.end_attempt(self.app))
    }
}

impl Threaded {
    /// As [`Sequential::end_attempt`].
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// engine.add_node(NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[8192, 8])))?;
    /// let app = ApplicationId::new(1);
    /// let spec = AppSpec::new(app, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
    /// engine.submit(spec.restarting(Restarts::KeepingContainers))?;
    /// engine.end_attempt(app)?;
    /// assert_eq!(engine.end_attempt(app), Err(AppError::NoAttempt(app)));
    /// assert_eq!(engine.start_attempt(app)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When no live application has the number, or its attempt ended already.
    pub fn end_attempt(&self, app: ApplicationId) -> Result<(), AppError> {
        let mut ending = EndAttempt::of(app);
        self.change_in_parts(move |engine, budget| ending.go_on(engine, budget))?
    }

    /// As [`Sequential::start_attempt`].
    ///
    /// # Errors
    ///
    /// When no live application has the number, or an attempt of it runs.
    pub fn start_attempt(&self, app: ApplicationId) -> Result<u32, AppError> {
        self.change(move |engine| engine.start_attempt(app))?
    }

    /// As [`Sequential::container_exited`].
    #[must_use]
    pub fn container_exited(&self, container: ContainerId, exit_status: i32) -> bool {
        self.change(move |engine| engine.container_exited(container, exit_status))
            .unwrap_or(false)
    }
}
