//! Where the answer to a command goes: to a thread that waits for it, or to a task that is woken.
//!
//! Tests: `tests/runtime/async_calls.rs`.

use std::task::{Context, Poll};

use crate::sync::{
    OnceReceiver, OnceSender, Parked, Parker, TryRecvError, Waker, once_channel, parking,
};

/// The sending end, for one answer.
#[derive(Debug)]
pub(in crate::runtime) struct Reply<T> {
    /// There until the answer, or the drop without one.
    sender: Option<OnceSender<T>>,
    /// Of the task that waits, if a task does.
    waker: Option<Waker>,
}

/// An answer that a thread waits for.
pub(in crate::runtime) fn reply<T>() -> (Reply<T>, OnceReceiver<T>) {
    let (sender, receiver) = once_channel();
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
pub(in crate::runtime) fn answer<T>(mut reply: Reply<T>, value: T) {
    if let Some(sender) = reply.sender.take() {
        // Nobody waits for it any more where it comes back.
        drop(sender.send(value));
    }
}

/// The receiving end of a task.
#[derive(Debug)]
pub(in crate::runtime) struct TaskAnswer<T> {
    receiver: OnceReceiver<T>,
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
