//! M2 for the ring of a proposer: send, close and drain.
//!
//! Threads: one sender and the receiver (main).
//! Property: the receiver gets exactly the items whose sender was answered that they were accepted, in
//! their order; a refused item comes back; a parked receiver is woken for each item and for the
//! end, a parked sender for room and for the close.
//! Fails when: RingCountRelaxed, RingCloseThenCount, RingFreesTooMuch, RingFullAccepts,
//! RingTakesWithoutCount, RingCloseNotAtomic, RingEmptyTakenForEnd, RingSlotRelaxed, RingSenderLeavesOpen,
//! RingWakesBeforeCount, RingWakesSenderTooEarly or RingCloseWakesNoSender
//! is planted.

use capsched::sync::{Parker, Received, RingReceiver, RingSender, TrySendError, parking, ring};
use loom::thread;
use loom_tests::{Witness, explore};

/// Offers the numbers below `n` once each and returns the accepted ones.
fn offer(sender: &mut RingSender<u32>, n: u32) -> (Vec<u32>, bool) {
    let mut accepted = Vec::new();
    let mut met_full = false;
    for value in 0..n {
        match sender.try_send(value) {
            Ok(()) => accepted.push(value),
            Err(refused) => {
                met_full |= matches!(refused, TrySendError::Full(_));
                assert_eq!(refused.into_inner(), value, "another item came back");
            }
        }
    }
    let counts = sender.counts();
    assert_eq!(counts.attempted, u64::from(n));
    assert_eq!(counts.accepted, accepted.len() as u64);
    (accepted, met_full)
}

/// Takes what is left of a closed ring, in which nothing is ever about to come.
fn drain_closed(receiver: &mut RingReceiver<u32>, drained: &mut Vec<u32>) {
    loop {
        match receiver.try_recv() {
            Received::Item(value) => drained.push(value),
            Received::Empty => panic!("a closed ring said that more may come"),
            Received::Finished => return,
        }
    }
}

fn close_while_sending(capacity: usize, n: u32, w: &'static [Witness; 3]) {
    let (mut sender, mut receiver) = ring(capacity);
    let proposer = thread::spawn(move || offer(&mut sender, n));
    let mut drained = Vec::new();
    while let Received::Item(value) = receiver.try_recv() {
        drained.push(value);
    }
    let before_close = drained.len();
    let final_count = receiver.close();
    drain_closed(&mut receiver, &mut drained);
    let (accepted, met_full) = proposer.join().expect("the sender does not panic");
    assert_eq!(accepted, drained, "accepted and drained differ");
    assert_eq!(final_count, drained.len() as u64);
    assert_eq!(receiver.drained(), final_count);
    w[0].met_if(met_full);
    w[1].met_if(accepted.len() < n as usize && !met_full);
    w[2].met_if(before_close < drained.len());
}

const fn witnesses() -> [Witness; 3] {
    [
        Witness::of("the sender met a full ring"),
        Witness::of("the sender met the close"),
        Witness::of("an item was taken after the close"),
    ]
}

#[test]
fn closing_keeps_every_accepted_item_with_one_slot() {
    static W: [Witness; 3] = witnesses();
    explore(&[&W[0], &W[1], &W[2]], || close_while_sending(1, 3, &W));
}

#[test]
fn closing_keeps_every_accepted_item_with_two_slots() {
    static W: [Witness; 3] = witnesses();
    explore(&[&W[0], &W[1], &W[2]], || close_while_sending(2, 4, &W));
}

#[test]
fn a_parked_receiver_gets_every_item_and_the_end() {
    static FULL: Witness = Witness::of("the sender met a full ring");
    static ALL: Witness = Witness::of("every item was accepted");
    explore(&[&FULL, &ALL], || {
        let (waker, parker) = parking();
        let (sender, mut receiver) = ring(1);
        let proposer = thread::spawn(move || {
            let mut sender = sender.waking(waker);
            offer(&mut sender, 2)
        });
        let mut drained = Vec::new();
        loop {
            match receiver.try_recv() {
                Received::Item(value) => drained.push(value),
                Received::Empty => parker.park_until(|| receiver.has_news()),
                Received::Finished => break,
            }
        }
        let (accepted, met_full) = proposer.join().expect("the sender does not panic");
        assert_eq!(accepted, drained, "accepted and drained differ");
        FULL.met_if(met_full);
        ALL.met_if(accepted.len() == 2);
    });
}

#[test]
fn an_item_alone_wakes_a_parked_receiver() {
    static SLEPT: Witness = Witness::of("the receiver had to sleep");
    explore(&[&SLEPT], || {
        let (waker, parker) = parking();
        let (sender, mut receiver) = ring(1);
        // The sender comes back alive, so that not its end wakes the receiver.
        let proposer = thread::spawn(move || {
            let mut sender = sender.waking(waker);
            let (accepted, _) = offer(&mut sender, 1);
            assert_eq!(accepted, [0]);
            sender
        });
        let mut looks = 0;
        parker.park_until(|| {
            looks += 1;
            receiver.has_news()
        });
        SLEPT.met_if(looks > 1);
        assert_eq!(receiver.try_recv(), Received::Item(0));
        drop(proposer.join().expect("the sender does not panic"));
    });
}

/// Sends the numbers below `n`, asleep while the ring is full, until it is closed; the accepted ones
/// and whether it had to sleep.
fn send_all(sender: &mut RingSender<u32>, rest: &Parker, n: u32) -> (u32, bool) {
    let mut slept = false;
    for value in 0..n {
        loop {
            match sender.try_send(value) {
                Ok(()) => break,
                Err(TrySendError::Closed(_)) => return (value, slept),
                Err(TrySendError::Full(_)) => {
                    let mut looks = 0;
                    rest.park_until(|| {
                        looks += 1;
                        sender.has_room()
                    });
                    slept |= looks > 1;
                }
            }
        }
    }
    (n, slept)
}

#[test]
fn a_parked_sender_is_woken_for_room() {
    static SLEPT: Witness = Witness::of("the sender had to sleep");
    static READY: Witness = Witness::of("the sender never had to sleep");
    explore(&[&SLEPT, &READY], || {
        let (waker, parker) = parking();
        let (bell, rest) = parking();
        let (sender, receiver) = ring(1);
        let mut receiver = receiver.waking(bell);
        let proposer = thread::spawn(move || {
            let mut sender = sender.waking(waker);
            send_all(&mut sender, &rest, 2)
        });
        let mut drained = 0;
        loop {
            match receiver.try_recv() {
                Received::Item(value) => {
                    assert_eq!(value, drained, "another item");
                    drained += 1;
                }
                Received::Empty => parker.park_until(|| receiver.has_news()),
                Received::Finished => break,
            }
        }
        let (accepted, slept) = proposer.join().expect("the sender does not panic");
        assert_eq!((accepted, drained), (2, 2));
        SLEPT.met_if(slept);
        READY.met_if(!slept);
    });
}

#[test]
fn a_parked_sender_is_woken_for_the_close() {
    static SLEPT: Witness = Witness::of("the sender had to sleep");
    static LATE: Witness = Witness::of("nothing was accepted");
    explore(&[&SLEPT, &LATE], || {
        let (bell, rest) = parking();
        let (mut sender, receiver) = ring(1);
        let mut receiver = receiver.waking(bell);
        let proposer = thread::spawn(move || send_all(&mut sender, &rest, 2));
        let count = receiver.close();
        let (accepted, slept) = proposer.join().expect("the sender does not panic");
        assert_eq!(u64::from(accepted), count, "accepted and counted differ");
        SLEPT.met_if(slept);
        LATE.met_if(accepted == 0);
    });
}
