//! M12: the handoff, a value with one owner at a time that is released, acquired and claimed.
//!
//! Threads: two or three callers; or a home thread, callers and somebody who wakes the home thread. The work
//! is a flag of each, set Relaxed, so that only the handoff's own word can show it. Wishes for a
//! snapshot share one such flag, as in `mode::lending`.
//! Property: no work is missed, the value is with one thread at a time (the slot checks that each
//! access is ordered after the last), and a home thread that claims it, or whose value is lost, is woken.
//! A snapshot shows what everybody was answered before his wish.
//! Fails when: one of HandoffSecondCallLost to HandoffCallEndsClaim is planted; the wishes, when an owner
//! that is called back does not
//! look for them again, which is among the tests.

use capsched::sync::{
    Acquire, Arc, AtomicBool, AtomicU32, Handoff, Ordering, Received, Released, TrySendError,
    inbox, parking,
};
use loom::thread;
use loom_tests::{Witness, explore};

/// Work to do, and the value that counts what was done: of one owner at a time.
struct Scene<const N: usize> {
    work: [AtomicBool; N],
    handoff: Handoff<u32>,
}

impl<const N: usize> Scene<N> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            work: std::array::from_fn(|_| AtomicBool::new(false)),
            handoff: Handoff::owned(),
        })
    }

    /// Does what is visible to the owner.
    fn serve(&self, done: &mut u32) {
        for work in &self.work {
            if work.load(Ordering::Relaxed) {
                work.store(false, Ordering::Relaxed);
                *done += 1;
            }
        }
    }

    /// Releases the value once nobody signals; whether its home thread has to be woken.
    fn release(&self, mut done: u32, signalled: &Witness) -> bool {
        loop {
            match self.handoff.release(done) {
                Released::Free => return false,
                Released::ToHome => return true,
                Released::Signalled(back) => {
                    signalled.met_if(true);
                    done = back;
                    self.serve(&mut done);
                }
            }
        }
    }

    /// The value for its home thread, if it is free.
    fn claim(&self) -> Option<u32> {
        match self.handoff.acquire_or_claim() {
            Acquire::Acquired(done) => Some(done),
            Acquire::Busy | Acquire::Retained => None,
        }
    }

    /// Has work of its own done, by itself if the value is free; whether the home thread has to be
    /// woken.
    fn call(&self, own: usize, signalled: &Witness) -> bool {
        self.work[own].store(true, Ordering::Relaxed);
        match self.handoff.acquire_or_signal() {
            Acquire::Acquired(mut done) => {
                self.serve(&mut done);
                self.release(done, signalled)
            }
            Acquire::Busy | Acquire::Retained => false,
        }
    }
}

fn callers<const N: usize>(signalled: &'static Witness) {
    let scene = Scene::<N>::new();
    assert_eq!(scene.handoff.release(0), Released::Free);
    let callers: Vec<_> = (1..N)
        .map(|own| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                assert!(!scene.call(own, signalled), "nobody claims it");
            })
        })
        .collect();
    assert!(!scene.call(0, signalled), "nobody claims it");
    for caller in callers {
        caller.join().expect("a caller does not panic");
    }
    let Acquire::Acquired(done) = scene.handoff.acquire_or_signal() else {
        panic!("the last owner laid it down")
    };
    assert_eq!(done, u32::try_from(N).expect("a small number"), "work done");
}

#[test]
fn the_work_of_two_callers_is_done() {
    static SIGNALLED: Witness = Witness::of("an owner was called back");
    explore(&[&SIGNALLED], || callers::<2>(&SIGNALLED));
}

#[test]
fn the_work_of_three_callers_is_done() {
    static SIGNALLED: Witness = Witness::of("an owner was called back");
    explore(&[&SIGNALLED], || callers::<3>(&SIGNALLED));
}

/// The home thread sleeps while a caller owns the value, and is woken for work that it has to do itself by
/// somebody who calls afterwards.
#[test]
fn the_home_thread_gets_what_it_claims() {
    static CLAIMED: Witness = Witness::of("the home thread claimed what a caller owned");
    static SIGNALLED: Witness = Witness::of("an owner was called back");
    explore(&[&CLAIMED, &SIGNALLED], || {
        let scene = Scene::<2>::new();
        let (waker, parker) = parking();
        let due = Arc::new(AtomicBool::new(false));
        let call = |own, due: Option<Arc<AtomicBool>>| {
            let (scene, waker) = (Arc::clone(&scene), waker.clone());
            thread::spawn(move || {
                if let Some(due) = due {
                    due.store(true, Ordering::Release);
                    waker.wake();
                }
                if scene.call(own, &SIGNALLED) {
                    CLAIMED.met_if(true);
                    waker.wake();
                }
            })
        };
        let callers = [call(0, None), call(1, Some(Arc::clone(&due)))];
        let mut held = Some(0);
        parker.park_until(|| {
            let Some(mut done) = held.take().or_else(|| scene.claim()) else {
                return false;
            };
            scene.serve(&mut done);
            if due.load(Ordering::Acquire) {
                held = Some(done);
                return true;
            }
            assert!(!scene.release(done, &SIGNALLED), "it claims for itself");
            false
        });
        let done = held.expect("it is ready when it has it");
        assert!(!scene.release(done, &SIGNALLED), "it claims for itself");
        for caller in callers {
            caller.join().expect("a caller does not panic");
        }
        let Acquire::Acquired(done) = scene.handoff.acquire_or_signal() else {
            panic!("the last owner laid it down")
        };
        assert_eq!(done, 2, "work done");
    });
}

/// A caller leaves its work to the home thread, or finds that it has the value.
#[test]
fn work_that_a_caller_leaves_to_the_home_thread_is_done() {
    static LEFT: Witness = Witness::of("a caller released it to the home thread");
    static SIGNALLED: Witness = Witness::of("the home thread was signalled");
    explore(&[&LEFT, &SIGNALLED], || {
        let scene = Scene::<1>::new();
        let (waker, parker) = parking();
        let caller = thread::spawn({
            let scene = Arc::clone(&scene);
            move || {
                scene.work[0].store(true, Ordering::Relaxed);
                if let Acquire::Acquired(done) = scene.handoff.acquire_or_signal() {
                    LEFT.met_if(true);
                    scene.handoff.release_to_home(done);
                    waker.wake();
                }
            }
        });
        let mut held = Some(0);
        parker.park_until(|| {
            let Some(mut done) = held.take().or_else(|| scene.claim()) else {
                return false;
            };
            loop {
                scene.serve(&mut done);
                if done == 1 {
                    held = Some(done);
                    return true;
                }
                match scene.handoff.release(done) {
                    Released::Free | Released::ToHome => return false,
                    Released::Signalled(back) => done = back,
                }
                SIGNALLED.met_if(true);
            }
        });
        assert_eq!(held, Some(1), "work done");
        caller.join().expect("the caller does not panic");
    });
}

/// A caller who has the value loses it for good, as by a panic.
#[test]
fn the_home_thread_learns_that_its_value_is_lost() {
    static LOST: Witness = Witness::of("a caller lost it");
    explore(&[&LOST], || {
        let handoff = Arc::new(Handoff::owned());
        let (waker, parker) = parking();
        assert_eq!(handoff.release(()), Released::Free);
        let caller = thread::spawn({
            let handoff = Arc::clone(&handoff);
            move || {
                if handoff.acquire_or_signal() == Acquire::Acquired(()) {
                    LOST.met_if(true);
                    handoff.retain();
                    waker.wake();
                }
            }
        });
        parker.park_until(|| match handoff.acquire_or_claim() {
            // The caller found it owned, or will find it retained.
            Acquire::Acquired(()) => handoff.release(()) == Released::Signalled(()),
            Acquire::Busy => false,
            Acquire::Retained => true,
        });
        caller.join().expect("the caller does not panic");
    });
}

/// At the end of an engine: what was accepted is taken, though its sender asked for the handoff.
#[test]
fn the_home_thread_that_retains_it_gets_every_accepted_item() {
    static ON_ITS_WAY: Witness = Witness::of("the home thread waited for an item on its way");
    static REFUSED: Witness = Witness::of("an item came too late");
    explore(&[&ON_ITS_WAY, &REFUSED], || {
        let handoff = Arc::new(Handoff::<()>::owned());
        let (waker, parker) = parking();
        let (sender, mut receiver) = inbox(1);
        let caller = thread::spawn({
            let handoff = Arc::clone(&handoff);
            move || {
                let sent = match sender.try_send(7) {
                    Ok(()) => true,
                    Err(TrySendError::Closed(_)) => false,
                    Err(TrySendError::Full(_)) => panic!("there is room for one"),
                };
                match handoff.acquire_or_signal() {
                    Acquire::Acquired(()) => panic!("its home thread never releases it"),
                    Acquire::Busy => {}
                    Acquire::Retained => waker.wake(),
                }
                sent
            }
        });
        handoff.retain();
        let accepted = receiver.close();
        ON_ITS_WAY.met_if(accepted == 1 && !receiver.has_news());
        let mut taken = 0;
        receiver.finish(&parker, |item| {
            assert_eq!(item, 7);
            taken += 1;
        });
        assert_eq!(receiver.try_recv(), Received::Finished);
        let sent = caller.join().expect("the caller does not panic");
        REFUSED.met_if(!sent);
        assert_eq!((taken, accepted), (u64::from(sent), u64::from(sent)));
    });
}

/// Who was answered is the value; whom the last snapshot shows is visible to all.
struct Office {
    answered: Handoff<u32>,
    shown: AtomicU32,
    wanted: AtomicBool,
    /// Whether an owner that is called back looks for wishes again.
    looks_again: bool,
}

impl Office {
    /// Makes a snapshot if somebody wants one, and lays the value down; whether a wish came
    /// meanwhile.
    fn leave(&self, mut answered: u32) -> bool {
        let mut looks = true;
        let mut granted = false;
        loop {
            if looks && self.wanted.load(Ordering::Relaxed) {
                self.show(answered);
                granted = true;
            }
            match self.answered.release(answered) {
                Released::Free => return granted,
                Released::ToHome => panic!("nobody claims it"),
                Released::Signalled(back) => answered = back,
            }
            looks = self.looks_again;
        }
    }

    fn show(&self, answered: u32) {
        self.wanted.store(false, Ordering::Relaxed);
        self.shown.store(answered, Ordering::Relaxed);
    }

    /// Is answered if the value lies there, and wishes for a snapshot; whether it was answered.
    fn visit(&self, own: u32, granted: &Witness) -> bool {
        let Acquire::Acquired(answered) = self.answered.acquire_or_signal() else {
            return false;
        };
        granted.met_if(self.leave(answered | own));
        self.wanted.store(true, Ordering::Relaxed);
        if let Acquire::Acquired(answered) = self.answered.acquire_or_signal() {
            self.show(answered);
            granted.met_if(self.leave(answered));
        }
        true
    }
}

fn wishes(looks_again: bool, granted: &'static Witness) {
    let office = Arc::new(Office {
        answered: Handoff::owned(),
        shown: AtomicU32::new(0),
        wanted: AtomicBool::new(false),
        looks_again,
    });
    assert_eq!(office.answered.release(0), Released::Free);
    let other = thread::spawn({
        let office = Arc::clone(&office);
        move || office.visit(1, granted)
    });
    let mut answered = u32::from(office.visit(2, granted)) * 2;
    answered |= u32::from(other.join().expect("a visitor does not panic"));
    let Acquire::Acquired(_) = office.answered.acquire_or_signal() else {
        panic!("the last owner laid it down")
    };
    assert!(!office.wanted.load(Ordering::Relaxed), "a wish is left");
    let shown = office.shown.load(Ordering::Relaxed);
    assert_eq!(shown & answered, answered, "whom the snapshot shows");
}

#[test]
fn a_snapshot_shows_what_was_answered_before_the_wish() {
    static GRANTED: Witness = Witness::of("an owner granted the wish of another");
    explore(&[&GRANTED], || wishes(true, &GRANTED));
}

#[test]
#[should_panic(expected = "a wish is left")]
fn an_owner_that_does_not_look_again_misses_wishes() {
    static GRANTED: Witness = Witness::of("an owner granted the wish of another");
    explore(&[], || wishes(false, &GRANTED));
}
