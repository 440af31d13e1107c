//! One writer publishes immutable values; any number of readers hold them as long as they like.
//!
//! # Protocol
//!
//! 1. The publisher replaces the pointer.
//! 2. Then it raises the version word. Whoever reads a version from the word and loads afterwards
//!    gets a value of at least that version.
//! 3. It wakes who waits for a version (by [`crate::sync::Waker`], not here).
//!
//! There is one publisher by ownership, so versions cannot be published out of order by a race;
//! one that is not greater than the last is a bug and panics.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::id::Version;
use crate::sync::arc_cell::{ArcCell, CachedArc};
use crate::sync::mutant::weakened;
use crate::sync::{AtomicU64, Mutant, Ordering, injected};

/// A published value with its first version: the handle that writes and the one that reads.
///
/// The `Arc` is std's in models too: values share structure in ways that loom's does not offer.
#[must_use]
pub fn published<T>(version: Version, value: Arc<T>) -> (Publisher<T>, Published<T>) {
    let reader = Published {
        cell: ArcCell::new(value),
        latest: Arc::new(CachePadded::new(AtomicU64::new(version.0))),
    };
    let publisher = Publisher {
        target: reader.clone(),
        last: version,
    };
    (publisher, reader)
}

/// The only handle that publishes; its owner is the one writer.
#[derive(Debug)]
pub struct Publisher<T> {
    target: Published<T>,
    last: Version,
}

impl<T> Publisher<T> {
    /// Replaces the value and gives the retired one back, so that the caller can have it freed
    /// elsewhere when it holds the last reference.
    ///
    /// # Panics
    ///
    /// When the version is not greater than the last one.
    pub fn publish(&mut self, version: Version, value: Arc<T>) -> Arc<T> {
        assert!(
            version.0 > self.last.0 || injected(Mutant::PublishOlderVersion),
            "version {} was published after version {}",
            version.0,
            self.last.0
        );
        self.last = version;
        if injected(Mutant::PublishVersionBeforePointer) {
            self.raise(version);
        }
        let retired = self.target.cell.swap(value);
        if !injected(Mutant::PublishVersionBeforePointer) {
            self.raise(version);
        }
        retired
    }

    fn raise(&self, version: Version) {
        // Release: pairs with the Acquire in `Published::version`; the pointer was replaced before.
        let order = weakened(Mutant::PublishVersionRelaxed, Ordering::Release);
        self.target.latest.store(version.0, order);
    }

    /// The version published last.
    #[must_use]
    pub fn version(&self) -> Version {
        self.last
    }

    /// One more handle for reading.
    #[must_use]
    pub fn subscribe(&self) -> Published<T> {
        self.target.clone()
    }
}

/// A handle for reading; clones see the same values.
#[derive(Debug)]
pub struct Published<T> {
    cell: ArcCell<T>,
    /// The version published last, raised after the pointer. Written by the publisher only.
    latest: Arc<CachePadded<AtomicU64>>,
}

impl<T> Published<T> {
    /// The latest value. A thread never gets an older one than it got before.
    #[must_use]
    pub fn load(&self) -> Arc<T> {
        self.cell.load()
    }

    /// A version that a later load is sure to reach; costs one read of a word.
    #[must_use]
    pub fn version(&self) -> Version {
        // Acquire: pairs with the Release in `Publisher::raise`.
        Version(self.latest.load(Ordering::Acquire))
    }

    /// A handle that remembers the value it loaded; for readers that look once per round.
    #[must_use]
    pub fn reader(&self) -> PublishedReader<T> {
        PublishedReader {
            cached: self.cell.cached(),
            latest: Arc::clone(&self.latest),
        }
    }
}

impl<T> Clone for Published<T> {
    fn clone(&self) -> Self {
        Self {
            cell: self.cell.clone(),
            latest: Arc::clone(&self.latest),
        }
    }
}

/// A reader's own handle: keeps the value it loaded last alive until the next refresh.
#[derive(Debug)]
pub struct PublishedReader<T> {
    cached: CachedArc<T>,
    latest: Arc<CachePadded<AtomicU64>>,
}

impl<T> PublishedReader<T> {
    /// The latest value; touches its reference count only when it changed.
    pub fn refresh(&mut self) -> &Arc<T> {
        self.cached.refresh()
    }

    /// A version that a later refresh is sure to reach.
    #[must_use]
    pub fn version(&self) -> Version {
        // Acquire: pairs with the Release in `Publisher::raise`.
        Version(self.latest.load(Ordering::Acquire))
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn readers_get_what_was_published_last() {
        let (mut publisher, shared) = published(Version(1), Arc::new("a"));
        let mut reader = shared.reader();
        assert_eq!(**reader.refresh(), "a");
        assert_eq!(*publisher.publish(Version(2), Arc::new("b")), "a");
        assert_eq!(*shared.load(), "b");
        assert_eq!(**reader.refresh(), "b");
        assert_eq!(reader.version(), Version(2));
        assert_eq!(publisher.subscribe().version(), publisher.version());
    }

    #[test]
    fn a_held_value_outlives_its_replacement() {
        let (mut publisher, shared) = published(Version(1), Arc::new(vec![1, 2, 3]));
        let held = shared.load();
        drop(publisher.publish(Version(2), Arc::new(vec![])));
        assert_eq!(*held, [1, 2, 3]);
    }

    #[test]
    fn the_retired_value_can_be_the_last_reference() {
        let (mut publisher, _shared) = published(Version(1), Arc::new(5));
        let retired = publisher.publish(Version(2), Arc::new(6));
        assert_eq!(Arc::strong_count(&retired), 1);
    }

    #[test]
    #[should_panic(expected = "version 3 was published after version 3")]
    fn a_version_is_published_once() {
        let (mut publisher, _shared) = published(Version(3), Arc::new(()));
        drop(publisher.publish(Version(3), Arc::new(())));
    }
}
