//! Parking of idle threads without lost wake-ups: an eventcount.
//!
//! # Protocol
//!
//! The sleeper:
//!
//! 1. reads the generation: its ticket;
//! 2. announces that somebody is about to sleep;
//! 3. fence; looks a last time whether there is work;
//! 4. under the lock of the bell, sleeps while the generation is its ticket.
//!
//! The waker, after it made the work visible:
//!
//! 1. fence; goes on if nobody announced anything: this is all that a wake costs a busy engine;
//! 2. withdraws the announcement; the one waker that did so must ring:
//! 3. under the lock, raises the generation; then wakes all sleepers.
//!
//! A task of an asynchronous host sleeps without a thread: it leaves its waker under the lock instead of step 4,
//! before it announces itself, and the ring that ends the sleep of threads wakes it. A ring between the two
//! wakes a task that goes to sleep anyway; it looks again, as every task does that is woken.
//!
//! The two fences make it impossible that the sleeper misses the work and the waker misses the
//! announcement. An announcement that is withdrawn is followed by a ring that the ticket, taken
//! before it, does not outlive. A sleeper that found work at its last look leaves its announcement
//! behind; that costs the next waker one ring for nobody.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::task;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::sync::{
    Arc, AtomicBool, AtomicU64, Condvar, Mutant, Mutex, MutexGuard, Ordering, fence, injected,
    yield_now,
};

/// Turns that a sleep with a limit lasts under shuttle: long against a decision, as it is in truth.
const DOZE: u32 = 20;

/// A place to sleep and the bell that ends the sleep. Any number of threads may use either.
#[must_use]
pub fn parking() -> (Waker, Parker) {
    let lot = Arc::new(Lot {
        announced: CachePadded::new(AtomicBool::new(false)),
        generation: AtomicU64::new(0),
        bell_lock: Mutex::new(Vec::new()),
        bell: Condvar::new(),
    });
    (Waker(Arc::clone(&lot)), Parker(lot))
}

#[derive(Debug)]
struct Lot {
    /// Somebody may sleep. Set by sleepers, withdrawn by the waker that will ring.
    announced: CachePadded<AtomicBool>,
    /// Rings so far; raised only under the lock.
    generation: AtomicU64,
    /// Held to ring and to sleep; with the tasks that the next ring wakes.
    bell_lock: Mutex<Vec<task::Waker>>,
    bell: Condvar,
}

impl Lot {
    // A thread that panicked while it held the lock left nothing behind that could be broken.
    fn lock(&self) -> MutexGuard<'_, Vec<task::Waker>> {
        self.bell_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn ticket(&self) -> u64 {
        // Acquire: pairs with the Release in `ring`; a ticket of a ring sees the ringer's work. The
        // announcement that follows acquires it as well, from the ringer's withdrawal.
        self.generation.load(Ordering::Acquire)
    }

    fn announce(&self) {
        self.announced.swap(true, Ordering::AcqRel);
    }

    /// Steps 1 to 3: the ticket when there is nothing to do.
    fn prepare(&self, ready: &mut impl FnMut() -> bool) -> Option<u64> {
        if injected(Mutant::SleeperAnnouncesLate) {
            let ticket = self.ticket();
            let found = ready();
            self.announce();
            return (!found).then_some(ticket);
        }
        let mut ticket = self.ticket();
        self.announce();
        if injected(Mutant::SleeperTicketLate) {
            ticket = self.ticket();
        }
        if !injected(Mutant::SleeperWithoutFence) {
            // Pairs with the fence in `Waker::wake`.
            fence(Ordering::SeqCst);
        }
        (!ready()).then_some(ticket)
    }

    fn rang_since(&self, ticket: u64) -> bool {
        // Relaxed: raised only under the lock that the caller holds.
        self.generation.load(Ordering::Relaxed) != ticket
    }

    fn sleep(&self, ticket: u64) {
        let mut held = self.lock();
        while !self.rang_since(ticket) {
            held = self.bell.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn sleep_for(&self, ticket: u64, timeout: Duration) {
        if cfg!(capsched_shuttle) {
            // There is no time in shuttle: it passes while others take their turns.
            return self.doze(ticket);
        }
        let held = self.lock();
        if !self.rang_since(ticket) {
            let woken = self.bell.wait_timeout(held, timeout);
            drop(woken.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// A sleep that ends after some turns of the scheduler, if nobody rang before.
    fn doze(&self, ticket: u64) {
        for _ in 0..DOZE {
            if self.generation.load(Ordering::Acquire) != ticket {
                return;
            }
            yield_now();
        }
    }

    fn ring(&self) {
        let mut held = (!injected(Mutant::BellWithoutLock)).then(|| self.lock());
        // Release: pairs with the Acquire in `ticket`.
        self.generation.fetch_add(1, Ordering::Release);
        let tasks = held.as_mut().map(|tasks| mem::take(&mut **tasks));
        drop(held);
        self.bell.notify_all();
        for task in tasks.into_iter().flatten() {
            // A waker that panics is the host's fault, whose hook has printed it; the ringer goes on.
            drop(catch_unwind(AssertUnwindSafe(|| task.wake())));
        }
    }
}

/// Wakes the threads parked at its [`Parker`]; clones ring the same bell.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Lot>);

impl Waker {
    /// Wakes all sleepers, after the caller made visible what they wait for.
    ///
    /// Costs a fence and a read when nobody sleeps.
    pub fn wake(&self) {
        let lot = &self.0;
        if !injected(Mutant::WakerWithoutFence) {
            // Pairs with the fence in `Lot::prepare`.
            fence(Ordering::SeqCst);
        }
        if !lot.announced.load(Ordering::Relaxed) {
            return;
        }
        if injected(Mutant::WakerRingsEarly) {
            lot.ring();
            lot.announced.swap(false, Ordering::AcqRel);
            return;
        }
        // AcqRel: of several wakers exactly one withdraws an announcement, and that one rings.
        if lot.announced.swap(false, Ordering::AcqRel) {
            lot.ring();
        }
    }
}

/// How a sleep with a limit ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Parked {
    /// There is work.
    Ready,
    /// The time passed, or somebody rang for another reason; the caller looks at its clock.
    NotReady,
}

/// Where threads without work sleep; clones share the place.
#[derive(Clone, Debug)]
pub struct Parker(Arc<Lot>);

impl Parker {
    /// Sleeps until `ready` says that there is work.
    ///
    /// `ready` must see everything that the wakers publish before they wake; it may be called any
    /// number of times, also when it holds at once.
    pub fn park_until(&self, mut ready: impl FnMut() -> bool) {
        while let Some(ticket) = self.0.prepare(&mut ready) {
            self.0.sleep(ticket);
        }
    }

    /// Has a task woken once by the next ring, unless there is work already. A task that is registered already is
    /// woken once all the same.
    pub fn register(&self, task: &task::Waker, mut ready: impl FnMut() -> bool) -> Parked {
        let mut tasks = self.0.lock();
        if !tasks.iter().any(|known| known.will_wake(task)) {
            tasks.push(task.clone());
        }
        drop(tasks);
        match self.0.prepare(&mut ready) {
            Some(_) => Parked::NotReady,
            None => Parked::Ready,
        }
    }

    /// Sleeps once, no longer than `timeout`, unless there is work already.
    ///
    /// In models of loom the time never passes; under shuttle it always does.
    pub fn park_for(&self, timeout: Duration, mut ready: impl FnMut() -> bool) -> Parked {
        if let Some(ticket) = self.0.prepare(&mut ready) {
            self.0.sleep_for(ticket, timeout);
            if !ready() {
                return Parked::NotReady;
            }
        }
        Parked::Ready
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_has_work_does_not_sleep() {
        let (_waker, parker) = parking();
        let mut looks = 0;
        parker.park_until(|| {
            looks += 1;
            true
        });
        assert_eq!(looks, 1);
        assert_eq!(parker.park_for(Duration::MAX, || true), Parked::Ready);
    }

    #[test]
    fn a_sleep_of_no_time_ends_without_work() {
        let (_waker, parker) = parking();
        assert_eq!(parker.park_for(Duration::ZERO, || false), Parked::NotReady);
    }

    #[test]
    fn a_ring_between_the_ticket_and_the_sleep_ends_the_sleep() {
        let (waker, parker) = parking();
        let mut looks = 0;
        parker.park_until(|| {
            looks += 1;
            waker.wake();
            looks > 1
        });
        assert_eq!(looks, 2);
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Bells(AtomicU64);

    impl task::Wake for Bells {
        fn wake(self: std::sync::Arc<Self>) {
            assert!(self.0.fetch_add(1, Ordering::Relaxed) < 2, "as planned");
        }
    }

    #[test]
    fn a_task_is_woken_once_for_each_registration() {
        let (waker, parker) = parking();
        let bells = std::sync::Arc::new(Bells::default());
        let rang = || bells.0.load(Ordering::Relaxed);
        let task = task::Waker::from(std::sync::Arc::clone(&bells));
        waker.wake();
        assert_eq!(rang(), 0, "nobody waits");
        assert_eq!(parker.register(&task, || false), Parked::NotReady);
        assert_eq!(parker.register(&task, || false), Parked::NotReady);
        waker.wake();
        waker.wake();
        assert_eq!(rang(), 1, "twice registered, once woken");
        assert_eq!(parker.register(&task, || true), Parked::Ready);
    }

    #[test]
    fn a_task_whose_waker_panics_harms_nobody() {
        let (waker, parker) = parking();
        let bells = std::sync::Arc::new(Bells(AtomicU64::new(2)));
        let task = task::Waker::from(bells);
        assert_eq!(parker.register(&task, || false), Parked::NotReady);
        waker.wake();
        assert_eq!(parker.register(&task, || false), Parked::NotReady);
    }

    #[test]
    fn a_sleeper_is_woken_by_another_thread() {
        let (waker, parker) = parking();
        let flag = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| parker.park_until(|| flag.load(Ordering::Acquire)));
            flag.store(true, Ordering::Release);
            waker.wake();
        });
        assert!(flag.load(Ordering::Relaxed));
    }
}
