//! A copy of what a ledger holds of its rows, made in parts while the ledger goes on.
//!
//! 1. A pass looks at the rows by slot, and copies those that changed since.
//! 2. A pass has any number of parts. Others change the ledger between two of them.
//! 3. Passes get shorter, since each copies what changed during the one before. The last one is made in one piece.
//!
//! A copy is read once it is finished: [`InPasses::finish`] alone gives access to it.
//!
//! Tests: `tests/runtime/preemption_turns.rs`, `tests/runtime/whole_state.rs`.

use crate::commit::ledger::Ledger;

/// Rows that are looked at for the price of one container.
const LOOKS: usize = 4;

/// What is copied row by row.
pub trait CopiedRows: Default + Send + 'static {
    /// How many rows of each kind a ledger has. They never get fewer.
    type Room: Copy + Send + 'static;

    /// The room that the rows of a ledger take.
    fn room(ledger: &Ledger) -> Self::Room;

    /// Makes room; how many rows there are now.
    fn grow(&mut self, room: Self::Room) -> usize;

    /// Copies what one row has, if it changed; how many containers.
    fn copy(&mut self, ledger: &Ledger, row: usize) -> usize;

    /// Copies what belongs to no row, with the last pass.
    fn complete(&mut self, _ledger: &Ledger) {}
}

/// Two copies as of one moment: the rows of the first one, then those of the other.
#[derive(Clone, Debug, Default)]
pub struct BothCopies<A, B> {
    first: A,
    second: B,
    rows_of_first: usize,
}

impl<A, B> BothCopies<A, B> {
    /// The two.
    #[must_use]
    pub fn into_parts(self) -> (A, B) {
        (self.first, self.second)
    }
}

impl<A: CopiedRows, B: CopiedRows> CopiedRows for BothCopies<A, B> {
    type Room = (A::Room, B::Room);

    fn room(ledger: &Ledger) -> Self::Room {
        (A::room(ledger), B::room(ledger))
    }

    fn grow(&mut self, (first, second): Self::Room) -> usize {
        self.rows_of_first = self.first.grow(first);
        self.rows_of_first + self.second.grow(second)
    }

    fn copy(&mut self, ledger: &Ledger, row: usize) -> usize {
        match row.checked_sub(self.rows_of_first) {
            None => self.first.copy(ledger, row),
            Some(row) => self.second.copy(ledger, row),
        }
    }

    fn complete(&mut self, ledger: &Ledger) {
        self.first.complete(ledger);
        self.second.complete(ledger);
    }
}

/// A copy with the passes that make it.
#[derive(Clone, Debug, Default)]
pub struct InPasses<C> {
    rows: C,
    /// The next row of the present pass.
    at: usize,
    /// What the present pass copied, in containers.
    copied: usize,
    /// The same of the pass before; nothing in the first one.
    copied_before: Option<usize>,
}

impl<C: CopiedRows> InPasses<C> {
    /// Whether the last pass copied so little that the next one may be made in one piece.
    #[must_use]
    pub fn is_near(&self, most: usize) -> bool {
        self.copied_before.is_some_and(|copied| copied <= most)
    }

    /// Makes room ahead of a pass, which then only writes: memory that is new takes longer than what is written to it.
    pub fn grow(&mut self, room: C::Room) {
        self.rows.grow(room);
    }

    /// Goes on with a pass, for so many containers and the rest of one row; whether it ended.
    pub fn go_on(&mut self, ledger: &Ledger, most: usize) -> bool {
        let rows = self.rows.grow(C::room(ledger));
        let mut left = most.saturating_mul(LOOKS);
        while self.at < rows {
            if left == 0 {
                return false;
            }
            let copied = self.rows.copy(ledger, self.at);
            self.copied += copied;
            self.at += 1;
            left = left.saturating_sub(1 + copied.saturating_mul(LOOKS));
        }
        self.copied_before = Some(std::mem::take(&mut self.copied));
        self.at = 0;
        true
    }

    /// A copy in one piece.
    ///
    /// Cost: a copy of each container.
    #[must_use]
    pub fn in_one_piece(ledger: &Ledger) -> C {
        std::mem::take(Self::default().finish(ledger))
    }

    /// Makes a whole pass, so that everything is as of now.
    ///
    /// Cost: a look at each row, and a copy of what changed since the pass before.
    pub fn finish(&mut self, ledger: &Ledger) -> &mut C {
        (self.at, self.copied) = (0, 0);
        self.go_on(ledger, usize::MAX);
        self.rows.complete(ledger);
        &mut self.rows
    }
}
