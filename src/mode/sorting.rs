//! The thread that sorts the nodes of the latest snapshot again and again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::time::Duration;

use super::command::Commands;
use super::index::{NodeIndex, NodeSorter};
use crate::id::Version;
use crate::snapshot::Snapshot;
use crate::sync::{Arc, AtomicU64, Ordering, Parked, Parker, Published, Publisher, Shutdown};

/// How long it leaves its core between two pieces of a sort. A thread that wakes takes its core from one
/// that is busy, as one with calls is, and may keep it for some ms: the calls wait for a piece only.
const PAUSE: Duration = Duration::from_millis(1);

/// What the sorter's thread owns.
pub(super) struct Sorting {
    pub(super) commands: Commands,
    pub(super) snapshots: Published<Snapshot>,
    pub(super) publisher: Publisher<NodeIndex>,
    pub(super) shutdown: Shutdown,
    pub(super) parker: Parker,
    /// Time between two sorts.
    pub(super) every: Duration,
    /// Panics of all threads that start afresh after one.
    pub(super) panics: Arc<AtomicU64>,
}

impl Sorting {
    /// Runs until shutdown.
    pub(super) fn run(self) {
        let (parker, shutdown) = (self.parker.clone(), self.shutdown.clone());
        self.run_with(|| {
            let mut sorter = NodeSorter::default();
            let mut pause = || {
                let _: Parked = parker.park_for(PAUSE, || shutdown.is_requested());
            };
            move |snapshot| sorter.sort(snapshot, &mut pause)
        });
    }

    /// The same with another sort, which is begun `afresh` after a panic, since what it learnt may be
    /// half of something. A panic is counted, the snapshot in question is not sorted again, and
    /// the index stays as it was: a sorter that ended would leave it to grow old without a word.
    fn run_with<S: FnMut(StdArc<Snapshot>) -> NodeIndex>(mut self, afresh: impl Fn() -> S) {
        let (mut sorted, panics) = (Version(0), Arc::clone(&self.panics));
        let mut work = || self.sort_again_and_again(&mut sorted, afresh());
        while catch_unwind(AssertUnwindSafe(&mut work)).is_err() {
            // Relaxed: a count that nothing else depends on.
            panics.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sorts each snapshot that is newer than the one `sorted` last, until shutdown.
    fn sort_again_and_again(
        &mut self,
        sorted: &mut Version,
        mut sort: impl FnMut(StdArc<Snapshot>) -> NodeIndex,
    ) {
        while !self.shutdown.is_requested() {
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
            let shutdown = &self.shutdown;
            let _: Parked = self.parker.park_for(self.every, || shutdown.is_requested());
        }
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::mode::lending::Lend;
    use crate::queue::{
        AsynchronousSettings, ConstraintHandler, HeartbeatSettings, MultiNodeSettings,
        SchedulerSettings, UserParallelSettings,
    };
    use crate::resource::{Calculator, ResourceVector};
    use crate::sync::{inbox, parking, published, shutdown};

    /// A committer that is not there, for which the first wish for a snapshot is the end.
    #[derive(Debug)]
    struct Nobody(Shutdown);

    impl Lend for Nobody {
        fn lend(&self) {}

        fn show(&self) {
            let _ = self.0.request();
        }
    }

    /// Settings of no queues.
    pub(in crate::mode) fn settings() -> SchedulerSettings {
        SchedulerSettings {
            resource_types: Vec::new(),
            calculator: Calculator::Dominant { types: 2 },
            minimum_allocation: ResourceVector::of(&[1024, 1]),
            maximum_allocation: ResourceVector::of(&[8192, 4]),
            legacy_queue_mode: true,
            maximum_applications: 10_000,
            global_queue_maximum_applications: None,
            maximum_application_priority: 0,
            continue_looking: true,
            skip_reserved_nodes: false,
            master_non_exclusive: false,
            lazy_preemption: false,
            heartbeat: HeartbeatSettings {
                maximum_offswitch: 1,
                multiple_assignments: true,
                maximum_assignments: -1,
            },
            asynchronous: AsynchronousSettings {
                enabled: false,
                threads: 1,
                interval_ms: 5,
                maximum_backlog: 100,
            },
            multi_node: MultiNodeSettings::default(),
            user_parallel: UserParallelSettings {
                default: i32::MAX,
                by_user: BTreeMap::new(),
            },
            node_labels: false,
            constraint_handler: ConstraintHandler::Disabled,
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
        let panics = Arc::new(AtomicU64::new(0));
        let sorting = Sorting {
            commands: Commands::new(inbox(1).0, StdArc::new(Nobody(shutdown.clone()))),
            snapshots,
            publisher,
            shutdown: shutdown.clone(),
            parker: parking().1,
            every: Duration::ZERO,
            panics: Arc::clone(&panics),
        };
        let committer = std::cell::RefCell::new(&mut committer);
        let (begun, sorted) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        sorting.run_with(|| {
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
        let panics = panics.load(Ordering::Relaxed);
        assert_eq!((panics, begun.get(), sorted.get()), (1, 2, 1));
        assert_eq!(index.version(), Version(2));
    }
}
