//! The way to the committer: a command is sent, carried out where the committer is free, and answered.
//!
//! Tests: `tests/runtime/callers.rs`.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use super::command::{Command, ShowCall};
use super::looks::{CallError, LedgerQuery, Looks};
use super::reply::{Reply, answer, reply};
use crate::commit::{AskError, Fetch, Ledger};
use crate::id::ApplicationId;
use crate::queue::AskReply;
use crate::runtime::committer::caller_runs::CommitterAccess;
use crate::runtime::committer::idle::look_out;
use crate::snapshot::Snapshot;
use crate::sync::{InboxSender, OnceReceiver, TryRecvError, TrySendError};
use crate::time::SystemClock;

/// Times that rows are copied ahead of a snapshot at most.
const COPIED_AHEAD: usize = 4096;

/// The way to the committer, for everybody; clones lead to the same one.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Commands {
    inbox: InboxSender<Command>,
    fetches: InboxSender<Box<Fetch>>,
    committer: Arc<dyn CommitterAccess>,
    looks: Looks,
}

impl Commands {
    pub(in crate::runtime) fn new(
        inbox: InboxSender<Command>,
        fetches: InboxSender<Box<Fetch>>,
        committer: Arc<dyn CommitterAccess>,
    ) -> Self {
        Self {
            inbox,
            fetches,
            committer,
            looks: Looks::new(),
        }
    }

    /// The way into the inbox, for calls that do not wait for room in it.
    pub(super) fn inbox(&self) -> &InboxSender<Command> {
        &self.inbox
    }

    /// The same of fetches.
    pub(super) fn fetches(&self) -> &InboxSender<Box<Fetch>> {
        &self.fetches
    }

    /// Has the committer carry out what is in the inbox, a few turns of it on this thread if it is free.
    pub(super) fn run(&self) {
        self.committer.run_commands(&|| false);
    }

    /// The ways into the inboxes alone, where nobody runs the committer but the caller.
    pub(in crate::runtime) fn into_inboxes(
        self,
    ) -> (InboxSender<Command>, InboxSender<Box<Fetch>>) {
        (self.inbox, self.fetches)
    }

    /// Has a snapshot published that shows what was answered, if the committer is free.
    pub(in crate::runtime) fn show(&self) {
        self.committer.publish();
    }

    /// The same, with calls of others in between while rows are copied for it.
    pub(in crate::runtime) fn show_gently(&self) {
        self.copy_ahead();
        self.show();
    }

    /// Has rows copied ahead of the next snapshot, with calls of others in between.
    fn copy_ahead(&self) {
        let few = || {
            let copy_ahead = |reply| Command::Show(ShowCall::CopyAhead, reply);
            self.call(Duration::ZERO, copy_ahead).unwrap_or(true)
        };
        // What is left after so many times is copied at once.
        let _ = (0..COPIED_AHEAD).any(|_| few());
    }

    /// Puts a command into its inbox; waits while that is full.
    fn send<T>(&self, inbox: &InboxSender<T>, mut command: T) -> Result<(), CallError> {
        loop {
            match inbox.try_send(command) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(_)) => return Err(CallError::Closed),
                Err(TrySendError::Full(back)) => {
                    command = back;
                    self.run();
                    crate::sync::yield_now();
                }
            }
        }
    }

    /// Whether the present thread runs a closure of a caller, so that it must not wait for the committer.
    pub(in crate::runtime) fn are_inside(&self) -> bool {
        self.looks.is_inside()
    }

    /// Has a closure look at the ledger between two commands; its panic goes on in this thread.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub(in crate::runtime) fn inspect<T: Send + 'static>(
        &self,
        awake: Duration,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let looks = self.looks.clone();
        let looked = self.call(awake, |reply| {
            Command::Inspect(LedgerQuery::new(looks, reply, look))
        })?;
        looked.map_err(|payload| resume_unwind(payload))
    }

    /// The same, with a snapshot that shows the ledger as the closure sees it. Rows are copied for it before, with
    /// calls of others in between.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub(in crate::runtime) fn view<T: Send + 'static>(
        &self,
        awake: Duration,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<(T, Arc<Snapshot>), CallError> {
        self.copy_ahead();
        let (reply, answer) = reply();
        let query = LedgerQuery::new(self.looks.clone(), reply, look);
        let snapshot = self.call(awake, |reply| Command::View(query, reply))?;
        let looked = answer.recv().map_err(|_| CallError::Closed)?;
        let looked = looked.unwrap_or_else(|payload| resume_unwind(payload));
        Ok((looked, snapshot))
    }

    /// Sends a command and waits for its answer, at first awake for some time. If the committer is free, it
    /// carries the command out on this thread.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub(in crate::runtime) fn call<T>(
        &self,
        awake: Duration,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Result<T, CallError> {
        if self.are_inside() {
            return Err(CallError::Reentrant);
        }
        let (reply, answer) = reply();
        self.send(&self.inbox, command(reply))?;
        self.await_answer(awake, answer)
    }

    /// Has an application fetch what it got, and waits as [`Self::call`]. Long changes pause for it.
    ///
    /// # Errors
    ///
    /// As [`Self::call`], and where the application is refused.
    pub(in crate::runtime) fn fetch(
        &self,
        awake: Duration,
        app: ApplicationId,
    ) -> Result<AskReply, AskError> {
        if self.are_inside() {
            return Err(CallError::Reentrant.into());
        }
        let (reply, answered) = reply();
        let fetch = Fetch::of(app, |came_to| answer(reply, came_to));
        self.send(&self.fetches, fetch)?;
        self.await_answer(awake, answered)?
    }

    /// Has the committer run on this thread if it is free, and waits for an answer.
    fn await_answer<T>(&self, awake: Duration, answer: OnceReceiver<T>) -> Result<T, CallError> {
        self.committer.run_commands(&|| !answer.has_message());
        if awake.is_zero() {
            return answer.recv().map_err(|_| CallError::Closed);
        }
        // A committer that is awake answers before this thread would be asleep.
        let mut early = None;
        look_out(
            &SystemClock::new(),
            awake,
            || false,
            || match answer.try_recv() {
                Err(TryRecvError::Empty) => false,
                found => {
                    early = Some(found.ok());
                    true
                }
            },
        );
        early
            .unwrap_or_else(|| answer.recv().ok())
            .ok_or(CallError::Closed)
    }
}
