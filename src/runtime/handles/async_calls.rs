//! Calls of tasks of an asynchronous host: the answer wakes the task, and no thread waits for it.
//!
//! 1. The first poll puts the command into its inbox. While that is full, the task yields and comes again.
//! 2. If the committer is free, it takes a few turns on the polling thread, as on that of every caller.
//! 3. Otherwise the task sleeps until its answer is sent, or dropped with the engine.
//!
//! A future that is dropped before its first poll asked for nothing. One that is dropped later leaves a
//! command that is carried out all the same.
//!
//! Tests: `tests/runtime/async_calls.rs`.

use std::future::poll_fn;
use std::task::Poll;

use super::command::{AskBatch, Command};
use super::commands::Commands;
use super::engine::Threaded;
use super::looks::CallError;
use super::reply::{Reply, TaskAnswer, answer, waking_reply};
use crate::commit::{AppError, AskError, Fetch, HeartbeatReply, NodeError, SubmitError, Submitted};
use crate::id::{ApplicationId, NodeName};
use crate::queue::{AppSpec, AskCall, AskReply, NodeReport};
use crate::sync::{InboxSender, TrySendError};

impl Commands {
    /// Sends a command and waits for its answer without a thread.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    async fn call_by_task<T>(
        &self,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Result<T, CallError> {
        let (reply, answer) = waking_reply();
        self.send_by_task(self.inbox(), command(reply), answer)
            .await
    }

    /// As [`Self::fetch`], without a thread.
    async fn fetch_by_task(&self, app: ApplicationId) -> Result<AskReply, AskError> {
        let (reply, answered) = waking_reply();
        let fetch = Fetch::of(app, |came_to| answer(reply, came_to));
        self.send_by_task(self.fetches(), fetch, answered).await?
    }

    async fn send_by_task<C, T>(
        &self,
        inbox: &InboxSender<C>,
        command: C,
        answer: TaskAnswer<T>,
    ) -> Result<T, CallError> {
        let mut unsent = Some(command);
        poll_fn(move |context| {
            if let Some(command) = unsent.take() {
                match self.try_send(inbox, command) {
                    Ok(None) => {}
                    Ok(full) => {
                        unsent = full;
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Err(refused) => return Poll::Ready(Err(refused)),
                }
            }
            answer
                .poll(context)
                .map(|answer| answer.ok_or(CallError::Closed))
        })
        .await
    }

    /// Puts a command into its inbox and has the committer run; the command again where that is full.
    fn try_send<C>(&self, inbox: &InboxSender<C>, command: C) -> Result<Option<C>, CallError> {
        if self.are_inside() {
            return Err(CallError::Reentrant);
        }
        let back = match inbox.try_send(command) {
            Ok(()) => None,
            Err(TrySendError::Full(back)) => Some(back),
            Err(TrySendError::Closed(_)) => return Err(CallError::Closed),
        };
        self.run();
        Ok(back)
    }
}

impl Threaded {
    /// [`Threaded::ask`] for a task of an asynchronous host: no thread waits, and the answer wakes the task.
    ///
    /// Cost: as a call. If the committer is free it takes a few turns on the thread that polls, which is below
    /// a millisecond.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let host = tokio::runtime::Builder::new_current_thread().build()?;
    /// let engine = Engine::builder(example::settings()).mode(Mode::Global { threads: 1 }).start()?;
    /// let placed = host.block_on(async {
    ///     engine.add_node(NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[8192, 8])))?;
    ///     let app = ApplicationId::new(1);
    ///     engine.submit_async(AppSpec::new(app, "root.a", "ann")).await?;
    ///     let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
    ///     engine.ask_async(app, AskCall::asking(vec![ask])).await?;
    ///     engine.quiesce();
    ///     let reply = engine.ask_async(app, AskCall::default()).await?;
    ///     engine.finish_app_async(app).await?;
    ///     Ok::<_, Box<dyn std::error::Error>>(reply.allocated.len())
    /// })?;
    /// assert_eq!(placed, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`AskError`]; nothing of the call was carried out then.
    pub async fn ask_async(&self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        if call.only_fetches() {
            return self.commands.fetch_by_task(app).await;
        }
        let batch = AskBatch::new(vec![(app, call)]);
        let asked = self
            .commands
            .call_by_task(|reply| Command::Ask(batch, reply));
        let answers = asked.await?.into_answers();
        answers.into_iter().next().unwrap_or(Err(AskError::Closed))
    }

    /// [`Threaded::submit`] for a task, as [`Self::ask_async`].
    ///
    /// # Errors
    ///
    /// As [`SubmitError`].
    pub async fn submit_async(&self, app: AppSpec) -> Result<Submitted, SubmitError> {
        let submitted = self
            .commands
            .call_by_task(|reply| Command::Submit(Box::new(app), reply));
        submitted.await?
    }

    /// [`Threaded::heartbeat`] for a task, as [`Self::ask_async`].
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub async fn heartbeat_async(
        &self,
        node: NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        let command = |reply| Command::Heartbeat(node, report, reply);
        self.commands.call_by_task(command).await?
    }

    /// [`Threaded::finish_app`] for a task, as [`Self::ask_async`].
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub async fn finish_app_async(&self, app: ApplicationId) -> Result<(), AppError> {
        let ended = self
            .commands
            .call_by_task(|reply| Command::FinishApp(app, reply));
        ended.await?
    }
}
