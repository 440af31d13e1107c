//! A bounded queue with many senders and one receiver: how commands reach the committer.
//!
//! # Protocol
//!
//! Each slot carries a stamp that says for which position it is free or filled.
//!
//! 1. A sender reads the tail and the stamp of the slot that the count falls on.
//! 2. If the slot is free for that position, one compare-exchange of the tail claims the position
//!    and checks the closed bit together. From here on the item counts as accepted.
//! 3. The sender fills its slot and stamps it filled.
//! 4. The receiver takes the slot of its position once it is stamped filled, and stamps it free for
//!    the position one lap later.
//! 5. Close sets the bit in the tail. The count in the same word is final; the receiver is finished
//!    when it took that many. A position that is claimed but not yet filled reads as empty, and
//!    its sender wakes the receiver after it filled it.

use crossbeam_utils::CachePadded;

use crate::sync::mutant::weakened;
use crate::sync::slot::Slot;
use crate::sync::tail::{Received, SendCounts, Tail, TrySendError};
use crate::sync::{
    Arc, AtomicU64, AtomicUsize, Mutant, Ordering, Parker, Waker, injected, spin_loop, yield_now,
};

/// An inbox for `capacity` commands.
///
/// # Panics
///
/// When the capacity is zero.
#[must_use]
pub fn inbox<T>(capacity: usize) -> (InboxSender<T>, InboxReceiver<T>) {
    assert!(capacity > 0, "an inbox holds at least one item");
    let cells = (0..capacity as u64).map(|position| Cell {
        stamp: AtomicU64::new(Stamp::free_for(position).0),
        slot: Slot::new(),
    });
    let shared = Arc::new(InboxState {
        cells: cells.collect(),
        tail: CachePadded::new(AtomicU64::new(Tail::open(0).word())),
        n_senders: AtomicUsize::new(1),
        refused_full: AtomicU64::new(0),
        refused_closed: AtomicU64::new(0),
    });
    let sender = InboxSender {
        shared: Arc::clone(&shared),
        waker: None,
    };
    (sender, InboxReceiver { shared, drained: 0 })
}

/// For which position a slot is free or filled. Even and odd keep the two apart even when the
/// inbox has a single slot and the next lap is the next position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Stamp(u64);

impl Stamp {
    fn free_for(position: u64) -> Self {
        if injected(Mutant::InboxFullLooksFree) {
            return Self(position);
        }
        Self(2 * position)
    }

    fn filled_for(position: u64) -> Self {
        if injected(Mutant::InboxFullLooksFree) {
            return Self(position + 1);
        }
        Self(2 * position + 1)
    }
}

#[derive(Debug)]
struct Cell<T> {
    /// Set to filled by the sender that claimed the position, to free by the receiver.
    stamp: AtomicU64,
    slot: Slot<T>,
}

#[derive(Debug)]
struct InboxState<T> {
    cells: Box<[Cell<T>]>,
    /// Claimed positions and the closed bit. Written by all sides.
    tail: CachePadded<AtomicU64>,
    /// Living senders; the last one closes.
    n_senders: AtomicUsize,
    refused_full: AtomicU64,
    refused_closed: AtomicU64,
}

enum Claim<'a, T> {
    Claimed(u64, &'a Cell<T>),
    Full,
    Closed,
}

impl<T> InboxState<T> {
    fn capacity(&self) -> u64 {
        self.cells.len() as u64
    }

    fn cell(&self, position: u64) -> &Cell<T> {
        let idx = usize::try_from(position % self.capacity());
        &self.cells[idx.expect("a position modulo a length is an index")]
    }

    fn claim(&self) -> Claim<'_, T> {
        loop {
            let tail = Tail::from_word(self.tail.load(Ordering::Relaxed));
            if tail.is_closed() {
                return Claim::Closed;
            }
            let position = tail.count();
            let cell = self.cell(position);
            // Acquire: pairs with the Release in `InboxReceiver::try_recv`; the slot is empty. It
            // also orders the next look at the tail after the claim that outran this one.
            let stamp = Stamp(cell.stamp.load(Ordering::Acquire));
            if stamp < Stamp::free_for(position) {
                return Claim::Full;
            }
            if stamp == Stamp::free_for(position) && self.count_one_more(tail) {
                return Claim::Claimed(position, cell);
            }
            spin_loop();
        }
    }

    /// Claims the position of the count, unless another sender did or the inbox was closed.
    fn count_one_more(&self, tail: Tail) -> bool {
        // Relaxed suffices for the slot, whose stamp orders it; Release pairs with the Acquire in
        // `close`, so that what a sender did before an accepted item is known to the closer.
        let claimed = self.advance(tail);
        match claimed {
            Err(found)
                if injected(Mutant::InboxCloseThenClaim) && found.count() == tail.count() =>
            {
                self.advance(found).is_ok()
            }
            _ => claimed.is_ok(),
        }
    }

    fn advance(&self, tail: Tail) -> Result<u64, Tail> {
        let after = tail.with_one_more().word();
        self.tail
            .compare_exchange(tail.word(), after, Ordering::Release, Ordering::Relaxed)
            .map_err(Tail::from_word)
    }

    fn close(&self) -> Tail {
        let word = if injected(Mutant::InboxCloseNotAtomic) {
            let word = self.tail.load(Ordering::Acquire);
            self.tail.store(word | Tail::CLOSED, Ordering::Release);
            word
        } else {
            // AcqRel: pairs with the Release in `count_one_more` and the Acquire in `nothing_left`.
            self.tail.fetch_or(Tail::CLOSED, Ordering::AcqRel)
        };
        Tail::from_word(word | Tail::CLOSED)
    }

    fn counts(&self) -> SendCounts {
        let accepted = Tail::from_word(self.tail.load(Ordering::Acquire)).count();
        let refused_full = self.refused_full.load(Ordering::Relaxed);
        let refused_closed = self.refused_closed.load(Ordering::Relaxed);
        SendCounts {
            attempted: accepted + refused_full + refused_closed,
            accepted,
            refused_full,
            refused_closed,
        }
    }
}

/// The side of whoever submits commands; clones share the inbox, the last one dropped closes it.
#[derive(Debug)]
pub struct InboxSender<T> {
    shared: Arc<InboxState<T>>,
    waker: Option<Waker>,
}

impl<T> InboxSender<T> {
    /// Lets each accepted item and the close wake the receiver's thread; clones inherit it.
    #[must_use]
    pub fn waking(mut self, receiver: Waker) -> Self {
        self.waker = Some(receiver);
        self
    }

    /// Offers an item; never waits for the receiver.
    ///
    /// # Errors
    ///
    /// [`TrySendError`] with the item when there is no free slot or the inbox is closed.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.shared.claim() {
            Claim::Claimed(position, cell) => {
                if injected(Mutant::InboxWakesBeforeFill) {
                    self.wake_receiver();
                }
                cell.slot.put(value);
                // Release: pairs with the Acquire in `InboxReceiver`; publishes the filled slot.
                let order = weakened(Mutant::InboxStampRelaxed, Ordering::Release);
                cell.stamp.store(Stamp::filled_for(position).0, order);
                if !injected(Mutant::InboxWakesBeforeFill) {
                    self.wake_receiver();
                }
                Ok(())
            }
            Claim::Full if injected(Mutant::InboxFullAccepts) => Ok(()),
            Claim::Full => {
                self.shared.refused_full.fetch_add(1, Ordering::Relaxed);
                Err(TrySendError::Full(value))
            }
            Claim::Closed => {
                self.shared.refused_closed.fetch_add(1, Ordering::Relaxed);
                Err(TrySendError::Closed(value))
            }
        }
    }

    /// What became of the items of all senders so far; exact once the senders rest.
    #[must_use]
    pub fn counts(&self) -> SendCounts {
        self.shared.counts()
    }

    fn wake_receiver(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}

impl<T> Clone for InboxSender<T> {
    fn clone(&self) -> Self {
        self.shared.n_senders.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: Arc::clone(&self.shared),
            waker: self.waker.clone(),
        }
    }
}

impl<T> Drop for InboxSender<T> {
    fn drop(&mut self) {
        // AcqRel: pairs with itself in the other senders; the last one closes after all of them.
        let before = self.shared.n_senders.fetch_sub(1, Ordering::AcqRel);
        if before == 1 && !injected(Mutant::InboxSendersLeaveOpen) {
            self.shared.close();
            self.wake_receiver();
        }
    }
}

/// The side of the committer. Dropping it closes the inbox and drops the items still in it, also those
/// on their way into their slots; while a panic unwinds it only closes.
#[derive(Debug)]
pub struct InboxReceiver<T> {
    shared: Arc<InboxState<T>>,
    drained: u64,
}

impl<T> InboxReceiver<T> {
    /// Takes the oldest item; never waits, not even for a sender that is about to fill its slot.
    pub fn try_recv(&mut self) -> Received<T> {
        let cell = self.shared.cell(self.drained);
        if !self.next_is_filled() && !injected(Mutant::InboxTakesWithoutStamp) {
            return self.nothing_left();
        }
        let value = cell.slot.take();
        let lap = self.shared.capacity() + u64::from(injected(Mutant::InboxFreesWrongLap));
        // Release: pairs with the Acquire in `InboxState::claim`; the slot is empty.
        let order = weakened(Mutant::InboxSlotRelaxed, Ordering::Release);
        let free = Stamp::free_for(self.drained + lap);
        cell.stamp.store(free.0, order);
        self.drained += 1;
        Received::Item(value)
    }

    fn next_is_filled(&self) -> bool {
        let stamp = &self.shared.cell(self.drained).stamp;
        // Acquire: pairs with the Release in `InboxSender::try_send`; the slot is filled.
        Stamp(stamp.load(Ordering::Acquire)) == Stamp::filled_for(self.drained)
    }

    fn nothing_left(&self) -> Received<T> {
        if self.is_finished() {
            Received::Finished
        } else {
            Received::Empty
        }
    }

    fn is_finished(&self) -> bool {
        // Acquire: pairs with the AcqRel in `InboxState::close`; what preceded the close is seen.
        let tail = Tail::from_word(self.shared.tail.load(Ordering::Acquire));
        tail.is_closed()
            && (tail.count() == self.drained || injected(Mutant::InboxEmptyTakenForEnd))
    }

    /// Whether the next [`Self::try_recv`] will answer anything but empty; for a last look before
    /// parking.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.next_is_filled() || self.is_finished()
    }

    /// Refuses further items and says how many were accepted in all.
    ///
    /// Those not yet taken stay: the receiver goes on until [`Received::Finished`].
    pub fn close(&mut self) -> u64 {
        self.shared.close().count()
    }

    /// Refuses further items and hands over all that were accepted before, in order. One that was
    /// accepted may still be on its way into its slot; its sender wakes the parker.
    pub fn finish(&mut self, parker: &Parker, mut take: impl FnMut(T)) {
        self.close();
        loop {
            match self.try_recv() {
                Received::Item(item) => take(item),
                Received::Finished => return,
                Received::Empty if injected(Mutant::ShutdownDropsAccepted) => return,
                Received::Empty => parker.park_until(|| self.has_news()),
            }
        }
    }

    /// Items taken so far; equals the accepted ones once the receiver is finished.
    #[must_use]
    pub fn drained(&self) -> u64 {
        self.drained
    }

    /// What became of the items of all senders so far; exact once the senders rest.
    #[must_use]
    pub fn counts(&self) -> SendCounts {
        self.shared.counts()
    }
}

impl<T> Drop for InboxReceiver<T> {
    fn drop(&mut self) {
        self.shared.close();
        if std::thread::panicking() || injected(Mutant::InboxKeepsAfterReceiver) {
            return;
        }
        // The slots live as long as the senders: whoever waits for what an item answers would wait for ever.
        loop {
            match self.try_recv() {
                Received::Item(item) => drop(item),
                Received::Finished => return,
                Received::Empty => yield_now(),
            }
        }
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_the_order_they_went_in() {
        let (sender, mut receiver) = inbox(3);
        let other = sender.clone();
        for round in 0..7 {
            assert_eq!(sender.try_send(2 * round), Ok(()));
            assert_eq!(other.try_send(2 * round + 1), Ok(()));
            assert_eq!(receiver.try_recv(), Received::Item(2 * round));
            assert_eq!(receiver.try_recv(), Received::Item(2 * round + 1));
            assert_eq!(receiver.try_recv(), Received::Empty);
        }
    }

    #[test]
    fn an_inbox_for_one_item_distinguishes_full_from_free() {
        let (sender, mut receiver) = inbox(1);
        for round in 0..3 {
            assert_eq!(sender.try_send(round), Ok(()));
            assert_eq!(sender.try_send(99), Err(TrySendError::Full(99)));
            assert_eq!(receiver.try_recv(), Received::Item(round));
            assert_eq!(receiver.try_recv(), Received::Empty);
        }
    }

    #[test]
    fn a_closed_inbox_gives_the_item_back_and_keeps_the_accepted_ones() {
        let (sender, mut receiver) = inbox(2);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(receiver.close(), 1);
        assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
        assert!(receiver.has_news());
        assert_eq!(receiver.try_recv(), Received::Item(1));
        assert_eq!(receiver.try_recv(), Received::Finished);
        let expected = SendCounts {
            attempted: 2,
            accepted: 1,
            refused_full: 0,
            refused_closed: 1,
        };
        assert_eq!(receiver.counts(), expected);
        assert_eq!(receiver.drained(), 1);
    }

    #[test]
    fn only_the_last_sender_closes() {
        let (sender, mut receiver) = inbox::<u32>(2);
        let other = sender.clone();
        drop(sender);
        assert_eq!(receiver.try_recv(), Received::Empty);
        drop(other);
        assert_eq!(receiver.try_recv(), Received::Finished);
    }

    #[test]
    fn a_dropped_receiver_closes_the_inbox() {
        let (sender, receiver) = inbox(2);
        drop(receiver);
        assert_eq!(sender.try_send(1), Err(TrySendError::Closed(1)));
    }

    #[test]
    fn a_dropped_receiver_drops_what_it_did_not_take() {
        let (sender, receiver) = inbox(2);
        let item = std::sync::Arc::new(1);
        sender.try_send(std::sync::Arc::clone(&item)).unwrap();
        drop(receiver);
        assert_eq!(std::sync::Arc::strong_count(&item), 1);
    }

    #[test]
    fn senders_on_other_threads_lose_nothing() {
        const N: u32 = 10_000;
        let (waker, parker) = crate::sync::parking();
        let (sender, mut receiver) = inbox(3);
        let sender = sender.waking(waker);
        let mut next = [0; 2];
        std::thread::scope(|scope| {
            for (tag, sender) in [(0, sender.clone()), (1, sender)] {
                scope.spawn(move || {
                    for value in 0..N {
                        while sender.try_send((tag, value)).is_err() {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            loop {
                match receiver.try_recv() {
                    Received::Item((tag, value)) => {
                        let next: &mut u32 = &mut next[tag];
                        assert_eq!(value, *next);
                        *next += 1;
                    }
                    Received::Empty => parker.park_until(|| receiver.has_news()),
                    Received::Finished => break,
                }
            }
        });
        assert_eq!(next, [N, N]);
    }
}
