//! M6: parking and waking.
//!
//! Threads: one or two sleepers and one to three wakers; the work is a flag per waker, or a
//! published version.
//! Property: no wake-up is lost. A lost one leaves a sleeper waiting for ever, which loom reports
//! as a deadlock.
//! Fails when: BellWithoutLock, WakerWithoutFence, SleeperWithoutFence, SleeperAnnouncesLate,
//! SleeperTicketLate or WakerRingsEarly is planted.

use std::time::Duration;

use capsched::id::Version;
use capsched::sync::{Arc, AtomicBool, Ordering, Parked, Waker, parking, published};
use loom::thread;
use loom_tests::{Witness, explore};

fn flags<const N: usize>() -> [Arc<AtomicBool>; N] {
    std::array::from_fn(|_| Arc::new(AtomicBool::new(false)))
}

fn work(flag: &Arc<AtomicBool>, waker: &Waker) -> thread::JoinHandle<()> {
    let (flag, waker) = (Arc::clone(flag), waker.clone());
    thread::spawn(move || {
        flag.store(true, Ordering::Release);
        waker.wake();
    })
}

#[test]
fn a_sleeper_is_woken_by_each_of_two_wakers() {
    static TWICE: Witness = Witness::of("the sleeper looked again after a first piece of work");
    static AT_ONCE: Witness = Witness::of("the sleeper did not have to sleep");
    explore(&[&TWICE, &AT_ONCE], || {
        let (waker, parker) = parking();
        let [a, b] = flags();
        let wakers = [work(&a, &waker), work(&b, &waker)];
        let mut looks = 0;
        parker.park_until(|| {
            looks += 1;
            a.load(Ordering::Acquire) && b.load(Ordering::Acquire)
        });
        TWICE.met_if(looks == 3);
        AT_ONCE.met_if(looks == 1);
        for waker in wakers {
            waker.join().expect("a waker does not panic");
        }
    });
}

#[test]
fn a_sleeper_is_woken_by_the_last_of_three_wakers() {
    static SLEPT: Witness = Witness::of("the sleeper had to sleep");
    explore(&[&SLEPT], || {
        let (waker, parker) = parking();
        let done: [_; 3] = flags();
        let wakers = done.each_ref().map(|flag| work(flag, &waker));
        let mut looks = 0;
        parker.park_until(|| {
            looks += 1;
            done.iter().all(|flag| flag.load(Ordering::Acquire))
        });
        SLEPT.met_if(looks > 1);
        for waker in wakers {
            waker.join().expect("a waker does not panic");
        }
    });
}

#[test]
fn two_sleepers_are_woken_by_one_waker() {
    static SLEPT: Witness = Witness::of("a sleeper had to sleep");
    explore(&[&SLEPT], || {
        let (waker, parker) = parking();
        let [flag] = flags();
        let sleepers = [parker.clone(), parker].map(|parker| {
            let flag = Arc::clone(&flag);
            thread::spawn(move || {
                let mut looks = 0;
                parker.park_until(|| {
                    looks += 1;
                    flag.load(Ordering::Acquire)
                });
                SLEPT.met_if(looks > 1);
            })
        });
        flag.store(true, Ordering::Release);
        waker.wake();
        for sleeper in sleepers {
            sleeper.join().expect("a sleeper does not panic");
        }
    });
}

#[test]
fn a_sleeper_that_waits_for_a_version_gets_its_snapshot() {
    static SLEPT: Witness = Witness::of("the reader had to sleep");
    explore(&[&SLEPT], || {
        let (waker, parker) = parking();
        let (mut publisher, shared) = published(Version(0), std::sync::Arc::new(0));
        let reader = thread::spawn(move || {
            let mut looks = 0;
            parker.park_until(|| {
                looks += 1;
                shared.version() >= Version(2)
            });
            SLEPT.met_if(looks > 1);
            *shared.load()
        });
        for version in 1..=2 {
            publisher.publish(Version(version), std::sync::Arc::new(version));
            waker.wake();
        }
        assert_eq!(reader.join().expect("the reader does not panic"), 2);
    });
}

#[test]
fn a_sleep_with_a_limit_is_ended_by_the_waker() {
    static SLEPT: Witness = Witness::of("the sleeper had to sleep");
    explore(&[&SLEPT], || {
        let (waker, parker) = parking();
        let [flag] = flags();
        let worker = work(&flag, &waker);
        let mut looks = 0;
        let parked = parker.park_for(Duration::from_secs(1), || {
            looks += 1;
            flag.load(Ordering::Acquire)
        });
        // No time passes in a model, and the waker rings once the work is visible.
        assert_eq!(parked, Parked::Ready);
        SLEPT.met_if(looks > 1);
        worker.join().expect("the waker does not panic");
    });
}
