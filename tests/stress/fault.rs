//! Faults: what goes wrong in the threads of an engine.
//!
//! Most come in through the clock, which every thread reads. A proposer's reading panics or stalls while it
//! holds a snapshot, the committer's stalls between two batches. Proposers read it with one of eight batches that they send and in one decision of 512; where
//! all decisions are measured, before and after each. BadProposals comes in through a switch of the engine.

use capsched::api::BadProposals;
use capsched::sync::{Arc, AtomicU64, Ordering};
use capsched::time::{Clock, SystemClock};

/// What goes wrong when a thread reads its clock for the n-th time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Every so many readings of a proposer panic.
    ProposerPanics(u64),
    /// Every so many readings of a proposer stall, while it holds its snapshot.
    ProposerStalls(u64),
    /// Every so many readings of the committer stall.
    CommitterIsSlow(u64),
    /// Proposers send bad proposals.
    BadProposers(BadProposals),
}

impl Fault {
    /// Whether it comes when a clock is read.
    pub(crate) fn is_of_the_clock(self) -> bool {
        !matches!(self, Self::None | Self::BadProposers(_))
    }

    /// What proposers send instead of their proposals.
    pub(crate) fn bad_proposals(self) -> Option<BadProposals> {
        match self {
            Self::BadProposers(faults) => Some(faults),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FaultyClock {
    clock: SystemClock,
    fault: Fault,
    /// Readings of the threads at fault, with those of earlier runs.
    pub(crate) readings: Arc<AtomicU64>,
    /// Faults that came.
    pub(crate) hits: Arc<AtomicU64>,
}

impl FaultyClock {
    /// A clock that counts on from the readings of earlier runs.
    pub(crate) fn new(fault: Fault, readings: u64) -> Self {
        Self {
            clock: SystemClock::new(),
            fault,
            readings: Arc::new(AtomicU64::new(readings)),
            hits: Arc::default(),
        }
    }

    fn disturb(&self) {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        let (victim, every) = match self.fault {
            Fault::None | Fault::BadProposers(_) => return,
            Fault::ProposerPanics(every) | Fault::ProposerStalls(every) => {
                ("capsched-propose", every)
            }
            Fault::CommitterIsSlow(every) => ("capsched-commit", every),
        };
        if !name.starts_with(victim) {
            return;
        }
        let reading = self.readings.fetch_add(1, Ordering::Relaxed);
        if reading % every != every - 1 {
            return;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        assert!(
            !matches!(self.fault, Fault::ProposerPanics(_)),
            "a fault was injected"
        );
        for _ in 0..2_000 {
            std::thread::yield_now();
        }
    }
}

impl Clock for FaultyClock {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn now_ns(&self) -> u64 {
        self.disturb();
        self.clock.now_ns()
    }
}
