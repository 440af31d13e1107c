//! Sorts of the nodes of the latest snapshot: by a thread again and again, or by callers in virtual time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::time::Duration;

use super::index::{NodeIndex, NodeSorter};
use crate::id::Version;
use crate::runtime::handles::commands::Commands;
use crate::runtime::panics::PanicLog;
use crate::runtime::time_slicing::TimeSlices;
use crate::snapshot::Snapshot;
use crate::sync::{Parked, Parker, Published, Publisher, Shutdown};
use crate::time::Clock;

/// How long it leaves its core between two turns of a sort. A thread that wakes takes its core from one
/// that is busy, as one with calls is, and may keep it for some ms: the calls wait for a turn only.
const PAUSE: Duration = Duration::from_millis(1);

/// What the sorter's thread owns.
pub(in crate::runtime) struct SorterThread<C> {
    pub(in crate::runtime) commands: Commands,
    pub(in crate::runtime) snapshots: Published<Snapshot>,
    pub(in crate::runtime) publisher: Publisher<NodeIndex>,
    pub(in crate::runtime) shutdown: Shutdown,
    pub(in crate::runtime) parker: Parker,
    /// Time between the beginnings of two sorts, as `MultiNodeSorter`, which sorts at a fixed rate; more where
    /// a sort takes longer than half of it.
    pub(in crate::runtime) every: Duration,
    /// Panics of all threads that start afresh after one.
    pub(in crate::runtime) panics: PanicLog,
    pub(in crate::runtime) clock: C,
}

/// How long it rests behind a sort: until the next is due, and half of that time at least.
fn rest_behind(took: Duration, every: Duration) -> Duration {
    every.saturating_sub(took).max(every / 2)
}

impl<C: Clock + Clone> SorterThread<C> {
    /// Runs until shutdown.
    pub(in crate::runtime) fn run(self) {
        let (parker, shutdown) = (self.parker.clone(), self.shutdown.clone());
        let clock = self.clock.clone();
        self.run_with(|| {
            let mut sorter = NodeSorter::default();
            let mut slices = TimeSlices::new(&clock, || {
                let _: Parked = parker.park_for(PAUSE, || shutdown.is_requested());
            });
            move |snapshot| {
                slices.begin();
                sorter.sort(snapshot, &mut |items| slices.did(items))
            }
        });
    }

    /// The same with another sort, which is begun `afresh` after a panic, since what it learnt may be
    /// half of something. A panic is counted, the snapshot in question is not sorted again, and
    /// the index stays as it was: a sorter that ended would leave it to grow old without a word.
    fn run_with<S: FnMut(StdArc<Snapshot>) -> NodeIndex>(mut self, afresh: impl Fn() -> S) {
        let (mut sorted, panics) = (Version(0), self.panics.clone());
        let (parker, shutdown) = (self.parker.clone(), self.shutdown.clone());
        let mut work = || self.sort_again_and_again(&mut sorted, afresh());
        while !shutdown.is_requested() {
            let Err(payload) = catch_unwind(AssertUnwindSafe(&mut work)) else {
                return;
            };
            panics.note_worker(&*payload);
            // What panics at once again, such as a clock, is not to take the core of others.
            let _: Parked = parker.park_for(PAUSE, || shutdown.is_requested());
        }
    }

    /// Sorts each snapshot that is newer than the one `sorted` last, until shutdown.
    fn sort_again_and_again(
        &mut self,
        sorted: &mut Version,
        mut sort: impl FnMut(StdArc<Snapshot>) -> NodeIndex,
    ) {
        while !self.shutdown.is_requested() {
            let began_ns = self.clock.now_ns();
            // A newer one is there while calls keep coming. What it does not show yet, the next one does.
            if self.snapshots.version() <= *sorted {
                self.commands.show_gently();
            }
            let snapshot = self.snapshots.load();
            if snapshot.version > *sorted {
                *sorted = snapshot.version;
                let index = StdArc::new(sort(snapshot));
                drop(self.publisher.publish(*sorted, index));
            }
            let took = Duration::from_nanos(self.clock.now_ns().saturating_sub(began_ns));
            let (rest, shutdown) = (rest_behind(took, self.every), &self.shutdown);
            let _: Parked = self.parker.park_for(rest, || shutdown.is_requested());
        }
    }
}

/// Sorts nodes when callers say so.
#[derive(Debug)]
pub(in crate::runtime) struct CallerSorter {
    sorter: NodeSorter,
    publisher: Publisher<NodeIndex>,
    /// Time between two sorts.
    every_ms: u64,
    /// When the next one is due.
    due_ms: u64,
}

impl CallerSorter {
    pub(in crate::runtime) fn new(publisher: Publisher<NodeIndex>, every: Duration) -> Self {
        Self {
            sorter: NodeSorter::default(),
            publisher,
            every_ms: u64::try_from(every.as_millis()).unwrap_or(u64::MAX),
            due_ms: 0,
        }
    }

    /// Whether the interval of the policy is over.
    pub(in crate::runtime) const fn is_due(&self, now_ms: u64) -> bool {
        now_ms >= self.due_ms
    }

    /// Sorts the nodes of a snapshot, if it is newer than the one sorted last.
    pub(in crate::runtime) fn sort(&mut self, snapshot: StdArc<Snapshot>, now_ms: u64) {
        self.due_ms = now_ms.saturating_add(self.every_ms);
        let version = snapshot.version;
        if version > self.publisher.version() {
            let index = self.sorter.sort(snapshot, &mut |_| {});
            drop(self.publisher.publish(version, StdArc::new(index)));
        }
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;
    use crate::id::PartitionId;
    use crate::runtime::committer::caller_runs::CommitterAccess;
    use crate::runtime::testing::fixtures::{Cluster, settings};
    use crate::sync::{inbox, parking, published, shutdown};
    use crate::time::ManualClock;

    /// A committer that is not there, for which the first wish for a snapshot is the end.
    #[derive(Debug)]
    struct Nobody(Shutdown);

    impl CommitterAccess for Nobody {
        fn run_commands(&self, _: &dyn Fn() -> bool) {}

        fn publish(&self) {
            let _ = self.0.request();
        }
    }

    fn snapshot(version: u64) -> StdArc<Snapshot> {
        let mut snapshot = Snapshot::empty(StdArc::new(settings()));
        snapshot.version = Version(version);
        StdArc::new(snapshot)
    }

    #[test]
    fn a_sort_that_panics_is_counted_and_the_next_snapshot_is_sorted() {
        let (mut committer, snapshots) = published(Version(1), snapshot(1));
        let (publisher, index) = published(Version(0), StdArc::new(NodeIndex::default()));
        let (shutdown, _owner) = shutdown(Vec::new());
        let panics = PanicLog::new();
        let sorter = SorterThread {
            commands: Commands::new(
                inbox(1).0,
                inbox(1).0,
                StdArc::new(Nobody(shutdown.clone())),
            ),
            snapshots,
            publisher,
            shutdown: shutdown.clone(),
            parker: parking().1,
            every: Duration::ZERO,
            panics: panics.clone(),
            clock: ManualClock::default(),
        };
        let committer = std::cell::RefCell::new(&mut committer);
        let (begun, sorted) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        sorter.run_with(|| {
            begun.set(begun.get() + 1);
            |found: StdArc<Snapshot>| {
                assert!(
                    !shutdown.is_requested(),
                    "wished for one though one is there"
                );
                if found.version == Version(1) {
                    drop(committer.borrow_mut().publish(Version(2), snapshot(2)));
                    panic!("as planned");
                }
                sorted.set(sorted.get() + 1);
                NodeIndex::default()
            }
        });
        // When no newer one is there, one is wished for; no snapshot is sorted twice.
        assert!(shutdown.is_requested());
        let panics = panics.workers().count;
        assert_eq!((panics, begun.get(), sorted.get()), (1, 2, 1));
        assert_eq!(index.version(), Version(2));
    }

    #[test]
    fn a_caller_sorts_newer_snapshots_at_the_interval_of_the_policy() {
        let (publisher, index) = published(Version(0), StdArc::new(NodeIndex::default()));
        let mut sorter = CallerSorter::new(publisher, Duration::from_millis(10));
        assert!(sorter.is_due(0));
        sorter.sort(snapshot(1), 0);
        assert_eq!(index.version(), Version(1));
        assert!(!sorter.is_due(9) && sorter.is_due(10));
        // One that was sorted before is published no more.
        sorter.sort(snapshot(1), 10);
        assert_eq!(index.version(), Version(1));
        sorter.sort(snapshot(2), 20);
        assert_eq!(index.version(), Version(2));
    }

    #[test]
    fn sorts_begin_at_a_fixed_rate_unless_they_take_long() {
        let rest = |took| rest_behind(Duration::from_millis(took), Duration::from_millis(100));
        let rests = [0, 30, 50, 80, 500].map(|took| rest(took).as_millis());
        assert_eq!(rests, [100, 70, 50, 50, 50]);
    }

    /// A clock by which each look is at the end of a turn, and the fifth one finds the engine shut down.
    #[derive(Clone, Debug)]
    struct Hasty(ManualClock, Shutdown);

    impl Clock for Hasty {
        fn now_ms(&self) -> u64 {
            self.0.now_ms()
        }

        fn now_ns(&self) -> u64 {
            self.0.advance(Duration::from_millis(1));
            if self.0.now_ms() == 5 {
                let _ = self.1.request();
            }
            self.0.now_ns()
        }
    }

    #[test]
    fn a_shutdown_within_a_sort_ends_pauses_and_leaves_nothing_half_sorted() {
        let mut cluster = Cluster::of(1);
        let nodes = (1..=1000)
            .rev()
            .map(|name| cluster.join(None, name, PartitionId::DEFAULT, 8192));
        let nodes: Vec<_> = nodes.collect();
        let shown = cluster.show();
        let (_committer, snapshots) = published(shown.version, shown);
        let (publisher, index) = published(Version(0), StdArc::new(NodeIndex::default()));
        let (shutdown, _owner) = shutdown(Vec::new());
        let clock = Hasty(ManualClock::default(), shutdown.clone());
        let sorter = SorterThread {
            commands: Commands::new(
                inbox(1).0,
                inbox(1).0,
                StdArc::new(Nobody(shutdown.clone())),
            ),
            snapshots,
            publisher,
            shutdown,
            parker: parking().1,
            // It would go on for as long.
            every: Duration::from_secs(3600),
            panics: PanicLog::new(),
            clock: clock.clone(),
        };
        sorter.run();
        assert!(clock.now_ms() > 10, "there were turns after it");
        let order = index.load().order(&cluster.state, PartitionId::DEFAULT);
        assert!(order.nodes().iter().eq(nodes.iter().rev()));
        assert_eq!(index.version(), Version(1));
    }
}
