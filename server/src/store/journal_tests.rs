//! Tests of the journal.

use std::time::Duration;

use capsched::time::SystemClock;

use super::*;
use crate::rm::Command;
use crate::store::{EmbeddedStore, Entry, Revision};

fn entry(number: u64) -> JournalEntry {
    JournalEntry {
        at_ms: number,
        user: "ann".to_owned(),
        command: Command::NewApplication,
    }
}

fn store() -> (tempfile::TempDir, Arc<dyn Store>, Token) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
    let token = store.lead("test", Duration::from_secs(60)).unwrap();
    (dir, Arc::new(store), token)
}

fn journal(store: &Arc<dyn Store>, token: Token, last: u64) -> StoreJournal {
    StoreJournal::open(Arc::clone(store), token, last, Durability::Strict).unwrap()
}

#[test]
fn what_was_waited_for_is_in_the_store_in_order() {
    let (_dir, store, token) = store();
    let journal = journal(&store, token, 0);
    for number in 1..=3 {
        assert_eq!(journal.append(entry(number)).unwrap(), number);
    }
    journal.wait(3).unwrap();
    let read = StoreJournal::read_behind(&*store, 0).unwrap();
    let times: Vec<(u64, u64)> = read
        .iter()
        .map(|one| (one.position, one.entry.at_ms))
        .collect();
    assert_eq!(times, [(1, 1), (2, 2), (3, 3)]);
    let behind = StoreJournal::read_behind(&*store, 2).unwrap();
    assert_eq!(behind, read[2..]);
}

#[test]
fn a_journal_goes_on_behind_the_one_before() {
    let (_dir, store, token) = store();
    {
        let journal = journal(&store, token, 0);
        journal.append(entry(1)).unwrap();
    }
    let journal = journal(&store, token, 1);
    assert_eq!(journal.append(entry(2)).unwrap(), 2);
    journal.wait(2).unwrap();
    assert_eq!(
        StoreJournal::read_behind(&*store, 0).unwrap().len(),
        2,
        "the end wrote what was in line"
    );
}

#[test]
fn callers_at_once_share_writes_and_lose_nothing() {
    let (_dir, store, token) = store();
    let journal = journal(&store, token, 0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..50 {
                    let position = journal.append(entry(number)).unwrap();
                    journal.wait(position).unwrap();
                }
            });
        }
    });
    let counts = journal.counts();
    assert_eq!((counts.commands, counts.waiting), (400, 0));
    assert!(counts.writes <= counts.commands);
    let positions = StoreJournal::read_behind(&*store, 0).unwrap();
    let positions: Vec<u64> = positions.iter().map(|one| one.position).collect();
    assert_eq!(positions, (1..=400).collect::<Vec<u64>>());
}

#[test]
fn a_journal_whose_leader_is_another_one_answers_nothing_any_more() {
    let (_dir, store, token) = store();
    let journal = journal(&store, token, 0);
    let position = journal.append(entry(1)).unwrap();
    journal.wait(position).unwrap();
    store.resign(token).unwrap();
    let next = store.lead("other", Duration::from_secs(60)).unwrap();
    assert!(next > token);
    let position = journal.append(entry(2)).unwrap();
    assert!(journal.wait(position).is_err());
    assert!(journal.append(entry(3)).is_err());
    assert!(journal.failure().unwrap().contains("another process"));
    assert_eq!(StoreJournal::read_behind(&*store, 0).unwrap().len(), 1);
}

/// A store that has no space left.
#[derive(Debug)]
struct Full(Arc<dyn Store>);

impl Store for Full {
    fn lead(&self, who: &str, lease: Duration) -> Result<Token, StoreError> {
        self.0.lead(who, lease)
    }

    fn renew(&self, token: Token) -> Result<(), StoreError> {
        self.0.renew(token)
    }

    fn resign(&self, token: Token) -> Result<(), StoreError> {
        self.0.resign(token)
    }

    fn write(&self, _: Token, _: &Batch) -> Result<Revision, StoreError> {
        Err(StoreError::Failed("no space left on device".to_owned()))
    }

    fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        self.0.get(key)
    }

    fn range(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.0.range(prefix, behind, most)
    }

    fn led_for(&self) -> Option<Duration> {
        self.0.led_for()
    }

    fn watch(&self, behind: Revision, patience: Duration) -> Result<Revision, StoreError> {
        self.0.watch(behind, patience)
    }
}

#[test]
fn a_full_disk_stops_every_later_answer() {
    let (_dir, store, token) = store();
    let full: Arc<dyn Store> = Arc::new(Full(store));
    let strict = journal(&full, token, 0);
    let position = strict.append(entry(1)).unwrap();
    assert_eq!(
        strict.wait(position).unwrap_err().0,
        "the store failed: no space left on device"
    );
    assert!(strict.append(entry(2)).is_err());
}

#[test]
fn a_relaxed_journal_does_not_wait() {
    let (_dir, store, token) = store();
    let journal = StoreJournal::open(Arc::clone(&store), token, 0, Durability::Relaxed).unwrap();
    let position = journal.append(entry(1)).unwrap();
    journal.wait(position).unwrap();
    drop(journal);
    assert_eq!(StoreJournal::read_behind(&*store, 0).unwrap().len(), 1);
}
