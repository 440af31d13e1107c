//! Commands: everything that outsiders change, in one order, each with its answer. Fetches alone go before others.
//!
//! Tests: `tests/runtime/callers.rs`.

use std::sync::Arc;

use crate::commit::{
    AppError, AskError, AskOrder, AskProgress, Fetch, HeartbeatReply, NodeError, PreemptionRound,
    RefreshError, SubmitError, Submitted, Unsettled,
};
use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::queue::{AppSpec, AskCall, AskReply, NodeReport, TreeSettings};
use crate::snapshot::Snapshot;

use crate::runtime::Sequential;
use crate::runtime::handles::heartbeat_batch::HeartbeatBatch;
use crate::runtime::handles::looks::LedgerQuery;
use crate::runtime::handles::reply::{Reply, answer};
use crate::runtime::ledger_change::{LedgerChange, Writes};
use crate::runtime::long_changes::RoundUnderWay;
use crate::runtime::node_changes::Rest;

/// Calls of which the released containers are read at once, before the first is carried out.
const READ_TOGETHER: usize = 16;

/// Calls of applications with room for their answers. Their lists are made and dropped by the caller's
/// thread: memory that another thread gives back costs both.
#[derive(Debug)]
pub(in crate::runtime) struct AskBatch {
    calls: Vec<(ApplicationId, AskCall)>,
    /// The orders of their asks, which the caller's thread works out; those of calls under way are taken out.
    orders: Vec<AskOrder>,
    /// How many calls began, and how many are answered.
    begun: usize,
    done: usize,
    /// How far the last one that began is carried out.
    progress: AskProgress,
    replies: Vec<AskReply>,
    /// Positions of the calls that were refused.
    refused: Vec<(usize, AskError)>,
}

impl AskBatch {
    pub(in crate::runtime) fn new(calls: Vec<(ApplicationId, AskCall)>) -> Box<Self> {
        let room = |(_, call): &(_, AskCall)| {
            let gives_back = call.release.len();
            AskReply {
                allocated: Vec::with_capacity(gives_back.max(1)),
                finished: Vec::with_capacity(gives_back),
                ..AskReply::default()
            }
        };
        Box::new(Self {
            replies: calls.iter().map(room).collect(),
            orders: calls
                .iter()
                .map(|(_, call)| AskOrder::of(&call.asks))
                .collect(),
            begun: 0,
            done: 0,
            progress: AskProgress::default(),
            calls,
            refused: Vec::new(),
        })
    }

    /// Goes on for at most so many items; whether every call is answered.
    fn go_on(&mut self, engine: &mut Sequential, budget: &mut usize) -> bool {
        while let Some((app, call)) = self.calls.get(self.done) {
            if *budget == 0 {
                return false;
            }
            let (progress, reply) = (&mut self.progress, &mut self.replies[self.done]);
            if self.begun == self.done {
                if self.done.is_multiple_of(READ_TOGETHER) {
                    let next = self.calls[self.done..].iter().take(READ_TOGETHER);
                    engine.ledger().read_released(next);
                }
                progress.begin(call, std::mem::take(&mut self.orders[self.done]));
                self.begun += 1;
            }
            match engine.ask_on(*app, call, progress, reply, budget) {
                Ok(false) => return false,
                Ok(true) => {}
                Err(error) => self.refused.push((self.done, error)),
            }
            *budget = budget.saturating_sub(1);
            self.done += 1;
        }
        true
    }

    /// The answers in the order of the calls.
    pub(in crate::runtime) fn into_answers(self) -> Vec<Result<AskReply, AskError>> {
        let mut answers: Vec<_> = self.replies.into_iter().map(Ok).collect();
        for (i, error) in self.refused {
            answers[i] = Err(error);
        }
        answers
    }
}

/// What may be asked about snapshots; each is answered by yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum ShowCall {
    /// Whether a further look of the proposers at an unchanged state may bring something.
    MayLookAgain,
    /// Has every proposer look once more, if that may bring something; whether they do.
    LookAgain,
    /// Has rows copied ahead of a snapshot that is to be asked for; whether few are left.
    CopyAhead,
}

/// One change that an outsider asks for.
///
/// It is moved into the inbox, out of it and into its execution. What is large and rare stands apart, so that those
/// moves are a few instructions and no call.
#[derive(Debug)]
pub(in crate::runtime) enum Command {
    Submit(Box<AppSpec>, Reply<Result<Submitted, SubmitError>>),
    Ask(Box<AskBatch>, Reply<Box<AskBatch>>),
    /// It comes by an inbox of its own.
    Fetch(Box<Fetch>),
    Heartbeat(
        NodeName,
        NodeReport,
        Reply<Result<HeartbeatReply, NodeError>>,
    ),
    HeartbeatAll(
        HeartbeatBatch,
        Reply<Vec<Result<HeartbeatReply, NodeError>>>,
    ),
    ContainerFinished(ContainerId, Reply<bool>),
    FinishApp(ApplicationId, Reply<Result<(), AppError>>),
    ChangePriority(ApplicationId, i32, Reply<Result<i32, AppError>>),
    Reconfigure(Box<TreeSettings>, Reply<Result<(), RefreshError>>),
    Preempt(Box<RoundUnderWay>, Reply<PreemptionRound>),
    /// Another change of the ledger.
    Change(LedgerChange),
    /// Looks at the ledger.
    Inspect(LedgerQuery),
    /// Looks at the ledger, and gets a snapshot that shows the same.
    View(LedgerQuery, Reply<Arc<Snapshot>>),
    /// Answered once every proposer has looked at the present state and found nothing.
    Quiesce(Reply<()>),
    /// Is about what proposers are shown, not about the ledger.
    Show(ShowCall, Reply<bool>),
}

// The compiler moves up to 128 bytes without a call.
const _: () = assert!(size_of::<Command>() <= 112);

impl Command {
    /// Whether it is a call of applications or a report of nodes, which a few decisions may answer.
    pub(in crate::runtime) fn is_call(&self) -> bool {
        matches!(
            self,
            Self::Ask(..) | Self::Fetch(_) | Self::Heartbeat(..) | Self::HeartbeatAll(..)
        )
    }

    /// Whether it changes nothing.
    pub(in crate::runtime) fn is_look(&self) -> bool {
        matches!(
            self,
            Self::Inspect(_) | Self::View(..) | Self::Quiesce(_) | Self::Show(..)
        )
    }

    /// Whether its next part writes the row of every queue. A report that is yet to be taken does not wait for others, and
    /// counts as none of these.
    pub(in crate::runtime) fn writes_all_queues(&self, engine: &Unsettled<Sequential>) -> bool {
        let writes = match self {
            Self::Reconfigure(..) => Writes::AllQueues,
            Self::Change(change) => change.writes(),
            Self::HeartbeatAll(batch, _) if batch.has_rest() => Writes::Rest,
            _ => Writes::Named,
        };
        writes == Writes::AllQueues || (writes == Writes::Rest && !engine.is_followed_up())
    }

    /// Carries the command out and answers; what is left of it where it has more items than the budget. A
    /// caller that no longer waits is no error. What is about the committer itself (quiescence, snapshots) it
    /// answers when it is due.
    pub(in crate::runtime) fn go_on(
        self,
        engine: &mut Sequential,
        schedules: bool,
        budget: &mut usize,
    ) -> Option<Self> {
        match self {
            Self::Ask(mut batch, reply) => {
                if !batch.go_on(engine, budget) {
                    return Some(Self::Ask(batch, reply));
                }
                answer(reply, batch);
            }
            Self::Fetch(fetch) => return engine.fetch_on(fetch, budget).map(Self::Fetch),
            Self::Heartbeat(node, report, reply) => {
                let (came_to, rest) = take_report(engine, schedules, &node, &report);
                if rest == Rest::Left {
                    return Some(Self::Change(LedgerChange::rest(reply, came_to)));
                }
                answer(reply, came_to);
            }
            Self::HeartbeatAll(mut batch, reply) => {
                if !batch.go_on(engine, budget, |engine, node, report| {
                    take_report(engine, schedules, node, report)
                }) {
                    return Some(Self::HeartbeatAll(batch, reply));
                }
                answer(reply, batch.into_replies());
            }
            Self::FinishApp(app, reply) => {
                if !engine.end_part_of(app, budget) {
                    return Some(Self::FinishApp(app, reply));
                }
                answer(reply, engine.finish_app(app));
            }
            other => return other.change_on(engine, budget),
        }
        None
    }

    /// The same for the other commands.
    fn change_on(self, engine: &mut Sequential, budget: &mut usize) -> Option<Self> {
        match self {
            Self::Preempt(mut round, reply) => {
                if !round.go_on(engine, budget) {
                    return Some(Self::Preempt(round, reply));
                }
                answer(reply, round.into_round());
            }
            Self::Change(mut change) => {
                if !change.go_on(engine, budget) {
                    return Some(Self::Change(change));
                }
            }
            whole => whole.carry_out(engine),
        }
        None
    }

    /// Carries out a command whose length is that of what it names.
    fn carry_out(self, engine: &mut Sequential) {
        match self {
            Self::Submit(app, reply) => answer(reply, engine.submit(&app)),
            // Commands that have parts.
            Self::Ask(..)
            | Self::Fetch(_)
            | Self::Heartbeat(..)
            | Self::HeartbeatAll(..)
            | Self::FinishApp(..)
            | Self::Preempt(..)
            | Self::Change(_) => {}
            Self::ContainerFinished(container, reply) => {
                answer(reply, engine.container_finished(container));
            }
            Self::ChangePriority(app, priority, reply) => {
                answer(reply, engine.change_priority(app, priority));
            }
            Self::Reconfigure(settings, reply) => answer(reply, engine.reconfigure(*settings)),
            // The committer has the snapshot.
            Self::Inspect(query) | Self::View(query, _) => query.run(engine.ledger()),
            Self::Quiesce(reply) => answer(reply, ()),
            Self::Show(_, reply) => answer(reply, true),
        }
    }
}

/// Takes over what a node reports, and schedules it where the mode does so then. The labels of a node that shrinks are left to
/// the next parts.
fn take_report(
    engine: &mut Sequential,
    schedules: bool,
    node: &NodeName,
    report: &NodeReport,
) -> (Result<HeartbeatReply, NodeError>, Rest) {
    engine.report_in_parts(node, |engine| {
        if schedules {
            engine.heartbeat(node, report)
        } else {
            engine.node_reported(node, report)
        }
    })
}
