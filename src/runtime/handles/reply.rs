//! Where the answer to a command goes: to a thread that waits for it, or to a task that is woken.
//!
//! Tests: `tests/runtime/async_calls.rs`.

use std::task::{Context, Poll};

use crate::sync::{
    Parked, Parker, Receiver, SyncSender, TryRecvError, Waker, parking, sync_channel,
};

/// The sending end; one answer at most.
#[derive(Debug)]
pub(in crate::runtime) struct Reply<T> {
    /// There until the drop.
    sender: Option<SyncSender<T>>,
    /// Of the task that waits, if a task does.
    waker: Option<Waker>,
}

/// An answer that a thread waits for.
pub(in crate::runtime) fn reply<T>() -> (Reply<T>, Receiver<T>) {
    let (sender, receiver) = sync_channel(1);
    let reply = Reply {
        sender: Some(sender),
        waker: None,
    };
    (reply, receiver)
}

/// An answer that a task waits for.
pub(in crate::runtime) fn waking_reply<T>() -> (Reply<T>, TaskAnswer<T>) {
    let (mut reply, receiver) = reply();
    let (waker, parker) = parking();
    reply.waker = Some(waker);
    (reply, TaskAnswer { receiver, parker })
}

impl<T> Reply<T> {
    fn send(&self, value: T) {
        if let Some(sender) = &self.sender {
            drop(sender.try_send(value));
        }
    }
}

impl<T> Drop for Reply<T> {
    /// The task finds the answer, or that none comes any more.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}

/// Sends an answer; the caller may have given up.
pub(in crate::runtime) fn answer<T>(reply: &Reply<T>, value: T) {
    reply.send(value);
}

/// The receiving end of a task.
#[derive(Debug)]
pub(in crate::runtime) struct TaskAnswer<T> {
    receiver: Receiver<T>,
    parker: Parker,
}

impl<T> TaskAnswer<T> {
    /// The answer; nothing within when none comes any more. Otherwise the task is woken once there is one.
    pub(in crate::runtime) fn poll(&self, context: &Context<'_>) -> Poll<Option<T>> {
        let mut found = None;
        let mut look = || match self.receiver.try_recv() {
            Err(TryRecvError::Empty) => false,
            got => {
                found = Some(got.ok());
                true
            }
        };
        if !look() {
            let _: Parked = self.parker.register(context.waker(), look);
        }
        found.map_or(Poll::Pending, Poll::Ready)
    }
}
