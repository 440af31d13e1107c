//! Gangs: containers that are placed all at once or not at all (beyond the reference; off unless asked for).
//!
//! # What
//!
//! An application asks for a gang with [`Ledger::ask_gang`](super::Ledger::ask_gang). Until its minimum is placed
//! the gang is known to the ledger alone: no queue shows it as pending, and no proposer looks at it.
//! The committer, which is the only writer, places the whole minimum in one step.
//!
//! An ask may be prepared in parts: a look at the nodes, then the members with their events (`preparation`). Nobody sees
//! any of that. The members are placed together (`together`).
//!
//! # Steps
//!
//! After a call that changed something, and at each deadline, [`Ledger::serve_gangs`](super::Ledger::serve_gangs):
//!
//! 1. forgets the gangs of applications that ended, and watches the nodes;
//! 2. gives up the gangs whose time is over (`nodes`);
//! 3. tries the gangs in the order in which they were asked: limits of queues (`limits`), nodes (`sites`, `plan`),
//!    then the limit of the user. What holds is committed whole (`place`); otherwise the gang keeps the reason;
//! 4. ends holds whose gang is gone or no longer waits for room;
//! 5. lets the oldest gang of each partition that waits for room hold nodes (`holding`), if no other gang does.
//!
//! # Holds
//!
//! A held node takes no container but members of its gang. It runs what it runs, and becomes free by
//! the ends of that. A gang holds as many nodes as its minimum needs when they are empty.
//!
//! # Bound for others
//!
//! One gang at a time holds nodes in a partition, for no longer than it may wait, which is an hour at most.
//! After a hold no gang of the partition holds for as long as the hold took. So an ask that only held nodes
//! can serve waits at most for the end of the hold, and gangs hold nodes for at most half of the time.
//!
//! # Invariants
//!
//! * The members of a minimum are committed in one call of the ledger: no snapshot shows a part of them.
//! * A gang holds nodes or waits without anything: two gangs cannot wait for each other.
//! * A hold has a gang that waits, and ends with it. Every held node belongs to one hold.
//! * Without a gang, a call costs one look at an empty list.
//!
//! Tests: `tests/commit/gangs.rs`.

mod ask;
mod hold;
mod holding;
mod limits;
pub(super) mod members;
pub(super) mod nodes;
mod place;
mod placed;
mod plan;
pub(super) mod preparation;
mod prepared_members;
mod serve;
mod sites;
mod together;
mod waiting;

use std::collections::BTreeMap;

use self::hold::GangHold;
use self::placed::PlacedGangs;
use self::prepared_members::PreparedMembers;
use self::sites::GangSites;
pub use self::waiting::WaitingGang;
use crate::id::{AppSlot, NodeSlot, PartitionId, SchedulerKey};

/// What the ledger keeps of gangs.
#[derive(Clone, Debug)]
pub(super) struct Gangs {
    /// In the order in which they were asked.
    waiting: Vec<WaitingGang>,
    /// The nodes that each may use, as they were when gangs were served last.
    sites: BTreeMap<(AppSlot, SchedulerKey), GangSites>,
    /// Of the gang that is asked for, where they were planned before. Nothing once gangs are served.
    members: Option<PreparedMembers>,
    /// Nodes that were written since gangs were served last, and all that were since the first of the asks that are
    /// prepared began.
    written: Vec<u32>,
    /// Asks for gangs that are prepared.
    prepared: usize,
    /// One for each partition at most.
    holds: Vec<GangHold>,
    /// By partition: until when no gang holds nodes, in ms.
    rests: BTreeMap<PartitionId, u64>,
    placed: PlacedGangs,
    /// Whether something changed that may let a gang be placed.
    changed: bool,
    /// Whether asks of applications were changed since gangs were served last.
    asked: bool,
    /// When something is due by time alone, in ms.
    next_check_ms: u64,
}

impl Default for Gangs {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            sites: BTreeMap::new(),
            members: None,
            written: Vec::new(),
            prepared: 0,
            holds: Vec::new(),
            rests: BTreeMap::new(),
            placed: PlacedGangs::default(),
            changed: false,
            asked: false,
            next_check_ms: u64::MAX,
        }
    }
}

impl Gangs {
    /// Whether no gang waits, so that none holds.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.holds.is_empty()
    }

    /// Notes that something changed that may let a gang be placed.
    #[inline]
    pub(super) fn note_change(&mut self) {
        self.changed = true;
    }

    /// The nodes that a gang holds, ascending; none without a hold.
    pub(super) fn held_by(&self, gang: &WaitingGang) -> Vec<NodeSlot> {
        let hold = self.holds.iter().find(|hold| hold.is_of(gang));
        hold.map_or_else(Vec::new, |hold| hold.nodes().collect())
    }

    /// When something is due by time alone; nothing where no gang waits.
    #[inline]
    pub(super) fn next_check(&self) -> Option<u64> {
        (self.next_check_ms != u64::MAX).then_some(self.next_check_ms)
    }

    /// Works out when something is due by time alone: a gang is given up, or may hold nodes again.
    fn set_next_check(&mut self, now_ms: u64) {
        let deadlines = self.waiting.iter().map(|gang| gang.deadline_ms);
        let waits = |partition| self.waiting.iter().any(|gang| gang.partition == partition);
        let rests = self.rests.iter().filter(|&(&at, _)| waits(at));
        let rests = rests.map(|(_, &until)| until).filter(|&at| at > now_ms);
        self.next_check_ms = deadlines.chain(rests).min().unwrap_or(u64::MAX);
    }
}
