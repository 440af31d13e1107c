//! M9: shutdown while items are on their way.
//!
//! Threads: two senders that each send and then ask for the end, one that waits for the end, and
//! the owner (main).
//! Property: exactly one request is the first; every accepted item has its answer when the wait
//! ends; nobody waits for ever, not even when the owner dies.
//! Fails when: ShutdownRequestNotAtomic, ShutdownWakesEarly, ShutdownEndUnannounced,
//! ShutdownOwnerDiesSilently or ShutdownDropsAccepted is planted.

use capsched::sync::{
    Arc, AtomicU32, Ended, InboxReceiver, InboxSender, Ordering, Parker, Received, Requested,
    Shutdown, ShutdownOwner, ShutdownPhase, inbox, parking, shutdown,
};
use loom::thread;
use loom_tests::{Witness, explore};

type Answer = Arc<AtomicU32>;

/// Sends one item and asks for the end: whether the item was accepted and the request the first.
fn send_and_end(sender: &InboxSender<Answer>, end: &Shutdown, answer: &Answer) -> (bool, bool) {
    let accepted = sender.try_send(Arc::clone(answer)).is_ok();
    (accepted, end.request() == Requested::First)
}

fn answer_all(
    receiver: &mut InboxReceiver<Answer>,
    parker: &Parker,
    owner: ShutdownOwner,
    closed: &Witness,
) {
    while !owner.is_requested() {
        match receiver.try_recv() {
            Received::Item(answer) => answer.store(1, Ordering::Relaxed),
            Received::Finished => break,
            Received::Empty => {
                parker.park_until(|| receiver.has_news() || owner.is_requested());
            }
        }
    }
    receiver.finish(parker, |answer| {
        closed.met_if(true);
        answer.store(1, Ordering::Relaxed);
    });
    owner.finish();
}

#[test]
fn every_accepted_item_is_answered() {
    static REFUSED: Witness = Witness::of("an item was refused by the close");
    static LATE: Witness = Witness::of("an item was answered after the close");
    explore(&[&REFUSED, &LATE], || {
        let (waker, parker) = parking();
        let (end, owner) = shutdown(vec![waker.clone()]);
        let (sender, mut receiver) = inbox(2);
        let sender = sender.waking(waker);
        let answers = [Answer::default(), Answer::default()];
        let senders = answers.clone().map(|answer| {
            let (sender, end) = (sender.clone(), end.clone());
            thread::spawn(move || send_and_end(&sender, &end, &answer))
        });
        answer_all(&mut receiver, &parker, owner, &LATE);
        assert_eq!(end.wait(), Ended::Stopped);
        let mut n_first = 0;
        for (sender, answer) in senders.into_iter().zip(&answers) {
            let (accepted, first) = sender.join().expect("a sender does not panic");
            REFUSED.met_if(!accepted);
            n_first += u32::from(first);
            let answered = answer.load(Ordering::Relaxed) == 1;
            assert_eq!(accepted, answered, "accepted and answered differ");
        }
        assert_eq!(n_first, 1, "the end was begun {n_first} times");
    });
}

#[test]
fn who_waits_for_the_end_sees_the_answers() {
    static WAITED: Witness = Witness::of("the waiter came before the end");
    explore(&[&WAITED], || {
        let (waker, parker) = parking();
        let (end, owner) = shutdown(vec![waker]);
        let answer = Answer::default();
        let waiter = {
            let (end, answer) = (end.clone(), Arc::clone(&answer));
            thread::spawn(move || {
                WAITED.met_if(end.phase() < ShutdownPhase::Stopped);
                assert_eq!(end.wait(), Ended::Stopped);
                assert_eq!(answer.load(Ordering::Relaxed), 1, "the end came too early");
            })
        };
        let closer = thread::spawn(move || end.request());
        parker.park_until(|| owner.is_requested());
        answer.store(1, Ordering::Relaxed);
        owner.finish();
        waiter.join().expect("the waiter does not panic");
        let requested = closer.join().expect("the closer does not panic");
        assert_eq!(requested, Requested::First);
    });
}

#[test]
fn a_dying_owner_releases_who_waits() {
    static EARLY: Witness = Witness::of("the waiter came before the end");
    explore(&[&EARLY], || {
        let (end, owner) = shutdown(Vec::new());
        let waiter = thread::spawn(move || {
            EARLY.met_if(end.phase() == ShutdownPhase::Running);
            end.wait()
        });
        drop(owner);
        let ended = waiter.join().expect("the waiter does not panic");
        assert_eq!(ended, Ended::Poisoned);
    });
}
