//! A bounded ring with one sender and one receiver: how a proposer hands batches to the committer.
//!
//! # Protocol
//!
//! 1. The sender fills the slot behind the last item while the tail still hides it.
//! 2. One compare-exchange counts the item and checks the closed bit together. It fails only when
//!    the ring was closed; the sender then takes its item back out of the slot.
//! 3. The receiver empties the slots that the tail counts and hands them back through the head.
//! 4. A sender that found no free slot may sleep until the head moves on or the ring is closed: the
//!    receiver wakes it after either.
//! 5. Either side closes by setting the bit in the tail. The count in the same word is final:
//!    accepted items are exactly the counted ones, and the receiver is finished when it took them.

use crossbeam_utils::CachePadded;

use crate::sync::mutant::weakened;
use crate::sync::slot::Slot;
use crate::sync::tail::{Received, SendCounts, Tail, TrySendError};
use crate::sync::{Arc, AtomicU64, Mutant, Ordering, Waker, injected};

/// A ring for `capacity` items: one per batch, not per proposal.
///
/// # Panics
///
/// When the capacity is zero.
#[must_use]
pub fn ring<T>(capacity: usize) -> (RingSender<T>, RingReceiver<T>) {
    assert!(capacity > 0, "a ring holds at least one item");
    let shared = Arc::new(RingState {
        slots: (0..capacity).map(|_| Slot::new()).collect(),
        tail: CachePadded::new(AtomicU64::new(Tail::open(0).word())),
        head: CachePadded::new(AtomicU64::new(0)),
    });
    let sender = RingSender {
        shared: Arc::clone(&shared),
        cursor: Cursor::default(),
        head_seen: 0,
        refused_full: 0,
        refused_closed: 0,
        waker: None,
    };
    let receiver = RingReceiver {
        shared,
        cursor: Cursor::default(),
        count_seen: 0,
        waker: None,
    };
    (sender, receiver)
}

#[derive(Debug)]
struct RingState<T> {
    slots: Box<[Slot<T>]>,
    /// Accepted items and the closed bit. Counted by the sender, closed by both.
    tail: CachePadded<AtomicU64>,
    /// Items taken. Written by the receiver, read by the sender.
    head: CachePadded<AtomicU64>,
}

impl<T> RingState<T> {
    fn close(&self) -> Tail {
        let word = if injected(Mutant::RingCloseNotAtomic) {
            let word = self.tail.load(Ordering::Acquire);
            self.tail.store(word | Tail::CLOSED, Ordering::Release);
            word
        } else {
            // AcqRel: pairs with the sender's count; the items it counted are seen by the closer.
            self.tail.fetch_or(Tail::CLOSED, Ordering::AcqRel)
        };
        Tail::from_word(word | Tail::CLOSED)
    }
}

/// A side's own position: the number of its items and the slot that this number falls on.
#[derive(Clone, Copy, Default, Debug)]
struct Cursor {
    count: u64,
    slot_idx: usize,
}

impl Cursor {
    fn advance(&mut self, capacity: usize) {
        self.count += 1;
        self.slot_idx += 1;
        if self.slot_idx == capacity {
            self.slot_idx = 0;
        }
    }
}

/// The side of the proposer. Dropping it closes the ring.
#[derive(Debug)]
pub struct RingSender<T> {
    shared: Arc<RingState<T>>,
    /// Items accepted so far; equals the count in the tail, which only this side advances.
    cursor: Cursor,
    /// The head when it was last looked at; the true one is at least that.
    head_seen: u64,
    refused_full: u64,
    refused_closed: u64,
    waker: Option<Waker>,
}

impl<T> RingSender<T> {
    /// Lets each accepted item and the close wake the receiver's thread.
    #[must_use]
    pub fn waking(mut self, receiver: Waker) -> Self {
        self.waker = Some(receiver);
        self
    }

    /// Offers an item; never waits.
    ///
    /// # Errors
    ///
    /// [`TrySendError`] with the item when there is no free slot or the ring is closed.
    pub fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>> {
        if self.is_full() {
            if Tail::from_word(self.shared.tail.load(Ordering::Relaxed)).is_closed() {
                self.refused_closed += 1;
                return Err(TrySendError::Closed(value));
            }
            if injected(Mutant::RingFullAccepts) {
                return Ok(());
            }
            self.refused_full += 1;
            return Err(TrySendError::Full(value));
        }
        let slot = &self.shared.slots[self.cursor.slot_idx];
        slot.put(value);
        if injected(Mutant::RingWakesBeforeCount) {
            self.wake_receiver();
        }
        if self.count_one_more() {
            self.cursor.advance(self.shared.slots.len());
            if !injected(Mutant::RingWakesBeforeCount) {
                self.wake_receiver();
            }
            Ok(())
        } else {
            self.refused_closed += 1;
            Err(TrySendError::Closed(slot.take()))
        }
    }

    /// Counts the item that stands in the slot, unless the ring is closed.
    fn count_one_more(&self) -> bool {
        let before = Tail::open(self.cursor.count);
        let after = before.with_one_more().word();
        let tail = &self.shared.tail;
        if injected(Mutant::RingCloseThenCount) {
            let open = !Tail::from_word(tail.load(Ordering::Acquire)).is_closed();
            if open {
                tail.store(after, Ordering::Release);
            }
            return open;
        }
        // Release: pairs with the Acquire loads in `RingReceiver`; publishes the filled slot.
        let order = weakened(Mutant::RingCountRelaxed, Ordering::Release);
        tail.compare_exchange(before.word(), after, order, Ordering::Relaxed)
            .is_ok()
    }

    fn is_full(&mut self) -> bool {
        let capacity = self.shared.slots.len() as u64;
        if self.cursor.count - self.head_seen == capacity {
            // Acquire: pairs with the Release in `RingReceiver::try_recv`; the slot is empty.
            self.head_seen = self.shared.head.load(Ordering::Acquire);
        }
        self.cursor.count - self.head_seen == capacity
    }

    /// Whether the next [`Self::try_send`] will answer anything but full; for a last look before
    /// parking.
    #[must_use]
    pub fn has_room(&self) -> bool {
        // Acquire: pairs with the Release in `RingReceiver::try_recv`.
        let head = self.shared.head.load(Ordering::Acquire);
        self.cursor.count - head < self.shared.slots.len() as u64 || self.is_closed()
    }

    /// What became of the items so far.
    #[must_use]
    pub fn counts(&self) -> SendCounts {
        let accepted = self.cursor.count;
        SendCounts {
            attempted: accepted + self.refused_full + self.refused_closed,
            accepted,
            refused_full: self.refused_full,
            refused_closed: self.refused_closed,
        }
    }

    /// Whether either side closed the ring; an open ring may be closed a moment later.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        Tail::from_word(self.shared.tail.load(Ordering::Relaxed)).is_closed()
    }

    fn wake_receiver(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}

impl<T> Drop for RingSender<T> {
    fn drop(&mut self) {
        if !injected(Mutant::RingSenderLeavesOpen) {
            self.shared.close();
        }
        self.wake_receiver();
    }
}

/// The side of the committer. Dropping it closes the ring; items still in it are dropped.
#[derive(Debug)]
pub struct RingReceiver<T> {
    shared: Arc<RingState<T>>,
    /// Items taken so far.
    cursor: Cursor,
    /// The count of the tail when it was last looked at; the true one is at least that.
    count_seen: u64,
    waker: Option<Waker>,
}

impl<T> RingReceiver<T> {
    /// Lets each slot that is handed back and the close wake the sender's thread.
    #[must_use]
    pub fn waking(mut self, sender: Waker) -> Self {
        self.waker = Some(sender);
        self
    }

    /// Takes the oldest item; never waits.
    pub fn try_recv(&mut self) -> Received<T> {
        if self.cursor.count == self.count_seen && !injected(Mutant::RingTakesWithoutCount) {
            // Acquire: pairs with the Release in `RingSender::count_one_more`; the slot is filled.
            let tail = Tail::from_word(self.shared.tail.load(Ordering::Acquire));
            self.count_seen = tail.count();
            if self.cursor.count == self.count_seen {
                return self.nothing_left(tail);
            }
        }
        let value = self.shared.slots[self.cursor.slot_idx].take();
        self.cursor.advance(self.shared.slots.len());
        // Release: pairs with the Acquire in `RingSender::is_full`; the slot is empty.
        let order = weakened(Mutant::RingSlotRelaxed, Ordering::Release);
        if injected(Mutant::RingWakesSenderTooEarly) {
            self.wake_sender();
        }
        let emptied = self.cursor.count + u64::from(injected(Mutant::RingFreesTooMuch));
        self.shared.head.store(emptied, order);
        if !injected(Mutant::RingWakesSenderTooEarly) {
            self.wake_sender();
        }
        Received::Item(value)
    }

    fn wake_sender(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }

    fn close_and_wake(&self) -> u64 {
        let count = self.shared.close().count();
        if !injected(Mutant::RingCloseWakesNoSender) {
            self.wake_sender();
        }
        count
    }

    fn nothing_left(&self, tail: Tail) -> Received<T> {
        let tail = if injected(Mutant::RingEmptyTakenForEnd) {
            Tail::from_word(self.shared.tail.load(Ordering::Acquire))
        } else {
            tail
        };
        if tail.is_closed() {
            Received::Finished
        } else {
            Received::Empty
        }
    }

    /// Whether the next [`Self::try_recv`] will answer anything but empty; for a last look before
    /// parking.
    #[must_use]
    pub fn has_news(&self) -> bool {
        // Acquire: pairs with the Release in `RingSender::count_one_more`.
        self.shared.tail.load(Ordering::Acquire) != Tail::open(self.cursor.count).word()
    }

    /// Refuses further items and says how many were accepted in all.
    ///
    /// Those not yet taken stay: the receiver goes on until [`Received::Finished`].
    pub fn close(&mut self) -> u64 {
        self.close_and_wake()
    }

    /// Items taken so far; equals the accepted ones once the receiver is finished.
    #[must_use]
    pub fn drained(&self) -> u64 {
        self.cursor.count
    }
}

impl<T> Drop for RingReceiver<T> {
    fn drop(&mut self) {
        self.close_and_wake();
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_the_order_they_went_in() {
        let (mut sender, mut receiver) = ring(2);
        for round in 0..5 {
            assert_eq!(sender.try_send(2 * round), Ok(()));
            assert_eq!(sender.try_send(2 * round + 1), Ok(()));
            assert_eq!(receiver.try_recv(), Received::Item(2 * round));
            assert_eq!(receiver.try_recv(), Received::Item(2 * round + 1));
            assert_eq!(receiver.try_recv(), Received::Empty);
        }
    }

    #[test]
    fn a_full_ring_gives_the_item_back() {
        let (mut sender, mut receiver) = ring(1);
        assert_eq!(sender.try_send("a"), Ok(()));
        assert_eq!(sender.try_send("b"), Err(TrySendError::Full("b")));
        assert_eq!(receiver.try_recv(), Received::Item("a"));
        assert_eq!(sender.try_send("b"), Ok(()));
        assert_eq!(receiver.try_recv(), Received::Item("b"));
    }

    #[test]
    fn a_closed_ring_gives_the_item_back_and_keeps_the_accepted_ones() {
        let (mut sender, mut receiver) = ring(2);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(receiver.close(), 1);
        assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
        assert_eq!(receiver.try_recv(), Received::Item(1));
        assert_eq!(receiver.try_recv(), Received::Finished);
        assert_eq!(receiver.drained(), sender.counts().accepted);
    }

    #[test]
    fn a_ring_both_full_and_closed_says_closed() {
        let (mut sender, mut receiver) = ring(1);
        assert_eq!(sender.try_send(1), Ok(()));
        receiver.close();
        assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
    }

    #[test]
    fn a_dropped_sender_finishes_the_receiver_after_its_items() {
        let (mut sender, mut receiver) = ring(4);
        assert_eq!(sender.try_send(1), Ok(()));
        drop(sender);
        assert_eq!(receiver.try_recv(), Received::Item(1));
        assert_eq!(receiver.try_recv(), Received::Finished);
    }

    #[test]
    fn a_dropped_receiver_closes_the_ring() {
        let (mut sender, receiver) = ring(4);
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(sender.try_send(1), Err(TrySendError::Closed(1)));
    }

    #[test]
    fn every_attempt_is_counted_once() {
        let (mut sender, mut receiver) = ring(1);
        for value in 0..3 {
            if let Err(error) = sender.try_send(value) {
                assert_eq!(error.into_inner(), value);
            }
        }
        receiver.close();
        assert_eq!(sender.try_send(3), Err(TrySendError::Closed(3)));
        let expected = SendCounts {
            attempted: 4,
            accepted: 1,
            refused_full: 2,
            refused_closed: 1,
        };
        assert_eq!(sender.counts(), expected);
    }

    #[test]
    fn a_sender_on_another_thread_loses_nothing() {
        const N: u32 = 20_000;
        let (waker, parker) = crate::sync::parking();
        let (sender, mut receiver) = ring(3);
        let mut next = 0;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut sender = sender.waking(waker);
                for value in 0..N {
                    while sender.try_send(value).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
            loop {
                match receiver.try_recv() {
                    Received::Item(value) => {
                        assert_eq!(value, next);
                        next += 1;
                    }
                    Received::Empty => parker.park_until(|| receiver.has_news()),
                    Received::Finished => break,
                }
            }
        });
        assert_eq!(next, N);
    }

    #[test]
    fn room_is_a_free_slot_or_the_close() {
        let (mut sender, mut receiver) = ring(1);
        assert!(sender.has_room());
        assert_eq!(sender.try_send(1), Ok(()));
        assert!(!sender.has_room());
        assert_eq!(receiver.try_recv(), Received::Item(1));
        assert!(sender.has_room());
        assert_eq!(sender.try_send(2), Ok(()));
        drop(receiver);
        assert!(sender.has_room());
    }

    #[test]
    fn a_sender_asleep_on_a_full_ring_is_woken_for_room_and_for_the_close() {
        let (waker, parker) = crate::sync::parking();
        let (mut sender, receiver) = ring(1);
        let mut receiver = receiver.waking(waker);
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                (0..)
                    .take_while(|value| {
                        parker.park_until(|| sender.has_room());
                        sender.try_send(*value).is_ok()
                    })
                    .count()
            });
            for value in 0..100 {
                while receiver.try_recv() != Received::Item(value) {
                    std::thread::yield_now();
                }
            }
            drop(receiver);
            assert!(sender.join().unwrap() >= 100);
        });
    }

    #[test]
    fn news_are_an_item_or_the_close() {
        let (mut sender, mut receiver) = ring(1);
        assert!(!receiver.has_news());
        assert_eq!(sender.try_send(1), Ok(()));
        assert!(receiver.has_news());
        assert_eq!(receiver.try_recv(), Received::Item(1));
        assert!(!receiver.has_news());
        drop(sender);
        assert!(receiver.has_news());
    }
}
