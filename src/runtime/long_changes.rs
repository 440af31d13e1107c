//! Changes that name many applications or containers, carried out in parts: between two of them others are served.
//!
//! Each part takes items off a budget: asks that are withdrawn, containers that end or move, and one for each application.
//! An application that ends, or leaves its queue, between two parts is passed, unless its end has begun. One that comes to
//! the queue then stays. So it is with nodes that lose a label.
//!
//! Tests: `tests/runtime/turns.rs`.

use super::Sequential;
use crate::commit::{
    AppError, AppRecovery, AskError, GangPreparation, LabelRemoval, LeafApps, MovePreparation,
    MovedApps, NodeError, PreemptionProgress, PreemptionRound, Recovered, SubmitError, Verdicts,
};
use crate::id::ApplicationId;
use crate::queue::{AppSpec, Ask, GangAsk};

/// What a part for an application came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartOfApp {
    Done,
    /// More is to be done, if it is still in the queue.
    GoesOn,
    /// More is to be done, wherever it is.
    MustGoOn,
}

/// Carries out a part for one application after the other, as far as the budget goes; whether none is left.
fn go_through(
    engine: &mut Sequential,
    left: &mut LeafApps,
    budget: &mut usize,
    mut part: impl FnMut(&mut Sequential, ApplicationId, &mut usize) -> PartOfApp,
) -> bool {
    engine.note_change();
    let mut is_over = false;
    while *budget > 0 && !is_over {
        let Some(app) = engine.ledger().next_of(left) else {
            is_over = true;
            continue;
        };
        match part(engine, app, budget) {
            PartOfApp::Done => left.pass(),
            PartOfApp::GoesOn => {}
            PartOfApp::MustGoOn => engine.ledger().hold(left),
        }
    }
    engine.follow_up();
    is_over
}

/// Takes an application with its containers and keys off a budget.
fn take_off(engine: &Sequential, app: ApplicationId, budget: &mut usize) {
    *budget = budget.saturating_sub(1 + engine.ledger().size_of(app));
}

/// Ends all applications of a leaf.
#[derive(Debug)]
pub(super) struct KillAll {
    queue: String,
    /// Those to come, once they are listed.
    left: Option<LeafApps>,
    killed: Vec<ApplicationId>,
}

impl KillAll {
    pub(super) fn of(queue: &str) -> Self {
        Self {
            queue: queue.to_owned(),
            left: None,
            killed: Vec::new(),
        }
    }

    /// Goes on; what it came to once all ended.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<Vec<ApplicationId>, AppError>> {
        let left = match &mut self.left {
            Some(left) => left,
            None => match engine.ledger().leaf_apps(&self.queue) {
                Ok(apps) => self.left.insert(apps),
                Err(error) => return Some(Err(error)),
            },
        };
        let is_over = go_through(engine, left, budget, |engine, app, budget| {
            if !engine.end_part_of(app, budget) {
                return PartOfApp::MustGoOn;
            }
            take_off(engine, app, budget);
            engine.kill_app(app);
            self.killed.push(app);
            PartOfApp::Done
        });
        is_over.then(|| Ok(std::mem::take(&mut self.killed)))
    }
}

/// Moves an application to another leaf. It moves as a whole, and what it is charged is worked out in parts before.
#[derive(Debug)]
pub(super) struct MoveApp {
    app: ApplicationId,
    queue: String,
    preparation: MovePreparation,
}

impl MoveApp {
    pub(super) fn of(app: ApplicationId, queue: String) -> Self {
        Self {
            app,
            queue,
            preparation: MovePreparation::default(),
        }
    }

    /// Goes on; what it came to once the application moved or was refused.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<(), AppError>> {
        let (queue, preparation) = (&self.queue, &mut self.preparation);
        let is_ready = engine.prepare_move(self.app, queue, preparation, budget);
        is_ready.then(|| engine.move_prepared(self.app, queue, preparation))
    }
}

/// Moves all applications of a leaf to another one. An application moves as a whole, as with [`MoveApp`].
#[derive(Debug)]
pub(super) struct MoveAll {
    from: String,
    to: String,
    /// Those to come, once they are listed.
    left: Option<LeafApps>,
    /// Of the next one.
    preparation: MovePreparation,
    result: MovedApps,
}

impl MoveAll {
    pub(super) fn of(from: &str, to: &str) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            left: None,
            preparation: MovePreparation::default(),
            result: MovedApps::default(),
        }
    }

    /// Goes on; what it came to once all moved or were refused.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<MovedApps, AppError>> {
        let left = match &mut self.left {
            Some(left) => left,
            None => match engine.ledger().leaf_apps_for(&self.from, &self.to) {
                Ok(apps) => self.left.insert(apps),
                Err(error) => return Some(Err(error)),
            },
        };
        let (preparation, result) = (&mut self.preparation, &mut self.result);
        let is_over = go_through(engine, left, budget, |engine, app, budget| {
            if !engine.prepare_move(app, &self.to, preparation, budget) {
                return PartOfApp::GoesOn;
            }
            take_off(engine, app, budget);
            let preparation = std::mem::take(preparation);
            engine.move_noted(app, (&self.to, &preparation), result);
            PartOfApp::Done
        });
        is_over.then(|| Ok(std::mem::take(&mut self.result)))
    }
}

/// Asks for a gang, after a look at the nodes in parts. It is placed as a whole or not at all.
#[derive(Debug)]
pub(super) struct AskGang {
    app: ApplicationId,
    gang: GangAsk,
    preparation: GangPreparation,
}

impl AskGang {
    pub(super) fn of(app: ApplicationId, gang: GangAsk) -> Self {
        Self {
            app,
            gang,
            preparation: GangPreparation::default(),
        }
    }

    /// Goes on; what it came to once the gang is asked for or refused.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<(), AskError>> {
        let (gang, preparation) = (&self.gang, &mut self.preparation);
        let slot = engine.ledger.app(self.app);
        let is_ready = slot.is_none_or(|slot| {
            let ledger = &mut engine.ledger;
            ledger.prepare_gang(slot, gang, preparation, budget)
        });
        let prepared = is_ready.then(|| std::mem::take(preparation))?;
        Some(engine.ask_prepared_gang(self.app, gang, prepared))
    }
}

/// Asks for opportunistic containers, of which nodes take as many as they can.
#[derive(Debug)]
pub(super) struct AskOpportunistic {
    app: ApplicationId,
    /// Until they are taken over.
    asks: Option<Vec<Ask>>,
}

impl AskOpportunistic {
    pub(super) fn of(app: ApplicationId, asks: Vec<Ask>) -> Self {
        let asks = Some(asks);
        Self { app, asks }
    }

    /// Goes on; what it came to once no more can be placed.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<(), AskError>> {
        if let Some(asks) = self.asks.take()
            && let Err(error) = engine.take_opportunistic(self.app, &asks)
        {
            return Some(Err(error));
        }
        let done = engine.place_opportunistic(self.app, budget);
        done.then_some(Ok(()))
    }
}

/// Recovers an application, which takes over the containers that nodes reported of it.
#[derive(Debug)]
pub(super) struct RecoverApp {
    app: AppSpec,
    attempt: u32,
    master: Option<u32>,
    /// The containers to come, once the application is there.
    under_way: Option<AppRecovery>,
}

impl RecoverApp {
    pub(super) fn of(app: AppSpec, attempt: u32, master: Option<u32>) -> Self {
        Self {
            app,
            attempt,
            master,
            under_way: None,
        }
    }

    /// Goes on; what became of the containers, in no order, once none is left.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<Recovered, SubmitError>> {
        engine.note_change();
        let under_way = match &mut self.under_way {
            Some(under_way) => under_way,
            None => {
                let ledger = &mut engine.ledger;
                let begun = ledger.begin_app_recovery(&self.app, self.attempt, self.master);
                match begun {
                    Ok((_, recovery)) => self.under_way.insert(recovery),
                    Err(error) => {
                        engine.follow_up();
                        return Some(Err(error));
                    }
                }
            }
        };
        let is_over = engine.ledger.take_over_part(under_way, budget);
        engine.follow_up();
        if !is_over {
            return None;
        }
        self.under_way
            .take()
            .map(|recovery| Ok(recovery.into_recovered()))
    }
}

/// A label that the cluster forgets. Its nodes come to the default partition before.
#[derive(Debug)]
pub(super) struct RemoveLabel {
    label: String,
    /// Once it has begun.
    under_way: Option<LabelRemoval>,
}

impl RemoveLabel {
    pub(super) fn of(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            under_way: None,
        }
    }

    /// Goes on; what it came to once the label is gone.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<(), NodeError>> {
        let removal = match &mut self.under_way {
            Some(removal) => removal,
            None => match engine.ledger().begin_label_removal(&self.label) {
                Ok(removal) => self.under_way.insert(removal),
                Err(error) => return Some(Err(error)),
            },
        };
        engine.note_nodes();
        let came_to = engine.ledger.go_on_removing(removal, budget);
        engine.follow_up();
        came_to
    }
}

/// A round of preemption, and how far it is carried out.
#[derive(Debug)]
pub(super) struct RoundUnderWay {
    verdicts: Verdicts,
    progress: PreemptionProgress,
}

impl RoundUnderWay {
    pub(super) fn of(verdicts: Verdicts) -> Box<Self> {
        Box::new(Self {
            verdicts,
            progress: PreemptionProgress::default(),
        })
    }

    /// Goes on; whether all verdicts are carried out.
    pub(super) fn go_on(&mut self, engine: &mut Sequential, budget: &mut usize) -> bool {
        engine.preempt_on(&self.verdicts, &mut self.progress, budget)
    }

    /// What it came to.
    pub(super) fn into_round(self) -> PreemptionRound {
        self.progress.into_round()
    }
}

impl Sequential {
    /// As [`Self::move_app`], for a move that may be prepared.
    pub(super) fn move_prepared(
        &mut self,
        app: ApplicationId,
        queue: &str,
        preparation: &MovePreparation,
    ) -> Result<(), AppError> {
        self.note_change();
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        let result = self.ledger.move_prepared(slot, queue, preparation);
        self.follow_up();
        result
    }

    /// Goes on preparing a move, with as many containers as the budget has; whether it is prepared as far as it will be.
    fn prepare_move(
        &self,
        app: ApplicationId,
        queue: &str,
        preparation: &mut MovePreparation,
        budget: &mut usize,
    ) -> bool {
        let slot = self.ledger.app(app);
        slot.is_none_or(|slot| self.ledger.prepare_move(slot, queue, preparation, budget))
    }

    /// Goes on with verdicts that were decided elsewhere, as many as the budget has; whether all are carried out.
    pub(super) fn preempt_on(
        &mut self,
        verdicts: &Verdicts,
        progress: &mut PreemptionProgress,
        budget: &mut usize,
    ) -> bool {
        self.note_change();
        self.ledger.know_active_users();
        let done = self.ledger.preempt_on(verdicts, progress, budget);
        self.follow_up();
        done
    }
}
