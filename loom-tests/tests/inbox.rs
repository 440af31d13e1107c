//! M2 for the inbox of commands: many senders, close and drain.
//!
//! Threads: two or three senders and the receiver (main).
//! Property: the receiver gets exactly the items whose senders were answered that they were accepted,
//! each sender's in their order; a receiver that parks for a claimed but unfilled slot is woken.
//! Fails when: InboxStampRelaxed, InboxCloseThenClaim, InboxFreesWrongLap, InboxFullLooksFree,
//! InboxFullAccepts, InboxTakesWithoutStamp, InboxCloseNotAtomic, InboxEmptyTakenForEnd, InboxSlotRelaxed,
//! InboxSendersLeaveOpen
//! or InboxWakesBeforeFill is planted.

use capsched::sync::{InboxReceiver, InboxSender, Parker, Received, TrySendError, inbox, parking};
use loom::thread;
use loom_tests::{Witness, explore};

/// Offers `n` items tagged with their sender; returns the accepted ones.
fn offer(sender: &InboxSender<(u32, u32)>, tag: u32, n: u32, w: &Witnesses) -> Vec<(u32, u32)> {
    let mut accepted = Vec::new();
    for value in 0..n {
        match sender.try_send((tag, value)) {
            Ok(()) => accepted.push((tag, value)),
            Err(refused) => {
                w.full.met_if(matches!(refused, TrySendError::Full(_)));
                w.closed.met_if(matches!(refused, TrySendError::Closed(_)));
                assert_eq!(refused.into_inner(), (tag, value), "another item came back");
            }
        }
    }
    accepted
}

fn drain(
    receiver: &mut InboxReceiver<(u32, u32)>,
    parker: &Parker,
    drained: &mut Vec<(u32, u32)>,
    unfilled: &Witness,
) {
    loop {
        match receiver.try_recv() {
            Received::Item(item) => drained.push(item),
            Received::Empty => {
                unfilled.met_if(true);
                parker.park_until(|| receiver.has_news());
            }
            Received::Finished => return,
        }
    }
}

struct Witnesses {
    full: Witness,
    closed: Witness,
    unfilled: Witness,
}

impl Witnesses {
    const fn none_met() -> Self {
        Self {
            full: Witness::of("a sender met a full inbox"),
            closed: Witness::of("a sender met the close"),
            unfilled: Witness::of("the close fell between a claim and its filling"),
        }
    }
}

fn close_while_sending(capacity: usize, n_senders: u32, n_each: u32, w: &'static Witnesses) {
    let (waker, parker) = parking();
    let (sender, mut receiver) = inbox(capacity);
    let sender = sender.waking(waker);
    let senders: Vec<_> = (0..n_senders)
        .map(|tag| {
            let sender = sender.clone();
            thread::spawn(move || offer(&sender, tag, n_each, w))
        })
        .collect();
    let mut drained = Vec::new();
    if let Received::Item(item) = receiver.try_recv() {
        drained.push(item);
    }
    let final_count = receiver.close();
    drain(&mut receiver, &parker, &mut drained, &w.unfilled);
    for (tag, handle) in (0..).zip(senders) {
        let accepted = handle.join().expect("a sender does not panic");
        let mut of_sender = drained.clone();
        of_sender.retain(|item| item.0 == tag);
        assert_eq!(accepted, of_sender, "accepted and drained differ");
    }
    assert_eq!(final_count, drained.len() as u64);
    let counts = receiver.counts();
    assert_eq!(counts.accepted, final_count);
    assert_eq!(counts.attempted, u64::from(n_senders * n_each));
}

#[test]
fn two_senders_of_one_item() {
    static W: Witnesses = Witnesses::none_met();
    explore(&[&W.closed, &W.unfilled], || {
        close_while_sending(2, 2, 1, &W)
    });
}

#[test]
fn two_senders_of_two_items_share_one_slot() {
    static W: Witnesses = Witnesses::none_met();
    explore(&[&W.full, &W.closed, &W.unfilled], || {
        close_while_sending(1, 2, 2, &W);
    });
}

#[test]
fn three_senders_of_one_item() {
    static W: Witnesses = Witnesses::none_met();
    explore(&[&W.full, &W.closed, &W.unfilled], || {
        close_while_sending(2, 3, 1, &W);
    });
}

#[test]
fn the_last_sender_that_goes_away_finishes_the_inbox() {
    static W: Witnesses = Witnesses::none_met();
    static ALL: Witness = Witness::of("every item was accepted");
    explore(&[&W.full, &ALL], || {
        let (waker, parker) = parking();
        let (sender, mut receiver) = inbox(1);
        let first = sender.waking(waker);
        let second = first.clone();
        let senders = [(0, first, 2), (1, second, 1)]
            .map(|(tag, sender, n)| thread::spawn(move || offer(&sender, tag, n, &W)));
        let mut drained = Vec::new();
        drain(&mut receiver, &parker, &mut drained, &W.unfilled);
        let accepted: usize = senders
            .map(|handle| handle.join().expect("a sender does not panic").len())
            .iter()
            .sum();
        assert_eq!(accepted, drained.len(), "accepted and drained differ");
        ALL.met_if(accepted == 3);
    });
}

#[test]
fn items_alone_wake_a_parked_receiver() {
    static W: Witnesses = Witnesses::none_met();
    static SLEPT: Witness = Witness::of("the receiver had to sleep");
    explore(&[&SLEPT], || {
        let (waker, parker) = parking();
        let (sender, mut receiver) = inbox(2);
        let first = sender.waking(waker);
        let second = first.clone();
        // The senders come back alive, so that not their end wakes the receiver.
        let senders = [(0, first), (1, second)].map(|(tag, sender)| {
            thread::spawn(move || {
                assert_eq!(offer(&sender, tag, 1, &W).len(), 1);
                sender
            })
        });
        for _ in 0..2 {
            let mut looks = 0;
            parker.park_until(|| {
                looks += 1;
                receiver.has_news()
            });
            SLEPT.met_if(looks > 1);
            assert!(matches!(receiver.try_recv(), Received::Item(_)));
        }
        for sender in senders {
            drop(sender.join().expect("a sender does not panic"));
        }
    });
}

#[test]
fn what_a_lost_receiver_accepted_is_dropped() {
    static ACCEPTED: Witness = Witness::of("the item was accepted");
    static REFUSED: Witness = Witness::of("the item came too late");
    explore(&[&ACCEPTED, &REFUSED], || {
        let (sender, receiver) = inbox(1);
        let item = std::sync::Arc::new(());
        let sent = std::sync::Arc::clone(&item);
        let caller = thread::spawn(move || {
            let accepted = sender.try_send(sent).is_ok();
            // The slots live on with their sender.
            (sender, accepted)
        });
        drop(receiver);
        let (_sender, accepted) = caller.join().expect("the caller does not panic");
        ACCEPTED.met_if(accepted);
        REFUSED.met_if(!accepted);
        assert_eq!(
            std::sync::Arc::strong_count(&item),
            1,
            "accepted: {accepted}"
        );
    });
}
