//! A thread beside the committer that looks at the ledger from time to time and submits verdicts.
//!
//! The committer passes it the ledger between two commands; it decides on its own
//! thread, and what it decided comes back as a command like everybody else's. Verdicts that no
//! longer hold by then have no effect. A call of the monitor that panics is counted and comes to
//! nothing; its thread goes on, since callers wait for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::command::Command;
use super::commands::Commands;
use super::looks::CallError;
use super::reply::{Reply, answer, reply};
use crate::commit::{Ledger, PreemptionRound, Verdicts};
use crate::runtime::long_changes::RoundUnderWay;
use crate::runtime::panics::PanicLog;
use crate::sync::{
    Arc, AtomicU64, InboxReceiver, InboxSender, Ordering, Parked, Parker, Received, Shutdown,
    TrySendError, Waker, inbox, parking,
};
use crate::time::Clock;

/// Calls to the monitor that may wait; callers wait beyond that.
const CALLS: usize = 64;

/// How long its thread rests after a panic.
const PAUSE: Duration = Duration::from_millis(1);

/// What decides on a monitor's thread.
pub trait Monitor: Send {
    /// Time between two rounds in ms, at least 1; nothing while no round is to run.
    fn interval_ms(&self) -> Option<u64>;

    /// Decides one round. It looks at the ledger through `access`, briefly each time.
    fn round(&mut self, access: &Access) -> Verdicts;

    /// Takes a message of a type that it knows, such as other settings.
    fn message(&mut self, message: Box<dyn Any + Send>, access: &Access);
}

/// The way to the committer.
#[derive(Clone, Debug)]
pub struct Access {
    pub(super) commands: Commands,
}

impl Access {
    /// Looks at the live ledger through the committer, between two commands.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down.
    pub fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        self.commands.inspect(Duration::ZERO, look)
    }

    pub(super) fn of(commands: Commands) -> Self {
        Self { commands }
    }

    fn submit(&self, verdicts: Verdicts) -> Option<PreemptionRound> {
        let submit = |reply| Command::Preempt(RoundUnderWay::of(verdicts), reply);
        self.commands.call(Duration::ZERO, submit).ok()
    }
}

/// A call to the monitor's thread.
pub(super) enum Request {
    /// A round, if one is due.
    Due(Reply<Option<PreemptionRound>>),
    /// A round, due or not.
    Now(Reply<PreemptionRound>),
    /// Something that only the monitor understands.
    Message(Box<dyn Any + Send>, Reply<()>),
}

/// The engine's end of its monitor.
pub(in crate::runtime) struct MonitorHandle {
    requests: InboxSender<Request>,
    waker: Waker,
    rounds: Arc<AtomicU64>,
}

impl std::fmt::Debug for MonitorHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MonitorHandle")
    }
}

impl MonitorHandle {
    /// Lets the thread look whether the engine ends.
    pub(in crate::runtime) fn wake(&self) {
        self.waker.wake();
    }

    /// Rounds so far.
    pub(super) fn rounds(&self) -> u64 {
        // Relaxed: a count that nothing else depends on.
        self.rounds.load(Ordering::Relaxed)
    }

    /// Sends a request and waits for its answer; nothing once the thread has ended.
    pub(super) fn call<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Option<T> {
        let (reply, answer) = reply();
        let mut request = request(reply);
        loop {
            match self.requests.try_send(request) {
                Ok(()) => break,
                Err(TrySendError::Closed(_)) => return None,
                Err(TrySendError::Full(back)) => {
                    request = back;
                    crate::sync::yield_now();
                }
            }
        }
        answer.recv().ok()
    }
}

/// What the monitor's thread owns.
pub(super) struct Watcher<C> {
    monitor: Box<dyn Monitor>,
    access: Access,
    requests: InboxReceiver<Request>,
    parker: Parker,
    shutdown: Shutdown,
    clock: C,
    panics: PanicLog,
    rounds: Arc<AtomicU64>,
    /// When the next round is due in ms.
    due_ms: Option<u64>,
}

/// A monitor with the engine's end of it and what its thread runs; its first round is due at once.
pub(super) fn watched<C: Clock>(
    monitor: Box<dyn Monitor>,
    access: Access,
    clock: C,
    (shutdown, panics): (Shutdown, PanicLog),
) -> (MonitorHandle, Watcher<C>) {
    let (waker, parker) = parking();
    let (requests, receiver) = inbox(CALLS);
    let rounds = Arc::new(AtomicU64::new(0));
    let watcher = Watcher {
        monitor,
        access,
        requests: receiver,
        parker,
        shutdown,
        clock,
        panics,
        rounds: Arc::clone(&rounds),
        due_ms: None,
    };
    let handle = MonitorHandle {
        requests: requests.waking(waker.clone()),
        waker,
        rounds,
    };
    (handle, watcher)
}

impl<C: Clock> Watcher<C> {
    /// Runs until shutdown. Whatever panics, here or in the clock, is counted and the thread goes on:
    /// an inbox that is lost while a panic unwinds keeps what it accepted, and the callers with it.
    pub(super) fn run(mut self) {
        let (panics, parker, shutdown) = (
            self.panics.clone(),
            self.parker.clone(),
            self.shutdown.clone(),
        );
        let mut begun = false;
        let mut watch = || {
            if !std::mem::replace(&mut begun, true) {
                // The first round is due at once.
                self.due_ms = self.interval_ms().map(|_| self.clock.now_ms());
            }
            self.watch();
        };
        while let Err(payload) = catch_unwind(AssertUnwindSafe(&mut watch)) {
            panics.note_worker(&*payload);
            // What panics at once again, such as a clock, is not to take the core of others.
            let _: Parked = parker.park_for(PAUSE, || shutdown.is_requested());
        }
        // Accepted requests are dropped, so that their callers stop waiting.
        self.requests.finish(&self.parker, drop);
    }

    fn watch(&mut self) {
        while !self.shutdown.is_requested() {
            if let Received::Item(request) = self.requests.try_recv() {
                self.carry_out(request);
            } else if self.round_if_due().is_none() {
                self.rest();
            }
        }
    }

    /// Calls the monitor; nothing when it panicked.
    fn consult<T>(&mut self, call: impl FnOnce(&mut dyn Monitor, &Access) -> T) -> Option<T> {
        let (monitor, access) = (&mut *self.monitor, &self.access);
        let answer = catch_unwind(AssertUnwindSafe(|| call(monitor, access)));
        let noted = |payload: Box<dyn Any + Send>| self.panics.note_worker(&*payload);
        answer.map_err(noted).ok()
    }

    fn interval_ms(&mut self) -> Option<u64> {
        self.consult(|monitor, _| monitor.interval_ms()).flatten()
    }

    fn carry_out(&mut self, request: Request) {
        match request {
            Request::Due(reply) => answer(reply, self.round_if_due()),
            Request::Now(reply) => answer(reply, self.round()),
            Request::Message(message, reply) => {
                let before = self.interval_ms();
                let taken = self.consult(|monitor, access| monitor.message(message, access));
                self.follow_interval(before);
                if taken.is_some() {
                    answer(reply, ());
                }
            }
        }
    }

    /// Takes over another interval than there was before a message.
    fn follow_interval(&mut self, before: Option<u64>) {
        let interval = self.interval_ms();
        if interval == before {
            return;
        }
        let now = self.clock.now_ms();
        let from_now = |interval| match before {
            Some(_) => now.saturating_add(interval),
            None => now,
        };
        self.due_ms = interval.map(from_now);
    }

    /// Rounds come at a fixed rate; those that were missed are left out.
    fn round_if_due(&mut self) -> Option<PreemptionRound> {
        let (due, now) = (self.due_ms?, self.clock.now_ms());
        if now < due {
            return None;
        }
        let Some(interval) = self.interval_ms() else {
            // None is due until a message gives it another interval.
            self.due_ms = None;
            return None;
        };
        let interval = interval.max(1);
        let missed = (now - due) / interval;
        let steps = missed.saturating_add(1).saturating_mul(interval);
        self.due_ms = Some(due.saturating_add(steps));
        Some(self.round())
    }

    /// A round that panics decides nothing; the next one runs.
    fn round(&mut self) -> PreemptionRound {
        let decided = self.consult(|monitor, access| monitor.round(access));
        count(&self.rounds);
        let Some(verdicts) = decided else {
            return PreemptionRound::default();
        };
        if verdicts.verdicts.is_empty() && verdicts.observations.is_empty() {
            return PreemptionRound::default();
        }
        self.access.submit(verdicts).unwrap_or_default()
    }

    fn rest(&self) {
        let (requests, shutdown) = (&self.requests, &self.shutdown);
        let ready = || requests.has_news() || shutdown.is_requested();
        match self.due_ms {
            Some(due) => {
                let left = Duration::from_millis(due.saturating_sub(self.clock.now_ms()));
                let _: Parked = self.parker.park_for(left, ready);
            }
            None => self.parker.park_until(ready),
        }
    }
}

fn count(one_more: &AtomicU64) {
    // Relaxed: counts that nothing else depends on.
    one_more.fetch_add(1, Ordering::Relaxed);
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use std::sync::Arc as StdArc;

    use super::*;
    use crate::runtime::committer::caller_runs::CommitterAccess;
    use crate::sync::{ShutdownOwner, shutdown};
    use crate::time::ManualClock;

    /// A committer that is not there.
    #[derive(Debug)]
    struct Nobody;

    impl CommitterAccess for Nobody {
        fn run_commands(&self, _: &dyn Fn() -> bool) {}

        fn publish(&self) {}
    }

    /// Panics over every message, and ends its thread with its first round.
    struct Fragile(Shutdown);

    impl Monitor for Fragile {
        fn interval_ms(&self) -> Option<u64> {
            None
        }

        fn round(&mut self, _: &Access) -> Verdicts {
            let _ = self.0.request();
            Verdicts::default()
        }

        fn message(&mut self, _: Box<dyn Any + Send>, _: &Access) {
            panic!("as planned");
        }
    }

    fn watcher() -> (InboxSender<Request>, Watcher<ManualClock>, ShutdownOwner) {
        let (requests, receiver) = inbox(CALLS);
        let (shutdown, owner) = shutdown(Vec::new());
        let watcher = Watcher {
            monitor: Box::new(Fragile(shutdown.clone())),
            access: Access {
                commands: Commands::new(inbox(1).0, inbox(1).0, StdArc::new(Nobody)),
            },
            requests: receiver,
            parker: parking().1,
            shutdown,
            clock: ManualClock::default(),
            panics: PanicLog::new(),
            rounds: Arc::default(),
            due_ms: None,
        };
        (requests, watcher, owner)
    }

    #[test]
    fn who_waits_behind_a_message_that_panics_gets_an_answer() {
        let (requests, watcher, _owner) = watcher();
        let (panics, rounds) = (watcher.panics.clone(), Arc::clone(&watcher.rounds));
        let (answer, taken) = reply();
        let (asked, decided) = reply();
        let (late, never) = reply();
        for request in [
            Request::Message(Box::new(()), answer),
            Request::Now(asked),
            Request::Now(late),
        ] {
            assert!(requests.try_send(request).is_ok());
        }
        watcher.run();
        assert!(taken.recv().is_err(), "the message was not taken");
        assert_eq!(decided.recv(), Ok(PreemptionRound::default()));
        assert!(never.recv().is_err(), "the end comes before the third");
        let panics = panics.workers();
        let last = panics.last.map(|cause| cause.message);
        assert_eq!((panics.count, last.as_deref()), (1, Some("as planned")));
        assert_eq!(rounds.load(Ordering::Relaxed), 1);
    }
}
