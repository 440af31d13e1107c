//! M1: publishing and reading a snapshot.
//!
//! Threads: one publisher, and two or three readers by plain loads or by a cached handle.
//! Property: a reader is ordered after the writer of what it reads, never goes back to an older
//! version, and gets at least the version that it read from the version word before.
//! Fails when: the pointer is stored Relaxed (PublishPointerRelaxed), the version word is stored Relaxed
//! (PublishVersionRelaxed)
//! or before the pointer (PublishVersionBeforePointer), or the publisher accepts an older version (PublishOlderVersion).

use std::sync::Arc;

use capsched::id::Version;
use capsched::sync::{AtomicBool, Ordering, Published, PublishedReader, published};
use loom::thread;
use loom_tests::{Witness, explore, panics};

struct Snapshot {
    version: u64,
    copy: u64,
}

fn snapshot(version: u64) -> Arc<Snapshot> {
    Arc::new(Snapshot {
        version,
        copy: version,
    })
}

fn checked(promised: Version, found: &Snapshot) -> u64 {
    assert_eq!(found.version, found.copy, "a torn snapshot");
    assert!(
        found.version >= promised.0,
        "the version word was ahead of the snapshot"
    );
    found.version
}

/// The versions of two reads in a row.
fn read_twice(shared: &Published<Snapshot>) -> (u64, u64) {
    let first = checked(shared.version(), &shared.load());
    let second = checked(shared.version(), &shared.load());
    assert!(first <= second, "a reader went back");
    (first, second)
}

fn refresh_twice(mut reader: PublishedReader<Snapshot>) -> (u64, u64) {
    let promised = reader.version();
    let first = checked(promised, reader.refresh());
    let promised = reader.version();
    let second = checked(promised, reader.refresh());
    assert!(first <= second, "a reader went back");
    (first, second)
}

#[test]
fn two_readers_of_two_publications_never_go_back() {
    static MIDDLE: Witness = Witness::of("a reader saw the middle version, then the last");
    static OLD: Witness = Witness::of("a reader saw only the first version");
    explore(&[&MIDDLE, &OLD], || {
        let (mut publisher, shared) = published(Version(0), snapshot(0));
        let cached = shared.reader();
        let by_load = thread::spawn(move || read_twice(&shared));
        let by_cache = thread::spawn(move || refresh_twice(cached));
        publisher.publish(Version(1), snapshot(1));
        publisher.publish(Version(2), snapshot(2));
        for reader in [by_load, by_cache] {
            let seen = reader.join().expect("a reader does not panic");
            MIDDLE.met_if(seen == (1, 2));
            OLD.met_if(seen == (0, 0));
        }
    });
}

#[test]
fn three_readers_of_one_publication_never_go_back() {
    static CHANGED: Witness = Witness::of("a reader met the publication between its reads");
    explore(&[&CHANGED], || {
        let (mut publisher, shared) = published(Version(0), snapshot(0));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || read_twice(&shared))
            })
            .collect();
        publisher.publish(Version(1), snapshot(1));
        for reader in readers {
            let seen = reader.join().expect("a reader does not panic");
            CHANGED.met_if(seen == (0, 1));
        }
    });
}

#[test]
fn an_older_version_is_refused() {
    static BEFORE: Witness = Witness::of("a reader looked before the older version was refused");
    static AFTER: Witness = Witness::of("a reader looked after the older version was refused");
    explore(&[&BEFORE, &AFTER], || {
        let (mut publisher, shared) = published(Version(5), snapshot(5));
        // Set by whoever is done first, and found by the other one.
        let done = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&done);
        let reader = thread::spawn(move || {
            let seen = read_twice(&shared);
            BEFORE.met_if(!over.swap(true, Ordering::AcqRel));
            seen
        });
        let refused = panics(|| drop(publisher.publish(Version(4), snapshot(4))));
        assert!(refused, "an older version was published");
        AFTER.met_if(!done.swap(true, Ordering::AcqRel));
        assert_eq!(reader.join().expect("a reader does not panic"), (5, 5));
    });
}
