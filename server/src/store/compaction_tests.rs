//! Tests of snapshots of the journal: what is read before and after, and at every step that a crash may end.

use std::sync::Arc;
use std::time::Duration;

use capsched::sync::{AtomicU64, Ordering};
use capsched::time::SystemClock;

use super::*;
use crate::rm::{Command, Journal, Submission};
use crate::store::{CheckReport, Durability, EmbeddedStore, Revision, check};

fn entry(number: u64) -> JournalEntry {
    let command = match number % 3 {
        0 => Command::NewApplication,
        1 => Command::Submit(Box::new(Submission {
            application: format!("application_1_{number:04}"),
            ..Submission::default()
        })),
        _ => Command::Move {
            application: format!("application_1_{:04}", number - 1),
            queue: format!("root.{number}"),
        },
    };
    JournalEntry {
        at_ms: number,
        user: "ann".to_owned(),
        command,
    }
}

/// A store in whose journal these commands stand, from a position on.
fn write(store: &Arc<dyn Store>, token: Token, last: u64, numbers: std::ops::RangeInclusive<u64>) {
    let journal = StoreJournal::open(Arc::clone(store), token, last, Durability::Strict).unwrap();
    let mut position = 0;
    for number in numbers {
        position = journal.append(entry(number)).unwrap();
    }
    journal.wait(position).unwrap();
}

fn opened() -> (tempfile::TempDir, Arc<dyn Store>, Token) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
    let token = store.lead("test", Duration::from_secs(600)).unwrap();
    (dir, Arc::new(store), token)
}

/// What a store says, in the one form that compaction gives it.
fn said(store: &dyn Store) -> (Vec<JournalEntry>, u64) {
    let recorded = Recorded::read(store).unwrap();
    (compacted(&recorded.entries, usize::MAX), recorded.last)
}

fn sound(store: &Arc<dyn Store>) -> CheckReport {
    let report = check(store).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    report
}

#[test]
fn a_snapshot_says_what_the_journal_said_and_the_journal_goes_on_behind_it() {
    let (_dir, store, token) = opened();
    assert_eq!(Recorded::read(&*store).unwrap(), Recorded::default());
    write(&store, token, 0, 1..=3000);
    let before = said(&*store);
    assert_eq!(compact(&*store, token, usize::MAX).unwrap(), 3000);
    assert_eq!(said(&*store), before);
    let report = sound(&store);
    assert_eq!((report.commands, report.snapshots), (0, 1));
    assert!(
        store.all(CHUNKS).unwrap().len() > 1,
        "it has several chunks"
    );
    write(&store, token, 3000, 3001..=3009);
    let recorded = Recorded::read(&*store).unwrap();
    assert_eq!((recorded.last, recorded.of_journal), (3009, 9));
    let before = said(&*store);
    assert_eq!(compact(&*store, token, usize::MAX).unwrap(), 3009);
    assert_eq!(said(&*store), before);
    assert_eq!(
        compact(&*store, token, usize::MAX).unwrap(),
        3009,
        "nothing is new"
    );
    sound(&store);
}

#[test]
fn a_follower_catches_up_over_a_compaction() {
    let (_dir, store, token) = opened();
    write(&store, token, 0, 1..=10);
    let mut follower = Recorded::read(&*store).unwrap();
    assert_eq!(follower.catch_up(&*store).unwrap(), 0);
    write(&store, token, 10, 11..=12);
    assert_eq!(follower.catch_up(&*store).unwrap(), 2);
    write(&store, token, 12, 13..=20);
    compact(&*store, token, usize::MAX).unwrap();
    write(&store, token, 20, 21..=22);
    assert_eq!(follower.catch_up(&*store).unwrap(), 10);
    assert_eq!(follower, Recorded::read(&*store).unwrap());
}

#[test]
fn a_missing_command_or_chunk_is_found() {
    let (_dir, store, token) = opened();
    write(&store, token, 0, 1..=9);
    store
        .write(token, &Batch::new().delete(numbered(PREFIX, 5)))
        .unwrap();
    let error = Recorded::read(&*store).unwrap_err();
    assert!(error.to_string().contains("00005"), "{error}");
    assert_eq!(check(&store).unwrap().problems.len(), 1);
    let (_dir, store, token) = opened();
    write(&store, token, 0, 1..=3000);
    compact(&*store, token, usize::MAX).unwrap();
    let chunks = store.all(CHUNKS).unwrap();
    let batch = Batch::new().delete(chunks[0].key.clone());
    store.write(token, &batch).unwrap();
    assert!(matches!(
        Recorded::read(&*store),
        Err(StoreError::Corrupt(_))
    ));
    let report = check(&store).unwrap();
    assert!(report.problems[0].reason.contains("missing"), "{report:?}");
}

/// A store whose process dies before one of its writes.
#[derive(Debug)]
struct Dies {
    inner: Arc<dyn Store>,
    left: AtomicU64,
}

impl Store for Dies {
    fn lead(&self, who: &str, lease: Duration) -> Result<Token, StoreError> {
        self.inner.lead(who, lease)
    }

    fn renew(&self, token: Token) -> Result<(), StoreError> {
        self.inner.renew(token)
    }

    fn resign(&self, token: Token) -> Result<(), StoreError> {
        self.inner.resign(token)
    }

    fn write(&self, token: Token, batch: &Batch) -> Result<Revision, StoreError> {
        if self.left.load(Ordering::Relaxed) == 0 {
            return Err(StoreError::Failed("the process has died".to_owned()));
        }
        self.left.fetch_sub(1, Ordering::Relaxed);
        self.inner.write(token, batch)
    }

    fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        self.inner.get(key)
    }

    fn range(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.inner.range(prefix, behind, most)
    }

    fn led_for(&self) -> Option<Duration> {
        self.inner.led_for()
    }

    fn watch(&self, behind: Revision, patience: Duration) -> Result<Revision, StoreError> {
        self.inner.watch(behind, patience)
    }

    fn most_operations(&self) -> usize {
        // Few, so that deletions take several writes.
        100
    }
}

#[test]
fn a_crash_before_any_write_of_a_compaction_loses_nothing() {
    for dies_before in 0.. {
        let (_dir, store, token) = opened();
        write(&store, token, 0, 1..=1500);
        compact(&*store, token, usize::MAX).unwrap();
        write(&store, token, 1500, 1501..=2000);
        let before = said(&*store);
        let dies = Dies {
            inner: Arc::clone(&store),
            left: AtomicU64::new(dies_before),
        };
        let survived = compact(&dies, token, usize::MAX).is_ok();
        assert_eq!(said(&*store), before, "it died before write {dies_before}");
        sound(&store);
        // The next process goes on, and compacts again.
        write(&store, token, 2000, 2001..=2003);
        let before = said(&*store);
        compact(&*store, token, usize::MAX).unwrap();
        assert_eq!(said(&*store), before);
        assert_eq!(sound(&store).commands, 0);
        let mark = SnapshotMark::read(&store.get(CURRENT).unwrap().unwrap()).unwrap();
        let chunks = u64::try_from(store.all(CHUNKS).unwrap().len()).unwrap();
        assert_eq!(chunks, mark.chunks, "nothing is left over");
        if survived {
            assert!(dies_before > 5, "several writes were tried");
            return;
        }
    }
}
