//! The committer's ends of its proposers: rings of batches, their states, what was taken of each.

use std::sync::Arc as StdArc;

use super::publish_backoff::patience;
use crate::id::Version;
use crate::runtime::proposer::batch::Batch;
use crate::snapshot::Snapshot;
use crate::sync::{Arc, ProposerStatus, Received, RingReceiver, RingSender, Waker, is_quiet, ring};

/// All proposers as the committer sees them. Positions are those of the proposers.
pub(in crate::runtime) struct ProposerRings {
    rings: Vec<RingReceiver<StdArc<Batch>>>,
    statuses: Vec<Arc<ProposerStatus>>,
    wakers: Vec<Waker>,
    /// Decisions taken from each of them.
    taken: Vec<u64>,
    /// How many of them were refused.
    refused: Vec<u64>,
    /// How many of all of them proposed nothing.
    skipped: u64,
}

impl ProposerRings {
    /// Of no proposers.
    pub(in crate::runtime) fn new() -> Self {
        Self {
            rings: Vec::new(),
            statuses: Vec::new(),
            wakers: Vec::new(),
            taken: Vec::new(),
            refused: Vec::new(),
            skipped: 0,
        }
    }

    /// Adds a proposer, which sleeps where `waker` wakes it, with a ring of so many batches; its ends.
    pub(in crate::runtime) fn add(
        &mut self,
        capacity: usize,
        waker: Waker,
        committer: &Waker,
    ) -> (RingSender<StdArc<Batch>>, Arc<ProposerStatus>) {
        let (sender, receiver) = ring(capacity);
        let status = ProposerStatus::new(committer.clone());
        self.rings.push(receiver.waking(waker.clone()));
        self.statuses.push(Arc::clone(&status));
        self.wakers.push(waker);
        self.taken.push(0);
        self.refused.push(0);
        (sender.waking(committer.clone()), status)
    }

    /// Number of proposers.
    pub(in crate::runtime) fn len(&self) -> usize {
        self.rings.len()
    }

    /// Whether there are no proposers, so that nobody waits for a snapshot without asking for it.
    pub(in crate::runtime) fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// The oldest batch of a proposer, if there is one.
    pub(in crate::runtime) fn take(&mut self, proposer: usize) -> Option<StdArc<Batch>> {
        match self.rings[proposer].try_recv() {
            Received::Item(batch) => Some(batch),
            Received::Empty | Received::Finished => None,
        }
    }

    /// Refuses further batches; those that were accepted can still be taken.
    pub(in crate::runtime) fn close(&mut self) {
        for ring in &mut self.rings {
            ring.close();
        }
    }

    /// Checks that a batch follows the one that was taken before it.
    pub(in crate::runtime) fn assert_next(&self, proposer: usize, batch: &Batch) {
        debug_assert_eq!(
            self.taken[proposer] + batch.len() as u64,
            batch.end,
            "a batch of proposer {proposer} is missing or came twice"
        );
    }

    /// Counts a batch as taken, with how many of its decisions were refused and proposed nothing.
    pub(in crate::runtime) fn count(
        &mut self,
        proposer: usize,
        end: u64,
        refused: u64,
        skipped: u64,
    ) {
        self.taken[proposer] = end;
        self.refused[proposer] += refused;
        self.skipped += skipped;
    }

    /// Shows in a snapshot what was taken.
    pub(in crate::runtime) fn show(&self, snapshot: &mut Snapshot) {
        snapshot.taken.clone_from(&self.taken);
        snapshot.refused.clone_from(&self.refused);
        snapshot.skipped = self.skipped;
    }

    /// Whether decisions were taken that a snapshot does not show.
    // Two empty lists are not compared: the C library loads nothing from nowhere then, which takes some
    // processors as long as a short call.
    pub(in crate::runtime) fn has_landed_since(&self, snapshot: &Snapshot) -> bool {
        !self.taken.is_empty() && self.taken != snapshot.taken
    }

    /// Whether a batch waits to be taken.
    pub(in crate::runtime) fn has_news(&self) -> bool {
        self.rings.iter().any(RingReceiver::has_news)
    }

    /// Whether every proposer has looked at a version, or a later one, and found nothing.
    pub(in crate::runtime) fn are_idle(&self, version: Version) -> bool {
        self.statuses
            .iter()
            .all(|status| status.is_idle_at(version))
    }

    /// The same, with nothing left in any ring.
    pub(in crate::runtime) fn is_quiet(&self, version: Version) -> bool {
        is_quiet(&self.statuses, &self.rings, version)
    }

    /// Looks for work in vain before what `snapshot` does not show is published.
    pub(in crate::runtime) fn patience(&self, snapshot: &Snapshot) -> u32 {
        let landed = |i: usize| snapshot.taken.get(i) != self.taken.get(i);
        patience(&self.statuses, landed, snapshot.news)
    }

    /// Wakes every proposer that sleeps.
    pub(in crate::runtime) fn wake(&self) {
        self.wakers.iter().for_each(Waker::wake);
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;
    use crate::proposer::{Outcome, SkipReason};
    use crate::runtime::proposer::batch::Batches;
    use crate::runtime::testing::fixtures::settings;
    use crate::sync::parking;

    fn batch(batches: &mut Batches) -> StdArc<Batch> {
        let outcome = Outcome::Skipped(SkipReason::Other);
        batches.open.push(outcome, &mut Vec::new());
        batches.close(Version(1)).expect("it is not empty")
    }

    #[test]
    fn what_was_taken_is_news_until_a_snapshot_shows_it() {
        let mut proposers = ProposerRings::new();
        let mut snapshot = Snapshot::empty(StdArc::new(settings()));
        assert!(!proposers.has_landed_since(&snapshot), "nobody proposes");
        let ((committer, _), (waker, _)) = (parking(), parking());
        let (mut ring, status) = proposers.add(2, waker, &committer);
        proposers.show(&mut snapshot);
        let mut batches = Batches::new();
        for refused in [0, 1] {
            assert!(ring.try_send(batch(&mut batches)).is_ok());
            let taken = proposers.take(0).expect("it was sent");
            proposers.assert_next(0, &taken);
            proposers.count(0, taken.end, refused, 1);
        }
        assert!(proposers.has_landed_since(&snapshot));
        proposers.show(&mut snapshot);
        assert!(!proposers.has_landed_since(&snapshot));
        let shown = (snapshot.taken.as_slice(), snapshot.refused.as_slice());
        assert_eq!((shown, snapshot.skipped), ((&[2][..], &[1][..]), 2));
        assert!(ring.try_send(batch(&mut batches)).is_ok());
        status.set_idle(Version(3));
        assert!(proposers.are_idle(Version(3)) && !proposers.is_quiet(Version(3)));
        assert!(proposers.take(0).is_some() && proposers.is_quiet(Version(3)));
    }

    #[test]
    fn a_closed_ring_gives_what_it_accepted_and_takes_no_more() {
        let mut proposers = ProposerRings::new();
        let ((committer, _), (waker, _)) = (parking(), parking());
        let (mut ring, _) = proposers.add(2, waker, &committer);
        let mut batches = Batches::new();
        assert!(ring.try_send(batch(&mut batches)).is_ok());
        proposers.close();
        assert!(ring.try_send(batch(&mut batches)).is_err());
        assert!(proposers.take(0).is_some() && proposers.take(0).is_none());
    }
}
