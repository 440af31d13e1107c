//! What a ring and an inbox share: the word with count and closed bit, and the answers.

use std::fmt;

/// The tail word: how many items were accepted, and whether no more will be.
///
/// Both live in one word, so that no item can slip in between a look at the bit and the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tail(u64);

impl Tail {
    /// The mask that closes.
    pub(super) const CLOSED: u64 = 1;
    const ONE_ITEM: u64 = 2;

    pub(super) const fn open(count: u64) -> Self {
        Self(count * Self::ONE_ITEM)
    }

    pub(super) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub(super) const fn word(self) -> u64 {
        self.0
    }

    /// Items accepted since the beginning.
    pub(super) const fn count(self) -> u64 {
        self.0 / Self::ONE_ITEM
    }

    pub(super) const fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    #[must_use]
    pub(super) const fn with_one_more(self) -> Self {
        Self(self.0 + Self::ONE_ITEM)
    }
}

const _: () = assert!(Tail::CLOSED & Tail::ONE_ITEM == 0 && Tail::CLOSED < Tail::ONE_ITEM);

/// Why an item was not taken; it comes back unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrySendError<T> {
    /// No free slot; the receiver frees one by taking an item.
    Full(T),
    /// Closed for good by either side.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// The item that was refused.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the queue is full",
            Self::Closed(_) => "the queue is closed",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for TrySendError<T> {}

/// What a receiver found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an item that is dropped here was accepted and gets no answer"]
pub enum Received<T> {
    /// The oldest item.
    Item(T),
    /// Nothing to take at the moment; more may come.
    Empty,
    /// Closed, and every accepted item was taken.
    Finished,
}

/// What became of the items that were offered; `attempted` is the sum of the other three.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SendCounts {
    /// Calls of `try_send`.
    pub attempted: u64,
    /// Items that the receiver got or will get.
    pub accepted: u64,
    /// Items given back because no slot was free.
    pub refused_full: u64,
    /// Items given back because the queue was closed.
    pub refused_closed: u64,
}
