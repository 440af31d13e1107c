//! A cell for one `Arc` that one thread replaces while others read it: arc-swap, or its stand-in.
//!
//! The stand-in for loom, which shuttle takes too, assumes no more of arc-swap than this: a replacement is a Release, a full
//! load is an Acquire, a reader never goes back, and a check of a cached value is Relaxed.
//! arc-swap promises at least one sequentially consistent read-modify-write per operation. How
//! arc-swap frees old values is its own proof, not that of the models here.

use std::sync::Arc;

#[cfg(not(any(capsched_loom, capsched_shuttle)))]
mod production {
    use super::Arc;
    use arc_swap::ArcSwap;
    use arc_swap::cache::Cache;

    #[derive(Debug)]
    pub(in crate::sync) struct ArcCell<T>(Arc<ArcSwap<T>>);

    impl<T> ArcCell<T> {
        pub(in crate::sync) fn new(value: Arc<T>) -> Self {
            Self(Arc::new(ArcSwap::new(value)))
        }

        pub(in crate::sync) fn load(&self) -> Arc<T> {
            self.0.load_full()
        }

        pub(in crate::sync) fn swap(&self, value: Arc<T>) -> Arc<T> {
            self.0.swap(value)
        }

        pub(in crate::sync) fn cached(&self) -> CachedArc<T> {
            CachedArc(Cache::new(Arc::clone(&self.0)))
        }
    }

    impl<T> Clone for ArcCell<T> {
        fn clone(&self) -> Self {
            Self(Arc::clone(&self.0))
        }
    }

    #[derive(Debug)]
    pub(in crate::sync) struct CachedArc<T>(Cache<Arc<ArcSwap<T>>, Arc<T>>);

    impl<T> CachedArc<T> {
        pub(in crate::sync) fn refresh(&mut self) -> &Arc<T> {
            self.0.load()
        }
    }
}

#[cfg(any(capsched_loom, capsched_shuttle))]
mod stand_in {
    use super::Arc;
    use crate::sync::mutant::weakened;
    use crate::sync::{AtomicUsize, Mutant, Ordering};

    // Plain std: a checker must not see this lock, or it would order what it shall check.
    #[expect(
        clippy::disallowed_types,
        reason = "the lock must be invisible to loom and shuttle"
    )]
    type Lock<T> = std::sync::Mutex<T>;

    /// Every value ever published stays until the cell goes; a reader may still get an old one.
    #[derive(Debug)]
    struct History<T> {
        entries: Lock<Vec<Arc<Entry<T>>>>,
        latest: AtomicUsize,
    }

    #[derive(Debug)]
    struct Entry<T> {
        value: Arc<T>,
        #[cfg(capsched_loom)]
        access: Lock<loom::cell::UnsafeCell<()>>,
    }

    impl<T> Entry<T> {
        fn new(value: Arc<T>) -> Arc<Self> {
            Arc::new(Self {
                value,
                #[cfg(capsched_loom)]
                access: Lock::new(loom::cell::UnsafeCell::new(())),
            })
        }

        /// Fails the model unless the reader is ordered after the writer of the entry.
        fn read(&self) -> Arc<T> {
            #[cfg(capsched_loom)]
            self.access.lock().expect("no panic inside").with(|_| ());
            Arc::clone(&self.value)
        }

        fn written(&self) {
            #[cfg(capsched_loom)]
            self.access
                .lock()
                .expect("no panic inside")
                .with_mut(|_| ());
        }
    }

    impl<T> History<T> {
        fn entry(&self, idx: usize) -> Arc<Entry<T>> {
            Arc::clone(&self.entries.lock().expect("no panic inside")[idx])
        }
    }

    #[derive(Debug)]
    pub(in crate::sync) struct ArcCell<T>(Arc<History<T>>);

    impl<T> ArcCell<T> {
        pub(in crate::sync) fn new(value: Arc<T>) -> Self {
            Self(Arc::new(History {
                entries: Lock::new(vec![Entry::new(value)]),
                latest: AtomicUsize::new(0),
            }))
        }

        pub(in crate::sync) fn load(&self) -> Arc<T> {
            let latest = self.0.latest.load(Ordering::Acquire);
            self.0.entry(latest).read()
        }

        pub(in crate::sync) fn swap(&self, value: Arc<T>) -> Arc<T> {
            let entry = Entry::new(value);
            entry.written();
            let idx = {
                let mut entries = self.0.entries.lock().expect("no panic inside");
                entries.push(entry);
                entries.len() - 1
            };
            let order = weakened(Mutant::PublishPointerRelaxed, Ordering::Release);
            self.0.latest.store(idx, order);
            Arc::clone(&self.0.entry(idx - 1).value)
        }

        pub(in crate::sync) fn cached(&self) -> CachedArc<T> {
            let seen = self.0.latest.load(Ordering::Acquire);
            CachedArc {
                value: self.0.entry(seen).read(),
                seen,
                cell: self.clone(),
            }
        }
    }

    impl<T> Clone for ArcCell<T> {
        fn clone(&self) -> Self {
            Self(Arc::clone(&self.0))
        }
    }

    #[derive(Debug)]
    pub(in crate::sync) struct CachedArc<T> {
        cell: ArcCell<T>,
        seen: usize,
        value: Arc<T>,
    }

    impl<T> CachedArc<T> {
        pub(in crate::sync) fn refresh(&mut self) -> &Arc<T> {
            let history = &self.cell.0;
            if history.latest.load(Ordering::Relaxed) != self.seen {
                self.seen = history.latest.load(Ordering::Acquire);
                self.value = history.entry(self.seen).read();
            }
            &self.value
        }
    }
}

#[cfg(not(any(capsched_loom, capsched_shuttle)))]
pub(super) use production::{ArcCell, CachedArc};
#[cfg(any(capsched_loom, capsched_shuttle))]
pub(super) use stand_in::{ArcCell, CachedArc};
